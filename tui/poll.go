package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

const (
	// staleAfter is the age at which what is shown is called old.
	staleAfter = 3 * time.Second
	// calm and hurried are the times between two ticks: ages, liveness, and in a stop its progress.
	calm, hurried, thinLine = time.Second, 250 * time.Millisecond, 500 * time.Millisecond
	// fullGap is the least time between two snapshots, busyGap that of a gateway whose events are too many to follow; fullShare
	// bounds what they cost of the time.
	fullGap, busyGap, fullShare = 100 * time.Millisecond, 250 * time.Millisecond, 5
	// stopGap replaces fullGap while the gateway stops: the stop has priority, and events bring the report.
	stopGap = time.Second
	// planGap is how long a plan is taken to hold.
	planGap = 10 * time.Second
	// tryFirst and tryMost are the pauses of the search for the next life.
	tryFirst, tryMost = 500 * time.Millisecond, 2 * time.Second
	// finalGrace is how long a stop's last event is followed by its record.
	finalGrace = 150 * time.Millisecond
)

// tick is the console's pulse. One is armed when the one before was handled.
type tick struct{}

func (m *model) tick() tea.Cmd {
	every := calm
	switch {
	case m.stopping() != nil && m.opt.Slow:
		every = thinLine
	case m.stopping() != nil, len(m.doing) > 0:
		every = hurried
	}
	return m.tasks.cmd(taskTick, func(ctx context.Context) tea.Msg {
		pause(ctx, every)
		return tick{}
	})
}

type fetchRequest struct {
	after      time.Duration
	full       bool
	stop, plan bool
	rates      time.Duration // of which figures are wanted; 0: none
	seen       ops.Status    // with which a mere status is compared
	assume     []string      // of the plan
	order      order
	most       []ops.Most // what of the tables the open view needs
	before     *ops.Snapshot
	more       []ops.Session // read beyond the snapshot
	held       []string      // wanted as they are now
}

// few is how many sessions a look asks for at the least.
const few = 100

// most bounds a look to what the open view shows: the tables are most of what a look costs. With details in sight, all tables that
// these tell of are looked at once a second.
func (m *model) most(now time.Time) []ops.Most {
	l := m.lists[m.view]
	sessions, none := few, []ops.Table{ops.TableAgents, ops.TableProcesses, ops.TableHeld}
	switch m.view {
	case views.Sessions:
		sessions = min(max(few, l.Offset+3*max(l.page, 1)), ops.SnapshotSessions)
		if l.Sort != "" || l.Reverse || l.Filter != "" || len(l.Marked) > 0 {
			sessions = ops.SnapshotSessions
		}
	case views.Agents:
		sessions, none = ops.SnapshotSessions, []ops.Table{ops.TableProcesses, ops.TableHeld}
	case views.Processes:
		none = []ops.Table{ops.TableAgents, ops.TableHeld}
	case views.Overview:
		none = []ops.Table{ops.TableAgents}
	case views.Held:
		none = []ops.Table{ops.TableAgents, ops.TableProcesses}
	case views.Events:
		sessions, none = ops.SnapshotSessions, []ops.Table{ops.TableAgents} // an agent's events open its session
	}
	if m.asks() || m.snap == nil || m.wanted {
		sessions, none = ops.SnapshotSessions, nil
	}
	most := []ops.Most{{Table: ops.TableSessions, Rows: sessions}}
	detailed := len(views.InSight(m.bare())) > 0
	for _, t := range none {
		if !detailed || now.Sub(m.weighed) < calm {
			most = append(most, ops.Most{Table: t})
		}
	}
	return most
}

// leftOut reports whether a poll did not ask for a table.
func (w *fetchRequest) leftOut(t ops.Table) bool {
	return slices.ContainsFunc(w.most, func(m ops.Most) bool { return m.Table == t && m.Rows == 0 })
}

type fetched struct {
	status ops.Status
	// weighed says that the processes were looked at.
	weighed bool
	snap    *ops.Snapshot // nil: only the status was asked for
	stop    *ops.Shutdown
	plan    *ops.Plan
	rates   *ops.Rates
	rows    ordered
	began   time.Time
	at      time.Time
	err     error
}

