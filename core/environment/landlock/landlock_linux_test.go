package landlock

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatewaytui/core/environment/step"
)

// ran is what a command under rules printed and its exit code.
func ran(t *testing.T, r Rules, argv ...string) (out string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	argv = r.Argv(argv)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return both.String(), cmd.ProcessState.ExitCode()
}

// rules are the usual ones with a work folder, which is returned as well; hidden as in Prepare.
func rules(t *testing.T, network bool, hidden ...string) (r Rules, work string) {
	t.Helper()
	if ABI() == 0 {
		t.Skip("runs where the kernel has landlock")
	}
	work = realDir(t)
	r, err := Prepare(Paths{Own: []string{work}, Hidden: hidden}, network)
	if err != nil {
		t.Fatal(err)
	}
	return r, work
}

func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTR6_ACommandReachesTheSystemAndItsWorkFolderAndNoOtherFile(t *testing.T) {
	secret := filepath.Join(realDir(t), "secret")
	if err := os.WriteFile(secret, []byte("4711"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, work := rules(t, false, filepath.Dir(secret))
	link := filepath.Join(work, "link")
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, script string
		works        bool
	}{
		{"programs of the system run", "ls /usr/bin >/dev/null && cat /etc/passwd >/dev/null", true},
		{"the work folder is written", "cd " + work + " && mkdir a && echo x >a/b && mv a/b c && ln c d && rm -r a c d", true},
		{"devices are used", "head -c 1 /dev/urandom >/dev/null && echo x >/dev/full; test $? = 1", true},
		{"pipes and descriptors by name work", "echo x | cat >/dev/stdout && cat <(echo y)", true},
		{"another file is not read", "cat " + secret, false},
		{"a link out of the work folder is not followed", "cat " + link, false},
		{"dots lead nowhere", "cat " + work + "/../" + filepath.Base(secret), false},
		{"a hard link to another file cannot be made", "ln " + secret + " " + work + "/hard", false},
		{"another folder is not listed", "ls " + filepath.Dir(secret), false},
		{"a file elsewhere cannot be made", "echo x >" + filepath.Dir(secret) + "/new", false},
		{"a file elsewhere cannot be removed", "rm -f " + secret, false},
		{"the password file is not read", "cat /etc/shadow", false},
		{"the system cannot be changed", "echo x >/usr/bin/new", false},
		{"control groups cannot be changed", "mkdir /sys/fs/cgroup/new-of-a-tool", false},
		{"parameters of the kernel cannot be changed", "cat /proc/sys/kernel/hostname >/proc/sys/kernel/hostname", false},
		{"nothing can be mounted", "mount -t tmpfs none " + work, false},
		{"nothing can be mounted in a user namespace", "unshare -Urm mount -t tmpfs none " + work, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, code := ran(t, r, "bash", "-c", tt.script)
			if (code == 0) != tt.works {
				t.Errorf("exit %d:\n%s", code, out)
			}
		})
	}
	if got, err := os.ReadFile(secret); err != nil || string(got) != "4711" {
		t.Errorf("the secret is %q, %v", got, err)
	}
}

func TestTR6_WithoutNetworkNoSocketIsMade(t *testing.T) {
	if !Filters() {
		t.Skip("runs where sockets are filtered: amd64 and arm64")
	}
	python, err := exec.LookPath("/usr/bin/python3")
	if err != nil {
		t.Skip("runs where the system has python3")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	connect := "import socket; s=socket.socket(); s.connect(('127.0.0.1'," + port + "))"
	for _, tt := range []struct {
		name, script string
		network      bool
		works        bool
	}{
		{"TCP without network", connect, false, false},
		{"TCP with network", connect, true, true},
		{"UDP without network", "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)", false, false},
		{"UDP with network", "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)", true, true},
		{"netlink without network", "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)", false, false},
		{"a unix socket without network", "import socket; socket.socket(socket.AF_UNIX)", false, false},
		{"a unix socket with network", "import socket; socket.socket(socket.AF_UNIX)", true, false},
		{"a pair of sockets", "import socket; socket.socketpair()", false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, _ := rules(t, tt.network)
			if out, code := ran(t, r, python, "-c", tt.script); (code == 0) != tt.works {
				t.Errorf("exit %d:\n%s", code, out)
			}
		})
	}
}

