package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// acceptBound is how soon after the key that confirms it a command acts, at 200 turns a second. It is asserted in a soak,
// on a machine that does nothing else; elsewhere the figure is logged, and the test holds that one press is enough.
const acceptBound = 1500 * time.Millisecond

// clients talk to the api adapter until the test ends.
type clients struct {
	t    testing.TB
	api  string
	http http.Client

	ctx     context.Context
	running sync.WaitGroup
	answers atomic.Int64 // of any status
}

func newClients(t testing.TB, api string) *clients {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := &clients{t: t, api: api, ctx: ctx}
	c.http.Transport = &http.Transport{MaxIdleConnsPerHost: 1000}
	t.Cleanup(func() {
		cancel()
		c.running.Wait()
		c.http.CloseIdleConnections()
	})
	return c
}

// say sends one message of user and waits for its answer, which may be a refusal. It reports whether there was one.
func (c *clients) say(user, text string) bool {
	res, err := post(c.ctx, &c.http, c.api, user, asking(text))
	if err != nil {
		return false // the gateway has ended, or the test has
	}
	_, _ = io.Copy(io.Discard, res.Body) // so that the connection is used again
	res.Body.Close()
	c.answers.Add(1)
	return res.StatusCode < http.StatusInternalServerError
}

// loop is a client that sends its next message as soon as it has an answer.
func (c *clients) loop(user, text string) {
	c.running.Go(func() {
		for c.ctx.Err() == nil {
			if !c.say(user, text) {
				<-time.After(10 * time.Millisecond) // modelled: the pause of a client that was refused
			}
		}
	})
}

// storm sends so many messages a second, each of another user than those before it for a while, without waiting for answers.
func (c *clients) storm(perSecond int, text string) {
	const most = 1000 // at once
	room := make(chan struct{}, most)
	c.running.Go(func() {
		tick := time.NewTicker(time.Second / time.Duration(perSecond))
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-tick.C:
			case <-c.ctx.Done():
				return
			}
			select {
			case room <- struct{}{}:
			default:
				continue // the machine is slower than that
			}
			user := fmt.Sprintf("u%d", n%(5*perSecond))
			c.running.Go(func() {
				defer func() { <-room }()
				c.say(user, text)
			})
		}
	})
}

// answered waits until the clients have had n more answers.
func (c *clients) answered(n int64) {
	c.t.Helper()
	n += c.answers.Load()
	eventually.True(c.t, "the clients are answered", func() bool { return c.answers.Load() >= n })
}

// logLine waits for a line of the log file of home with all of the parts, written at since or later, and returns its time.
func logLine(t testing.TB, home string, since time.Time, parts ...string) (at time.Time) {
	t.Helper()
	eventually.True(t, fmt.Sprintf("the log has a line with %q", parts), func() bool {
		f, err := os.Open(filepath.Join(home, "logs", "gateway.jsonl"))
		if err != nil {
			return false
		}
		defer f.Close()
	lines:
		for in := bufio.NewScanner(f); in.Scan(); {
			for _, part := range parts {
				if !strings.Contains(in.Text(), part) {
					continue lines
				}
			}
			var l struct{ Time time.Time }
			if json.Unmarshal(in.Bytes(), &l) == nil && !l.Time.Before(since.Truncate(time.Millisecond)) {
				at = l.Time
				return true
			}
		}
		return false
	})
	return at
}

// confirm presses a key once, waits until its dialog takes keys, presses y once, and returns when the gateway acted: the time
// of the log line with the parts, counted from the y.
func (s *screen) confirm(home, key, question string, parts ...string) time.Duration {
	s.t.Helper()
	s.keys(key)
	s.await(question)
	s.takesKeys(question)
	pressed := time.Now()
	s.keys("y")
	took := logLine(s.t, home, pressed, parts...).Sub(pressed)
	if soak.On() && took > acceptBound {
		s.t.Errorf("%s: the gateway acted %v after the y, promised %v", question, took, acceptBound)
	}
	s.t.Logf("%s one y, acted after %v", question, took)
	return took
}

