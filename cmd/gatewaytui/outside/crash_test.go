package outside

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// kills is how many lives TestKillsAtRandomMoments ends.
const kills = 200

// A19, D14, F1: after a SIGKILL at any moment under load the next life starts, every answered message is in the store,
// no turn is shown as running, and the database is whole.
func TestKillsAtRandomMoments(t *testing.T) {
	if _, err := exec.LookPath("sqlite3"); err != nil {
		t.Skip("sqlite3, which looks at the database afterwards, is missing")
	}
	home := newHome(t)
	var answered atomic.Int64
	for n := range kills {
		g := start(t, home, quick)
		var all sync.WaitGroup
		gone := make(chan struct{})
		for c := range 4 {
			all.Go(func() { answered.Add(load(g.api, fmt.Sprintf("user%d", c), gone)) })
		}
		<-time.After(time.Duration(rand.IntN(60)) * time.Millisecond) // the moment is random, not waited for
		if err := g.cmd.Process.Kill(); err != nil {
			t.Fatalf("life %d: %v", n, err)
		}
		<-g.exited
		close(gone)
		all.Wait()
	}
	g := start(t, home, quick)
	var h struct {
		Items []struct{ Life, Outcome string }
	}
	g.socket(http.MethodGet, "/v1/history?limit=200", nil, &h)
	for _, l := range h.Items[1:] {
		if l.Outcome != "crashed" {
			t.Errorf("life %s is %s, want crashed", l.Life, l.Outcome)
		}
	}
	var s struct {
		Counts struct {
			RunningTurns int `json:"running_turns"`
		}
	}
	g.socket(http.MethodGet, "/v1/status", nil, &s)
	if s.Counts.RunningTurns != 0 {
		t.Errorf("%d turns are shown as running", s.Counts.RunningTurns)
	}
	if code, _ := g.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	db := filepath.Join(home, "gateway.db")
	out, err := shell(home, "sqlite3 "+db+" 'pragma integrity_check; select count(*) from turns where state = \"running\"; select count(*) from turns where state = \"done\"'")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var whole string
	var running, done int64
	if _, err := fmt.Sscan(out, &whole, &running, &done); err != nil || whole != "ok" || running != 0 {
		t.Fatalf("the database says %q, %v", out, err)
	}
	t.Logf("%d lives killed, %d messages answered, %d turns done", kills, answered.Load(), done)
	if done < answered.Load() {
		t.Fatalf("%d messages were answered and only %d turns are in the store", answered.Load(), done)
	}
}

// load sends messages until the gateway is gone, and returns how many were answered.
func load(api, user string, gone <-chan struct{}) (answered int64) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	body, _ := json.Marshal(map[string]any{"model": "any", "user": user, "messages": []map[string]string{{"role": "user", "content": "hello"}}})
	for {
		select {
		case <-gone:
			return answered
		default:
		}
		res, err := client.Post("http://"+api+"/v1/chat/completions", "application/json", bytes.NewReader(body))
		if err != nil {
			return answered
		}
		_, err = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if err != nil {
			return answered
		}
		if res.StatusCode == http.StatusOK {
			answered++
		}
	}
}

// E12, D19: a chat's message that waits behind a turn is answered by the next life after a SIGKILL, and the one that was
// being worked on is reported, not done again.
func TestE12_AChatIsAnsweredAfterAKill(t *testing.T) {
	home := newHome(t)
	demo := []string{"--demo-platforms", "harbour=good:slow 30", "--log-level", "debug"}
	g := start(t, home, quick, demo...)
	started := g.await("a chat's turn begins", func(l line) bool { return l.text("msg") == "turn started" })
	g.running(started.text("session"), "model call")
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	g.exit()
	next := start(t, home, quick, demo...)
	next.await("what was left is taken up", func(l line) bool {
		return l.text("msg") == "taken up from earlier lives" && l.number("reported") == 1
	})
	next.await("its sender is told", func(l line) bool { return l.text("msg") == "demo.sent" })
	var page struct{ Items []struct{ Key, State string } }
	next.socket(http.MethodGet, "/v1/sessions", nil, &page)
	found := false
	for _, s := range page.Items {
		found = found || s.Key == started.text("session")
	}
	if !found {
		t.Fatalf("session %s is not kept: %+v", started.text("session"), page.Items)
	}
	next.signal(15)
	next.signal(15) // what talks there is slow
	if code := next.exit(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}