func TestTR6_ACommandNeitherSignalsNorReadsProcessesOutside(t *testing.T) {
	r, _ := rules(t, true)
	other := exec.Command("sleep", "60")
	other.Env = []string{"SECRET=4711"}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
	pid := strconv.Itoa(other.Process.Pid)
	for _, name := range []string{"environ", "mem", "maps", "exe", "cwd", "root"} {
		if out, code := ran(t, r, "bash", "-c", "cat /proc/"+pid+"/"+name+" || readlink /proc/"+pid+"/"+name); code == 0 {
			t.Errorf("/proc/PID/%s is read: %s", name, out)
		}
	}
	if out, code := ran(t, r, "prlimit", "--pid", pid, "--cpu=1"); Filters() && code == 0 {
		t.Errorf("the limits of a process outside are changed: %s", out)
	}
	if out, code := ran(t, r, "bash", "-c", "ulimit -n 100 && ulimit -n"); code != 0 {
		t.Errorf("its own limits cannot be changed: %s", out)
	}
	if ABI() < abiScope {
		t.Skip("runs where landlock has scopes: Linux 6.12")
	}
	if out, code := ran(t, r, "bash", "-c", "kill -9 "+pid); code == 0 {
		t.Errorf("a process outside is signalled: %s", out)
	}
	if out, code := ran(t, r, "bash", "-c", "sleep 60 & kill -9 $! && wait $!; test $? = 137"); code != 0 {
		t.Errorf("a process of its own cannot be signalled: exit %d: %s", code, out)
	}
}

func TestTR6_ACommandHasNoPrivilegeToGain(t *testing.T) {
	r, _ := rules(t, true)
	out, code := ran(t, r, "cat", "/proc/self/status")
	if code != 0 || !strings.Contains(out, "NoNewPrivs:\t1") {
		t.Fatalf("exit %d: %s", code, out)
	}
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(line, ":")
		if !slices.Contains([]string{"CapEff", "CapPrm", "CapInh", "CapAmb"}, name) {
			continue
		}
		has, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
		if err != nil || has&^uint64(keptCapabilities) != 0 {
			t.Errorf("it has capabilities: %s", line)
		}
	}
}

func TestTR6_WhatCannotBeRestrictedIsNotStarted(t *testing.T) {
	r, work := rules(t, true)
	gone := filepath.Join(work, "gone")
	link := filepath.Join(work, "link")
	if err := os.Symlink("/", link); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		argv []string
		want int
		says string
	}{
		{"a folder to write is gone", with(r, gone).Argv([]string{"true"}), step.NotRun, gone},
		{"a folder to write became a link", with(r, link).Argv([]string{"true"}), step.NotRun, "a symbolic link took its place"},
		{"a folder to read became a link", Rules{Read: []string{link}}.Argv([]string{"true"}), step.NotRun, "a symbolic link took its place"},
		{"there is no command", r.Argv(nil), step.NotRun, "no command given"},
		{"an argument is unknown", []string{"/proc/self/exe", title, "all", "--", "true"}, step.NotRun, "invalid argument all"},
		{"the program does not exist", r.Argv([]string{"no-such-program\x1b[2J"}), step.NotFound, "no-such-program?[2J"},
		{"the program may not be run", r.Argv([]string{work}), step.NotRun, "permission denied"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command(tt.argv[0], tt.argv[1:]...)
			cmd.Env = []string{"PATH=/usr/bin:/bin"}
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != tt.want || !strings.Contains(string(out), tt.says) {
				t.Errorf("exit %d, want %d: %s", code, tt.want, out)
			}
		})
	}
}

