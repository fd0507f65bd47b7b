package e2e

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// No hidden queue: of 600 calls that hang 512 are at the endpoint, and 88 rows say what they wait for.
func TestCallsBeyondTheLimitWaitWithARow(t *testing.T) {
	t.Parallel() // it mostly waits
	const clients, limit = 600, 512
	var calls atomic.Int64
	s := serve(t, endpoint(t, func(_ http.ResponseWriter, r *http.Request, _ string) {
		calls.Add(1)
		defer calls.Add(-1)
		<-r.Context().Done()
	}))
	g := start(t, newHome(t), modelAt(s.URL, "[limits]\nturns = 1024\n[shutdown]\ndrain_timeout = \"1s\"\n"))
	for i := range clients {
		g.say(fmt.Sprintf("u%d", i), "hello")
	}
	type row struct {
		State, Doing string
		WaitingFor   string `json:"waiting_for"`
	}
	waiting := 0
	if !eventually.Within(func() bool {
		var snapshot struct{ Sessions []row }
		g.socket(http.MethodGet, "/v1/snapshot", nil, &snapshot)
		waiting = 0
		for _, r := range snapshot.Sessions {
			if r.State == "waiting" && r.WaitingFor == "limits.model_calls" && r.Doing == "waiting for a model slot" {
				waiting++
			}
		}
		return waiting == clients-limit && calls.Load() == limit
	}) {
		t.Fatalf("%d rows wait and %d calls are at the endpoint, want %d and %d", waiting, calls.Load(), clients-limit, limit)
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("the stop ended with %d", code)
	}
}

// Connections to the endpoint are made at most once for each client, and used again by every later turn.
func TestConnectionsToTheModelAreReused(t *testing.T) {
	t.Parallel() // it mostly waits
	const turns = 10
	for _, clients := range []int{1, 8, soak.Count(t, 25, 100)} {
		t.Run(fmt.Sprintf("%d clients", clients), func(t *testing.T) {
			var accepted atomic.Int64
			s := endpoint(t, func(w http.ResponseWriter, _ *http.Request, _ string) { completed(w, "fine", "stop") })
			s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					accepted.Add(1)
				}
			}
			g := start(t, newHome(t), modelAt(serve(t, s).URL, ""))
			for _, named := range []bool{true, false} { // an anonymous request leaves no agent, and its connection stays
				accepted.Store(0)
				var all sync.WaitGroup
				for c := range clients {
					all.Go(func() {
						for range turns {
							user := fmt.Sprintf("u%d", c)
							if !named {
								user = ""
							}
							if reply, status := g.chat(user, "hello"); status != http.StatusOK {
								t.Errorf("answered %d %s", status, reply)
							}
						}
					})
				}
				all.Wait()
				// A dial that a connection which became free came before counts too, so that there may be a few more.
				if got := accepted.Load(); got > int64(2*clients) {
					t.Errorf("%d clients with %d turns each (named %v) made %d connections", clients, turns, named, got)
				}
			}
			g.stop()
		})
	}
}
