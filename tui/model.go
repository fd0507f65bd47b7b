package tui

import (
	"fmt"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

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
	rates     *ops.Rates    // nil before the first
	span      time.Duration // of the rates, as a person chose it; 0: see wantedSpan
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
	ratesAt    time.Time // when the rates were asked for
	seenAt     time.Time
	inboxGrew  time.Time // when a request came

	// What the person looks at.
	w, h        int
	now         time.Time
	view, back  views.View
	opened      bool // the running stop's view was opened without a key
	lists       map[views.View]*list
	shown       ops.Snapshot // the rows of view, filtered and sorted
	shownOrder  int          // the order they were made with
	orders      int          // the newest order
	keyAt       time.Time    // when the last key was pressed
	overviewAt  int          // the place of the selected row of the overview
	shownEvents []ops.Event
	shownLog    []ops.LogLine
	log         views.Log // of view 7
	stream      views.Stream
	follow      bool
	detail      views.Detail
	readings    [3]reading // of the pages in sight, and of the log in view 7
	newReader   func(v views.View, page, row string) reader
	turnAim     turnAim // the last turn that was asked for by its name
	stopItem    string
	stopPage    views.StopPage
	history     history
	replay      *replay // the open one, or the last
	whatIf      whatIf
	more        sessionPages
	lastFilter  string
	sought      sought // empty: nothing is
	busiest     busiest
	unsent      *composing // a message that was begun; nil: none was

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
	// What is remembered for the next console: see habits.go. keeping says that it is being written down, kept is what was.
	lines       []string
	chosenTheme string
	mouse       bool
	wheel       int // lines that the wheel was turned by and the screen has not moved yet, with the pointer at wheelAt
	wheelAt     tea.MouseMsg
	kept        Habits
	keeping     bool
	rungAt      time.Time
	rung        int

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
		lists: map[views.View]*list{}, stopPage: views.StopLives, newReader: readerFor,
	}
	for _, v := range views.Views {
		m.lists[v] = &list{}
	}
	m.link.Attached, m.link.ReadOnly = o.Attached, o.ReadOnly
	m.resume(o.Habits)
	return m
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

// bare is the screen as far as it depends neither on rows nor on the keys.
func (m *model) bare() views.Screen {
	return views.Screen{
		Opts: views.Opts{W: m.w, H: m.h, Now: m.now}, View: m.view, Link: m.link, Snap: ops.Snapshot{Status: m.status},
		Stop: m.stop, StopItem: m.stopItem, Detail: m.detail,
	}
}

// say and deny put a line where the person looks; it stays until a key.
func (m *model) say(text string)  { m.message, m.bad, m.stale = text, false, true }
func (m *model) deny(text string) { m.message, m.bad, m.stale = text, true, true }

// witnessed is the record of the stop that this console saw.
func (m *model) witnessed() *ops.Shutdown {
	if m.stop == nil || m.stop.ID != m.saw {
		return nil
	}
	return m.stop
}

func (m *model) snapshot() *ops.Snapshot {
	if m.snap == nil {
		return &ops.Snapshot{}
	}
	return m.snap
}
