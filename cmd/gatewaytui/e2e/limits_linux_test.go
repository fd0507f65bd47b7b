package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gatewaytui/fixtures/eventually"
)

// bound is a row of limits in the status.
type bound struct {
	Name, Per            string
	Used, Bound, Waiting int64
	Reached              uint64
}

// bound is the row of one bound, and whether the status warns of it.
func (g *gateway) bound(name string) (row bound, warned bool) {
	g.t.Helper()
	var st struct {
		Limits   []bound
		Warnings []struct{ Code, Message string }
	}
	g.socket(http.MethodGet, "/v1/status", nil, &st)
	for _, w := range st.Warnings {
		warned = warned || w.Code == name && strings.Contains(w.Message, name)
	}
	for _, row := range st.Limits {
		if row.Name == name {
			return row, warned
		}
	}
	g.t.Fatalf("the status has no bound %s: %+v", name, st.Limits)
	return bound{}, false
}

// counts are counts of the status.
func (g *gateway) counts() (sessions, turns, queued int) {
	g.t.Helper()
	var st struct {
		Counts struct {
			Sessions     int
			RunningTurns int `json:"running_turns"`
			Queued       int `json:"queued_messages"`
		}
	}
	g.socket(http.MethodGet, "/v1/status", nil, &st)
	return st.Counts.Sessions, st.Counts.RunningTurns, st.Counts.Queued
}

// HF5: one message that delegates without end made 10,860 model calls. It makes its configured bound, exactly.
func TestHF5_AMessageThatDelegatesWithoutEndMakesItsConfiguredCalls(t *testing.T) {
	t.Parallel() // it mostly waits
	for name, c := range map[string]struct {
		config string
		want   int64
	}{"by default": {"", 200}, "as configured": {"[limits]\ncalls_per_turn = 23\n", 23}} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			deeper := map[string]any{"type": "function", "function": map[string]string{"name": "delegate", "arguments": `{"goal":"x","tools":["delegate","terminal"]}`}}
			s := serve(t, endpoint(t, func(w http.ResponseWriter, r *http.Request, _ string) {
				n := calls.Add(1)
				if n > 5*c.want { // a gateway without the bound would go on for hours
					<-r.Context().Done()
					return
				}
				var asked []any
				for i := range 3 {
					one := map[string]any{"id": fmt.Sprintf("c%d-%d", n, i)}
					for k, v := range deeper {
						one[k] = v
					}
					asked = append(asked, one)
				}
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{
					"index": 0, "finish_reason": "tool_calls", "message": map[string]any{"role": "assistant", "content": "", "tool_calls": asked},
				}}})
			}))
			g := start(t, newHome(t), modelAt(s.URL, c.config))
			answer := make(chan string, 1)
			go func() {
				reply, status := g.chat("alice", "go")
				answer <- fmt.Sprintf("%d %s", status, reply)
			}()
			select {
			case got := <-answer:
				if want := fmt.Sprintf("%d model calls (limits.calls_per_turn)", c.want); !strings.HasPrefix(got, "200 ") || !strings.Contains(got, want) {
					t.Errorf("answered %q, want %q in it", got, want)
				}
			case <-time.After(patience):
				t.Errorf("no answer after %d model calls", calls.Load())
			}
			if n := calls.Load(); n != c.want {
				t.Errorf("the endpoint was called %d times, want %d", n, c.want)
			}
			if row, warned := g.bound("limits.calls_per_turn"); row.Reached != 1 || row.Bound != c.want || row.Per != "turn" || !warned {
				t.Errorf("the row of the bound is %+v, warned %v", row, warned)
			}
			g.stop()
		})
	}
}

