package tui

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// model is the whole state of the console. It is changed by Update alone, on Bubble Tea's loop; tasks outside of the loop
// get values and answer with messages.
type model struct {
	console ops.Console
	tasks   *tasks
	opt     Options
	theme   *views.Theme
	feed    *feed
	// repaint reports once that frames were dropped and can be painted again; raw writes past the renderer. Both are nil
	// without a guard.
	repaint func() bool
	raw     func([]byte) bool

	// What the gateway said.
	status    ops.Status
	snap      *ops.Snapshot // the newest, nil before the first
	stop      *ops.Shutdown // that runs, else the last
	plan      ops.Plan
	link      views.Link
	rss       float64
	spark     views.Spark
	events    []ops.Event
	saw       string // the id of the stop that was seen running, in this life
	ended     bool   // the stop's last event was seen
	feedEnded bool

	// How the gateway is polled: see poll.go.
	looking    bool
	dirty      bool // something changed since the last snapshot
	wanted     bool // by a person, now
	finalAsked bool
	recordOf   string // the life whose last record was asked for
	fullAt     time.Time
	fullTook   time.Duration
	planAt     time.Time
	weighed    time.Time // when the processes were looked at
	sampled    time.Time
	seenAt     time.Time

	// What the person looks at.
	w, h        int
	now         time.Time
	view, back  views.View
	opened      bool // the running stop's view was opened without a key
	lists       map[views.View]*list
	shown       ops.Snapshot // the rows of view, filtered and sorted
	shownOrder  int          // the order they were made with
	orders      int          // the newest order
	shownEvents []ops.Event
	follow      bool
	detail      bool
	detailTab   int
	stopItem    string
	stopPage    views.StopPage
	history     history
	more        sessionPages
	lastFilter  string

	// What the person is doing.
	dialog dialog
	// deafUntil is until when keys are dropped, because a dialog closed without a key.
	deafUntil time.Time
	message   string
	bad       bool
	doing     []*job
	jobs      int
	// previews numbers the previews that were asked for.
	previews int
	copied   string // what y copies instead of the row: the last diagnosis
	tried    tried
	rungAt   time.Time
	rung     int

	// The frame that was drawn, while nothing has changed since.
	frame string
	stale bool
	fails []time.Time

	exit    Exit
	failure error
}

func newModel(c ops.Console, t *tasks, o Options) *model {
	m := &model{
		console: c, tasks: t, opt: o, theme: theme(o), feed: newFeed(c),
		w: 80, h: 24, view: views.Overview, back: views.Overview, follow: true, stale: true, now: time.Now(),
		lists: map[views.View]*list{}, stopPage: views.StopLives,
	}
	for _, v := range views.Views {
		m.lists[v.View] = &list{}
	}
	m.link.Attached, m.link.ReadOnly = o.Attached, o.ReadOnly
	return m
}

// Init implements tea.Model.
func (m *model) Init() tea.Cmd {
	m.tasks.run(m.feed.run)
	return tea.Batch(m.startFetch(fetchRequest{full: true, plan: true, order: m.order()}), m.tick(), m.await(0))
}

// View implements tea.Model: the same string as long as nothing has changed.
func (m *model) View() string {
	if !m.stale && m.frame != "" {
		return m.frame
	}
	m.stale = false
	m.frame = strings.Join(m.draw(), "\n")
	return m.frame
}

// draw is the frame. A view that panics costs its own picture.
func (m *model) draw() (lines []string) {
	defer func() {
		if r := recover(); r != nil {
			m.fail(fmt.Sprintf("the view %s: %v", m.view, r), string(debug.Stack()))
			lines = m.fallback()
		}
	}()
	return views.Draw(m.screen())
}

func (m *model) fallback() []string {
	lines := make([]string, max(m.h, 2))
	lines[0], lines[1] = "this view failed", "1 to 7 open another; q leaves; the gateway goes on"
	for i, text := range lines {
		text = ansi.Truncate(text, m.w, "")
		lines[i] = text + strings.Repeat(" ", m.w-len(text))
	}
	return lines[:m.h]
}

// Failures of the console's own code: one costs a picture or a key, this many within failWindow the console.
const (
	failMost   = 3
	failWindow = time.Minute
)

func (m *model) fail(what, stack string) {
	now := time.Now()
	m.fails = append(slices.DeleteFunc(m.fails, func(at time.Time) bool { return now.Sub(at) > failWindow }), now)
	m.deny("the console failed: " + what)
	if len(m.fails) >= failMost {
		m.failure = fmt.Errorf("the console failed %d times in a minute, at last %s\n%s", len(m.fails), what, stack)
	}
}