// startFetch asks the gateway, one question after the other, on a goroutine that is not the loop's.
func (m *model) startFetch(w fetchRequest) tea.Cmd {
	m.looking, m.dirty = true, m.dirty && !w.full
	return m.tasks.cmd(taskLook, func(ctx context.Context) tea.Msg {
		pause(ctx, w.after)
		ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
		defer cancel()
		return w.fetch(ctx, m.console)
	})
}

func (w fetchRequest) fetch(ctx context.Context, c ops.Console) fetched {
	l := fetched{began: time.Now()}
	if !w.full {
		l.status, l.err = c.Status(ctx)
		w.full = l.err == nil && differs(l.status, w.seen)
	}
	if w.full && l.err == nil {
		var s ops.Snapshot
		if s, l.err = c.Snapshot(ctx, w.most...); l.err == nil {
			l.snap, l.status, l.stop = &s, s.Status, s.Shutdown
			l.weighed = !w.leftOut(ops.TableProcesses)
			w.fill(&s)
			views.Gather(&s)
			w.hold(ctx, c, &s)
			l.rows = w.order.apply(&s)
		}
	}
	if l.err == nil && w.stop && l.stop == nil {
		if s, err := c.Shutdown(ctx); err == nil {
			l.stop = &s
		}
	}
	if l.err == nil && w.plan {
		if p, err := c.Plan(ctx, w.assume...); err == nil {
			l.plan = &p
		}
	}
	if l.err == nil && w.rates > 0 {
		if r, err := c.Rates(ctx, w.rates); err == nil {
			l.rates = &r
		}
	}
	l.at = time.Now()
	return l
}

// fill keeps the rows of the tables that were not asked for as they were, so that a view that is opened has rows at once.
func (w *fetchRequest) fill(s *ops.Snapshot) {
	if w.before == nil || w.before.Life != s.Life {
		return
	}
	if w.leftOut(ops.TableAgents) {
		s.Agents = w.before.Agents
	}
	if w.leftOut(ops.TableProcesses) {
		s.Processes = w.before.Processes
	}
	if w.leftOut(ops.TableHeld) {
		s.Servers, s.Jobs, s.Held = w.before.Servers, w.before.Jobs, w.before.Held
	}
}

// hold adds to a snapshot that leaves sessions out those that were read beyond it, and the held ones as they are now.
func (w *fetchRequest) hold(ctx context.Context, c ops.Console, s *ops.Snapshot) {
	if s.Omitted == nil || s.Omitted.Sessions == 0 {
		return
	}
	const most = 20 // marks of a whole screen
	var now []ops.Session
	gone := map[string]bool{}
	for _, key := range w.held[:min(len(w.held), most)] {
		if key == "" || gone[key] || find(s.Sessions, key, sessionKey) != nil || find(now, key, sessionKey) != nil {
			continue
		}
		page, err := c.Sessions(ctx, ops.Query{Key: key})
		if err != nil {
			continue // it stays as it was read
		}
		now = append(now, page.Items...)
		gone[key] = len(page.Items) == 0
	}
	first := append(s.Sessions[:len(s.Sessions):len(s.Sessions)], now...)
	s.Sessions = withMore(first, w.more, gone)
}

// differs reports whether a status says that the rows have changed.
func differs(a, b ops.Status) bool {
	return a.Life != b.Life || a.State != b.State || a.Counts != b.Counts || len(a.Warnings) != len(b.Warnings)
}