// HF9: 1,000 clients that send and close, twice: 2,000 turns ran on. Now at most limits.turns run, and when the grace of
// those clients is over, nothing of them is left.
func TestHF9_ClientsThatSendAndClosePileUpNothing(t *testing.T) {
	const clients, turns = 2000, 100
	s := serve(t, endpoint(t, func(_ http.ResponseWriter, r *http.Request, _ string) { <-r.Context().Done() }))
	g := start(t, newHome(t), modelAt(s.URL, fmt.Sprintf("[limits]\nturns = %d\n[adapters.api]\nleave_grace = \"2s\"\n[log]\nlevel = \"warn\"\n", turns)))
	over := make(chan struct{})
	var watching sync.WaitGroup
	most, longest := 0, int64(0)
	watching.Go(func() {
		for {
			_, running, _ := g.counts()
			row, _ := g.bound("limits.turns")
			most, longest = max(most, running), max(longest, row.Waiting)
			select {
			case <-over:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	var sending sync.WaitGroup
	next := make(chan int)
	for range 50 {
		sending.Go(func() {
			for i := range next {
				body, name := asking(fmt.Sprintf("hello %d", i)), ""
				if i%2 == 0 { // the others are unnamed
					name = fmt.Sprintf("X-Session-Key: u%d\r\n", i)
				}
				nc, err := net.Dial("tcp", g.api)
				if err != nil {
					t.Errorf("dial: %v", err)
					continue
				}
				fmt.Fprintf(nc, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s", g.api, name, len(body), body)
				time.Sleep(20 * time.Millisecond) // modelled: a client that gives up soon after it sent
				nc.Close()
			}
		})
	}
	for i := range clients {
		next <- i
	}
	close(next)
	sending.Wait()
	eventually.True(t, "nothing is left of the clients", func() bool {
		_, running, queued := g.counts()
		return running == 0 && queued == 0
	})
	close(over)
	watching.Wait()
	if most > turns || most < turns/2 || longest == 0 {
		t.Errorf("at most %d turns ran and %d waited, want at most %d, and some that wait", most, longest, turns)
	}
	if sessions, _, _ := g.counts(); sessions > clients/2 {
		t.Errorf("%d sessions are left, want at most the named ones", sessions)
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("the stop ended with %d", code)
	}
}

// HF9: 500 x /background of one user made 500 turns, past every queue.
func TestHF9_BackgroundTasksOfOneUserAreBounded(t *testing.T) {
	t.Parallel() // it mostly waits
	const asked, most = 500, 8
	g := start(t, newHome(t), "[shutdown]\ndrain_timeout = \"1s\"\n[log]\nlevel = \"warn\"\n")
	var refused, other atomic.Int64
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	for range asked {
		all.Go(func() {
			res, err := post(context.Background(), http.DefaultClient, g.api, "alice", asking("/background hang"))
			if err != nil {
				return // it ran until the stop
			}
			defer res.Body.Close()
			var answer struct{ Error struct{ Message string } }
			_ = json.NewDecoder(res.Body).Decode(&answer)
			switch {
			case res.StatusCode == http.StatusTooManyRequests && res.Header.Get("Retry-After") != "" && strings.Contains(answer.Error.Message, "limits.background"):
				refused.Add(1)
			case res.StatusCode != http.StatusServiceUnavailable: // at the stop
				other.Add(1)
				t.Errorf("answered %s %+v", res.Status, answer)
			}
		})
	}
	eventually.True(t, "all but eight are refused", func() bool { return refused.Load() == asked-most })
	row, warned := g.bound("limits.background")
	if _, running, _ := g.counts(); running > most || row.Used != most || row.Reached != asked-most || !warned {
		t.Errorf("%d turns run; the row of the bound is %+v, warned %v", running, row, warned)
	}
	if out, _ := g.verb("status"); !strings.Contains(out, "background 8 of 8") || !strings.Contains(out, "warning     limits.background") {
		t.Errorf("status says:\n%s", out)
	}
	if reply, status := g.chat("bob", "echo fine"); status != http.StatusOK || reply != "fine" {
		t.Errorf("another user is answered with %d %q", status, reply)
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("the stop ended with %d", code)
	}
	if n := other.Load(); n != 0 {
		t.Errorf("%d had another answer", n)
	}
}

// HF9: `bg:` 2,538 times started all of them.
func TestHF9_ProcessesOfASessionAreBounded(t *testing.T) {
	const asked, most = 100, 10
	g := start(t, newHome(t), fmt.Sprintf("[limits]\nprocesses = %d\n[log]\nlevel = \"warn\"\n", most))
	refused := 0
	for range asked {
		// The script of the model says the pid; a refusal has none, and it shows what the tool said.
		if reply, status := g.chat("alice", "bg: exec sleep 3671"); status != http.StatusOK {
			t.Fatalf("answered %d %q", status, reply)
		} else if !strings.Contains(reply, "It runs in the background, pid ") || strings.Contains(reply, "limits.processes") {
			refused++
		}
	}
	if refused != asked-most {
		t.Errorf("%d were refused, want %d", refused, asked-most)
	}
	running := 0
	for _, p := range marked(t, g.life) {
		if strings.Contains(p, "sleep 3671") {
			running++
		}
	}
	row, warned := g.bound("limits.processes")
	if running != most || row.Used != most || row.Reached != asked-most || !warned {
		t.Errorf("%d processes run; the row of the bound is %+v, warned %v", running, row, warned)
	}
	if reply, _ := g.chat("alice", "sh: echo fine"); !strings.Contains(reply, "limits.processes") || !strings.Contains(reply, "sleep 3671") {
		t.Errorf("a foreground command over the bound is answered with %q, want the bound and what runs", reply)
	}
	if reply, _ := g.chat("bob", "sh: echo fine"); !strings.Contains(reply, "fine") {
		t.Errorf("another user's command is answered with %q", reply)
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("the stop ended with %d", code)
	}
}

// The figures of the bounds are in the metrics.
func TestTheBoundsAreInTheMetrics(t *testing.T) {
	g := start(t, newHome(t), "[limits]\nprocesses = 1\n[metrics]\nlisten = \"127.0.0.1:0\"\n")
	g.job("alice", "exec sleep 3672")
	if reply, _ := g.chat("alice", "sh: echo fine"); !strings.Contains(reply, "limits.processes") {
		t.Errorf("answered %q", reply)
	}
	var st struct {
		MetricsListen string `json:"metrics_listen"`
	}
	g.socket(http.MethodGet, "/v1/status", nil, &st)
	res, err := http.Get("http://" + st.MetricsListen + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(res.Body); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`gatewaytui_limit_reached_total{limit="limits.processes"} 1`, `gatewaytui_limit_used{limit="limits.processes"} 1`,
		`gatewaytui_limit_bound{limit="limits.processes"} 1`, `gatewaytui_limit_reached_total{limit="limits.turns"} 0`, `gatewaytui_limit_waiting{limit="limits.turns"} 0`,
	} {
		if !strings.Contains(text.String(), want+"\n") {
			t.Errorf("the metrics lack %s", want)
		}
	}
	g.stop()
}
