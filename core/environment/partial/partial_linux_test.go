package partial

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/environment"
	"gatewaytui/core/environment/landlock"
	"gatewaytui/core/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds a wait for what must come, on a machine that is busy.
const patience = 30 * time.Second

func registry(t *testing.T) *process.Registry {
	t.Helper()
	life := "partial-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
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

// place is a driver with a home of a gateway, in which the work folder and the agent's home lie.
type place struct {
	driver *Driver
	procs  *process.Registry
	home   string
	use    environment.Use
}

func newPlace(t *testing.T) *place {
	t.Helper()
	if landlock.ABI() == 0 {
		t.Skip("runs where the kernel has landlock")
	}
	home := filepath.Join(t.TempDir(), "gateway")
	p := &place{procs: registry(t), home: home, use: environment.Use{
		ID: "e1", Session: "s", Agent: "a", Workdir: filepath.Join(home, "work"), Home: filepath.Join(home, "agents", "a", "home"),
		Definition: environment.Definition{Name: "box", Kind: environment.KindSandbox, Fallback: true},
	}}
	for _, dir := range []string{p.use.Workdir, p.use.Home} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, "api.key"), []byte("the key"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.driver = New(Options{Spawn: p.procs.Spawn, Temporary: filepath.Join(home, "tmp"), Hidden: []string{home}})
	if detail, err := p.driver.Probe(t.Context()); err != nil || !strings.HasPrefix(detail, "landlock ABI ") {
		t.Fatalf("%q, %v", detail, err)
	}
	return p
}

// run runs a shell command in env and returns its output and exit code.
func (p *place) run(t *testing.T, env environment.Environment, script string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	launch, err := env.Command(ctx, environment.Command{Argv: []string{"bash", "-c", script}})
	if err != nil {
		t.Fatal(err)
	}
	proc, err := p.procs.Spawn(ctx, process.Spec{
		Session: "s", Policy: process.PolicySession, Argv: launch.Argv, Env: append(launch.Env, "XDG_CONFIG_HOME=/elsewhere"), Dir: launch.Dir,
	})
	if err != nil {
		t.Fatal(err)
	}
	exit, err := proc.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	out, _ := proc.Output()
	return out, exit.Code
}

func TestTR6_APartialEnvironmentHasItsFoldersAndNotTheGateway(t *testing.T) {
	p := newPlace(t)
	env, err := p.driver.Make(t.Context(), p.use)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, script string
		works        bool
	}{
		{"it begins in the work folder", "test $PWD = " + p.use.Workdir + " && echo x >f && cat f", true},
		{"its home is the agent's", "test $HOME = " + p.use.Home + " && echo x >~/f", true},
		{"temporary files have a folder", "f=$(mktemp) && echo x >$f && test -d $TMPDIR", true},
		{"variables that name other places are unset", "test -z ${XDG_CONFIG_HOME+x}", true},
		{"the gateway's key", "cat " + p.home + "/api.key", false},
		{"the gateway's home", "ls " + p.home, false},
		{"a new file in the gateway's home", "echo x >" + p.home + "/new", false},
		{"the machine's /tmp", "echo x >/tmp/new-of-a-tool", false},
		{"the home of the user", "ls " + os.Getenv("HOME"), false},
		{"the gateway's life", "kill -0 " + strconv.Itoa(os.Getpid()), landlockABIBefore(6)},
		{"the network", "exec 3<>/dev/tcp/127.0.0.1/9", false},
	} {
		if out, code := p.run(t, env, tt.script); (code == 0) != tt.works {
			t.Errorf("%s: exit %d: %s", tt.name, code, out)
		}
	}
	if got := env.Detail(); !strings.HasPrefix(got, "network off; landlock ABI ") {
		t.Errorf("the detail is %q", got)
	}
	if err := env.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(p.driver.opts.Temporary); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func landlockABIBefore(abi int) bool { return landlock.ABI() < abi }

func TestTR6_AListOfHostsIsNoNetworkHere(t *testing.T) {
	p := newPlace(t)
	p.use.Definition.Network, p.use.Definition.Hosts = true, []string{"pypi.org"}
	env, err := p.driver.Make(t.Context(), p.use)
	if err != nil {
		t.Fatal(err)
	}
	if out, code := p.run(t, env, "exec 3<>/dev/tcp/127.0.0.1/9"); code == 0 || !strings.Contains(out, "ermission denied") {
		t.Errorf("exit %d: %s", code, out)
	}
	if got := env.Detail(); !strings.HasPrefix(got, "network off, because a list of hosts needs a sandbox; ") {
		t.Errorf("the detail is %q", got)
	}
	if err := env.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestTR6_AFolderThatDoesNotExistIsNamedWhenTheEnvironmentIsMade(t *testing.T) {
	p := newPlace(t)
	p.use.Definition.Read = []string{"/nonexistent/data"}
	if _, err := p.driver.Make(t.Context(), p.use); err == nil || !strings.Contains(err.Error(), "/nonexistent/data") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(p.driver.opts.Temporary); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
