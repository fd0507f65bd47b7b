package e2e

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// labVariable names a program that runs a script with a systemd of its own: LAB UNITS SCRIPT, exit code 77 where the
// machine cannot.
const labVariable = "GATEWAYTUI_SYSTEMD_LAB"

// labScript is what each script of these tests begins with. With say a script tells a value, with drop_in it changes the
// unit as systemctl edit does.
const labScript = `
[ -n "$BOUND" ] || BOUND=1 exec timeout -k 1 100 bash "$0"
say() { echo "$1=$2"; }
show() { systemctl show -p "$1" --value "${2:-gatewaytui}"; }
until_is() { for i in $(seq 200); do [ "$(show "$1" "$3")" = "$2" ] && return; sleep 0.1; done; say "$1 of ${3:-gatewaytui} stays" "$(show "$1" "$3")"; }
until_up() { for i in $(seq 200); do g status --json | grep -q '"state":"running"' && return; sleep 0.1; done; say "stays" "$(g status)"; }
until_runs() { for i in $(seq 200); do g sessions | grep -q " running .*$1" && return; sleep 0.1; done; say "no turn runs" "$1"; }
since() { say "$1" $(( ($(date +%s%N) - $2) / 1000000 )); }
drop_in() { d=$(show FragmentPath).d; mkdir -p "$d"; printf '[Service]\n%s\n' "$@" >"$d/test.conf"; systemctl daemon-reload; }
left() { say "$1" "$(pgrep -c -f "$2")"; }
`

// inLab runs the gateway's own unit under a systemd of the test's own, steered by a script, and returns what that said.
// args are added to the gateway's; more are further units, with $UNIT for the text of the gateway's.
func inLab(t *testing.T, config, args, script string, more map[string]func(unit string) string) map[string]string {
	t.Helper()
	lab := os.Getenv(labVariable)
	if lab == "" {
		t.Skipf("runs where %s names a program that runs a systemd", labVariable)
	}
	dir := newHome(t)
	home, file := filepath.Join(dir, "home"), filepath.Join(dir, "config.toml")
	put := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	put(file, config+"[adapters.api]\nlisten = \"127.0.0.1:0\"\n")
	unit, code := verb(t, home, "unit", "systemd", "--system", "--config", file)
	if code != 0 {
		t.Fatalf("unit: %d %s", code, unit)
	}
	unit = strings.Replace(unit[strings.Index(unit, "[Unit]"):], "--no-tui", "--no-tui "+args, 1)
	put(filepath.Join(dir, "units", "gatewaytui.service"), unit)
	for name, change := range more {
		put(filepath.Join(dir, "units", name), change(unit))
	}
	put(filepath.Join(dir, "script.sh"), labScript+"g() { "+binary+" --home "+home+` "$@"; }`+"\n"+script)
	out, err := exec.Command(lab, filepath.Join(dir, "units"), filepath.Join(dir, "script.sh")).CombinedOutput()
	if e, is := errors.AsType[*exec.ExitError](err); is && e.ExitCode() == 77 {
		t.Skipf("runs where a systemd can be started: %s", out)
	}
	t.Logf("%v\n%s", err, out)
	said := map[string]string{"": string(out)}
	for l := range strings.Lines(string(out)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(l), "="); ok {
			said[name] = value
		}
	}
	return said
}

// tells checks values that a script said, and texts anywhere in what it wrote.
func tells(t *testing.T, said, want map[string]string, texts ...string) {
	t.Helper()
	for name, value := range want {
		if said[name] != value {
			t.Errorf("%s is %q, want %q", name, said[name], value)
		}
	}
	for _, text := range texts {
		if !strings.Contains(said[""], text) {
			t.Errorf("it does not say %q", text)
		}
	}
}

// took checks a time that a script said, in milliseconds.
func took(t *testing.T, said map[string]string, name string, low, high int) {
	t.Helper()
	if ms, err := strconv.Atoi(said[name]); err != nil || ms < low || ms > high {
		t.Errorf("%s is %q ms, want %d to %d", name, said[name], low, high)
	}
}

// The gateway's own unit under a real systemd: ready when it says so, a stop with a hanging adapter in time and a success, a
// restart by exit code 75, back after a SIGKILL with nothing left (A3, G1, G2, G5).
func TestUnderARealSystemd(t *testing.T) {
	said := inLab(t, quick, "--demo-platforms dock=hang-disconnect", `
systemctl start gatewaytui; say started "$(show ActiveState), $(show StatusText)"
g status | grep supervisor
g send "bg: setsid sleep 5555"
systemctl stop gatewaytui; say stopped "$(show Result)"
left stopped.left "sleep 5555"
systemctl start gatewaytui
g restart --yes; say restarted "$(show Result), $(show NRestarts)"
g send "bg: setsid sleep 6666"
systemctl kill -s KILL --kill-whom=main gatewaytui
until_up; say killed "$(show ActiveState)"
left killed.left "sleep 6666"
g history
systemctl stop gatewaytui
`, nil)
	tells(t, said, map[string]string{
		"started": "active, running, 2 of 2 adapters connected", "stopped": "success", "stopped.left": "0",
		"restarted": "success, 1", "killed": "active", "killed.left": "0",
	}, "systemd (gatewaytui.service), allows a stop", "crashed")
}

