package session

import (
	"fmt"
	"time"
)

// Policy says when a conversation ends by itself. The zero value never ends one.
type Policy struct {
	// Idle is how long a session may go without activity; 0 is for ever. Time spent down counts.
	Idle time.Duration
	// Daily is a time of day at which conversations start afresh, as an offset from local midnight; negative is never.
	Daily time.Duration
}

// ParseDaily reads "04:00"; the empty string is never.
func ParseDaily(s string) (time.Duration, error) {
	if s == "" {
		return -1, nil
	}
	t, err := time.Parse("15:04", s)
	if err != nil {
		return 0, fmt.Errorf("time of day %q: not HH:MM", s)
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}

// Expired reports whether a session whose last activity was at last has ended by now, and why. The time zone of now is
// the one whose days count. A clock that was set back expires nothing.
func (p Policy) Expired(last, now time.Time) (why string, expired bool) {
	if idle := now.Sub(last); p.Idle > 0 && idle >= p.Idle {
		return fmt.Sprintf("idle for %s", idle.Round(time.Second)), true
	}
	if p.Daily >= 0 && last.Before(p.lastBoundary(now)) {
		return "daily reset", true
	}
	return "", false
}

// lastBoundary is the newest daily boundary that is not after now. It is built from the calendar, not from 24 h, so
// that it stands at the same wall-clock time when summer time begins or ends.
func (p Policy) lastBoundary(now time.Time) time.Time {
	y, m, d := now.Date()
	h, min := int(p.Daily/time.Hour), int(p.Daily%time.Hour/time.Minute)
	b := time.Date(y, m, d, h, min, 0, 0, now.Location())
	if b.After(now) {
		b = time.Date(y, m, d-1, h, min, 0, 0, now.Location())
	}
	return b
}

// Expired are the sessions that have ended by themselves by now under p, by key. A turn that moves is activity; one
// that was found stalled expires with its session (S11). A placeholder has no agent to close yet and never expires.
func (tb *Table) Expired(p Policy, now time.Time) map[string]Expiry {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	out := map[string]Expiry{}
	for key, e := range tb.sessions {
		if e.closing {
			continue
		}
		last := e.LastActivity
		if t := tb.turns[key]; t != nil {
			if t.agent == nil || t.stalled.IsZero() {
				continue
			}
			last = t.progress
		}
		if why, yes := p.Expired(last, now); yes {
			out[key] = Expiry{ID: e.ID, Why: why}
		}
	}
	return out
}

// Expiry names an incarnation of a session that has ended by itself.
type Expiry struct {
	ID, Why string
}
