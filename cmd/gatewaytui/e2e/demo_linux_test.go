package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
)

// files lists what is below dir.
func files(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && path != dir {
			out = append(out, strings.TrimPrefix(path, dir))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// playDemo starts a demo with the runtime directory and more variables, and returns its process and its home once it says
// where that is. read is closed when all of its output is read.
func playDemo(t *testing.T, runtime string, env ...string) (cmd *exec.Cmd, dir string, read <-chan struct{}) {
	t.Helper()
	cmd = exec.Command(binary, "--demo", "--no-tui")
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GATEWAYTUI_") || strings.HasPrefix(v, "XDG_")
	}), append(env, "XDG_RUNTIME_DIR="+runtime)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	home, done := make(chan string, 1), make(chan struct{})
	go func() { // ends with the process
		defer close(done)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			var l line
			if json.Unmarshal(lines.Bytes(), &l) == nil && strings.HasPrefix(l.text("msg"), "this is the demo") {
				home <- l.text("home")
			}
		}
	}()
	select {
	case dir = <-home:
	case <-time.After(patience):
		t.Fatal("the demo does not say where its home is")
	}
	return cmd, dir, done
}

// TF8: the first command of the README is harmless. A demo with a config and an environment that enable a real platform
// never calls it, touches neither the user's config nor the user's home, and leaves nothing behind.
func TestTF8_ADemoTouchesNothingOfTheUsers(t *testing.T) {
	t.Parallel() // it mostly waits
	var calls atomic.Int64
	real := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		t.Errorf("the demo called the real platform: %s", r.URL.Path)
	}))
	defer real.Close()
	user, runtime := t.TempDir(), newHome(t)
	if err := os.MkdirAll(runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(user, ".config", "gatewaytui", "config.toml")
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("[adapters.telegram]\nenabled = true\nbase_url = %q\nallow_all = true\n", real.URL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	before := files(t, user)

	cmd, dir, read := playDemo(t, runtime, "HOME="+user, "TELEGRAM_BOT_TOKEN=1:real", "GATEWAYTUI_ADAPTERS_TELEGRAM_ENABLED=true",
		"GATEWAYTUI_ADAPTERS_TELEGRAM_BASE_URL="+real.URL, "GATEWAYTUI_HOME="+filepath.Join(user, "real"))
	if filepath.Dir(dir) != runtime {
		t.Errorf("its home is %s, want it in the runtime directory", dir)
	}
	ask := func(into any, args ...string) {
		t.Helper()
		out, code := verb(t, dir, append(args, "--json")...)
		if code == 0 {
			if err := json.Unmarshal([]byte(out), into); err != nil {
				t.Fatalf("%q: %v", out, err)
			}
		}
	}
	eventually.True(t, "a chat is stuck, and others go on", func() bool {
		var page ops.Page[ops.Session]
		ask(&page, "sessions")
		return len(page.Items) >= 3 && page.Items[0].Key == "dock:dm:dmitri" && page.Items[0].State == ops.SessionStalled
	})
	var adapters ops.Page[ops.Adapter]
	ask(&adapters, "adapters")
	for _, a := range adapters.Items {
		if a.Name == "telegram" {
			t.Errorf("the demo has the real platform: %+v", a)
		}
	}
	var status ops.Status
	ask(&status, "status")
	if status.Demo == nil || len(status.Demo.Talk) == 0 || strings.HasSuffix(status.APIListen, ":8642") {
		t.Errorf("the status is %+v", status)
	}
	if out, code := verb(t, dir, "stop", "--wait", "--mode", "immediate", "--yes"); code != 0 || !strings.Contains(out, "exit code 0; its home is removed") {
		t.Errorf("stop --wait of the demo ended with %d:\n%s", code, out)
	}
	<-read
	if err := cmd.Wait(); err != nil {
		t.Errorf("the demo ended with %v", err)
	}
	if left := files(t, runtime); len(left) > 0 {
		t.Errorf("the demo left %q", left)
	}
	if after := files(t, user); !slices.Equal(before, after) {
		t.Errorf("the user's files were %q and are %q", before, after)
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("%d calls of the real platform", n)
	}
}

func TestTF8_ADemoRefusesARealHomeAndAConfig(t *testing.T) {
	real := t.TempDir()
	if err := os.WriteFile(filepath.Join(real, "gateway.lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := files(t, real)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"the home of a real gateway": {[]string{"--home", real}, "neither"},
		"a config":                   {[]string{"--config", "config.toml"}, "reads no config"},
	} {
		out, err := exec.Command(binary, append([]string{"--demo", "--no-tui"}, c.args...)...).CombinedOutput()
		if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 2 || !strings.Contains(string(out), c.says) {
			t.Errorf("%s: %v, %s", name, err, out)
		}
	}
	if after := files(t, real); !slices.Equal(before, after) {
		t.Errorf("the real home had %q and has %q", before, after)
	}
}

// A demo that is killed cannot remove its home; the next demo does, and touches no other folder.
func TestTF8_TheHomeOfAKilledDemoIsRemovedByTheNextDemo(t *testing.T) {
	runtime := newHome(t)
	kill := func(cmd *exec.Cmd, read <-chan struct{}) {
		_ = cmd.Process.Kill()
		<-read
		_ = cmd.Wait() // killed
	}
	first, killed, firstRead := playDemo(t, runtime)
	running, runs, runningRead := playDemo(t, runtime)
	defer kill(running, runningRead)
	kill(first, firstRead)

	stay := map[string]string{"is of a running demo": runs}
	for name, mark := range map[string]string{"has no mark": "", "is marked to be kept": "kept\n"} {
		dir := filepath.Join(runtime, "gatewaytui-demo-"+strings.ReplaceAll(name, " ", "-"))
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(killed, "logs"))); err != nil {
			t.Fatal(err)
		}
		record, err := os.ReadFile(filepath.Join(killed, "gateway.pid"))
		if err != nil {
			t.Fatalf("the killed demo left no pid file: %v", err)
		}
		if err := os.WriteFile(filepath.Join(dir, "gateway.pid"), record, 0o600); err != nil {
			t.Fatal(err)
		}
		if mark != "" {
			if err := os.WriteFile(filepath.Join(dir, "demo"), []byte(mark), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		stay[name] = dir
	}

	next, own, nextRead := playDemo(t, runtime)
	defer kill(next, nextRead)
	if _, err := os.Lstat(killed); err == nil {
		t.Error("the home of the killed demo is still there")
	}
	stay["is its own"] = own
	for name, dir := range stay {
		if _, err := os.Lstat(dir); err != nil {
			t.Errorf("the folder that %s is gone: %v", name, err)
		}
	}
}