// G6, C4: a gateway that stands still is ended by systemd's watchdog with ABRT; the next life is up, knows of it, and nothing
// of the last one is left.
func TestTheWatchdogEndsAGatewayThatStandsStill(t *testing.T) {
	said := inLab(t, quick, "", `
drop_in WatchdogSec=2
systemctl start gatewaytui
g send "bg: setsid sleep 5555"
sleep 5; say healthy "$(show NRestarts)"
first=$(show MainPID)
b=$(date +%s%N); kill -STOP $first
until_is Result watchdog; since ended_ms $b; say status "$(show ExecMainCode) $(show ExecMainStatus)"
left left "sleep 5555"
until_is NRestarts 1; until_up; say next "$(show ActiveState)"; [ "$(show MainPID)" != $first ] || say pid "the same"
g history
systemctl stop gatewaytui; say stopped "$(show Result)"
`, nil)
	tells(t, said, map[string]string{
		"healthy": "0", "left": "0", "next": "active", "stopped": "success", "pid": "",
		"status": "1 2", // it exited, with the code of a Go program that got ABRT; 2 9 would be a KILL
	}, "crashed")
	took(t, said, "ended_ms", 500, 20_000)
}

// A3: an operator's extension goes up to systemd's limit and not past it, systemd is notified, and the stop is still in time.
func TestAnExtensionEndsBeforeSystemdsLimit(t *testing.T) {
	said := inLab(t, quick, "", `
drop_in TimeoutStopSec=18
systemctl start gatewaytui
g send --no-wait "hang"; until_runs "model call"
b=$(date +%s%N); systemctl stop --no-block gatewaytui
for i in $(seq 100); do g shutdown extend --phase drain --by 60s && break; sleep 0.05; done
g shutdown extend --phase drain --by 60s
until_is ActiveState inactive; since stop_ms $b; say stopped "$(show Result)"
systemctl start gatewaytui
g history --json | grep -o '"outcome":"[a-z_]*"' | head -2
systemctl stop gatewaytui
`, nil)
	tells(t, said, map[string]string{"stopped": "success"}, "extended by ", "no room to extend phase drain", "kills 18s after the stop began", `"outcome":"clean"`)
	if strings.Contains(said[""], "extended by 1m0s") {
		t.Error("it was extended past systemd's limit")
	}
	took(t, said, "stop_ms", 3_000, 18_000) // without the extension the drain alone takes 2 s
}

// A3: systemd allows less than the config asks for. The start says so with both numbers, the plan shrinks, and the stop
// with all that hangs ends in time and as a success.
func TestATooSmallTimeoutStopSecShrinksThePlan(t *testing.T) {
	said := inLab(t, "", "--demo-platforms dock=hang-disconnect", `
drop_in TimeoutStopSec=10
systemctl start gatewaytui
g status; g plan | tail -12
g send --session api:user:hangs --no-wait "hang"; until_runs "model call"
g send "bg: trap '' TERM; while :; do sleep 7777; done"
b=$(date +%s%N); systemctl stop gatewaytui; since stop_ms $b; say stopped "$(show Result)"
left left "sleep 7777"
`, nil)
	tells(t, said, map[string]string{"stopped": "success", "left": "0"},
		"systemd (gatewaytui.service), allows a stop 10s (systemd)", "the service manager allows a stop 10s and the config asks for 1m28s", "limit       10s: it fits")
	took(t, said, "stop_ms", 0, 10_000)
}

// B4, S9: what does not get better by trying is tried once.
func TestSystemdDoesNotRetry69And78(t *testing.T) {
	more := map[string]func(string) string{
		"second.service": func(unit string) string { return unit },
		"wrong.service": func(unit string) string {
			return strings.Replace(unit, "GATEWAYTUI_STOP_BUDGET=", "GATEWAYTUI_SHUTDOWN_DRAIN_TIMEOUT=soon\"\nEnvironment=\"GATEWAYTUI_STOP_BUDGET=", 1)
		},
	}
	script := "systemctl start gatewaytui\n"
	want := map[string]string{"first": "active"}
	for unit, code := range map[string]string{"second": "69", "wrong": "78"} {
		script += "systemctl start " + unit + "; until_is ActiveState failed " + unit + "\n"
		maps.Copy(want, map[string]string{unit: "exit-code " + code, unit + ".starts": "0", unit + ".state": "failed"})
	}
	script += "sleep 4 # RestartSec= is 2\n"
	for _, unit := range []string{"second", "wrong"} {
		script += "say " + unit + ` "$(show Result ` + unit + `) $(show ExecMainStatus ` + unit + `)"; say ` + unit + `.starts "$(show NRestarts ` + unit + `)"; say ` + unit + `.state "$(show ActiveState ` + unit + ")\"\n"
	}
	script += "say first \"$(show ActiveState)\"; systemctl stop gatewaytui\n"
	tells(t, inLab(t, quick, "", script, more), want)
}

// C12: with KillMode=control-group systemd sends TERM to the tools at the same moment. A turn whose tool it ends is
// interrupted by the stop, and its tool did not fail. G5: what is wrong with the unit is a warning from the start on.
func TestC12_ATurnWhoseToolSystemdEndsIsInterrupted(t *testing.T) {
	said := inLab(t, quick, "", `
drop_in KillMode=control-group Restart=no
systemctl start gatewaytui
g status | grep warning
g send --session api:user:tool "sh: sleep 5555" & until_runs "terminal"
systemctl stop gatewaytui; say stopped "$(show Result)"; wait
left left "sleep 5555"
systemctl start gatewaytui; until_up
g sessions
systemctl stop gatewaytui
`, nil)
	tells(t, said, map[string]string{"stopped": "success", "left": "0"},
		"supervisor.killmode: systemd sends TERM to the tools", "supervisor.restart: systemd does not start it again after a failure (Restart=no)",
		"the turn was interrupted because the gateway is stopping")
	if !strings.Contains(said[""], "api:user:tool  interrupted") {
		t.Error("the turn is not recorded as interrupted")
	}
}
