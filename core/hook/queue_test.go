package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
)

// doubled puts a hook with a double in place of what s names.
func (w *world) doubled(s Spec, d *double) {
	w.t.Helper()
	if s.Timeout == 0 {
		s.Timeout = time.Minute
	}
	w.mu.Lock()
	k := newHook(s, slog.New(slog.DiscardHandler), d)
	k.start(w.ctx)
	w.change(append(w.hooks, k))
	w.mu.Unlock()
}

func TestHR9_AHookGetsTheEventsThatItNamesAsTheSocketShowsThem(t *testing.T) {
	w, turns, all := begin(t, nil), &double{}, &double{}
	w.doubled(Spec{Name: "turns", On: []string{"session.turn.*"}}, turns)
	w.doubled(Spec{Name: "all", On: []string{"*"}}, all)
	w.hub.Emit(ops.EventWarning, "disk", "the disk is full", nil)
	w.emit(2)
	eventually.True(t, "all events are handled", func() bool { return len(all.texts()) == 3 && len(turns.texts()) == 2 })
	var e ops.Event
	if err := json.Unmarshal([]byte(turns.texts()[1]), &e); err != nil || e.Seq != 3 || e.Type != ops.EventTurnEnded || e.Subject != "cli:1" {
		t.Errorf("the hook got %+v: %v", e, err)
	}
	if end, is := ops.PayloadOf[ops.TurnEnd](e); !is || end.State != "done" {
		t.Errorf("the payload is %+v", e.Data)
	}
	eventually.True(t, "the row counts", func() bool { return strings.HasPrefix(w.row("all").Detail, "3 handled, 0 failed, 0 dropped") })
}

func TestHR9_ABlockedHookSlowsNeitherTheEventsNorOtherHooks(t *testing.T) {
	w, blocked, quick := begin(t, nil), &double{hold: make(chan struct{})}, &double{}
	w.doubled(Spec{Name: "blocked", On: []string{"*"}}, blocked)
	w.doubled(Spec{Name: "quick", On: []string{"*"}}, quick)
	for round := range 10 {
		w.emit(100)
		eventually.True(t, "the other hook has them all", func() bool { return len(quick.texts()) == 100*(round+1) })
	}
	row := w.row("blocked")
	if want := fmt.Sprintf("0 handled, 0 failed, %d dropped, %d waiting; handles session.turn.ended", 1000-maxWaiting-1, maxWaiting); row.Detail != want {
		t.Errorf("the row says %q, want %q", row.Detail, want)
	}
	if n := len(blocked.texts()); n != 1 {
		t.Errorf("the blocked hook handles %d events at once", n)
	}
}

func TestHR9_AHookThatFailsSaysWhyAndGoesOn(t *testing.T) {
	w, d := begin(t, nil), &double{err: errors.New("exit code 3: no display, token=abcdefghijklmnopqrstuvwxyz0123456789")}
	w.doubled(Spec{Name: "a", On: []string{"*"}}, d)
	w.emit(2)
	eventually.True(t, "both are tried", func() bool { return strings.HasPrefix(w.row("a").Detail, "0 handled, 2 failed") })
	row := w.row("a")
	if row.State != ops.HeldFailed || !strings.Contains(row.Detail, "no display") || strings.Contains(row.Detail, "abcdefghijklmnop") {
		t.Errorf("the row is %+v", row)
	}
	d.mu.Lock()
	d.err = nil
	d.mu.Unlock()
	w.emit(1)
	eventually.True(t, "the next success heals it", func() bool { return w.row("a").State == ops.HeldReady })
}

func TestHR9_AnEventCostsAtMostTheTimeoutOfItsHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &double{hold: make(chan struct{})}
		k := newHook(Spec{Name: "a", On: []string{"*"}, Timeout: 10 * time.Second}, slog.New(slog.DiscardHandler), d)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		k.start(ctx)
		k.put("x", nil)
		k.put("x", nil)
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if n := len(d.texts()); n != 1 {
			t.Errorf("after 9 s %d events are with the hook", n)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n, row := len(d.texts()), k.row(); n != 2 || !strings.Contains(row.Detail, "it took longer than 10s and was ended") {
			t.Errorf("after 11 s %d events were with the hook, and the row says %q", n, row.Detail)
		}
		cancel()
		<-k.done
	})
}

