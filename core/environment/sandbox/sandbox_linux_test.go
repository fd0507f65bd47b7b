package sandbox

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"gatewaytui/core/environment"
	"gatewaytui/core/process"
	"gatewaytui/fixtures/eventually"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds a wait for what must come, on a machine that is busy.
const patience = 30 * time.Second

// bench is a registry with the sandbox of one session.
type bench struct {
	testing.TB
	procs     *process.Registry
	env       environment.Environment
	dir       string // of the test
	work, own string // the work folder, the home of the agent
}

func registry(t testing.TB) *process.Registry {
	t.Helper()
	life := "sandbox-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	r := process.New(process.Options{
		Life: life, HomeID: life, KillGrace: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
		Pass: func(name, _ string) bool { return name == "PATH" },
	})
	if err := r.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience) // the test's own has ended
		defer cancel()
		if err := r.Close(ctx); err != nil {
			t.Errorf("close the registry: %v", err)
		}
	})
	return r
}

// newBench makes a sandbox, and skips the test on a machine without one. change may change the options and the definition.
func newBench(t testing.TB, change func(*Options, *environment.Definition)) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{TB: t, procs: registry(t), dir: dir, work: filepath.Join(dir, "gateway", "work"), own: filepath.Join(dir, "gateway", "agents", "a", "home")}
	for _, path := range []string{b.work, b.own} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "gateway", "api.key"), "the key")
	def := environment.Definition{Name: "box", Kind: environment.KindSandbox}
	o := Options{Spawn: b.procs.Spawn, Temporary: filepath.Join(dir, "gateway", "tmp"), Hidden: []string{filepath.Join(dir, "gateway")}}
	if change != nil {
		change(&o, &def)
	}
	d := New(o)
	if _, err := d.Probe(t.Context()); err != nil {
		t.Skipf("runs where bubblewrap works: %v", err)
	}
	b.env, err = d.Make(t.Context(), environment.Use{ID: "e1", Session: "s", Agent: "a", Definition: def, Workdir: b.work, Home: b.own})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.env.Close(context.Background()); err != nil {
			t.Errorf("close the sandbox: %v", err)
		}
	})
	return b
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// start starts a shell command; set may change how.
func (b *bench) start(script string, set func(*process.Spec, *environment.Command)) (*process.Process, environment.Launch) {
	b.Helper()
	cmd := environment.Command{Argv: []string{"bash", "-c", script}}
	spec := process.Spec{Session: "s", Policy: process.PolicySession}
	if set != nil {
		set(&spec, &cmd)
	}
	launch, err := b.env.Command(b.Context(), cmd)
	if err != nil {
		b.Fatal(err)
	}
	spec.Argv, spec.Env, spec.Dir, spec.Files, spec.Carrier = launch.Argv, launch.Env, launch.Dir, launch.Files, launch.Carrier
	p, err := b.procs.Spawn(b.Context(), spec)
	if launch.Started != nil {
		launch.Started(err)
	}
	if err != nil {
		b.Fatal(err)
	}
	return p, launch
}

// run runs a shell command to its end.
func (b *bench) run(script string) (output string, exit process.Exit) {
	b.Helper()
	p, launch := b.start(script, nil)
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	exit, err := p.Wait(ctx)
	if err != nil {
		b.Fatal(err)
	}
	if err := launch.Failure(exit); err != nil {
		b.Errorf("%s: %v", script, err)
	}
	output, _ = p.Output()
	return output, exit
}

