package e2e

import (
	"os/exec"
	"strings"
	"testing"

	"gatewaytui/fixtures/soak"
)

// TR6: with a list of hosts a command of the built program has a way to them alone, and reads which key of the config would allow another one.
func TestTR6_ACommandIsAnsweredWhichHostIsNotOnItsList(t *testing.T) {
	if out, err := exec.Command(soak.Peer(t, "bwrap", "bubblewrap"), "--unshare-all", "--ro-bind", "/", "/", "true").CombinedOutput(); err != nil {
		soak.Missing(t, "runs where bubblewrap works: %v %s", err, out)
	}
	soak.Peer(t, "curl", "curl")
	g := start(t, newHome(t), quick+`
[agents.default]
approvals = "off"
environment = "box"
[environments.box]
kind = "sandbox"
network = ["pypi.org"]
`)
	for command, want := range map[string]string{
		"curl -sS http://evil.example/":                          "the host evil.example is not on the list of this environment; its owner can add it to environments.box.network",
		"curl -sS --noproxy '*' http://" + g.api + " || echo $?": "7",
		"NO_PROXY= no_proxy= curl -sS http://" + g.api:           "is not on the list",
		"ls /sys/class/net /proc/self/fd; kill -TERM $$":         "143",
	} {
		if reply := g.toolOutput(command); !strings.Contains(reply, want) {
			t.Errorf("%s: answered %q, want %q", command, reply, want)
		}
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if left, _ := shell(g.home, "ls environments/proxies"); strings.TrimSpace(left) != "" {
		t.Errorf("left of the proxies: %s", left)
	}
}