func TestHR9_WhatAHookDoesCausesNoEventForHooks(t *testing.T) {
	w, d := begin(t, nil), &double{}
	w.doubled(Spec{Name: "a", On: []string{"process.*"}}, d)
	for _, owner := range []string{Owner, "tool", Owner} {
		w.hub.Emit(ops.EventProcessExited, "7", "ended", ops.ProcessChange{Owner: owner, PID: 7})
	}
	w.hub.Emit(ops.EventProcessStarted, "8", "last", ops.ProcessChange{Owner: "tool", PID: 8})
	eventually.True(t, "the last one is handled", func() bool { return strings.Contains(strings.Join(d.texts(), ""), "last") })
	if got := d.texts(); len(got) != 2 {
		t.Errorf("the hook got %q", got)
	}
}

func TestAChangedConfigKeepsTheHooksThatStay(t *testing.T) {
	w, stays, goes := begin(t, nil), &double{}, &double{hold: make(chan struct{})}
	kept := Spec{Name: "stays", On: []string{"*"}, Timeout: time.Minute}
	w.doubled(kept, stays)
	w.doubled(Spec{Name: "goes", On: []string{"*"}}, goes)
	w.emit(1)
	eventually.True(t, "both have it", func() bool { return len(stays.texts()) == 1 && len(goes.texts()) == 1 })
	w.Use([]Spec{kept, {Name: "new", On: []string{"*"}, URL: "http://127.0.0.1:1", Timeout: time.Minute, Broken: "NEW_SECRET is not set"}})
	w.emit(1)
	eventually.True(t, "the one that stays goes on", func() bool { return len(stays.texts()) == 2 })
	if row := w.row("new"); row.State != ops.HeldFailed || !strings.Contains(row.Detail, "NEW_SECRET is not set") || len(w.Rows()) != 2 {
		t.Errorf("the rows are %+v", w.Rows())
	}
	if n := len(goes.texts()); n != 1 {
		t.Errorf("the one that is gone got %d events", n)
	}
}

func TestHR9_AStopEndsEveryHookAndNamesOneThatDoesNotEnd(t *testing.T) {
	w := begin(t, nil)
	w.doubled(Spec{Name: "a", On: []string{"*"}}, &double{hold: make(chan struct{})})
	release := make(chan struct{})
	w.mu.Lock()
	stuck := newHook(Spec{Name: "stuck", On: []string{"*"}, Timeout: time.Minute}, slog.New(slog.DiscardHandler), deaf(release))
	stuck.start(w.ctx)
	w.change(append(w.hooks, stuck))
	w.mu.Unlock()
	w.emit(5)
	eventually.True(t, "both handle an event", func() bool {
		return strings.Contains(w.row("a").Detail, "handles") && strings.Contains(w.row("stuck").Detail, "handles")
	})
	if err := w.CloseSession(t.Context(), "cli:local"); err != nil || len(w.Rows()) != 2 {
		t.Errorf("the end of a session ended hooks: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := w.CloseSession(ctx, ""); err == nil || !strings.Contains(err.Error(), "still running: stuck") {
		t.Errorf("the close is %v", err)
	}
	close(release)
	w.close()
	w.Use([]Spec{{Name: "late", On: []string{"*"}}})
	if rows := w.Rows(); len(rows) != 0 {
		t.Errorf("after the close there are %+v", rows)
	}
}

// deaf is a sender that does not hear the end of its context.
type deaf chan struct{}

func (d deaf) send(context.Context, ops.EventType, []byte) error { <-d; return nil }
func (d deaf) close()                                            {}

// BenchmarkEmit compares what an event costs with no hook, and with one that is blocked.
func BenchmarkEmit(b *testing.B) {
	for _, c := range []struct {
		name string
		d    *double
	}{{"without", nil}, {"blocked", &double{hold: make(chan struct{})}}} {
		b.Run(c.name, func(b *testing.B) {
			w := begin(b, nil)
			if c.d != nil {
				w.doubled(Spec{Name: "a", On: []string{"*"}}, c.d)
			}
			for b.Loop() {
				w.hub.Emit(ops.EventTurnEnded, "cli:local", "turn done", ops.TurnEnd{State: "done", Turn: "t"})
			}
		})
	}
}
