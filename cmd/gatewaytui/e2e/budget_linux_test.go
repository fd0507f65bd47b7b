package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/soak"
)

// till is a model endpoint whose calls have random tokens, and takes random times. A token costs a thousandth.
type till struct {
	mu    sync.Mutex
	calls map[string]float64 // what each message's call cost, once its answer was written
}

const (
	tillTokens  = 1000                 // of an answer at most, and of a request
	tillLargest = 2 * tillTokens / 1e3 // what a call costs at most
)

func (s *till) answer(w http.ResponseWriter, r *http.Request, last string) {
	in, out := rand.IntN(tillTokens), rand.IntN(tillTokens)
	select {
	case <-time.After(time.Duration(rand.IntN(40)) * time.Millisecond): // modelled: a model that thinks
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "application/json")
	s.mu.Lock()
	s.calls[last] = float64(in+1+out+1) / 1e3
	s.mu.Unlock()
	_ = json.NewEncoder(w).Encode(map[string]any{
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]string{"role": "assistant", "content": "fine"}}},
		"usage":   map[string]int{"prompt_tokens": in + 1, "completion_tokens": out + 1},
	})
}

// pays has clients ask at once, each message in a conversation of its own, until gone is closed or the gateway is.
func pays(g *gateway, name string, clients int) (end func() (refused int)) {
	var all sync.WaitGroup
	var mu sync.Mutex
	refused := 0
	ctx, cancel := context.WithCancel(context.Background())
	for c := range clients {
		all.Go(func() {
			client := &http.Client{Timeout: patience, Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for n := 0; ctx.Err() == nil; n++ {
				message := fmt.Sprintf("%s.%d.%d", name, c, n)
				res, err := post(ctx, client, g.api, message, asking(message))
				if err != nil {
					return
				}
				res.Body.Close()
				if res.StatusCode == http.StatusTooManyRequests {
					mu.Lock()
					refused++
					mu.Unlock()
				}
			}
		})
	}
	return func() int {
		cancel()
		all.Wait()
		return refused
	}
}

// TR8: 64 turns at once with random costs, and a SIGKILL again and again. What was spent exceeds the limit by at most one call per
// turn, and is what the model has served; a call that was cut off is counted as what was reserved for it.
func TestTR8_TheCountersSurviveSIGKILL(t *testing.T) {
	t.Parallel() // it mostly waits
	soak.Long(t)
	const clients = 64
	kills := soak.Count(t, 3, 50)
	limit := float64(kills) * 150
	s := &till{calls: map[string]float64{}}
	url := serve(t, endpoint(t, s.answer)).URL
	home := newHome(t)
	config := modelOf(url, "price_in = 1000.0\nprice_out = 1000.0\nmax_output = 1000\n") +
		fmt.Sprintf("[budgets.default]\nper_turn = 0.0\nper_day = %.1f\nper_month = 0.0\n", limit)
	refused, spent := 0, 0.0
	for life := range kills {
		g := start(t, home, config)
		end := pays(g, fmt.Sprint("life", life), clients)
		time.Sleep(time.Duration(200+rand.IntN(400)) * time.Millisecond) // modelled: the moment of the kill
		g.kill()
		refused += end()
	}
	g := start(t, home, config)
	var budgets ops.Page[ops.Budget]
	if status := g.socket(http.MethodGet, "/v1/budgets", nil, &budgets); status != http.StatusOK {
		t.Fatalf("GET /v1/budgets is answered with %d", status)
	}
	for _, w := range budgets.Items[0].Windows {
		if w.Window == "day" {
			spent = *w.Spent
		}
	}
	if most := limit + clients*tillLargest + clients*(tillLargest+8); spent > most { // a cut call may be reserved with a long prompt
		t.Errorf("%.3f are spent, at most %.3f may be", spent, most)
	}
	if code, _ := g.stop(); code != 0 {
		t.Fatalf("the gateway stopped with %d", code)
	}
	s.compare(t, home, spent)
	t.Logf("%d kills, %.3f of %.1f spent, %d messages refused, %d calls served", kills, spent, limit, refused, len(s.calls))
}

// compare compares the counters of a home with what was served: turns that ended cost what their call did, and for each turn that was
// cut off one call is counted by its estimate.
func (s *till) compare(t *testing.T, home string, spent float64) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(home, "gateway.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT (SELECT content FROM messages m WHERE m.turn_id = t.id AND m.role = 'user'), t.state, coalesce(t.cost, 0) / 1e9 FROM turns t`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	settled, cut, wrong := 0.0, 0, []string{}
	for rows.Next() {
		var message, state string
		var cost float64
		if err := rows.Scan(&message, &state, &cost); err != nil {
			t.Fatal(err)
		}
		if state == "interrupted" {
			cut++
			continue
		}
		settled += cost
		if served := s.calls[message]; state == "done" && !near(served, cost) || state == "failed" && cost != 0 {
			wrong = append(wrong, fmt.Sprintf("%s (%s) cost %.3f, served %.3f", message, state, cost, served))
		}
	}
	if len(wrong) > 0 {
		t.Errorf("%d turns have a wrong cost, for instance %s", len(wrong), wrong[0])
	}
	var counted float64
	var estimated, left int
	if err := db.QueryRow(`SELECT sum(cost) / 1e9, sum(estimated), (SELECT count(*) FROM turns WHERE reserved IS NOT NULL) FROM usage`).Scan(&counted, &estimated, &left); err != nil {
		t.Fatal(err)
	}
	if !near(counted, spent) || left != 0 {
		t.Errorf("the store has %.3f, and %d reservations; the budget says %.3f", counted, left, spent)
	}
	if estimated > cut {
		t.Errorf("%d calls are estimated, and %d turns were cut off", estimated, cut)
	}
	if counted < settled-1e-6 || estimated == 0 && !near(counted, settled) {
		t.Errorf("%.3f are counted, and turns that ended cost %.3f", counted, settled)
	}
	t.Logf("turns that ended cost %.3f; %d calls of %d turns that were cut off are estimated, as %.3f", settled, estimated, cut, counted-settled)
}

func near(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 }