// TF1, TF2: every lever takes one y on a busy gateway, whether the console is attached or embedded. One session loops as
// fast as it is answered; for the levers on the gateway there are 200 new turns a second in addition, of a second each.
func TestEveryLeverTakesOnePressOnABusyGateway(t *testing.T) {
	soak.Long(t)
	levers := func(t *testing.T, s *screen, home, api string) {
		c := newClients(t, api)
		c.loop("loop", "echo again")
		s.keys("2")
		s.await("api:user:loop")
		c.answered(50)
		s.confirm(home, "I", "Interrupt api:user:loop?", `"msg":"request ended"`, `"verb":"session.interrupt"`, `"state":"done"`)
		s.confirm(home, "E", "vict api:user:loop?", `"msg":"request ended"`, `"verb":"session.evict"`, `"state":"done"`)
		s.confirm(home, "R", "Reset api:user:loop?", `"msg":"request ended"`, `"verb":"session.reset"`, `"state":"done"`)
		c.answered(50)

		c.storm(200, "slow 1")
		c.answered(200)
		s.confirm(home, "D", "Drain gateway", `"msg":"draining"`)
		s.await("DRAINING")
		s.keys("U")
		logLine(t, home, time.Now().Add(-patience), `"msg":"taking turns again"`)
		c.answered(200)
		s.confirm(home, "S", "(graceful)?", `"msg":"shutdown.phase"`, `"phase":"mark"`)
	}
	t.Run("attached", func(t *testing.T) {
		t.Parallel()
		g := start(t, newHome(t), quick)
		s := newScreen(t, 120, 40, "attach", "--home", g.home)
		s.runs()
		levers(t, s, g.home, g.api)
		if code := g.exit(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		home := newHome(t)
		s := newScreen(t, 120, 40, "--home", home, "--config", configFile(t, quick))
		s.runs()
		var st struct {
			API string `json:"api_listen"`
		}
		eventually.True(t, "the api listens", func() bool {
			out, _ := verb(t, home, "status", "--json")
			return json.Unmarshal([]byte(out), &st) == nil && st.API != ""
		})
		levers(t, s, home, st.API)
		if code := s.code(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		s.normal()
	})
}

// TF36: ctrl+c again and again ends an embedded gateway in order.
func TestCtrlCAgainAndAgainStopsTheGateway(t *testing.T) {
	home := newHome(t)
	s := newScreen(t, 80, 24, "--home", home, "--config", configFile(t, quick))
	s.runs()
	pressed := time.Now()
	s.keys("C-c")
	s.keys("C-c")
	if code := s.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	logLine(t, home, pressed, `"msg":"stopped"`, `"outcome":"clean"`)
	s.normal()
}

// TF21: a gateway whose console was left has this terminal as one without a console has it: its log is there, the shell can
// have the terminal back, and ctrl+c stops it in sight.
func TestAKeptGatewayShowsItsLogAndTakesCtrlC(t *testing.T) {
	t.Parallel() // it mostly waits
	home := newHome(t)
	s := newScreen(t, 100, 40, "--home", home, "--config", configFile(t, quick))
	s.runs()
	s.keys("q")
	s.answer("Leave?", "k")
	s.await("keeps running in this terminal, and its log follows:", "ctrl+z and bg give the shell back, ctrl+c stops the gateway", "gatewaytui attach --home")
	if out, code := verb(t, home, "send", "hello"); code != 0 {
		t.Fatalf("send: %d %s", code, out)
	}
	s.await("turn started")
	s.keys("C-c")
	s.await("shutdown.phase", "mark")
	if code := s.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	s.await("stopped clean after")
	s.normal()
}

// BenchmarkAStopIsAccepted is how long after the one y of the Stop dialog the gateway stops, at 200 turns a second of a
// second each, in milliseconds.
func BenchmarkAStopIsAccepted(b *testing.B) {
	var sum time.Duration
	for b.Loop() {
		g := start(b, newHome(b), quick)
		s := newScreen(b, 120, 40, "attach", "--home", g.home)
		s.runs()
		c := newClients(b, g.api)
		c.storm(200, "slow 1")
		c.answered(200)
		sum += s.confirm(g.home, "S", "(graceful)?", `"msg":"shutdown.phase"`, `"phase":"mark"`)
		g.exit()
	}
	b.ReportMetric(float64(sum.Milliseconds())/float64(b.N), "ms/accept")
}
