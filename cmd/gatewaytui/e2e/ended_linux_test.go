package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

type pastLife struct {
	Life, Outcome, Reason, By string
	StartedAt                 time.Time  `json:"started_at"`
	EndedAt                   *time.Time `json:"ended_at"`
	LastSeenAt                time.Time  `json:"last_seen_at"`
}

func pastLives(t *testing.T, home string) []pastLife {
	t.Helper()
	out, code := verb(t, home, "history", "--json")
	out, _, _ = strings.Cut(out, "\n")
	var page struct{ Items []pastLife }
	if err := json.Unmarshal([]byte(out), &page); err != nil || code != 0 {
		t.Fatalf("history: %d, %v: %s", code, err, out)
	}
	return page.Items
}

// TF20, TF25: how a life ended can be asked while no gateway runs, and a life that was killed lasted until it was last seen.
func TestHowALifeEndedCanBeAskedWhenNoGatewayRuns(t *testing.T) {
	t.Parallel() // it mostly waits
	home := newHome(t)
	g := start(t, home, quick)
	if _, status := g.chat("a", "slow 2"); status != http.StatusOK { // its answer is committed 2 s after the start, or later
		t.Fatalf("answered %d", status)
	}
	answered := time.Now()
	g.kill()

	out, code := verb(t, home, "status")
	if code != 3 || !strings.Contains(out, "gateway     down") || !strings.Contains(out, "last end    crashed") || !strings.Contains(out, g.life) {
		t.Errorf("status of a killed gateway: %d %s", code, out)
	}
	if past := pastLives(t, home); len(past) != 1 || past[0].Life != g.life || past[0].Outcome != "crashed" || past[0].LastSeenAt.Sub(past[0].StartedAt) < 500*time.Millisecond {
		t.Errorf("the killed life is %+v", past)
	}

	next := start(t, home, quick)
	past := pastLives(t, home)
	if len(past) != 2 || past[1].Life != g.life || past[1].Outcome != "crashed" {
		t.Fatalf("the lives are %+v", past)
	}
	if lasted := past[1].LastSeenAt.Sub(past[1].StartedAt); lasted < 2*time.Second || past[1].LastSeenAt.After(answered) {
		t.Errorf("it answered at %s after at least 2 s, and is said to have lasted %s, until %s", answered, lasted, past[1].LastSeenAt)
	}
	if out, code := next.verb("stop", "--yes", "--wait", "--reason", "the night shift"); code != 0 {
		t.Fatalf("stop: %d %s", code, out)
	}
	next.exit()
	past = pastLives(t, home)
	if len(past) != 2 || past[0].Life != next.life || past[0].Outcome != "clean" || past[0].Reason != "the night shift" || !strings.HasPrefix(past[0].By, "uid ") || past[0].EndedAt == nil {
		t.Errorf("after the stop the lives are %+v", past)
	}
	if out, code := verb(t, home, "status"); code != 3 || !strings.Contains(out, "last end    clean: the night shift, ") {
		t.Errorf("status after the stop: %d %s", code, out)
	}
}