func TestTR6_ACommandSeesItsWorkFolderItsHomeAndTheSystemAndNothingOfTheGateway(t *testing.T) {
	b := newBench(t, nil)
	for _, tt := range []struct {
		name, script string
		code         int
		says         string
	}{
		{"the work folder is where it starts", `pwd; echo x > made && cat made`, 0, b.work + "\nx\n"},
		{"the home is its own", `echo "$HOME"; echo kept > ~/file`, 0, b.own + "\n"},
		{"what is in the home lasts", `cat ~/file`, 0, "kept\n"},
		{"the system can be read", `test -x /bin/sh && test -r /etc/passwd`, 0, ""},
		{"the system cannot be written", `echo x > /usr/bin/new`, 1, "Read-only file system"},
		{"the key of the gateway is absent", `cat ` + b.dir + `/gateway/api.key`, 1, "No such file"},
		{"only the way to the work folder is there", `ls ` + b.dir + `/gateway`, 0, "agents\nwork\n"},
		{"secrets of the machine are absent", `cat /etc/shadow /etc/ssh/*_key /root/.ssh/id_rsa`, 1, "No such file"},
		{"temporary files are seen by the next command", `echo t > /tmp/t; echo $TMPDIR`, 0, "/tmp\n"},
		{"in the same folder", `cat /tmp/t /var/tmp/t`, 0, "t\nt\n"},
		{"there is no network", `exec 3<>/dev/tcp/127.0.0.1/22; echo $?; ls /sys/class/net; cut -d: -f1 /proc/net/dev | tail -n +3`, 0, "lo\n"},
		{"its processes are alone", `ls /proc | grep -c '^[0-9]'`, 0, ""},
		{"no descriptor is inherited", `for f in /proc/$$/fd/*; do readlink $f; done | sort -u | grep -v pipe: | grep -v /dev/null; true`, 0, ""},
		{"it has no capability", `grep CapEff /proc/self/status`, 0, "0000000000000000"},
		{"it gains none", `grep NoNewPrivs /proc/self/status; unshare -rm true`, 1, "NoNewPrivs:\t1"},
		{"parameters of the kernel cannot be changed, also by root", `at=/proc/sys/kernel/core_pattern; old=$(cat $at) && test -n "$old" && echo "$old" > $at`, 1, "core_pattern: "},
		{"its exit code is its own", `exit 7`, 7, ""},
		{"and the signal that ended it", `kill -9 $$`, 137, ""},
		{"an exit code of 1 is not taken for a failure", `exit 1`, 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			output, exit := (&bench{TB: t, procs: b.procs, env: b.env}).run(tt.script)
			if exit.Code != tt.code || !strings.Contains(output, tt.says) {
				t.Errorf("%s: exit %d with\n%s\nwant exit %d with %q", tt.script, exit.Code, output, tt.code, tt.says)
			}
		})
	}
	if text, err := os.ReadFile(filepath.Join(b.work, "made")); err != nil || string(text) != "x\n" {
		t.Errorf("what the command made: %q, %v", text, err)
	}
	if err := b.env.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(b.dir, "gateway", "tmp", "*")); err != nil || len(left) > 0 {
		t.Errorf("the close left %q, %v", left, err)
	}
}

func TestTR6_WhatIsHiddenIsAbsentAlsoBelowAPathThatCanBeRead(t *testing.T) {
	var outside string
	b := newBench(t, func(o *Options, d *environment.Definition) {
		outside = filepath.Dir(filepath.Dir(o.Temporary))
		write(t, filepath.Join(outside, "token"), "a secret")
		write(t, filepath.Join(outside, "plain"), "plain\n")
		if err := os.Mkdir(filepath.Join(outside, "shared"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(outside, "gateway"), filepath.Join(outside, "shared", "link")); err != nil {
			t.Fatal(err)
		}
		o.Hidden = append(o.Hidden, filepath.Join(outside, "token"))
		d.Read, d.Write = []string{outside}, []string{filepath.Join(outside, "shared")}
	})
	for _, tt := range []struct {
		script string
		code   int
		says   string
	}{
		{"cat " + outside + "/plain", 0, "plain\n"},
		{"cat " + outside + "/token", 1, "token"},
		{"cat " + outside + "/gateway/api.key", 1, "No such file"},
		{"cat " + outside + "/shared/link/api.key", 1, "No such file"},
		{"echo x > " + outside + "/shared/new", 0, ""},
		{"echo x > " + outside + "/new", 1, "Read-only"},
		{"echo x > made; ls " + outside + "/gateway", 0, "agents\nwork\n"},
	} {
		if output, exit := b.run(tt.script); exit.Code != tt.code || !strings.Contains(output, tt.says) || strings.Contains(output, "secret") || strings.Contains(output, "the key") {
			t.Errorf("%s: exit %d with\n%s\nwant exit %d with %q", tt.script, exit.Code, output, tt.code, tt.says)
		}
	}
}

func TestTR6_APathThatCannotBeUsedIsRefusedByName(t *testing.T) {
	b := newBench(t, nil)
	hidden := []string{filepath.Join(b.dir, "gateway")}
	for _, tt := range []struct {
		name string
		v    view
		want string
	}{
		{"one that does not exist", view{read: []string{b.dir + "/none"}}, "/none"},
		{"one that belongs to the gateway", view{read: []string{b.dir + "/gateway/api.key"}, hidden: hidden}, "belongs to the gateway"},
		{"the home of the gateway as work folder", view{own: []string{b.dir + "/gateway"}, hidden: hidden}, "belongs to the gateway"},
		{"the whole machine", view{write: []string{"/"}}, "whole machine"},
		{"a place of the sandbox", view{read: []string{"/proc/1"}}, "/proc"},
	} {
		if _, err := mounts(tt.v); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want an error with %q", tt.name, err, tt.want)
		}
	}
}

