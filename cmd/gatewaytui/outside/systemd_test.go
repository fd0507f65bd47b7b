package outside

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// labVariable names a program that runs a script beside a systemd of its own: LAB UNITS SCRIPT, exit code 77 where the
// machine cannot.
const labVariable = "GATEWAYTUI_SYSTEMD_LAB"

// The gateway's own unit under a real systemd: ready when it says so, a stop with a hanging adapter in time and a success, a
// restart by exit code 75, back after a SIGKILL with nothing left (A3, G1, G2, G5).
func TestUnderARealSystemd(t *testing.T) {
	lab := os.Getenv(labVariable)
	if lab == "" {
		t.Skipf("%s names no program that runs a systemd; it runs where it does", labVariable)
	}
	dir := newHome(t)
	home, config := filepath.Join(dir, "home"), filepath.Join(dir, "config.toml")
	put := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	put(config, quick+"[adapters.api]\nlisten = \"127.0.0.1:0\"\n")
	unit, code := verb(t, home, "unit", "systemd", "--system", "--config", config)
	if code != 0 {
		t.Fatalf("unit: %d %s", code, unit)
	}
	unit = unit[strings.Index(unit, "[Unit]"):]
	hanging := strings.Replace(unit, "--no-tui", "--no-tui --demo-platforms dock=hang-disconnect", 1)
	put(filepath.Join(dir, "units", "gatewaytui.service"), hanging)
	put(filepath.Join(dir, "script.sh"), `
g() { `+binary+` --home `+home+` "$@"; }
show() { systemctl show -p "$1" --value gatewaytui; }
systemctl start gatewaytui; echo "started: $(show ActiveState), $(show StatusText)"
g status | grep supervisor
g send "bg: setsid sleep 5555"
systemctl stop gatewaytui; echo "stopped: $(show Result)"
pgrep -f "sleep 5555" || echo "nothing is left"
systemctl start gatewaytui
g restart --yes; echo "restarted: $(show Result), $(show NRestarts)"
g send "bg: setsid sleep 6666"
systemctl kill -s KILL --kill-whom=main gatewaytui
for i in $(seq 100); do g status >/dev/null 2>&1 && break; sleep 0.1; done
echo "killed: $(show ActiveState)"
pgrep -f "sleep 6666" || echo "nothing is left of the killed"
g history
systemctl stop gatewaytui
`)
	out, err := exec.Command(lab, filepath.Join(dir, "units"), filepath.Join(dir, "script.sh")).CombinedOutput()
	if e, is := errors.AsType[*exec.ExitError](err); is && e.ExitCode() == 77 {
		t.Skipf("this machine runs no systemd of its own: %s", out)
	}
	for _, want := range []string{
		"started: active, running, 2 of 2 adapters connected", "systemd (gatewaytui.service), allows a stop", "stopped: success",
		"nothing is left\n", "restarted: success, 1", "killed: active", "nothing is left of the killed", "crashed",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not say %q", want)
		}
	}
	t.Logf("%v\n%s", err, out)
}