// maybeFetch looks now if that is due: never two looks at once, a snapshot only if something changed, at most ten times a
// second, under load four times, and for a fifth of the time. A change after a calm tenth of a second is shown at once; under load
// what is shown is at most 0.3 s old and a look.
func (m *model) maybeFetch(ticked bool) tea.Cmd {
	now := time.Now()
	if m.looking || m.link.State == views.LinkGone && now.Before(m.link.NextTry) {
		return nil
	}
	w := fetchRequest{
		full:   m.wantsRows(ticked, now),
		stop:   m.stopping() != nil,
		assume: m.whatIf.assume(),
		plan:   (m.view == views.Overview || m.view == views.Shutdown) && now.Sub(m.planAt) > planGap && m.stopping() == nil,
		rates:  m.ratesDue(now),
		seen:   m.status, order: m.order(), most: m.most(now), before: m.snap, more: m.more.rows, held: m.held(),
	}
	if w.full && !m.wanted {
		gap := max(fullGap, fullShare*m.fullTook)
		if m.feed.busy() {
			gap = max(gap, busyGap)
		}
		if m.stopping() != nil {
			gap = max(gap, stopGap)
		}
		switch wait := m.fullAt.Add(gap).Sub(now); {
		case wait <= 0:
		case ticked:
			w.full = false
		case m.stopping() != nil || wait >= calm: // the tick comes sooner
			return nil
		default:
			w.after = wait
		}
	}
	if !w.full && !ticked {
		return nil
	}
	m.wanted = false
	return m.startFetch(w)
}

func (m *model) onTick() tea.Cmd {
	m.advance()
	m.feed.show(m.showsEvents())
	look := m.maybeFetch(true)
	m.stale = m.stale || look == nil // what the look finds is drawn in its place
	cmds := []tea.Cmd{look, m.readHistory(), m.readMore(), m.settle(), m.tick()}
	if m.repaint != nil && m.repaint() {
		cmds = append(cmds, tea.ClearScreen)
	}
	return tea.Batch(cmds...)
}

// advance updates the ages.
func (m *model) advance() {
	m.now = time.Now()
	if m.link.State == views.LinkLive && m.now.Sub(m.seenAt) > staleAfter {
		m.link.State, m.link.Err = views.LinkStale, "the gateway does not answer"
	}
}

func (m *model) onFetched(l fetched) tea.Cmd {
	m.looking = false
	m.stale = true
	if l.err != nil {
		return m.noAnswer(l.err)
	}
	if m.link.State == views.LinkGone || m.feedEnded {
		m.feedEnded = false
		m.feed.restart(m.status.Life != "" && l.status.Life != m.status.Life)
	}
	if m.status.Life != "" && l.status.Life != m.status.Life {
		m.nextLife(l.status)
	}
	if m.status.Life != l.status.Life && m.opt.Attached && m.opt.Version != "" && l.status.Version != m.opt.Version {
		m.say("the gateway is version " + l.status.Version + ", this console " + m.opt.Version + ": one may not know what the other does")
	}
	m.link.State, m.link.Err, m.link.Try = views.LinkLive, "", 0
	m.seenAt = l.at
	if !m.link.Paused {
		m.now, m.link.At = l.at, l.at
	}
	if m.status.Life == l.status.Life && l.status.Counts.Inbox > m.status.Counts.Inbox {
		m.inboxGrew = l.at
	}
	m.status = l.status
	if l.plan != nil {
		m.tookPlan(*l.plan, l.at)
	}
	if l.snap != nil {
		m.snap = l.snap
		if l.weighed {
			m.weighed = l.at
		}
		m.fullAt, m.fullTook = l.began, l.at.Sub(l.began)
	}
	if l.stop != nil {
		m.sawStop(l.stop)
	} else if m.snap != nil {
		m.snap.Status = l.status
	}
	m.sawRates(l.rates, l.at)
	cmds := []tea.Cmd{m.recheck()}
	if l.snap != nil {
		cmds = append(cmds, m.show(l.rows))
	}
	return tea.Batch(append(cmds, m.maybeFetch(false), m.readHistory(), m.readMore())...)
}

// noAnswer handles a poll that failed. A socket without a listener means that the gateway has ended; a slow answer does not.
func (m *model) noAnswer(err error) tea.Cmd {
	m.link.Err = ops.AsError(err).Error()
	if errors.Is(err, context.Canceled) {
		return nil // the console ends
	}
	m.dirty = true
	slow := errors.Is(err, context.DeadlineExceeded) || !ops.HasCode(err, ops.CodeUnavailable)
	switch {
	case m.opt.Attached && !slow:
		if m.link.State != views.LinkGone {
			m.link.Try = 0
		}
		m.link.State = views.LinkGone
		m.happened(newsCame)
		m.link.Try++
		m.link.NextTry = time.Now().Add(min(tryFirst<<min(m.link.Try-1, 8), tryMost))
		return m.lastRecord()
	case m.snap != nil && time.Since(m.seenAt) > staleAfter:
		m.link.State = views.LinkStale
	}
	return nil
}