func TestTR6_ALinkThatCommandsCanChangeLeadsASandboxNowhere(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work, own, shared, secret := filepath.Join(dir, "work"), filepath.Join(dir, "home"), filepath.Join(dir, "shared"), filepath.Join(dir, "secret")
	for _, path := range []string{work, own, shared, secret} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name, link string
		def        environment.Definition
	}{
		{"to read, in the work folder", filepath.Join(work, "link"), environment.Definition{Read: []string{filepath.Join(work, "link")}}},
		{"to write, in the home of the agent", filepath.Join(own, "link"), environment.Definition{Write: []string{filepath.Join(own, "link")}}},
		{"to read, in a folder to write", filepath.Join(shared, "link"), environment.Definition{Read: []string{filepath.Join(shared, "link")}, Write: []string{shared}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.Symlink(secret, tt.link); err != nil {
				t.Fatal(err)
			}
			d := New(Options{Temporary: filepath.Join(dir, "tmp")})
			env, err := d.Make(t.Context(), environment.Use{ID: "e1", Session: "s", Agent: "a", Definition: tt.def, Workdir: work, Home: own})
			if err == nil || !strings.Contains(err.Error(), "commands can change the symbolic link "+tt.link) {
				t.Errorf("the environment is %v, %v", env, err)
			}
			if left, err := filepath.Glob(filepath.Join(dir, "tmp", "*")); err != nil || len(left) > 0 {
				t.Errorf("what was refused left %q, %v", left, err)
			}
		})
	}
	if err := os.Symlink(secret, filepath.Join(dir, "ours")); err != nil {
		t.Fatal(err)
	}
	if _, err := mounts(view{read: []string{filepath.Join(dir, "ours")}, own: []string{work, own}}); err != nil {
		t.Errorf("a link that no command can change: %v", err)
	}
}

