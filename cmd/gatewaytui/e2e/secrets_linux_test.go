package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// startUnprivileged is start as a user without rights: root may read every process, and would see none of what these tests
// are about. before are lines of bash that run first.
func startUnprivileged(t *testing.T, before, config string) *gateway {
	t.Helper()
	base := newHome(t)
	home := filepath.Join(base, "home")
	if os.Geteuid() != 0 {
		return startUnder(t, before+"\nexec \"$@\"", home, config)
	}
	setpriv := soak.Peer(t, "setpriv", "util-linux")
	wrapper := before + `
cp "$1" BASE/gatewaytui && cp "$6" BASE/config.toml && chown -R 65534:65534 BASE || exit 1
exec SETPRIV --reuid=65534 --regid=65534 --clear-groups BASE/gatewaytui --no-tui --home "$4" --config BASE/config.toml "${@:7}"`
	return startUnder(t, strings.NewReplacer("BASE", base, "SETPRIV", setpriv).Replace(wrapper), home, config)
}

// toolOutput runs a command as a tool and returns what it said, in the answer to its turn.
func (g *gateway) toolOutput(command string) string {
	g.t.Helper()
	reply, status := g.chat("reader", "sh: "+command)
	if status != http.StatusOK {
		g.t.Fatalf("sh: %s: answered %d %q", command, status, reply)
	}
	return reply
}

// HF2: a tool, which runs as the gateway's user, reads neither the environment nor the memory of the gateway or of its
// guardian, and traces neither. The tool itself stays readable.
func TestHF2_AToolReadsNothingOfItsGateway(t *testing.T) {
	const secret = "value-of-the-model-key"
	t.Setenv("MODEL_KEY", secret)
	g := startUnprivileged(t, "", "[model]\nprovider = \"scripted\"\napi_key_env = \"MODEL_KEY\"\n")
	guardian := ""
	eventually.True(t, "the guardian is there", func() bool {
		guardian = strings.TrimSpace(g.toolOutput(`for p in $(cat /proc/$PPID/task/*/children); do read -d "" -r n </proc/$p/cmdline; case $n in "gatewaytui: guardian"*) echo $p;; esac; done`))
		return guardian != ""
	})
	for who, pid := range map[string]string{"the gateway": "$PPID", "the guardian": guardian} {
		for _, file := range []string{"environ", "mem", "maps", "auxv"} {
			reply := g.toolOutput("cat /proc/" + pid + "/" + file + " 2>&1 | tr '\\0' '\\n'")
			if !strings.Contains(reply, "Permission denied") || strings.Contains(reply, secret) {
				t.Errorf("a tool reads /proc/PID/%s of %s:\n%.300s", file, who, reply)
			}
		}
		if reply := g.toolOutput("ls /proc/" + pid + "/fd 2>&1"); !strings.Contains(reply, "Permission denied") {
			t.Errorf("a tool lists the descriptors of %s:\n%s", who, reply)
		}
		if _, err := exec.LookPath("strace"); err == nil {
			if reply := g.toolOutput("timeout 5 strace -p " + pid + " 2>&1 | head -3"); !strings.Contains(reply, "Operation not permitted") {
				t.Errorf("a tool traces %s:\n%s", who, reply)
			}
		}
	}
	if reply := g.toolOutput("tr '\\0' '\\n' </proc/$$/environ"); !strings.Contains(reply, "GATEWAYTUI_LIFE="+g.life) {
		t.Errorf("a tool does not read itself:\n%s", reply)
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// HF2 takes nothing from an operator: a gateway that only root can read is restarted and replaced all the same.
func TestHF2_AnUnreadableGatewayIsRestartedAndReplaced(t *testing.T) {
	g := startUnprivileged(t, "", quick)
	binary, as := filepath.Join(filepath.Dir(g.home), "gatewaytui"), []string{}
	if os.Geteuid() == 0 {
		as = []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", binary}
	} else {
		as = []string{g.cmd.Path}
	}
	verb := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), as[0], append(as[1:], append(args, "--home", g.home)...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v %s", args, err, out)
		}
		return string(out)
	}
	t.Cleanup(func() { // the later lives are not children of this test
		_ = exec.Command(as[0], append(as[1:], "stop", "--fast", "--wait", "--yes", "--home", g.home)...).Run()
	})
	if out := verb("restart", "--yes"); !strings.Contains(out, "restarted: life ") {
		t.Errorf("restart said %q", out)
	}
	if code := g.exit(); code != 75 {
		t.Errorf("the first life ended with %d, want 75", code)
	}
	second := history(t, g.home)[0]
	next := exec.Command(as[0], append(as[1:], "--no-tui", "--replace", "--home", g.home)...)
	next.Env = append(os.Environ(), "GATEWAYTUI_ADAPTERS_API_LISTEN=127.0.0.1:0", "HOME="+filepath.Dir(g.home))
	var said bytes.Buffer
	next.Stdout, next.Stderr = &said, &said
	if err := next.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- next.Wait() }() // ends with the life, which this test stops
	eventually.True(t, "the third life answers", func() bool {
		out, code := g.verb("history", "--json")
		var h struct{ Items []past }
		if code != 0 || json.Unmarshal([]byte(out), &h) != nil {
			return false // between two lives there is no answer
		}
		lives := h.Items
		return len(lives) == 3 && lives[0].Life != second.Life && lives[1].Outcome == "clean"
	})
	verb("stop", "--wait", "--yes")
	if err := <-ended; err != nil {
		t.Errorf("the third life ended with %v\n%s", err, &said)
	}
}

