package e2e

import (
	"fmt"
	"testing"

	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// F5, as SQLite tests its own files: the n-th write or the n-th fsync fails under load, once or from then on. What was
// acknowledged is in the next life's conversations, the database is whole, and the stop on such a disk ends in its bound with 0.
func TestAnErrorAtTheNthCallLosesNothingAcknowledged(t *testing.T) {
	t.Parallel() // it mostly waits
	soak.Long(t)
	rounds := soak.Count(t, 5, 100)
	home := newHome(t)
	config := modelAt(mirror(t).URL, quick)
	var said ledger
	for n := range rounds {
		g := start(t, home, config)
		if n > 0 {
			for _, line := range said.lost(g, fmt.Sprintf("round%d.", n-1)) {
				t.Errorf("round %d: acknowledged and lost: %s", n-1, line)
			}
		}
		calls := []string{"fsync,fdatasync", "pwrite64"}[n%2]
		errno := []string{"EIO", "ENOSPC"}[n/2%2]
		when := fmt.Sprint(1 + n*7%31) // every number up to 31, each thread's for itself
		if n%3 == 2 {
			when += "+" // and all after it
		}
		repair := g.injectInto(calls, "error="+errno+":when="+when)
		before, acknowledged := said.answers(), said.count()
		end := said.load(g.api, fmt.Sprintf("round%d", n), 8)
		t.Cleanup(end)
		if !eventually.Within(func() bool { return said.answers() >= before+100 }) {
			t.Errorf("round %d: only %d messages were answered", n, said.answers()-before)
		}
		code, took := g.stop()
		if code != 0 {
			t.Errorf("round %d, %s at call %s of %s: the stop ended with %d after %v", n, errno, when, calls, code, took)
		}
		end()
		repair()
		whole(t, home)
		t.Logf("round %d, %s at call %s of %s: %d of %d acknowledged", n, errno, when, calls, said.count()-acknowledged, said.answers()-before)
	}
	g := start(t, home, config)
	lost := said.lost(g, "round")
	for _, line := range lost {
		t.Errorf("acknowledged and lost: %s", line)
	}
	t.Logf("%d rounds, %d messages acknowledged, %d lost", rounds, said.count(), len(lost))
	if code, _ := g.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
