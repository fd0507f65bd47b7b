package proxy

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/environment"
	"gatewaytui/core/environment/sandbox"
	"gatewaytui/core/process"
)

// doubles opens proxies whose internet is made up.
type doubles struct {
	Sandboxes
	world *world
}

func (d doubles) Open(_ context.Context, use environment.Use) (sandbox.Access, error) {
	return d.open(use, Options{Resolve: d.world.resolve, Dial: d.world.dial})
}

func TestTR6_ASandboxWithAListHasItsHostsAndNoOtherNetwork(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("runs where curl is installed")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	life := "hosts-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	procs := process.New(process.Options{
		Life: life, HomeID: life, KillGrace: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
		Pass: func(name, _ string) bool { return name == "PATH" },
	})
	if err := procs.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	defer func() {
		if err := procs.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	home := filepath.Join(dir, "gateway", strings.Repeat("deep/", 20)) // a socket below it has a path that is too long
	use := environment.Use{
		ID: "e1", Session: "s", Agent: "a", Workdir: filepath.Join(dir, "work"), Home: filepath.Join(home, "a"),
		Definition: environment.Definition{Name: "box", Kind: environment.KindSandbox, Hosts: []string{"pypi.org"}},
	}
	for _, path := range []string{use.Workdir, use.Home} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	hosts := doubles{Sandboxes{Folder: filepath.Join(home, "proxies")}, newWorld(t, false)}
	driver := sandbox.New(sandbox.Options{Spawn: procs.Spawn, Temporary: filepath.Join(home, "tmp"), Hidden: []string{home}, Hosts: hosts})
	if _, err := driver.Probe(ctx); err != nil {
		t.Skipf("runs where bubblewrap works: %v", err)
	}
	box, err := driver.Make(ctx, use)
	if err != nil {
		t.Fatal(err)
	}
	launch, err := box.Command(ctx, environment.Command{Argv: []string{"bash", "-c", "curl -sS http://pypi.org/simple; echo; curl -sS http://evil.example; curl -sS --noproxy '*' http://93.184.215.14 || echo exit $?"}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := procs.Spawn(ctx, process.Spec{
		Session: "s", Policy: process.PolicySession, Argv: launch.Argv, Env: launch.Env, Dir: launch.Dir, Files: launch.Files, Carrier: launch.Carrier,
	})
	if launch.Started != nil {
		launch.Started(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait(ctx)
	if launch.Failure != nil {
		_ = launch.Failure(exit)
	}
	out, _ := p.Output()
	for _, want := range []string{
		"GET pypi.org /simple", "the host evil.example is not on the list of this environment; its owner can add it to environments.box.network", "exit 7",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%v, %v, no %q in %s", exit, err, want, out)
		}
	}
	if got := box.Detail(); !strings.HasPrefix(got, "1 host; 1 request, 1 refused, the last because the host evil.example") {
		t.Errorf("the detail is %q", got)
	}
	if err := box.Close(ctx); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(hosts.Folder); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
