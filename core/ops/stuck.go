package ops

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// TurnSilence is how long a running turn may go without a byte from its model or its tool before it counts as stuck. A
// model that thinks before its first word needs most of a minute; the gateway itself steps in much later
// (agent.stall_warn, agent.stall_after).
const TurnSilence = time.Minute

// How long an item of a stop may report no progress before it counts as slow and as stuck. Turns are not held to these:
// see Pace.
const (
	itemSlow  = 3 * time.Second
	itemStuck = 5 * time.Second
)

// turnStuck is the one definition of a stuck turn: the gateway found it stalled, or it was silent for TurnSilence. A turn
// that waits for a bound of the gateway has nothing to say and is not stuck.
func turnStuck(state SessionState, quiet time.Duration) bool {
	switch state {
	case SessionStalled:
		return true
	case SessionRunning, "":
		return quiet >= TurnSilence
	}
	return false
}

// Stuck reports whether the session's turn is stuck at now.
func (s *Session) Stuck(now time.Time) bool {
	return s.Turn != "" && turnStuck(s.State, s.quiet(now)) || s.State == SessionStalled
}

// NeedsAttention reports whether an operator should look at the session: its turn is stuck, or it belongs to
// GroupAttention.
func (s *Session) NeedsAttention(now time.Time) bool {
	return s.Group() == GroupAttention || s.Stuck(now)
}

// quiet is how long model and tool of the running turn have not moved; 0 if that is not known.
func (s *Session) quiet(now time.Time) time.Duration {
	since := cmp.Or(s.LastProgressAt, s.TurnStartedAt)
	if since.IsZero() {
		return 0
	}
	return max(now.Sub(since.Time), 0)
}

// Activity says what the session's running turn waits for and for how long, e.g. "waiting for the model 0:25", and of a
// stuck one how long it has been silent. It is empty if no turn runs.
func (s *Session) Activity(now time.Time) string {
	if s.Turn == "" && s.Doing == "" {
		return ""
	}
	if (s.State == SessionWaiting || s.State == SessionWaitingApproval) && s.WaitingFor != "" {
		waited := s.quiet(now)
		if s.Turn == "" { // its turn has not begun
			waited = now.Sub(s.DoingSince.Time)
		}
		return "waiting for " + s.WaitingFor + " " + Clock(waited)
	}
	text := s.Doing
	if !s.DoingSince.IsZero() {
		text = Step(s.Doing, now.Sub(s.DoingSince.Time))
	}
	if s.Stuck(now) {
		text = "no output for " + Clock(s.quiet(now)) + ": " + StepWords(s.Doing)
	}
	return text
}

// The steps of a turn, as Session.Doing names them. A tool's step begins with its name: "terminal: sleep 60".
const (
	DoingModelCall   = "model call"   // the request is out, no text has come yet
	DoingModelAnswer = "model answer" // text comes
	DoingModelSlot   = "waiting for a model slot"
	DoingCompact     = "compacting the conversation"
	DoingTurnSlot    = "waiting for a turn slot" // its turn has not begun
	DoingReply       = "sending the reply"
	DoingGather      = "waiting for more of the message"
)

// Step says what a turn does and for how long, for people: "waiting for the model 0:25", "running pytest 0:40". doing is
// a Session.Doing and stays as untrusted as it was.
func Step(doing string, d time.Duration) string { return StepWords(doing) + " " + Clock(d) }

// StepWords is Step without the time.
func StepWords(doing string) string {
	switch doing {
	case "":
		return "running"
	case DoingModelCall:
		return "waiting for the model"
	case DoingModelAnswer:
		return "receiving the answer"
	}
	if command, ok := strings.CutPrefix(doing, "terminal: "); ok && command != "ended" {
		return "running " + command
	}
	// "delegate: " is the only child of a call, "delegate 2: " one of several.
	number, child, _ := strings.Cut(strings.TrimPrefix(doing, "delegate"), ": ")
	if strings.HasPrefix(doing, "delegate") && (child == DoingModelCall || child == DoingModelAnswer) {
		return "child agent" + number + ": " + StepWords(child)
	}
	return doing
}

// Pace says how an item of a stop that still runs gets on.
type Pace int

// The paces.
const (
	PaceNormal Pace = iota
	PaceSlow
	PaceStuck
)

// Wait is one item that a phase of a stop waits for, at one moment.
type Wait struct {
	Phase Phase
	Item  Item
	// Session is the state of the session whose turn the item is; empty if that is not known or the item is not a turn.
	Session SessionState
	// Used is how long the item has run, Quiet how long it has reported no progress.
	Used, Quiet time.Duration
}

// Wait is item it of phase p at the moment of the report s, on the report's own clock. The state of a turn's session is
// for the caller to add, who may know it.
func (s Shutdown) Wait(p Phase, it Item) Wait {
	w := Wait{Phase: p, Item: it, Used: time.Duration(it.ElapsedMS) * time.Millisecond}
	w.Quiet = w.Used
	if !it.LastProgressAt.IsZero() && !s.StartedAt.IsZero() {
		now := s.StartedAt.Add(time.Duration(s.ElapsedMS) * time.Millisecond)
		w.Quiet = max(now.Sub(it.LastProgressAt.Time), 0)
	}
	return w
}

// Pace judges w. An item of any kind that is over its budget is stuck. A turn that may still finish (its phase interrupts it when its time is over) is stuck as
// any turn is, and never merely slow: it does its work. Every other item was asked to end; it is slow after 3 s without
// progress or over half its budget, and stuck after 5 s without progress.
func (w Wait) Pace() Pace {
	most := time.Duration(w.Item.BudgetMS) * time.Millisecond
	over, half := most > 0 && w.Used > most, most > 0 && 2*w.Used > most
	if w.Item.Kind == "turn" {
		switch {
		case over, turnStuck(w.Session, w.Quiet):
			return PaceStuck
		case half && w.Phase.Then != ThenInterrupted:
			return PaceSlow
		}
		return PaceNormal
	}
	switch {
	case over, w.Quiet >= itemStuck:
		return PaceStuck
	case half, w.Quiet >= itemSlow:
		return PaceSlow
	}
	return PaceNormal
}

// Silent reports whether Quiet is long enough to be worth a word.
func (w Wait) Silent() bool {
	if w.Item.Kind == "turn" {
		return w.Quiet >= TurnSilence
	}
	return w.Quiet >= itemSlow
}

// Clock is a duration that a person watches: "0:09", "3:12", "1:02:03", "3d 04:12". Below zero it is 0:00.
func Clock(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	b := make([]byte, 0, 24) // a frame has one in each row, so it is made without fmt
	two := func(n int64) { b = append(b, '0'+byte(n/10), '0'+byte(n%10)) }
	switch days, h := s/86400, s/3600; {
	case days > 0:
		b = append(strconv.AppendInt(b, days, 10), "d "...)
		two(h % 24)
		b = append(b, ':')
		two(s / 60 % 60)
	case h > 0:
		b = append(strconv.AppendInt(b, h, 10), ':')
		two(s / 60 % 60)
		b = append(b, ':')
		two(s % 60)
	default:
		b = append(strconv.AppendInt(b, s/60, 10), ':')
		two(s % 60)
	}
	return string(b)
}
