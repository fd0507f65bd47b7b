package session

import (
	"fmt"
	"time"

	"gatewaytui/core/ops"
)

// LoopTurns is how many turns of a session may begin in a minute. With one more it loops.
const LoopTurns = 20

// pace counts the turns of a session that begin in a minute, by the second.
type pace struct {
	seconds [60]uint16
	// last is the second of the newest turn, since 1970.
	last int64
	// most is how many turns the newest minute had that had too many, since when the session loops, and until when it does
	// without another turn; zero: it does not.
	most         int
	since, until time.Time
}

// add counts a turn that begins now. It reports whether the session loops with it and did not before.
func (p *pace) add(now time.Time) (began bool) {
	second := now.Unix()
	switch past := second - p.last; {
	case past >= int64(len(p.seconds)), past < 0: // a clock that was set back begins again
		p.seconds = [60]uint16{}
	case past > 0:
		for s := p.last + 1; s <= second; s++ {
			p.seconds[s%int64(len(p.seconds))] = 0
		}
	}
	p.last = second
	if at := &p.seconds[second%int64(len(p.seconds))]; *at < 1<<16-1 {
		*at++
	}
	n := 0
	for _, s := range p.seconds {
		n += int(s)
	}
	if n <= LoopTurns {
		return false
	}
	began = p.until.IsZero()
	if began {
		p.since = now
	}
	p.most, p.until = n, now.Add(time.Minute)
	return began
}

// over reports whether the pace is worth nothing any more: its last turn is a minute old.
func (p *pace) over(now time.Time) bool { return now.Unix()-p.last >= int64(len(p.seconds)) }

// paced counts the turn that begins now in e, whose last activity was at before. A session that was idle for a minute has no pace: most
// have none. It reports why e loops with this turn, empty if it does not or did before. The caller holds mu.
func (tb *Table) paced(e *entry, before, now time.Time) (loops string) {
	if IsRequest(e.Key()) {
		return ""
	}
	if e.mail == nil || e.mail.pace == nil {
		if now.Sub(before) >= time.Minute {
			return ""
		}
		e.box().pace = &pace{}
		e.mail.pace.add(before) // the turn before this one
		tb.quick[e] = struct{}{}
	}
	if !e.mail.pace.add(now) {
		return ""
	}
	return e.loops(nil)
}

// Settle ends the loops of sessions that have begun no turn too many for a minute, and forgets what is not needed any more. The
// gateway calls it every few seconds.
func (tb *Table) Settle(now time.Time) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for e := range tb.quick {
		if e.mail == nil || e.mail.pace == nil {
			delete(tb.quick, e)
			continue
		}
		p := e.mail.pace
		if !p.until.IsZero() && !now.Before(p.until) {
			p.since, p.until = time.Time{}, time.Time{}
		}
		if p.until.IsZero() && p.over(now) {
			e.mail.pace = nil
			e.trim()
			delete(tb.quick, e)
		}
		if e.place != unplaced {
			tb.reposition(e)
		}
	}
}

// repeated is a call of a tool that a turn makes again and again.
type repeated struct {
	what  string
	times int
	since time.Time
}

// Repeats records that t has made the same call of a tool so many times. It returns why the session loops with it, empty if it did
// before.
func (tb *Table) Repeats(t *Turn, what string, times int) (loops string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if !tb.owns(t) {
		return ""
	}
	e := tb.sessions[t.Session.Key]
	before := e.loopsSince(t)
	if t.repeated.since.IsZero() {
		t.repeated.since = time.Now()
	}
	t.repeated.what, t.repeated.times = what, times
	if !before.IsZero() {
		return ""
	}
	tb.reposition(e)
	return e.loops(t)
}

// loopsSince is since when e loops; t is its running turn, nil for none. Zero: it does not.
func (e *entry) loopsSince(t *Turn) time.Time {
	if e.mail != nil && e.mail.pace != nil && !e.mail.pace.since.IsZero() {
		return e.mail.pace.since
	}
	if t != nil {
		return t.repeated.since
	}
	return time.Time{}
}

// loops says why e loops; empty: it does not.
func (e *entry) loops(t *Turn) string {
	switch {
	case t != nil && t.repeated.times > 0:
		return fmt.Sprintf("%s called %d times in this turn", t.repeated.what, t.repeated.times)
	case e.mail != nil && e.mail.pace != nil && !e.mail.pace.since.IsZero():
		return fmt.Sprintf("%d turns in a minute", e.mail.pace.most)
	}
	return ""
}

// attention adds to a row of e that it loops.
func (e *entry) attention(r *ops.Session, t *Turn) {
	if since := e.loopsSince(t); !since.IsZero() {
		r.Attention, r.AttentionReason, r.AttentionSince = ops.AttentionLooping, e.loops(t), ops.At(since)
	}
}
