package views

import (
	"slices"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

// concern is one thing that an operator should look at: what kind of row it is about and which one. Its words are made only
// where it is drawn.
type concern struct {
	rank  int // 0 is the most urgent
	since time.Time
	kind  concernKind
	i     int
}

type concernKind int

const (
	ofStop concernKind = iota
	ofStall
	ofApproval
	ofQueue
	ofProcess
	ofAdapter
	ofWarning
	ofLastEnd
)

// ranks is how many degrees of urgency there are.
const ranks = 6

// The marks of the overview's rows.
var (
	markAsks  = mark{glyphAsk, "asks", Slow}
	markStall = mark{glyphBad, "STALLED", Danger}
	markError = mark{glyphBad, "error", Bad}
	markWarn  = mark{glyphSlow, "warning", Slow}
	markQueue = mark{glyphSlow, "queued", Slow}
	markNote  = mark{glyphIdle, "note", Muted}
)

// queuedLong is how long a turn runs before the messages behind it count as waiting long.
const queuedLong = time.Minute

// perRank bounds what one frame sorts: of a thousand stalled turns not all are drawn. It is more than a screen has lines.
const perRank = 200

// concerns is what needs attention, the most urgent first, within that what has lasted longest, and how much there is of it
// in all.
func concerns(s *Screen) (list []concern, total int) {
	var found [ranks][]concern
	add := func(rank int, since time.Time, kind concernKind, i int) {
		if total++; len(found[rank]) < perRank {
			found[rank] = append(found[rank], concern{rank, since, kind, i})
		}
	}
	snap := &s.Snap
	if snap.Shutdown != nil {
		add(0, snap.Shutdown.StartedAt.Time, ofStop, 0)
	}
	for i := range snap.Sessions {
		r := &snap.Sessions[i]
		switch r.State {
		case ops.SessionStalled:
			since := r.LastProgressAt
			if since.IsZero() {
				since = r.TurnStartedAt
			}
			add(1, since.Time, ofStall, i)
		case ops.SessionWaitingApproval:
			add(2, r.LastActivityAt.Time, ofApproval, i)
		}
		if r.Queued > 0 {
			if d, ok := ago(s.Now, r.TurnStartedAt); ok && d >= queuedLong {
				add(3, r.TurnStartedAt.Time, ofQueue, i)
			}
		}
	}
	for i := range snap.Processes {
		if p := &snap.Processes[i]; p.State == "killing" || p.State == "unknown" {
			add(2, time.Time{}, ofProcess, i)
		}
	}
	told := map[ops.AdapterState]bool{} // by the adapter's own row
	for i := range snap.AdapterRow {
		a := &snap.AdapterRow[i]
		rank, wrong := adapterTrouble(a)
		if !wrong {
			continue
		}
		add(rank, a.Since.Time, ofAdapter, i)
		told[a.State] = true
	}
	for i := range snap.Warnings {
		state, adapter := strings.CutPrefix(snap.Warnings[i].Code, "adapter.")
		if state == "conflict" { // of one that is connected
			state = string(ops.AdapterConnected)
		}
		if !adapter || !told[ops.AdapterState(state)] {
			add(3, snap.Warnings[i].Since.Time, ofWarning, i)
		}
	}
	if e := snap.LastEnd; e != nil && e.Outcome != ops.OutcomeClean && e.Outcome != "" {
		add(4, e.At.Time, ofLastEnd, 0)
	}
	list = make([]concern, 0, min(total, ranks*perRank))
	for _, rank := range found {
		slices.SortStableFunc(rank, func(a, b concern) int { return compareSince(a.since, b.since) })
		list = append(list, rank...)
	}
	return list, total
}

// compareSince puts what has lasted longest first and what has no time last.
func compareSince(a, b time.Time) int {
	switch {
	case a.IsZero() && b.IsZero():
		return 0
	case a.IsZero():
		return 1
	case b.IsZero():
		return -1
	}
	return a.Compare(b)
}

// words is how a concern is told: its state, what it is about, and what is the matter.
func (c concern) words(s *Screen) (m mark, what, text string) {
	snap := &s.Snap
	switch c.kind {
	case ofStop:
		return mark{glyphBad, "stopping", Bad}, "gateway", "a stop runs; 6 shows what it waits for"
	case ofStall:
		r := &snap.Sessions[c.i]
		text := "turn without progress"
		if d, ok := ago(s.Now, r.LastProgressAt); ok {
			text += " for " + clock(d)
		}
		return markStall, r.Key, text + colon(r.Doing) + "; I interrupts it"
	case ofApproval:
		r := &snap.Sessions[c.i]
		return markAsks, r.Key, "waits for an approval: " + or(r.Doing, unknown)
	case ofQueue:
		r := &snap.Sessions[c.i]
		return markQueue, r.Key, count(r.Queued, "message") + " behind a turn of " + clockSince(s.Now, r.TurnStartedAt)
	case ofProcess:
		p := &snap.Processes[c.i]
		if p.State == "killing" {
			return mark{glyphBad, "ending", Bad}, "pid " + number(p.PID), "told to end and not seen to be gone: " + p.Command
		}
		return markUnknown, "pid " + number(p.PID), "not verified whether it is gone: " + p.Command
	case ofAdapter:
		return adapterWords(s, &snap.AdapterRow[c.i])
	case ofWarning:
		return markWarn, snap.Warnings[c.i].Code, snap.Warnings[c.i].Message
	case ofLastEnd:
		e := snap.LastEnd
		text := "the life before this one ended " + strings.ReplaceAll(string(e.Outcome), "_", " ")
		if e.Phase != "" {
			text += ", in phase " + e.Phase
		}
		return markWarn, "last end", text + colon(e.Reason) + "; 6 shows its report"
	}
	return markUnknown, "", ""
}

// adapterTrouble is whether something is wrong with an adapter, and how urgent that is.
func adapterTrouble(a *ops.Adapter) (rank int, wrong bool) {
	switch a.State {
	case ops.AdapterConnected:
		return 2, a.Conflicts > 0
	case ops.AdapterNeedsCredentials:
		return 1, true
	case ops.AdapterStale, ops.AdapterRetrying:
		return 2, true
	case ops.AdapterConnecting, ops.AdapterStopped:
		return 4, true
	case ops.AdapterPaused:
		return 5, true
	}
	return 3, true
}

func adapterWords(s *Screen, a *ops.Adapter) (m mark, what, text string) {
	m = markError
	switch a.State {
	case ops.AdapterConnected:
		m, text = markWarn, "another program uses the same credential ("+count(a.Conflicts, "conflict")+")"
	case ops.AdapterNeedsCredentials:
		text = "needs credentials"
	case ops.AdapterStale:
		text = "connected, but nothing arrives"
	case ops.AdapterRetrying:
		text = "not connected, attempt " + number(a.Attempt)
		if in := a.NextAttemptAt.Sub(s.Now); !a.NextAttemptAt.IsZero() && in > 0 {
			text += ", next try in " + clock(in)
		}
	case ops.AdapterConnecting:
		m, text = markNote, "is connecting"
	case ops.AdapterPaused:
		m, text = markNote, "paused by an operator"
	case ops.AdapterStopped:
		m, text = markWarn, "stopped"
	default:
		m, text = markUnknown, "in a state that is not known: "+string(a.State)
	}
	return m, a.Name, text + colon(a.LastError)
}
