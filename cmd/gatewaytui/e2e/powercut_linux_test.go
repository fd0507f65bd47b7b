package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gatewaytui/fixtures/powercut"
	"gatewaytui/fixtures/soak"
)

// Gaps in kind: a SIGKILL loses no page of the kernel, a power cut does. All that the API had acknowledged when the power went
// is in the next life's conversations, and the database that the cut left is whole.
func TestPowerCutsUnderFullLoadLoseNothingAcknowledged(t *testing.T) {
	t.Parallel() // it mostly waits
	soak.Long(t)
	cuts := soak.Count(t, 3, 20)
	home := newHome(t)
	disk := powercut.New(t, home, 256)
	config := modelAt(mirror(t).URL, quick)
	var said ledger
	before := 0
	for n := range cuts {
		g := start(t, home, config)
		if n > 0 {
			for _, line := range said.lost(g, fmt.Sprintf("cut%d.", n-1)) {
				t.Errorf("cut %d: acknowledged and lost: %s", n-1, line)
			}
		}
		end := said.load(g.api, fmt.Sprintf("cut%d", n), 16)
		t.Cleanup(end)
		said.underLoad(t, 300)
		<-time.After(time.Duration(rand.IntN(500)) * time.Millisecond) // the moment is random, not waited for
		disk.Cut()
		<-time.After(time.Duration(rand.IntN(50)) * time.Millisecond) // the program meets the dead disk, or it does not
		if err := g.cmd.Process.Kill(); err != nil {
			t.Fatalf("cut %d: %v", n, err)
		}
		<-g.exited
		end()
		g.leavesNothing()
		disk.Restore()
		whole(t, home)
		t.Logf("cut %d: %d acknowledged", n, said.count()-before)
		before = said.count()
	}
	g := start(t, home, config)
	lost := said.lost(g, "cut") // also what the cuts since then could have taken
	for _, line := range lost {
		t.Errorf("acknowledged and lost: %s", line)
	}
	t.Logf("%d power cuts, %d messages acknowledged, %d lost", cuts, said.count(), len(lost))
	if code, _ := g.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// whole fails unless a copy of the database of home, which no gateway has open, passes SQLite's integrity check. The copy is
// opened and not the database, whose next reader is to find it as it was left.
func whole(t testing.TB, home string) {
	t.Helper()
	to := t.TempDir()
	for _, name := range []string{"gateway.db", "gateway.db-wal"} {
		b, err := os.ReadFile(filepath.Join(home, name))
		if os.IsNotExist(err) && name != "gateway.db" {
			continue // a stop that came to its end has taken it
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	db := database(t, to)
	defer db.Close()
	var verdict string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("the database is %q, %v", verdict, err)
	}
}
