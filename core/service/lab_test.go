package service

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/shortdir"
)

// labVariable names a program that runs a script against a private systemd: LAB UNITS SCRIPT, where UNITS is a folder of
// unit files; exit code 77 says that the machine cannot.
const labVariable = "GATEWAYTUI_SYSTEMD_LAB"

// found is what the service in the lab finds out about itself.
type found struct {
	Manager  Manager
	Budget   time.Duration
	Source   string
	Err      string
	Watchdog time.Duration
}

// beService is the test's own binary as a service. It is a gateway as far as systemd can tell one, which does what mode
// says.
func beService(mode string) int {
	home := os.Getenv(homeVariable)
	if mode == "held" {
		return ops.ExitHeld
	}
	n, err := NewNotifier(os.Getenv, os.Getpid())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	run := func(ctx context.Context, argv []string) (string, error) {
		out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
		return string(out), err
	}
	f := found{Manager: Detect(ReadEnvironment(os.Getenv)), Watchdog: n.watchdog}
	allowed, err := Limit(context.Background(), f.Manager, os.Getenv, run)
	f.Budget, f.Source = allowed.Budget, allowed.Source
	f.Err = fmt.Sprint(err)
	text, _ := json.Marshal(f)
	if err := os.WriteFile(filepath.Join(home, mode+".json"), text, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	tool := exec.Command("sh", "-c", `trap 'touch "$1"; exit' TERM; sleep 300 & wait`, "tool", filepath.Join(home, mode+".termed"))
	if err := tool.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGUSR1)
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		n.Run(ctx, func(context.Context) bool { return mode != "wedged" })
	}()
	defer func() {
		cancel()
		<-ran
	}()
	if err := n.Ready("serving as " + mode); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for s := range signals {
		if s == syscall.SIGUSR1 {
			return ops.ExitRestart
		}
		switch mode {
		case "deaf":
			continue
		case "silent":
			time.Sleep(time.Second) // modelled: two beats of a stop
			cancel()
			<-ran
			time.Sleep(3 * time.Second) // modelled: the rest of that stop
			return 0
		case "slow":
			if err := n.Extend(6 * time.Second); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
			time.Sleep(3 * time.Second) // modelled: a slow stop
		}
		if err := n.Stopping("stopping as " + mode); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		time.Sleep(300 * time.Millisecond) // modelled: the time in which systemd reads the notice
		return 0
	}
	return 1
}

// labScript prints NAME=VALUE lines of what systemd does with the units.
const labScript = `
say() { echo "$1=$2"; }
show() { say "$1.$2" "$(systemctl show -p "$2" --value "$1")"; }
until_is() { for i in $(seq 100); do [ "$(systemctl show -p "$2" --value "$1")" = "$3" ] && return; sleep 0.1; done; }
since() { local now=$(date +%s%N); say "$1" $(( (now - $2) / 1000000 )); }

systemctl start obeys; say obeys.start $?
for p in ActiveState StatusText TimeoutStopUSec; do show obeys $p; done
b=$(date +%s%N); systemctl stop obeys; since obeys.stop_ms $b
say obeys.after "$(systemctl show -p ActiveState,Result --value obeys | tr '\n' ' ')"

systemctl start obeys
kill -USR1 "$(systemctl show -p MainPID --value obeys)"
until_is obeys NRestarts 1; until_is obeys ActiveState active
show obeys NRestarts; show obeys Result
say obeys.failed "$(systemctl is-failed obeys)"
systemctl stop obeys

systemctl start held; say held.start $?
until_is held ActiveState failed
show held NRestarts; show held ActiveState

b=$(date +%s%N); systemctl start deaf; systemctl stop deaf; since deaf.stop_ms $b
show deaf Result

b=$(date +%s%N); systemctl start slow; systemctl stop slow; since slow.stop_ms $b
show slow Result

systemctl start silent; systemctl stop silent
show silent Result

systemctl start wedged; until_is wedged Result watchdog
show wedged Result; show wedged ExecMainStatus
until_is wedged NRestarts 1; show wedged NRestarts
systemctl stop wedged

say left "$(pgrep -c -x sleep)"
`

// TestS2S9_SystemdItself shows on a real systemd what the unit and the notifications promise. It runs where
// GATEWAYTUI_SYSTEMD_LAB names the lab.
func TestS2S9_SystemdItself(t *testing.T) {
	lab := os.Getenv(labVariable)
	if lab == "" {
		t.Skip("runs where " + labVariable + " names a lab with a systemd")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home, units := shortdir.New(t), t.TempDir()
	for _, mode := range []string{"obeys", "held", "deaf", "slow", "silent", "wedged"} {
		v := Values{
			Name: mode, Exec: self, Home: home, StopTimeout: 2 * time.Second, System: true,
			// With the race detector, a program waits for a second before it exits.
			Environment: map[string]string{asService: mode, "GORACE": "atexit_sleep_ms=0"},
		}
		if mode == "silent" {
			v.StopTimeout = 20 * time.Second
		}
		// The default watchdog would take a minute.
		text := strings.Replace(unit(t, v), "WatchdogSec=60", "WatchdogSec=1", 1)
		if err := os.WriteFile(filepath.Join(units, mode+".service"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte(labScript), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, lab, units, script)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 77 {
		t.Skip("runs where the lab can start a systemd: " + stderr.String())
	}
	if err != nil {
		t.Fatalf("the lab: %v\n%s\n%s", err, out, &stderr)
	}
	t.Logf("systemd did:\n%s", out)
	got := map[string]string{}
	for l := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSpace(l), "=")
		got[name] = value
	}
	for name, want := range map[string]string{
		"obeys.start": "0", "obeys.ActiveState": "active", "obeys.StatusText": "serving as obeys", "obeys.TimeoutStopUSec": "2s",
		"obeys.after":     "success inactive",
		"obeys.NRestarts": "1", "obeys.Result": "success", "obeys.failed": "active", // G1
		"held.NRestarts": "0", "held.ActiveState": "failed",
		"deaf.Result": "timeout", "slow.Result": "success",
		"silent.Result": "watchdog", // a sign of life in a stop arms it again: Notifier.Run has to go on until the end
		"wedged.Result": "watchdog", "wedged.ExecMainStatus": "2", "wedged.NRestarts": "1",
		"left": "0",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	between := func(name string, low, high time.Duration) {
		t.Helper()
		took, err := time.ParseDuration(got[name] + "ms")
		if err != nil || took < low || took > high {
			t.Errorf("%s is %q, want %s to %s", name, got[name], low, high)
		}
	}
	between("obeys.stop_ms", 0, 1900*time.Millisecond)
	between("deaf.stop_ms", 2*time.Second, 20*time.Second)
	between("slow.stop_ms", 3*time.Second, 20*time.Second)

	var f found
	text, err := os.ReadFile(filepath.Join(home, "obeys.json"))
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	want := found{Manager{Systemd, "obeys.service", false}, 2 * time.Second, SourceSystemd, "<nil>", time.Second}
	if err != nil || f != want {
		t.Errorf("the service found %+v (%v), want %+v", f, err, want)
	}
	if _, err := os.Stat(filepath.Join(home, "obeys.termed")); err == nil {
		t.Error("the tool was sent TERM at the same moment as the gateway (KillMode=mixed)")
	}
}
