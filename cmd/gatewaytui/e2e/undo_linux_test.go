package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// CV12: what was taken back stays so over a SIGKILL. A /retry whose turn is killed has either not begun, or has taken the place of
// what it asks again: no message is twice in what the model reads.
func TestCV12_WhatWasTakenBackStaysSoOverAKill(t *testing.T) {
	t.Parallel() // it mostly waits
	var read atomic.Pointer[[]string]
	var hangs atomic.Bool
	asked := make(chan struct{}, 16)
	s := serve(t, httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Messages []struct{ Role, Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		var said []string
		for _, m := range body.Messages {
			if m.Role == "user" {
				said = append(said, m.Content)
			}
		}
		read.Store(&said)
		if hangs.Load() {
			asked <- struct{}{}
			<-r.Context().Done()
			return
		}
		completed(w, "heard", "stop")
	})))
	home := newHome(t)
	config := quick + modelAt(s.URL, "")
	g := start(t, home, config)
	ask := func(text string) {
		t.Helper()
		if reply, status := g.chat("ann", text); status != http.StatusOK {
			t.Fatalf("%s: %d, %q", text, status, reply)
		}
	}
	wants := func(when string, want ...string) {
		t.Helper()
		if got := *read.Load(); !slices.Equal(got, want) {
			t.Errorf("%s the model reads %q, want %q", when, got, want)
		}
	}
	for _, text := range []string{"one", "two", "three", "/undo"} {
		ask(text)
	}
	g.kill()
	g = start(t, home, config)
	ask("four")
	wants("after a kill", "one", "two", "four")
	hangs.Store(true)
	g.say("ann", "/retry")
	select {
	case <-asked:
	case <-time.After(20 * time.Second):
		t.Fatal("the turn of /retry asked no model")
	}
	g.kill()
	hangs.Store(false)
	g = start(t, home, config)
	ask("five")
	wants("after a kill in the middle of /retry", "one", "two", "four", "five")
	ask("/retry")
	wants("after /retry", "one", "two", "four", "five")
	out, _ := g.verb("transcript", "api:user:ann", "--json")
	if n := strings.Count(out, `"undone":true`); n < 4 || strings.Count(out, `"text":"four"`) != 2 {
		t.Errorf("%d messages are marked in %s", n, out)
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
