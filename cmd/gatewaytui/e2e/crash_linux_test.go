package e2e

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gatewaytui/core/adapter/telegram/botapitest"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// A19, C2, D14, F1: after a SIGKILL at any moment under load nothing that the life had started is left within 2 s. The next
// life starts, every answered message is in the store, no turn is shown as running, and the database is whole.
func TestKillsAtRandomMoments(t *testing.T) {
	t.Parallel() // it mostly waits
	soak.Peer(t, "sqlite3", "Debian package sqlite3")
	kills := soak.Count(t, 15, 200)
	home := newHome(t)
	var answered atomic.Int64
	for n := range kills {
		g := start(t, home, quick)
		g.job("job", "setsid sleep 1007 & sleep 1008")
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
		g.leavesNothing()
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

// leavesNothing proves that what a killed gateway had started is gone 2 s later.
func (g *gateway) leavesNothing() {
	g.t.Helper()
	const most = 2 * time.Second
	for until := time.Now().Add(most); ; <-time.After(5 * time.Millisecond) {
		left := marked(g.t, g.life)
		if len(left) == 0 {
			return
		}
		if time.Now().After(until) {
			g.t.Fatalf("%v after its SIGKILL there is left:\n%s", most, strings.Join(left, "\n"))
		}
	}
}

// load sends messages until the gateway is gone, and returns how many were answered.
func load(api, user string, gone <-chan struct{}) (answered int64) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for {
		select {
		case <-gone:
			return answered
		default:
		}
		res, err := post(context.Background(), client, api, user, asking("hello"))
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

// E12, D19, E15: after a SIGKILL what waited for a chat's turn is answered by the next life, once; what was being worked
// on, in the conversation or in the background, is reported, once, and not done again. Updates that come again change nothing.
func TestE12_AChatIsAnsweredAfterAKill(t *testing.T) {
	t.Parallel() // it mostly waits
	const token = "1:secret"
	bot := botapitest.New(token)
	t.Cleanup(bot.Close)
	home := newHome(t)
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	config := quick + fmt.Sprintf("[adapters.telegram]\nenabled = true\ntoken_env = \"\"\ntoken_file = %q\nbase_url = %q\nallow_all = true\n", tokenFile, bot.URL)
	said := func(text string) (n int) {
		for _, m := range bot.Sent() {
			if strings.Contains(m.Text, text) {
				n++
			}
		}
		return n
	}
	keys := func(g *gateway) (out []string) {
		var page struct{ Items []struct{ Key string } }
		g.socket(http.MethodGet, "/v1/sessions", nil, &page)
		for _, s := range page.Items {
			out = append(out, s.Key)
		}
		return out
	}
	var updates []botapitest.Update
	say := func(text string) {
		u := botapitest.Update{User: 7, Text: text}
		u.ID = bot.Inject(u)
		updates = append(updates, u)
	}

	g := start(t, home, config)
	say("slow 600")
	started := g.await("the chat's turn begins", func(l line) bool { return l.text("msg") == "turn started" })
	key := started.text("session")
	g.running(key, "model call")
	say("/background slow 600")
	eventually.True(t, "the task is taken", func() bool { return said("Working on it in the background") == 1 && len(keys(g)) == 2 })
	say("echo the second")
	eventually.True(t, "its sender sees that it waits", func() bool { return bot.Reaction(7, updates[2].ID) == "👀" })
	say("/queue echo the third")
	g.await("both wait", func(l line) bool { return l.text("msg") == "message waits" && l.number("position") == 2 })
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	g.exit()

	next := start(t, home, config)
	next.await("what was left is resumed", func(l line) bool {
		return l.text("msg") == "recovered pending work" && l.number("reported") == 2 && l.number("messages") == 2
	})
	for _, u := range updates {
		bot.Inject(u)
	}
	say("echo the last")
	eventually.True(t, "the last message is answered", func() bool { return said("the last") > 0 })
	for text, want := range map[string]int{
		"The gateway ended while it worked on this message": 1, "The gateway ended while it worked on your /background task": 1,
		"the second": 1, "the third": 1, "the last": 1,
	} {
		if n := said(text); n != want {
			t.Errorf("the chat got %q %d times, want %d: %+v", text, n, want, bot.Sent())
		}
	}
	if got := keys(next); len(got) != 1 || got[0] != key {
		t.Errorf("listed are %q, want %s alone", got, key)
	}
	if code, _ := next.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}
