package views

import (
	"time"

	"gatewaytui/core/ops"
)

// outcomeGone is a life that was read as running and whose gateway is gone. Its end was not seen.
const outcomeGone ops.Outcome = "gone"

// badge is how every view shows a state: a glyph, a word, and a colour role that repeats them. Each state has one badge,
// here, so that two views never show two pictures of it.
type badge struct {
	glyph glyph
	word  string
	role  Role
}

// badgeUnknown stands for a state that this console does not know, such as one of a newer gateway.
var badgeUnknown = badge{glyphUnknown, unknown, Slow}

// badges are the badges of one kind of state, ordered from what needs a person to what does not. A list sorted by state
// has this order.
type badges[S comparable] []struct {
	state S
	badge
}

// rank is the place of a state in the order; a state without a badge comes first.
func (t badges[S]) rank(state S) int {
	for i := range t {
		if t[i].state == state {
			return i
		}
	}
	return -1
}

func (t badges[S]) of(state S) badge {
	if i := t.rank(state); i >= 0 {
		return t[i].badge
	}
	return badgeUnknown
}

var sessionBadges = badges[ops.SessionState]{
	{ops.SessionStalled, badge{glyphBad, "stalled", Bad}},
	{ops.SessionSuspended, badge{glyphFail, "suspended", Bad}},
	{ops.SessionWaitingApproval, badge{glyphBad, "asks", Slow}},
	{ops.SessionInterrupted, badge{glyphSlow, "interrupted", Slow}},
	{ops.SessionRunning, badge{glyphRun, "running", Busy}},
	{ops.SessionWaiting, badge{glyphSlow, "waiting", Busy}},
	{ops.SessionQueued, badge{glyphSlow, "queued", Busy}},
	{ops.SessionIdle, badge{glyphIdle, "idle", Muted}},
}

var inboxBadges = badges[ops.InboxState]{
	{ops.InboxWaiting, badge{glyphBad, "asks", Slow}},
	{ops.InboxRefused, badge{glyphSlow, "refused", Slow}},
	{ops.InboxExpired, badge{glyphSkip, "expired", Muted}},
	{ops.InboxWithdrawn, badge{glyphSkip, "withdrawn", Muted}},
	{ops.InboxDenied, badge{glyphSkip, "denied", Muted}},
	{ops.InboxNoted, badge{glyphSlow, "noted", Muted}},
	{ops.InboxAllowed, badge{glyphDone, "allowed", Good}},
	{ops.InboxAnswered, badge{glyphDone, "answered", Good}},
}

var agentBadges = badges[ops.AgentState]{
	{ops.AgentClosing, badge{glyphSlow, "closing", Slow}},
	{ops.AgentRunning, badge{glyphRun, "running", Busy}},
	{ops.AgentIdle, badge{glyphIdle, "idle", Muted}},
}

var processBadges = badges[ops.ProcessState]{
	{ops.ProcessKillFailed, badge{glyphBad, "not killed", Danger}},
	{ops.ProcessUnknown, badgeUnknown},
	{ops.ProcessKilling, badge{glyphSlow, "killing", Slow}},
	{ops.ProcessExited, badge{glyphSlow, "exited", Slow}},
	{ops.ProcessRunning, badge{glyphRun, "running", Busy}},
}

var adapterBadges = badges[ops.AdapterState]{
	{ops.AdapterNeedsCredentials, badge{glyphBad, "no credential", Bad}},
	{ops.AdapterStale, badge{glyphBad, "stale", Bad}},
	{ops.AdapterRetrying, badge{glyphSlow, "retrying", Slow}},
	{ops.AdapterConnecting, badge{glyphRun, "connecting", Busy}},
	{ops.AdapterPaused, badge{glyphSkip, "paused", Muted}},
	{ops.AdapterStopped, badge{glyphSkip, "stopped", Muted}},
	{ops.AdapterConnected, badge{glyphDone, "connected", Plain}},
}

