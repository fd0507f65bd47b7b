package views

import (
	"slices"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

// alert is one thing that an operator should look at: what kind of row it is about and which one. Its words are made only
// where it is drawn.
type alert struct {
	rank  rank
	since time.Time
	kind  alertKind
	i     int
}

// rank is how urgent a concern is; the smallest is the most urgent.
type rank int

const (
	rankStop    rank = iota
	rankStuck        // a user waits for an answer, or a process refuses to die
	rankBroken       // needs a person, and nothing improves until then
	rankTrouble      // may pass without action
	rankWarning
	rankNote
	rankPaused
	ranks
)

type alertKind int

const (
	ofStop alertKind = iota
	ofSession
	ofQueue
	ofProcess
	ofAdapter
	ofWarning
	ofLastEnd
)

// queuedLong is how long a turn runs before the messages behind it count as waiting long.
const queuedLong = time.Minute

// perRank bounds what one frame sorts: of a thousand stalled turns not all are drawn. It is more than a screen has lines.
const perRank = 200

// alerts is what needs attention, the most urgent first, within that what has lasted longest, and how much there is of it
// in all.
func alerts(s *Screen) (list []alert, total int) {
	var c collected
	snap := &s.Snap
	if snap.Shutdown != nil {
		c.add(rankStop, snap.Shutdown.StartedAt.Time, ofStop, 0)
	}
	c.sessions(snap.Sessions, s.Now)
	for i := range snap.Processes {
		switch snap.Processes[i].State {
		case ops.ProcessKillFailed:
			c.add(rankStuck, time.Time{}, ofProcess, i)
		case ops.ProcessKilling, ops.ProcessUnknown:
			c.add(rankTrouble, time.Time{}, ofProcess, i)
		}
	}
	c.adapters(snap.Adapters, snap.Warnings)
	if e := snap.LastEnd; e != nil && e.Outcome != ops.OutcomeClean && e.Outcome != "" {
		c.add(rankNote, e.At.Time, ofLastEnd, 0)
	}
	list = make([]alert, 0, min(c.total, int(ranks)*perRank))
	for _, rank := range c.found {
		slices.SortStableFunc(rank, func(a, b alert) int { return compareSince(a.since, b.since) })
		list = append(list, rank...)
	}
	return list, c.total
}

// collected are the concerns that were found so far, by rank, and how many there are in all.
type collected struct {
	found [ranks][]alert
	total int
}

func (c *collected) add(rank rank, since time.Time, kind alertKind, i int) {
	if c.total++; len(c.found[rank]) < perRank {
		c.found[rank] = append(c.found[rank], alert{rank, since, kind, i})
	}
}

func (c *collected) sessions(rows []ops.Session, now time.Time) {
	for i := range rows {
		r := &rows[i]
		switch {
		case r.State == ops.SessionSuspended:
			c.add(rankBroken, r.LastActivityAt.Time, ofSession, i)
		case r.NeedsAttention(now):
			since := r.LastProgressAt
			if since.IsZero() {
				since = r.TurnStartedAt
			}
			c.add(rankStuck, since.Time, ofSession, i)
		}
		if r.Queued > 0 {
			if d, ok := ago(now, r.TurnStartedAt); ok && d >= queuedLong {
				c.add(rankWarning, r.TurnStartedAt.Time, ofQueue, i)
			}
		}
	}
}

// adapters adds the adapters that are in trouble, and the warnings that no adapter's own row shows.
func (c *collected) adapters(rows []ops.Adapter, warnings []ops.Warning) {
	shown := map[ops.AdapterState]bool{}
	for i := range rows {
		a := &rows[i]
		if rank, wrong := adapterTrouble(a); wrong {
			c.add(rank, a.Since.Time, ofAdapter, i)
			shown[a.State] = true
		}
	}
	for i := range warnings {
		state, adapter := strings.CutPrefix(warnings[i].Code, "adapter.")
		if state == "conflict" { // of one that is connected
			state = string(ops.AdapterConnected)
		}
		if !adapter || !shown[ops.AdapterState(state)] {
			c.add(rankWarning, warnings[i].Since.Time, ofWarning, i)
		}
	}
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

// words is how a concern is shown: its badge, what it is about, and what is the matter.
func (c alert) words(s *Screen) (b badge, what, text string) {
	snap := &s.Snap
	switch c.kind {
	case ofStop:
		return badgeStopping, "gateway", "a stop is running; 6 shows what it waits for"
	case ofSession:
		r := &snap.Sessions[c.i]
		if r.State == ops.SessionSuspended {
			return sessionBadge(s.Now, r), r.Key, "interrupted in three lives in a row; /resume in its chat continues it, R resets it"
		}
		return sessionBadge(s.Now, r), r.Key, r.Activity(s.Now)
	case ofQueue:
		r := &snap.Sessions[c.i]
		return badgeBehind, r.Key, count(r.Queued, "message") + " behind a turn of " + clockSince(s.Now, r.TurnStartedAt)
	case ofProcess:
		p := &snap.Processes[c.i]
		text := map[ops.ProcessState]string{
			ops.ProcessKillFailed: "survived its kill: ", ops.ProcessKilling: "being killed, not verified yet: ",
		}[p.State]
		return processBadges.of(p.State), "pid " + number(p.PID), or(text, "not verified whether it still runs: ") + p.Command
	case ofAdapter:
		a := &snap.Adapters[c.i]
		b := adapterBadges.of(a.State)
		if a.State == ops.AdapterConnected {
			b = badgeConflict
		}
		return b, a.Name, adapterReason(s.Now, a)
	case ofWarning:
		return badgeWarn, snap.Warnings[c.i].Code, snap.Warnings[c.i].Message
	case ofLastEnd:
		e := snap.LastEnd
		text := "the previous life ended " + strings.ReplaceAll(string(e.Outcome), "_", " ")
		if e.Phase != "" {
			text += ", in phase " + e.Phase
		}
		return badgeWarn, "last end", text + colon(e.Reason) + "; 6 shows its report"
	}
	return badgeUnknown, "", ""
}

// row is the row that an alert is about: the view that lists it, its key there, and the name of the alert in the overview. A
// warning has no row: its view is 0.
func (c alert) row(s *Screen) (v View, key, name string) {
	snap := &s.Snap
	switch c.kind {
	case ofStop, ofLastEnd:
		v = Shutdown
	case ofSession, ofQueue:
		v, key = Sessions, snap.Sessions[c.i].Key
	case ofProcess:
		v, key = Processes, number(snap.Processes[c.i].PID)
	case ofAdapter:
		v, key = Adapters, snap.Adapters[c.i].Name
	case ofWarning:
		return 0, "", "warning/" + snap.Warnings[c.i].Code + "/" + snap.Warnings[c.i].Message
	}
	return v, key, number(int(c.kind)) + "/" + key
}

// adapterTrouble is whether something is wrong with an adapter, and how urgent that is.
func adapterTrouble(a *ops.Adapter) (rank rank, wrong bool) {
	switch a.State {
	case ops.AdapterConnected:
		return rankTrouble, a.Conflicts > 0
	case ops.AdapterNeedsCredentials:
		return rankBroken, true
	case ops.AdapterStale, ops.AdapterRetrying:
		return rankTrouble, true
	case ops.AdapterConnecting, ops.AdapterStopped:
		return rankNote, true
	case ops.AdapterPaused:
		return rankPaused, true
	}
	return rankWarning, true
}

// adapterReason is why an adapter needs attention: the cause first, then the counters, which are cut first.
func adapterReason(now time.Time, a *ops.Adapter) string {
	switch a.State {
	case ops.AdapterConnected:
		return "another program uses the same credential (" + count(a.Conflicts, "conflict") + ")" + colon(a.LastError)
	case ops.AdapterNeedsCredentials:
		return or(a.LastError, "its credential is missing or refused")
	case ops.AdapterStale:
		return "connected, but nothing arrives" + colon(a.LastError)
	case ops.AdapterRetrying:
		text := or(a.LastError, "not connected") + "; attempt " + number(a.Attempt)
		if in := a.NextAttemptAt.Sub(now); !a.NextAttemptAt.IsZero() && in > 0 {
			text += ", retry in " + clock(in)
		}
		return text
	case ops.AdapterConnecting:
		return or(a.LastError, "first attempt")
	case ops.AdapterPaused:
		return "paused by an operator; c resumes it" + colon(a.LastError)
	case ops.AdapterStopped:
		return or(a.LastError, "disconnected")
	}
	return "in a state that this console does not know: " + string(a.State)
}
