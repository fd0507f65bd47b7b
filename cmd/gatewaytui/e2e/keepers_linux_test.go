package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// keeper is a service manager of the test's own that keeps one gateway, with all its files in one folder.
type keeper struct {
	t       *testing.T
	dir     string
	cmd     *exec.Cmd
	stopCmd func() *exec.Cmd // what an operator runs to stop the gateway
	starts  func() int       // how often the manager has started it
	ends    func() []string  // how it ended each time, as the manager saw it: "exit 75", "SIGKILL"
	over    func() bool      // the manager neither runs it nor will start it
}

// keepers are the managers that the tests run besides systemd: what each is called in status, and how it is begun with a
// gateway's arguments and what it allows a stop.
var keepers = []struct {
	name, status string
	begin        func(t *testing.T, limit time.Duration, argv ...string) *keeper
}{
	{"supervisord", "supervisord (gw), allows a stop", supervisord},
	{"runit", "runit, ", runit},
}

// need finds the programs of a Debian package, or skips.
func need(t *testing.T, pkg string, programs ...string) {
	t.Helper()
	for _, p := range programs {
		soak.Peer(t, p, "Debian package "+pkg)
	}
}

func (k *keeper) put(name, text string, mode os.FileMode) {
	k.t.Helper()
	name = filepath.Join(k.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), mode)); err != nil {
		k.t.Fatal(err)
	}
}

// read is a file of the manager's, empty as long as it is not there.
func (k *keeper) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(k.dir, name))
	return string(text)
}

// run starts the manager and ends it with the test: TERM makes both stop what they keep and end.
func (k *keeper) run(argv ...string) {
	k.t.Helper()
	k.cmd = exec.Command(argv[0], argv[1:]...)
	k.cmd.Dir = k.dir
	if err := k.cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = k.cmd.Wait() // how it ends is not what is tested
	}()
	k.t.Cleanup(func() {
		_ = k.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-gone:
		case <-time.After(patience):
			k.t.Error("the manager did not end")
			_ = k.cmd.Process.Kill() // it may have ended in this moment
			<-gone
		}
		if k.t.Failed() {
			k.t.Logf("the manager wrote:\n%s\nthe gateway wrote:\n%s", k.read("log"), k.read("gw.log"))
		}
	})
}

// stop is an operator's stop: what the manager says, and what it took.
func (k *keeper) stop() (said string, took time.Duration, err error) {
	k.t.Helper()
	began := time.Now()
	out, err := k.stopCmd().CombinedOutput()
	return string(out), time.Since(began), err
}

// supervisord keeps a gateway under supervisord, which kills after stopwaitsecs and does not say what that is. Its config
// says that 69 and 78 are not tried again, and that an end in the first second is not a start that failed.
func supervisord(t *testing.T, limit time.Duration, argv ...string) *keeper {
	t.Helper()
	need(t, "supervisor", "supervisord", "supervisorctl")
	k := &keeper{t: t, dir: newHome(t)}
	k.put("conf", fmt.Sprintf(`[supervisord]
nodaemon=true
logfile=%[1]s/log
pidfile=%[1]s/pid
childlogdir=%[1]s
[unix_http_server]
file=%[1]s/ctl
[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface
[supervisorctl]
serverurl=unix://%[1]s/ctl
[program:gw]
command=%[2]s
environment=GATEWAYTUI_STOP_BUDGET="%[3]v"
stopwaitsecs=%[4]d
autorestart=unexpected
exitcodes=0,69,78
startsecs=0
stderr_logfile=%[1]s/gw.log
`, k.dir, strings.Join(argv, " "), limit, int(limit.Seconds())), 0o600)
	ctl := func(args ...string) *exec.Cmd {
		return exec.Command("supervisorctl", append([]string{"-c", filepath.Join(k.dir, "conf")}, args...)...)
	}
	spawned := regexp.MustCompile(`spawned: 'gw' with pid \d+`)
	ended := regexp.MustCompile(`(?:exited|stopped): gw \((?:exit status (\d+)|terminated by (SIG\w+))`)
	k.stopCmd = func() *exec.Cmd { return ctl("stop", "gw") }
	k.starts = func() int { return len(spawned.FindAllString(k.read("log"), -1)) }
	k.ends = func() (all []string) {
		for _, m := range ended.FindAllStringSubmatch(k.read("log"), -1) {
			if all = append(all, m[2]); m[1] != "" {
				all[len(all)-1] = "exit " + m[1]
			}
		}
		return all
	}
	k.over = func() bool {
		out, _ := ctl("status", "gw").Output() // its exit code is the state as well
		return strings.Contains(string(out), "EXITED") || strings.Contains(string(out), "STOPPED") || strings.Contains(string(out), "FATAL")
	}
	k.run("supervisord", "-c", filepath.Join(k.dir, "conf"))
	return k
}

// runit keeps a gateway under runsv, which never kills by itself. The service's own finish
// says that 69 and 78 are not tried again.
func runit(t *testing.T, _ time.Duration, argv ...string) *keeper {
	t.Helper()
	need(t, "runit", "runsv", "sv")
	k := &keeper{t: t, dir: newHome(t)}
	service := filepath.Join(k.dir, "gw")
	k.put("gw/run", "#!/bin/sh\necho started >>../starts\nexec "+strings.Join(argv, " ")+" 2>>../gw.log\n", 0o700)
	// runsv(8): $1 is the exit code, or -1 for a signal, which is then in $2.
	k.put("gw/finish", "#!/bin/sh\necho \"$1 $2\" >>../ends\ncase $1 in 69 | 78) sv down . ;; esac\n", 0o700)
	k.stopCmd = func() *exec.Cmd { return exec.Command("sv", "stop", service) }
	k.starts = func() int { return strings.Count(k.read("starts"), "\n") }
	k.ends = func() (all []string) {
		for l := range strings.Lines(k.read("ends")) {
			var code, status int
			if _, err := fmt.Sscan(l, &code, &status); err != nil {
				t.Errorf("finish received %q", l)
			}
			all = append(all, "exit "+fmt.Sprint(code))
			if code < 0 {
				all[len(all)-1] = map[int]string{9: "SIGKILL", 15: "SIGTERM"}[status&0x7f]
			}
		}
		return all
	}
	k.over = func() bool {
		out, _ := exec.Command("sv", "status", service).Output() // it fails as long as runsv has not begun
		return strings.HasPrefix(string(out), "down: ") && !strings.Contains(string(out), "want up")
	}
	k.run("runsv", service)
	return k
}

// ended waits until the manager saw the gateway end in these ways, one after the other.
func (k *keeper) ended(want ...string) {
	k.t.Helper()
	eventually.True(k.t, fmt.Sprintf("the manager saw %q", want), func() bool { return len(k.ends()) >= len(want) })
	if got := k.ends(); !slices.Equal(got, want) {
		k.t.Errorf("the manager saw the gateway end with %q, want %q", got, want)
	}
}