// nextLife forgets the life that has ended, but for its stop's record.
func (m *model) nextLife(st ops.Status) {
	m.events, m.shownEvents = nil, nil
	m.opened, m.ended, m.dirty, m.history.wanted = false, false, true, true
	m.link.Missed = 0
	m.rates, m.ratesAt = nil, time.Time{}
	m.more = sessionPages{number: m.more.number + 1}
	done := ""
	if m.question() != nil {
		done = ". Nothing was done."
	}
	m.happened(lifeBegan)
	m.saw = ""
	m.say(fmt.Sprintf("a new gateway answers: pid %d%s", st.PID, done))
}

func (m *model) onBatch(b batch) tea.Cmd {
	again := m.await(feedGap)
	if b.gen != m.feedGen() {
		return again
	}
	if b.resumed {
		m.events = slices.DeleteFunc(m.events, func(e ops.Event) bool { return e.Seq > b.back })
	}
	m.link.Missed += b.lost
	m.feedEnded = b.ended
	for _, e := range b.events {
		switch e.Type {
		case ops.EventDropped:
			m.link.Missed += missed(e)
		case ops.EventShutdownPhase:
			m.stopMoved(e)
		case ops.EventShutdownEnded:
			m.stopEnded(e)
		}
	}
	m.rouseFor(b.events)
	if len(b.events) > 0 {
		m.dirty = m.dirty || m.snap == nil || b.events[len(b.events)-1].Seq > m.snap.Seq
		m.addEvents(slices.DeleteFunc(b.events, func(e ops.Event) bool { return e.Type == ops.EventSkipped }))
	}
	if m.link.Paused {
		m.link.Behind += len(b.events)
	}
	m.stale = m.stale || m.showsEvents() || m.link.Paused || m.link.Missed > 0 || b.ended
	cmds := []tea.Cmd{again, m.maybeFetch(false)}
	if !m.opt.Attached && (m.ended || b.ended && b.err == nil) && !m.finalAsked {
		m.finalAsked = true
		cmds = append(cmds, m.readRecord(finalGrace, finalGrace))
	}
	return tea.Batch(cmds...)
}

// await is the loop's one command on the feed.
func (m *model) await(wait time.Duration) tea.Cmd {
	return m.tasks.cmd(taskFeed, func(ctx context.Context) tea.Msg {
		pause(ctx, wait)
		return m.feed.next(ctx)
	})
}

func (m *model) showsEvents() bool { return m.view == views.Events || m.view == views.Shutdown }

func (m *model) feedGen() int {
	m.feed.mu.Lock()
	defer m.feed.mu.Unlock()
	return m.feed.gen
}

// agedAfter is the age from which rows are read again though no event tells of a change. What a command writes and uses and how
// long it runs is no event, and neither is each progress of a turn.
const agedAfter = 2 * time.Second

// wantsRows reports whether the rows are to be read: something has changed, a person wants it, or they are old.
func (m *model) wantsRows(ticked bool, now time.Time) bool {
	return m.dirty || m.snap == nil || m.wanted || ticked && m.aged(now)
}

// aged reports whether the rows in sight may have changed without an event. A task that tells how far it is stands on every screen,
// and its end is no event.
func (m *model) aged(now time.Time) bool {
	if now.Sub(m.fullAt) < agedAfter {
		return false
	}
	if slices.ContainsFunc(m.snapshot().Background, func(b ops.Background) bool { return b.Progress != "" }) {
		return true
	}
	works := m.status.Counts.RunningTurns > 0 || m.status.Counts.Processes > 0
	return works && (m.view == views.Overview || slices.Contains(ofLists, m.view))
}