// HF32: what the gateway itself was started with reaches no tool.
func TestHF32_ADescriptorOfTheGatewayReachesNoTool(t *testing.T) {
	file := filepath.Join(t.TempDir(), "inherited")
	if err := os.WriteFile(file, []byte("for the gateway alone"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := startUnprivileged(t, "exec 7<"+file+" 8</dev/null", quick)
	fds := strings.Fields(g.toolOutput("for f in /proc/$$/fd/*; do echo ${f##*/}; done"))
	if !slices.Contains(fds, "2") || slices.Contains(fds, "7") || slices.Contains(fds, "8") {
		t.Errorf("a tool has the descriptors %v, of which 7 and 8 are the gateway's", fds)
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// HF8: of the gateway's environment tools see what tools.env_pass names, and the markers.
func TestHF8_ToolsSeeOnlyTheVariablesThatTheConfigNames(t *testing.T) {
	for _, name := range []string{"AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DATABASE_URL", "SSH_AUTH_SOCK", "NODE_OPTIONS", "UNKNOWN_TO_THE_CONFIG"} {
		t.Setenv(name, "canary")
	}
	t.Setenv("LC_MESSAGES", "C")
	seen := func(config string) string {
		g := start(t, newHome(t), config)
		defer g.stop()
		return g.toolOutput("env | cut -d= -f1 | sort | tr '\\n' ' '; env | grep -c canary")
	}
	if reply := seen(quick); !strings.Contains(reply, "LC_MESSAGES ") || !strings.Contains(reply, "PATH ") || !strings.Contains(reply, "GATEWAYTUI_LIFE ") || !strings.Contains(reply, " 0") {
		t.Errorf("by default a tool sees %s", reply)
	}
	reply := seen(quick + "\n[tools]\nenv_pass = [\"PATH\", \"*\", \"GITHUB_TOKEN\"]\n")
	for name, want := range map[string]bool{"GITHUB_TOKEN": true, "UNKNOWN_TO_THE_CONFIG": true, "AWS_SECRET_ACCESS_KEY": false, "NODE_OPTIONS": false, "SSH_AUTH_SOCK": false} {
		if strings.Contains(" "+reply, " "+name+" ") != want {
			t.Errorf("%s: seen %v, want %v, of %s", name, !want, want, reply)
		}
	}
}

// HF23: a secret of the gateway that a tool prints, from a file for instance, reaches neither the model, nor the chat, the
// rows, the log or the store.
func TestHF23_ASecretInToolOutputIsMaskedEverywhere(t *testing.T) {
	const secret, short = "value-of-the-model-key", "1234567"
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("API_KEY_OF_THE_TEST", short)
	home := newHome(t)
	g := start(t, home, quick+"[model]\napi_key_env = \"\"\napi_key_file = \""+file+"\"\n[adapters.telegram]\nenabled = false\ntoken_env = \"API_KEY_OF_THE_TEST\"\n")
	half := len(secret) / 2
	reply := g.toolOutput("cat " + file + "; printf " + secret[:half] + "; sleep 0.3; echo " + secret[half:] + "; head -c 200000 /dev/zero | tr '\\0' x; cat " + file)
	if strings.Contains(reply, secret) || strings.Count(reply, "[redacted]") != 3 {
		t.Errorf("the chat reads %d masks, and the secret: %v\n%.300s", strings.Count(reply, "[redacted]"), strings.Contains(reply, secret), reply)
	}
	if reply, status := g.chat("reader", "bg: cat "+file+"; sleep 300"); status != http.StatusOK {
		t.Fatalf("answered %d %q", status, reply)
	}
	eventually.True(t, "the row has the last line of the background process", func() bool {
		out, _ := g.verb("processes", "--json")
		if strings.Contains(out, secret) {
			t.Errorf("a row holds the secret: %s", out)
		}
		return strings.Contains(out, "[redacted]")
	})
	out, _ := g.verb("status", "--json")
	if !strings.Contains(out, "config.secret_short") || !strings.Contains(out, "API_KEY_OF_THE_TEST") || strings.Contains(out, short) {
		t.Errorf("a secret of seven characters gives no warning: %s", out)
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if strings.Contains(g.output(), secret) {
		t.Error("the log holds the secret")
	}
	for _, name := range []string{"gateway.db", "gateway.db-wal", "logs/gateway.jsonl"} {
		text, err := os.ReadFile(filepath.Join(home, name))
		if err == nil && strings.Contains(string(text), secret) {
			t.Errorf("%s holds the secret", name)
		}
	}
}
