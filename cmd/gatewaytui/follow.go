package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"gatewaytui/core/ops"
)

const (
	// blockerTick is how often a running stop is asked what it waits for.
	blockerTick = 500 * time.Millisecond
	// blockerAgain is how soon a line about the same blocker is repeated.
	blockerAgain = 10 * time.Second
	// maxBlockers is how many blockers are named at once.
	maxBlockers = 10
)

// follower reads a gateway's events and, while it stops, what it waits for.
type follower struct {
	p        *program
	g        ops.Console
	news     chan heard
	stopping bool
	shown    map[string]time.Time // blockers, and when each was last named
	cancel   context.CancelFunc
	reading  sync.WaitGroup
}

type heard struct {
	event ops.Event
	err   error
}

// follow begins to read the events after the given one. The caller closes what it returns.
func (p *program) follow(ctx context.Context, g ops.Console, after uint64) *follower {
	ctx, cancel := context.WithCancel(ctx)
	f := &follower{p: p, g: g, news: make(chan heard), shown: map[string]time.Time{}, cancel: cancel}
	f.reading.Go(func() {
		defer close(f.news)
		for ev, err := range g.Events(ctx, after) {
			select {
			case f.news <- heard{ev, err}:
			case <-ctx.Done():
				return
			}
		}
	})
	return f
}

func (f *follower) close() {
	f.cancel()
	f.reading.Wait()
}

// each shows every event as it comes, and in between what a stop waits for. It returns nil when ctx ends, which is what
// bounds it, and the reader's error when the gateway is gone.
func (f *follower) each(ctx context.Context, show func(ops.Event)) error {
	tick := time.NewTicker(blockerTick)
	defer tick.Stop()
	for {
		select {
		case h, more := <-f.news:
			if !more || ctx.Err() != nil {
				return nil
			}
			if h.err != nil {
				return h.err
			}
			f.stopping = f.stopping || h.event.Type == ops.EventShutdownPhase
			show(h.event)
		case <-tick.C:
			if f.stopping && !f.p.json {
				f.showBlockers(ctx)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// showBlockers names what the running phase waits for, each thing when it is first seen and then now and again.
func (f *follower) showBlockers(ctx context.Context) {
	s, err := f.g.Shutdown(ctx)
	if err != nil {
		return // the events say what is the matter
	}
	phase, running := s.Running()
	if !running {
		return
	}
	now, named, more := time.Now(), 0, 0
	for _, b := range s.Blockers() {
		name := phase.Name + "\x00" + b.Kind + "\x00" + b.ID
		if now.Sub(f.shown[name]) < blockerAgain {
			continue
		}
		f.shown[name] = now
		if named++; named > maxBlockers {
			more++
			continue
		}
		f.p.say("%-11s waits for %s", phase.Name, blockerLine(s, b))
	}
	if more > 0 {
		f.p.say("%-11s and for %d more", phase.Name, more)
	}
}

// blockerLine is what is waited for: how long, for how long yet, and what happens then.
func blockerLine(s ops.Shutdown, b ops.Item) string {
	pace := ""
	if phase, _ := s.Running(); s.Wait(phase, b).Pace() == ops.PaceStuck {
		pace = "stuck, "
	}
	line := fmt.Sprintf("%s %s, %s%s of %s: %s", b.Kind, b.ID, pace, millis(b.ElapsedMS), millis(b.BudgetMS), or(b.Detail, "no status reported"))
	if b.Next != "" {
		line += fmt.Sprintf("; %s in %s", b.Next, millis(b.NextInMS))
	}
	return line
}

// phaseLine is a phase that began or ended.
func phaseLine(ph ops.Phase) string {
	if ph.State == ops.StepRunning {
		return fmt.Sprintf("%-11s running, at most %s", ph.Name, millis(ph.BudgetMS))
	}
	return fmt.Sprintf("%-11s %s", ph.Name, stepEnd(ph.State, ph.ElapsedMS, ph.BudgetMS, ph.Detail))
}

// itemLine is an item that began or ended.
func itemLine(phase string, it ops.Item) string {
	name := fmt.Sprintf("%-11s %s %s ", phase, it.Kind, it.ID)
	if !it.State.Over() {
		return name + words(it.State)
	}
	return name + stepEnd(it.State, it.ElapsedMS, it.BudgetMS, it.Detail)
}

func stepEnd(state ops.StepState, elapsed, budget int64, detail string) string {
	line := words(state)
	if state != ops.StepSkipped || elapsed > 0 {
		line += fmt.Sprintf(" after %s of %s", millis(elapsed), millis(budget))
	}
	if detail != "" {
		line += ": " + detail
	}
	return line
}

// eventRow is the row of type T that an event carries under name.
func eventRow[T any](ev ops.Event, name string) (row T, ok bool) {
	raw, err := json.Marshal(ev.Data[name])
	if err != nil || ev.Data[name] == nil {
		return row, false
	}
	return row, json.Unmarshal(raw, &row) == nil
}

// shutdownLine is an event of a shutdown for people; ok is false for any other, and for one of a form that is not known.
func shutdownLine(ev ops.Event) (line string, ok bool) {
	switch ev.Type {
	case ops.EventShutdownPhase:
		if ph, ok := eventRow[ops.Phase](ev, "phase"); ok && ph.Name != "" {
			return phaseLine(ph), true
		}
	case ops.EventShutdownItem:
		if it, ok := eventRow[ops.Item](ev, "item"); ok && it.Kind != "" {
			return itemLine(ev.Subject, it), true
		}
	}
	return "", false
}