func (m *model) screen() views.Screen {
	l := m.lists[m.view]
	s := views.Screen{
		Opts: views.Opts{W: m.w, H: m.h, Now: m.now, Theme: m.theme, ASCII: m.opt.ASCII},
		View: m.view, Link: m.link, Snap: m.shown, Table: l.TableState,
		Detail: m.detail, DetailTab: m.detailTab, Events: m.shownEvents, Follow: m.follow,
		Stop: m.stop, StopItem: m.stopItem, Plan: m.plan, Spark: m.spark,
		Message: m.message, Failed: m.bad, Hints: m.hints(), Guide: m.guide(),
	}
	if m.view == views.Shutdown {
		m.showHistory(&s)
	}
	if s.Message == "" {
		s.Message = m.progress()
	}
	if m.dialog != nil {
		m.dialog.draw(&s)
	}
	return s
}

// hints are the keys that do something here and now.
func (m *model) hints() []views.Hint {
	f := m.keyContext(false)
	var out []views.Hint
	for i := range bindings {
		b := &bindings[i]
		if b.label == "" || len(b.keys) == 0 || !b.inView(m.view) || b.works(f) != "" {
			continue
		}
		out = append(out, views.Hint{Key: keyName(b.keys[0]), Label: b.label})
	}
	return out
}

// keyContext are those of the row under the cursor: as it is drawn, or as the newest snapshot has it.
func (m *model) keyContext(newest bool) keyContext {
	f := keyContext{
		view: m.view, link: m.link.State, readOnly: m.opt.ReadOnly, state: m.status.State, stop: m.stopping(), now: m.now, gateway: m.status.Life,
	}
	snap := &m.shown
	if newest && m.snap != nil {
		snap = m.snap
	}
	l := m.lists[m.view]
	switch m.view {
	case views.Sessions:
		f.session = row(l, snap.Sessions, sessionKey)
	case views.Agents:
		if f.agent = row(l, snap.Agents, agentKey); f.agent != nil {
			f.session = find(snap.Sessions, f.agent.Session, sessionKey)
		}
	case views.Processes:
		f.process = row(l, snap.Processes, processKey)
	case views.Adapters:
		f.adapter = row(l, snap.Adapters, adapterKey)
	}
	f.phase, f.item = m.stopChoice()
	f.page, f.life = m.leaf(), m.life()
	return f
}

// keyContextOf are those of another row of the open view, for marks.
func (m *model) keyContextOf(key string) keyContext {
	l := m.lists[m.view]
	was := l.Selected
	l.Selected = key
	defer func() { l.Selected = was }()
	return m.keyContext(true)
}

func (m *model) stopChoice() (*ops.Phase, *ops.Item) {
	s := m.stopping()
	if s == nil {
		return nil, nil
	}
	phase, key := views.StopItem(m.bare())
	p := find(s.Phases, phase, func(p ops.Phase) string { return p.Name })
	if p == nil {
		return nil, nil
	}
	return p, find(p.Items, key, ops.Item.Key)
}

// bare is the screen as far as it depends neither on rows nor on the keys.
func (m *model) bare() views.Screen {
	return views.Screen{
		Opts: views.Opts{W: m.w, H: m.h, Now: m.now}, View: m.view, Link: m.link, Snap: ops.Snapshot{Status: m.status},
		Stop: m.stop, StopItem: m.stopItem,
	}
}

// keepStopItem drops the selection of an item that the stop no longer waits for, so that the next stuck item is selected.
func (m *model) keepStopItem() {
	if p := runningPhase(m.stop); p != nil {
		if it := find(p.Items, m.stopItem, ops.Item.Key); it != nil && !it.State.Over() {
			return
		}
	}
	m.stopItem = ""
}

// say and deny put a line where the person looks; it stays until a key.
func (m *model) say(text string)  { m.message, m.bad, m.stale = text, false, true }
func (m *model) deny(text string) { m.message, m.bad, m.stale = text, true, true }

func (m *model) leave(how How) tea.Cmd {
	m.exit = Exit{How: how, Final: m.witnessed()}
	if how == GatewayEnded {
		m.dialog = nil
		for _, line := range m.draw() {
			m.exit.Screen = append(m.exit.Screen, strings.TrimRight(ansi.Strip(line), " "))
		}
	}
	return tea.Quit
}

// witnessed is the record of the stop that this console saw.
func (m *model) witnessed() *ops.Shutdown {
	if m.stop == nil || m.stop.ID != m.saw {
		return nil
	}
	return m.stop
}

func itoa(n int) string { return strconv.Itoa(n) }