// heldBadges are for held resources, servers and jobs alike: their states have the same words.
var heldBadges = badges[ops.HeldState]{
	{ops.HeldFailed, badge{glyphFail, "failed", Bad}},
	{ops.HeldCloseFailed, badge{glyphBad, "not closed", Bad}},
	{ops.HeldBackoff, badge{glyphSlow, "backoff", Slow}},
	{ops.HeldStarting, badge{glyphRun, "starting", Busy}},
	{ops.HeldClosing, badge{glyphSlow, "closing", Slow}},
	{ops.HeldState(ops.JobRunning), badge{glyphRun, "running", Busy}},
	{ops.HeldReady, badge{glyphDone, "ready", Plain}},
	{ops.HeldState(ops.JobWaiting), badge{glyphIdle, "waiting", Plain}},
	{ops.HeldState(ops.JobPaused), badge{glyphSkip, "paused", Muted}},
	{ops.HeldState(ops.JobEnded), badge{glyphSkip, "ended", Muted}},
	{ops.HeldState(ops.ServerIdle), badge{glyphIdle, "idle", Muted}},
}

// badgeSilent is a running turn that is stuck before the gateway calls it stalled (ops.Session.Stuck).
var badgeSilent = badge{glyphBad, "stuck", Bad}

// badgeLooping is a session that loops, whether a turn of it runs or not.
var badgeLooping = badge{glyphBad, "looping", Bad}

func sessionBadge(now time.Time, r *ops.Session) badge {
	if r.State == ops.SessionRunning && r.Stuck(now) {
		return badgeSilent
	}
	if loops(r, now) {
		return badgeLooping
	}
	return sessionBadges.of(r.State)
}

// agentBadge is the badge of an agent. A busy agent runs, also where its row was read between two of its states.
func agentBadge(r *ops.Agent) badge { return agentBadges.of(agentState(r)) }

func agentState(r *ops.Agent) ops.AgentState {
	if r.State == ops.AgentIdle && r.Busy {
		return ops.AgentRunning
	}
	return r.State
}

var lifeBadges = badges[ops.Outcome]{
	{ops.OutcomeCrashed, badge{glyphFail, "crashed", Danger}},
	{ops.OutcomeCutShort, badge{glyphBad, "cut short", Bad}},
	{outcomeGone, badge{glyphUnknown, "gone, end not seen", Slow}},
	{ops.OutcomeRunning, badge{glyphRun, "running", Busy}},
	{ops.OutcomeClean, badge{glyphDone, "clean", Good}},
}

func lifeBadge(l *ops.Life) badge {
	b := lifeBadges.of(l.Outcome)
	switch {
	case l.Outcome == ops.OutcomeClean && l.Shutdown != nil && l.Shutdown.Outcome == ops.ShutdownForced:
		return badge{glyphSlow, "clean, forced", Slow}
	case l.Outcome == ops.OutcomeCutShort && l.Phase != "":
		b.word += " in " + term40(l.Phase)
	}
	return b
}

// The badges of a phase or an item of a stop, by its state and in addition to it.
var (
	badgeWait      = badge{glyphIdle, "wait", Muted}
	badgeRun       = badge{glyphRun, "run", Busy}
	badgeSlow      = badge{glyphSlow, "slow", Slow}
	badgeStuck     = badge{glyphBad, "STUCK", Danger}
	badgeLate      = badge{glyphBad, "late", Bad}
	badgeDone      = badge{glyphDone, "done", Good}
	badgeFailed    = badge{glyphFail, "failed", Bad}
	badgeSkipped   = badge{glyphSkip, "skipped", Muted}
	badgeAbandoned = badge{glyphSkip, "abandoned", Bad}

	stepBadges = badges[ops.StepState]{
		{ops.StepFailed, badgeFailed},
		{ops.StepTimedOut, badgeLate},
		{ops.StepRunning, badgeRun},
		{ops.StepPending, badgeWait},
		{ops.StepSkipped, badgeSkipped},
		{ops.StepDone, badgeDone},
	}
	paceBadges = badges[ops.Pace]{{ops.PaceStuck, badgeStuck}, {ops.PaceSlow, badgeSlow}, {ops.PaceNormal, badgeRun}}
)

// The badges of what the overview reports in addition to the states of rows.
var (
	badgeStopping = badge{glyphBad, "stopping", Bad}
	badgeConflict = badge{glyphSlow, "conflict", Slow}
	badgeBehind   = badge{glyphSlow, "waiting", Slow}
	badgeWarn     = badge{glyphSlow, "warning", Slow}
)

func (o *Opts) badge(b badge) string { return o.glyph(b.glyph) + " " + b.word }

// inFull is a state as the details show it: with the gateway's own word where this console does not know the state.
func (o *Opts) inFull(b badge, wire string) string {
	if b == badgeUnknown && wire != "" && wire != unknown {
		return o.badge(b) + " (" + o.clean(wire, maxWord) + ")"
	}
	return o.badge(b)
}
