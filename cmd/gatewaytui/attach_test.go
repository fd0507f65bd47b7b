package main

import (
	"strings"
	"testing"

	"gatewaytui/core/lives"
	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
)

func TestAttachNeedsAGatewayAndATerminal(t *testing.T) {
	t.Run("no home", func(t *testing.T) {
		invocation{home: "/nonexistent"}.run(t, t.Context(), "attach").must(t, exitNoGateway).says(t, "no gateway runs here", "start one with gatewaytui")
	})
	t.Run("a home without a gateway", func(t *testing.T) {
		invocation{home: newHome(t).Dir()}.run(t, t.Context(), "attach").must(t, exitNoGateway).says(t, "no gateway runs here")
	})
	t.Run("no terminal", func(t *testing.T) {
		start(t, newFake()).run(t, "attach").must(t, exitUsage).says(t, "the console needs a terminal, and stdin is not a terminal", "gatewaytui watch", "gatewaytui status", "attach --plain")
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

// TF42: a console that outlives its gateway reads the report where it is complete, and takes no other stop's for it.
func TestAConsoleThatOutlivesItsGatewayReadsTheReport(t *testing.T) {
	l := start(t, newFake())
	g, err := (&program{home: l.home.Dir(), getenv: func(string) string { return "" }}).reach()
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	o := remote.Console{Gateway: g}
	if _, err := o.Shutdown(t.Context()); !ops.HasCode(err, ops.CodeNotFound) {
		t.Errorf("of a gateway that lives and does not stop: %v", err)
	}
	report := stopReport()
	report.Life = fakeLife
	if err := (lives.Files{Dir: l.home.Dumps(), Life: fakeLife}).SaveReport(*report); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Shutdown(t.Context()); !ops.HasCode(err, ops.CodeNotFound) {
		t.Errorf("the file is asked while the gateway answers: %v", err)
	}
	l.leave()
	got, err := o.Shutdown(t.Context())
	if err != nil || got.ID != report.ID || len(got.Phases) != 2 || len(got.Phases[1].Items) != 1 {
		t.Errorf("of a gateway that is gone: %+v, %v", got, err)
	}
	seen := *report
	seen.Phases = nil
	if got := o.Complete(seen); len(got.Phases) != 2 {
		t.Errorf("what the console saw is completed to %+v", got)
	}
	seen.ID = "another"
	if got := o.Complete(seen); got.ID != "another" || got.Phases != nil {
		t.Errorf("another stop is completed to %+v", got)
	}
	*report = *stopReport()
	report.Life, report.EndedAt, report.Outcome = fakeLife, ops.Time{}, ops.ShutdownRunning
	if err := (lives.Files{Dir: l.home.Dumps(), Life: fakeLife}).SaveReport(*report); err != nil {
		t.Fatal(err)
	}
	if got, err := o.Shutdown(t.Context()); !remote.Unreachable(err) {
		t.Errorf("a stop that was cut short is reported as if it had ended: %+v, %v", got, err)
	}
}
