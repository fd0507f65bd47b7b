package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// CV4: a SIGKILL while a summary is made loses nothing. The next life has every message, and the conversation goes on.
func TestCV4_AKillInTheMiddleOfACompactionLosesNothing(t *testing.T) {
	t.Parallel() // it mostly waits
	var hangs atomic.Bool
	hangs.Store(true)
	summaries := make(chan struct{}, 16)
	s := serve(t, endpoint(t, func(w http.ResponseWriter, r *http.Request, last string) {
		if !strings.HasPrefix(last, "Summarise this") {
			completed(w, "heard", "stop")
			return
		}
		summaries <- struct{}{}
		if hangs.Load() {
			<-r.Context().Done()
			return
		}
		completed(w, "They counted.", "stop")
	}))
	home := newHome(t)
	config := quick + modelAt(s.URL, "context_window = 4096\n")
	g := start(t, home, config)
	sent := 0
	say := func() string { sent++; return fmt.Sprintf("number %d %s", sent, strings.Repeat("word ", 60)) }
	for compacting := false; !compacting; {
		answered := g.say("ann", say())
		select {
		case <-answered:
		case <-summaries:
			compacting = true
		case <-time.After(20 * time.Second):
			t.Fatal("no answer and no summary")
		}
		if sent > 100 {
			t.Fatal("nothing was compacted")
		}
	}
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-g.exited
	hangs.Store(false)
	g = start(t, home, config)
	if reply, status := g.chat("ann", say()); status != http.StatusOK || reply != "heard" {
		t.Fatalf("after the kill: %d, %q", status, reply)
	}
	if len(summaries) == 0 {
		t.Error("the next life did not compact the conversation")
	}
	out, code := g.verb("export", "api:user:ann", "--format", "jsonl")
	for n := 1; n <= sent; n++ {
		if !strings.Contains(out, fmt.Sprintf("number %d ", n)) {
			t.Errorf("message %d of %d is lost (export ended with %d)", n, sent, code)
		}
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