// The gateway's home may lie below a folder that commands may read or write.
func TestTR6_WhatIsHiddenIsLeftOutOfEveryFolder(t *testing.T) {
	top := realDir(t)
	home := filepath.Join(top, "a", "home")
	for _, dir := range []string{home, filepath.Join(top, "a", "b"), filepath.Join(top, "c")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(home, filepath.Join(top, "way-in")); err != nil {
		t.Fatal(err)
	}
	if ABI() == 0 {
		t.Skip("runs where the kernel has landlock")
	}
	hidden := filepath.Join(top, "way-in") // named by a link
	r, err := Prepare(Paths{Write: []string{top}, Hidden: []string{hidden}}, true)
	if err != nil {
		t.Fatal(err)
	}
	out, code := ran(t, r, "bash", "-c", "cat "+top+"/c/f "+top+"/a/b/f && echo y >"+top+"/a/b/g")
	if code != 0 {
		t.Errorf("a neighbour is out of reach: %s", out)
	}
	for _, script := range []string{"cat " + home + "/f", "ls " + home, "cat " + hidden + "/f", "rm " + home + "/f", "mv " + top + "/a/home " + top + "/c/"} {
		if out, code := ran(t, r, "bash", "-c", script); code == 0 {
			t.Errorf("%s works: %s", script, out)
		}
	}
	if _, err := Prepare(Paths{Read: []string{filepath.Join(top, "none")}}, true); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("a folder that does not exist: %v", err)
	}
}

// The work folder may be the user's home, with the gateway's below it, or lie below the gateway's.
func TestTR6_TheWorkFolderMayLieAroundOrBelowWhatIsHidden(t *testing.T) {
	top := realDir(t)
	home := filepath.Join(top, "a", "home")
	agent := filepath.Join(home, "agents", "x")
	if err := os.MkdirAll(agent, 0o700); err != nil {
		t.Fatal(err)
	}
	if ABI() == 0 {
		t.Skip("runs where the kernel has landlock")
	}
	r, err := Prepare(Paths{Own: []string{top, agent}, Hidden: []string{home}}, true)
	if err != nil {
		t.Fatal(err)
	}
	if out, code := ran(t, r, "bash", "-c", "echo x >"+agent+"/f && cat "+agent+"/f"); code != 0 {
		t.Errorf("the folder below cannot be used: %s", out)
	}
	for _, script := range []string{"ls " + home, "echo x >" + home + "/f", "mv " + agent + " " + home + "/agents/y"} {
		if out, code := ran(t, r, "bash", "-c", script); code == 0 {
			t.Errorf("%s works: %s", script, out)
		}
	}
	if _, err := Prepare(Paths{Own: []string{home}, Hidden: []string{home}}, true); err == nil {
		t.Error("the home itself can be the work folder")
	}
}

// A command puts a link where a later command may write by the config.
func TestTR6_ALinkThatCommandsCanChangeOpensNothing(t *testing.T) {
	work := realDir(t)
	data := filepath.Join(work, "data")
	if err := os.Symlink("/", data); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{data, filepath.Join(data, "etc")} {
		if _, err := Prepare(Paths{Own: []string{work}, Write: []string{path}}, true); err == nil || !strings.Contains(err.Error(), data) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func with(r Rules, write string) Rules {
	r.Write = append(slices.Clone(r.Write), write)
	return r
}

// The step between fork and exec keeps what the registry relies on: the pid, the signal of the parent's death, the limits.
func TestTR6_TheProcessIsTheCommandItself(t *testing.T) {
	r, _ := rules(t, true)
	argv := r.Argv([]string{"bash", "-c", "echo $$; ulimit -n; exec sleep 60"})
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	buf := make([]byte, 100)
	n, err := out.Read(buf)
	if pid, _, _ := strings.Cut(string(buf[:n]), "\n"); err != nil || pid != strconv.Itoa(cmd.Process.Pid) {
		t.Errorf("the command is %q, %v, and the process %d", pid, err, cmd.Process.Pid)
	}
}

func BenchmarkRestrict(b *testing.B) {
	r, err := Prepare(Paths{}, false)
	if err != nil || ABI() == 0 {
		b.Skip("runs where the kernel has landlock")
	}
	for name, argv := range map[string][]string{"bare": {"/bin/true"}, "restricted": r.Argv([]string{"/bin/true"})} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
			}
		})
	}
}
