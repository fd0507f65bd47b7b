package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// readyz is the answer to a supervisor's question for readiness, and its reason when it is not ready.
func (g *gateway) readyz() (status int, reason string) {
	g.t.Helper()
	status = g.socket(http.MethodGet, "/readyz", nil, &reason)
	return status, reason
}

// warning is the text of the first warning with code; empty: there is none.
func (g *gateway) warning(code string) string {
	g.t.Helper()
	var st struct {
		Warnings []struct{ Code, Message string }
	}
	g.socket(http.MethodGet, "/v1/status", nil, &st)
	for _, w := range st.Warnings {
		if w.Code == code {
			return w.Message
		}
	}
	return ""
}

// HF13: a gateway whose database is gone says that it is not ready, and why, before a message is sent.
func TestHF13_AGatewayWithoutItsDatabaseIsNotReady(t *testing.T) {
	g := start(t, newHome(t), quick)
	if status, reason := g.readyz(); status != http.StatusOK {
		t.Fatalf("a sound gateway answers %d %s", status, reason)
	}
	if err := os.Remove(filepath.Join(g.home, "gateway.db")); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "it is not ready", func() bool { status, _ := g.readyz(); return status == http.StatusServiceUnavailable })
	if _, reason := g.readyz(); !strings.Contains(reason, "replaced or deleted") || strings.Contains(reason, g.home) {
		t.Errorf("the reason is %q", reason)
	}
	if w := g.warning("store"); !strings.Contains(w, "start the gateway again") {
		t.Errorf("the warning is %q", w)
	}
}

// HF13: a disk that fails ends readiness with the first write that it refuses; once it works again the gateway is ready by
// itself.
func TestHF13_ReadinessFollowsTheDisk(t *testing.T) {
	t.Parallel() // it mostly waits
	soak.Long(t)
	g := start(t, newHome(t), quick)
	repair := g.inject("error=EIO")
	if reply, status := g.chat("a", "hello"); status == http.StatusOK {
		t.Fatalf("a message was acknowledged on a broken disk: %q", reply)
	}
	if status, reason := g.readyz(); status != http.StatusServiceUnavailable || !strings.Contains(reason, "I/O error") {
		t.Errorf("readyz answers %d %q", status, reason)
	}
	if w := g.warning("store"); !strings.Contains(w, "takes nothing") {
		t.Errorf("the warning is %q", w)
	}
	repair()
	eventually.True(t, "it is ready again", func() bool { status, _ := g.readyz(); return status == http.StatusOK })
	if w := g.warning("store"); w != "" {
		t.Errorf("the warning stays: %q", w)
	}
	if reply, status := g.chat("a", "hello"); status != http.StatusOK {
		t.Errorf("a message is answered %d %q", status, reply)
	}
}

// HF22: a disk that takes 3 s for each fsync fails no turn, however many wait for it.
func TestHF22_ASlowDiskFailsNoTurn(t *testing.T) {
	t.Parallel() // it mostly waits
	soak.Long(t)
	g := start(t, newHome(t), quick)
	g.inject("delay_exit=3000000")
	var mu sync.Mutex
	var failed []string
	var turns sync.WaitGroup
	for i := range 20 {
		turns.Go(func() {
			if reply, status := g.chat(fmt.Sprint("user", i), "hello"); status != http.StatusOK {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, fmt.Sprintf("%d %s", status, reply))
			}
		})
	}
	turns.Wait()
	if len(failed) > 0 {
		slices.Sort(failed)
		t.Errorf("%d of 20 turns failed: %s", len(failed), failed[0])
	}
	if status, reason := g.readyz(); status != http.StatusOK {
		t.Errorf("a slow store makes readyz answer %d %q", status, reason)
	}
	if w := g.warning("store"); !strings.Contains(w, "store is slow: p99") {
		t.Errorf("the warning is %q", w)
	}
}

// HF29: a database that is truncated under the gateway takes no further message, and its next start says what to do once,
// with the exit code that service managers do not retry (HF24).
func TestHF29_ATruncatedDatabaseIsNoticedAndNotRetried(t *testing.T) {
	home := newHome(t)
	g := start(t, home, quick)
	db := filepath.Join(home, "gateway.db")
	var size int64
	eventually.True(t, "the database has pages", func() bool {
		g.chat("a", strings.Repeat("x", 500<<10))
		fi, err := os.Stat(db)
		size = fi.Size()
		return err == nil && size > 2<<20
	})
	eventually.True(t, "the size was seen", func() bool { status, _ := g.readyz(); return status == http.StatusOK })
	if err := os.Truncate(db, size/2); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "it is not ready", func() bool { status, _ := g.readyz(); return status == http.StatusServiceUnavailable })
	eventually.True(t, "a message is refused", func() bool { _, status := g.chat("b", "hello"); return status == http.StatusServiceUnavailable })
	if w := g.warning("store.read_only"); !strings.Contains(w, "truncated under the running gateway") {
		t.Errorf("the warning is %q", w)
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("the stop exits %d", code)
	}
	next := spawn(t, home, quick)
	if code := next.exit(); code != 78 {
		t.Errorf("the next start exits %d, want 78", code)
	}
	if said := next.output(); !strings.Contains(said, "--fresh-store") {
		t.Errorf("it does not say what to do:\n%s", said)
	}
}

// HF25: a planned stop on a full disk is a planned stop to the next life, and to those who ask before it.
func TestHF25_APlannedStopOnAFullDiskIsPlanned(t *testing.T) {
	home := newHome(t)
	smallDisk(t, home)
	g := start(t, home, quick)
	if reply, status := g.chat("a", "hello"); status != http.StatusOK {
		t.Fatalf("answered %d %q", status, reply)
	}
	ballast := filepath.Join(home, "work", "ballast")
	_, _ = shell(home, "mkdir -p work; head -c 64M /dev/zero > work/ballast")
	eventually.True(t, "the store has no room", func() bool {
		_, status := g.chat("a", "echo "+strings.Repeat("x", 3000))
		return status != http.StatusOK
	})
	if out, code := g.verb("stop", "--yes", "--reason", "update"); code != 0 {
		t.Errorf("stop: %d %s", code, out)
	}
	if code := g.exit(); code != 0 {
		t.Errorf("the stop exits %d", code)
	}
	if out, code := verb(t, home, "status"); code != 3 || strings.Contains(out, "crash") || !strings.Contains(out, "update") {
		t.Errorf("status without a gateway: %d %s", code, out)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	next := start(t, home, quick)
	var h struct {
		Items []struct{ Life, Outcome, Reason string }
	}
	next.socket(http.MethodGet, "/v1/history", nil, &h)
	if last := h.Items[1]; last.Life != g.life || last.Outcome == "crashed" || last.Reason != "update" {
		t.Errorf("the last life is %+v, want a planned end for an update", last)
	}
	next.stopsClean()
}
