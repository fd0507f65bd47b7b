package views

import (
	"slices"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

// alert is one thing that an operator should look at: how urgent it is and since when, and the row that it is about: the view
// that lists it, and its key there. A warning has no row: its view is 0.
type alert struct {
	rank  rank
	since time.Time
	view  View
	// kind and key are its name in the overview.
	kind, key string
	// row is what say tells of: how it is shown, with its badge, what it is about, and what is the matter. A frame makes thousands
	// of alerts and draws some of them, so that say has nothing of its own.
	row any
	say func(s *Screen, row any) (b badge, what, text string)
}

// words is how an alert is shown.
func (a *alert) words(s *Screen) (b badge, what, text string) { return a.say(s, a.row) }

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
		c.add(alert{rankStop, snap.Shutdown.StartedAt.Time, Shutdown, "stop", "", nil, func(*Screen, any) (badge, string, string) {
			return badgeStopping, "gateway", "a stop is running; 6 shows what it waits for"
		}})
	}
	for i := range snap.Sessions {
		if r := &snap.Sessions[i]; r.State != ops.SessionWaitingApproval || len(snap.Inbox) == 0 { // its request says more
			c.session(r, s.Now)
		}
	}
	for i := range snap.Processes {
		switch p := &snap.Processes[i]; p.State {
		case ops.ProcessKillFailed:
			c.process(rankStuck, p)
		case ops.ProcessKilling, ops.ProcessUnknown:
			c.process(rankTrouble, p)
		}
	}
	for i := range snap.Inbox {
		c.request(&snap.Inbox[i])
	}
	c.adapters(snap.Adapters, snap.Warnings)
	c.held(snap.Held)
	if e := snap.LastEnd; e != nil && e.Outcome != ops.OutcomeClean && e.Outcome != "" {
		c.add(alert{rankNote, e.At.Time, Shutdown, "last end", "", e, func(_ *Screen, row any) (badge, string, string) {
			e := row.(*ops.LastEnd)
			text := "the previous life ended " + strings.ReplaceAll(string(e.Outcome), "_", " ") + after(", in phase ", e.Phase)
			return badgeWarn, "last end", text + colon(e.Reason) + "; 6 shows its report"
		}})
	}
	list = make([]alert, 0, min(c.total, int(ranks)*perRank))
	for _, rank := range c.found {
		slices.SortStableFunc(rank, func(a, b alert) int { return oldestFirst(ops.At(a.since), ops.At(b.since)) })
		list = append(list, rank...)
	}
	return list, c.total
}

// collected are the concerns that were found so far, by rank, and how many there are in all.
type collected struct {
	found [ranks][]alert
	total int
}

func (c *collected) add(a alert) {
	if c.total++; len(c.found[a.rank]) < perRank {
		c.found[a.rank] = append(c.found[a.rank], a)
	}
}

func (c *collected) session(r *ops.Session, now time.Time) {
	if suspended := r.State == ops.SessionSuspended; suspended || r.NeedsAttention(now) {
		rank, since := rankStuck, r.LastProgressAt
		switch {
		case suspended:
			rank, since = rankBroken, r.LastActivityAt
		case loops(r, now):
			rank, since = rankTrouble, r.AttentionSince
		case since.IsZero():
			since = r.TurnStartedAt
		}
		c.add(alert{rank, since.Time, Sessions, "session", r.Key, r, sayTrouble})
	}
	if d, ok := ago(now, r.TurnStartedAt); r.Queued > 0 && ok && d >= queuedLong {
		c.add(alert{rankWarning, r.TurnStartedAt.Time, Sessions, "queue", r.Key, r, sayQueue})
	}
}

func sayTrouble(s *Screen, row any) (badge, string, string) {
	r := row.(*ops.Session)
	text := "interrupted in three lives in a row; /resume in its chat continues it, R resets it"
	switch {
	case r.State == ops.SessionSuspended:
	case loops(r, s.Now):
		text = r.AttentionReason + "; I interrupts its turn, R resets it"
	default:
		text = r.Activity(s.Now)
	}
	return sessionBadge(s.Now, r), r.Key, text
}

func sayQueue(s *Screen, row any) (badge, string, string) {
	r := row.(*ops.Session)
	return badgeBehind, r.Key, count(r.Queued, "message") + " behind a turn of " + clockSince(s.Now, r.TurnStartedAt)
}

// loops reports whether nothing worse than a loop is the matter with a session.
func loops(r *ops.Session, now time.Time) bool {
	return r.Attention != "" && r.State.Group() != ops.GroupAttention && !r.Stuck(now)
}

// request adds what waits for a person: it is answered in the inbox.
func (c *collected) request(r *ops.InboxItem) {
	switch {
	case r.State != ops.InboxWaiting:
		return
	case r.Kind == ops.InboxSuspended, r.Kind == ops.InboxLooping, r.Kind == ops.InboxAdapter, r.Kind == ops.InboxServer, r.Kind == ops.InboxJob: // their own rows are in the list
		return
	}
	c.add(alert{rankStuck, r.AskedAt.Time, Inbox, "inbox", r.ID, r, func(s *Screen, row any) (badge, string, string) {
		r := row.(*ops.InboxItem)
		text := asksFor(r)
		if left, _ := expiresCell(&s.Opts, r); left != "-" {
			text += ", expires in " + left
		}
		return inboxBadges.of(r.State), or(r.Session, string(r.Kind)), text
	}})
}

func (c *collected) process(rank rank, p *ops.Process) {
	c.add(alert{rank, time.Time{}, Processes, "process", number(p.PID), p, func(_ *Screen, row any) (badge, string, string) {
		p := row.(*ops.Process)
		text := "not verified whether it still runs: "
		switch p.State {
		case ops.ProcessKillFailed:
			text = "survived its kill: "
		case ops.ProcessKilling:
			text = "being killed, not verified yet: "
		}
		return processBadges.of(p.State), "pid " + number(p.PID), text + p.Command
	}})
}

// adapters adds the adapters that are in trouble, and the warnings that no adapter's own row shows.
func (c *collected) adapters(rows []ops.Adapter, warnings []ops.Warning) {
	shown := map[ops.AdapterState]bool{}
	for i := range rows {
		a := &rows[i]
		rank, wrong := adapterTrouble(a)
		if !wrong {
			continue
		}
		shown[a.State] = true
		c.add(alert{rank, a.Since.Time, Adapters, "trouble", a.Name, a, func(s *Screen, row any) (badge, string, string) {
			a := row.(*ops.Adapter)
			b := adapterBadges.of(a.State)
			if a.State == ops.AdapterConnected {
				b = badgeConflict
			}
			return b, a.Name, adapterReason(s.Now, a)
		}})
	}
	for i := range warnings {
		w := &warnings[i]
		state, adapter := strings.CutPrefix(w.Code, "adapter.")
		if state == "conflict" { // of one that is connected
			state = string(ops.AdapterConnected)
		}
		if !adapter || !shown[ops.AdapterState(state)] {
			c.add(alert{rankWarning, w.Since.Time, 0, "warning", w.Code + "/" + w.Message, w, func(_ *Screen, row any) (badge, string, string) {
				w := row.(*ops.Warning)
				return badgeWarn, w.Code, w.Message
			}})
		}
	}
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
