package main

import (
	"strings"
	"testing"
)

func TestAttachNeedsAGatewayAndATerminal(t *testing.T) {
	t.Run("no home", func(t *testing.T) {
		invocation{home: "/nonexistent"}.run(t, t.Context(), "attach").must(t, exitNoGateway).says(t, "no gateway runs here", "start one with gatewaytui")
	})
	t.Run("a home without a gateway", func(t *testing.T) {
		invocation{home: newHome(t).Dir()}.run(t, t.Context(), "attach").must(t, exitNoGateway).says(t, "no gateway runs here")
	})
	t.Run("no terminal", func(t *testing.T) {
		start(t, newFake()).run(t, "attach").must(t, exitUsage).says(t, "the console needs a terminal, and stdin is no terminal", "gatewaytui watch", "gatewaytui status", "attach --plain")
	})
	t.Run("JSON", func(t *testing.T) {
		start(t, newFake()).run(t, "attach", "--json").must(t, exitUsage).says(t, `"a console has no JSON"`, "gatewaytui watch --json")
	})
}

func TestLinesNeedNoTerminal(t *testing.T) {
	l := start(t, newFake())
	r := invocation{home: l.home.Dir(), stdin: "sessions\nreset 2\ny\nquit\n"}.run(t, t.Context(), "attach", "--plain").must(t, exitDone)
	r.says(t, "plain mode (from --plain)", "2. cli:local: running", "reset cli:local would", "detached; the gateway (pid 4121) keeps running")
	if did := l.commands(); len(did) != 1 || did[0].Expect != "s2" {
		t.Errorf("the gateway was asked %+v", did)
	}
}

// The gateway refuses a reader what would change something; it is not the console that may be trusted with that.
func TestTheServerHoldsReadersToReading(t *testing.T) {
	l := start(t, newFake())
	r := invocation{home: l.home.Dir(), stdin: "sessions\nreset 2\ny\ndrain\nsend 2 hello\nquit\n"}.run(t, t.Context(), "attach", "--plain", "--read-only").must(t, exitDone)
	if n := strings.Count(r.out, "Not done: "); n != 3 || !strings.Contains(r.out, "read-only") {
		t.Errorf("%d of 3 commands were refused:\n%s", n, r.out)
	}
	if did := l.commands(); len(did) != 0 {
		t.Errorf("a reader did %+v", did)
	}
}