func TestTR6_TermReachesTheCommandAndNotItsWrapper(t *testing.T) {
	b := newBench(t, nil)
	script := `trap 'sleep 0.3; echo got TERM > term; exit 5' TERM; echo ready; while :; do sleep 0.05; done`
	for _, tt := range []struct {
		name string
		set  func(*process.Spec, *environment.Command)
	}{
		{"in the foreground", nil},
		{"in the background, with input", func(s *process.Spec, c *environment.Command) { s.Stdin, c.Background = true, true }},
		{"with a terminal", func(s *process.Spec, c *environment.Command) { s.PTY, c.PTY = true, true }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := &bench{TB: t, procs: b.procs, env: b.env, work: b.work}
			_ = os.Remove(filepath.Join(b.work, "term"))
			p, launch := b.start(script, tt.set)
			eventually.True(t, "the command runs", func() bool { text, _ := p.Output(); return strings.Contains(text, "ready") })
			report := p.Kill(t.Context(), patience)
			exit, ended := p.Exited()
			if !report.Verified || !ended || exit.Code != 5 || exit.Signal != 0 {
				t.Errorf("report %+v, exit %+v, %v; want the command's own exit code 5", report.Summary(), exit, ended)
			}
			if report.Took > patience/2 || report.Escalated > 0 {
				t.Errorf("it took %v and KILL for %d", report.Took, report.Escalated)
			}
			if text, err := os.ReadFile(filepath.Join(b.work, "term")); err != nil || string(text) != "got TERM\n" {
				t.Errorf("the handler wrote %q, %v", text, err)
			}
			if launch.Failure != nil {
				if err := launch.Failure(exit); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestTR6_ACommandThatIgnoresTermIsKilledWithEverythingAfterTheGrace(t *testing.T) {
	b := newBench(t, nil)
	p, launch := b.start(`trap '' TERM; (setsid sh -c "trap '' TERM; while :; do sleep 1; done" &) ; echo ready; while :; do sleep 1; done`, nil)
	eventually.True(t, "the command runs", func() bool { text, _ := p.Output(); return strings.Contains(text, "ready") })
	report := p.Kill(t.Context(), 200*time.Millisecond)
	exit, _ := p.Exited()
	if !report.Verified || exit.Signal != unix.SIGKILL || len(report.Survivors) > 0 {
		t.Errorf("report %s, exit %+v", report.Summary(), exit)
	}
	if err := launch.Failure(exit); err != nil {
		t.Errorf("a killed command counts as a sandbox that failed: %v", err)
	}
}

func TestTR6_AKillWhileASandboxIsBeingMadeDoesNotWaitForTheGrace(t *testing.T) {
	b := newBench(t, nil)
	for range 20 {
		p, launch := b.start("sleep 60", nil)
		report := p.Kill(t.Context(), patience)
		if !report.Verified || report.Took > patience/2 {
			t.Fatalf("report %s after %v", report.Summary(), report.Took)
		}
		exit, _ := p.Exited()
		_ = launch.Failure(exit)
	}
}

func TestTR6_ADaemonInsideEndsWithItsCommand(t *testing.T) {
	b := newBench(t, nil)
	p, launch := b.start(`setsid sh -c 'echo $$ > daemon; exec sleep 300' > /dev/null 2>&1 < /dev/null & while [ ! -s daemon ]; do sleep 0.01; done; readlink /proc/self/ns/pid`, nil)
	exit, err := p.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := launch.Failure(exit); err != nil {
		t.Fatal(err)
	}
	text, _ := p.Output()
	inside := strings.TrimSpace(text)
	eventually.True(t, "the daemon has ended", func() bool { return !slices.Contains(pidNamespaces(), inside) })
	t.Logf("the daemon ended within %v", time.Since(began))
	if !strings.HasPrefix(inside, "pid:[") {
		t.Errorf("the command said %q", inside)
	}
	if left, err := p.Left(); err != nil || left != 0 {
		t.Errorf("%d left, %v", left, err)
	}
}

// pidNamespaces are the process namespaces of all processes.
func pidNamespaces() (all []string) {
	links, _ := filepath.Glob("/proc/[0-9]*/ns/pid")
	for _, link := range links {
		if name, err := os.Readlink(link); err == nil {
			all = append(all, name)
		}
	}
	return all
}

func TestTR6_WhatTheSandboxCouldNotMakeIsNotTheCommandsFailure(t *testing.T) {
	b := newBench(t, nil)
	if err := os.RemoveAll(b.own); err != nil {
		t.Fatal(err)
	}
	p, launch := b.start("true", nil)
	exit, err := p.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := launch.Failure(exit); err == nil {
		output, _ := p.Output()
		t.Errorf("exit %d with %q and no failure", exit.Code, output)
	}
}

func TestTR6_TheProbeSaysWhyBubblewrapDoesNotWorkAndWhatToDo(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		settings   map[string]string
		want       string
	}{
		{
			"Ubuntu's AppArmor", "bwrap: setting up uid map: Permission denied", map[string]string{settingAppArmor: "1"}, "/etc/apparmor.d/bwrap",
		},
		{
			"Ubuntu's AppArmor, at the network", "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", map[string]string{settingAppArmor: "1"}, "apparmor_parser -r",
		},
		{
			"Debian's old setting", "bwrap: No permissions to creating new namespace, likely because the kernel does not allow non-privileged user namespaces.",
			map[string]string{settingClone: "0"},
			"kernel.unprivileged_userns_clone=1",
		},
		{"no namespace at all", "bwrap: Creating new namespace failed: No space left on device", map[string]string{settingMost: "0"}, "user.max_user_namespaces"},
		{"a container", "bwrap: Can't mount proc on /newroot/proc: Operation not permitted", nil, "container"},
		{"a filter", "bwrap: Creating new namespace failed: Operation not permitted", nil, "RestrictNamespaces"},
		{"anything else", "bwrap: execvp bash: No such file or directory", nil, "exit code 1"},
	} {
		err := Explain(tt.text, os.ErrInvalid, func(name string) string { return tt.settings[name] })
		if tt.name == "anything else" {
			tt.want = os.ErrInvalid.Error()
		}
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
		}
	}
	d := New(Options{Program: "bwrap-that-does-not-exist"})
	if _, err := d.Probe(t.Context()); err == nil || !strings.Contains(err.Error(), "install the package bubblewrap") {
		t.Errorf("without bwrap: %v", err)
	}
}
