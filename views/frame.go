package views

import (
	"slices"
	"time"

	"gatewaytui/core/ops"
)

// View names a screen; its number is the key that opens it.
type View int

// The nine views, in the order of their numbers.
const (
	Overview View = iota + 1
	Sessions
	Agents
	Processes
	Adapters
	Shutdown
	Events
	Inbox
	Held
)

// Views lists every view.
var Views = []View{Overview, Sessions, Agents, Processes, Adapters, Shutdown, Events, Inbox, Held}

// String is the view's name, as tabs, palette and help show it.
func (v View) String() string {
	if !slices.Contains(Views, v) {
		return unknown
	}
	return [...]string{"overview", "sessions", "agents", "processes", "adapters", "shutdown", "events", "inbox", "held"}[v-Overview]
}

// Opts is how everything is drawn. The zero value of Theme is the mono one.
type Opts struct {
	// W and H are the size of the screen in cells, at least 1 each.
	W, H int
	// Now is the moment to which all ages refer. The same Now and the same rows give the same frame.
	Now   time.Time
	Theme *Theme
	// ASCII draws lines and glyphs with ASCII characters alone.
	ASCII bool
}

// layout is one of the four ways to use a screen, from the smallest up.
type layout int

const (
	// layoutLine is one line, the one that matters, and a prompt or message on the last.
	layoutLine layout = iota
	// layoutStrip is the header's first line, the body and the keys; lines of tabs and status come back with height.
	layoutStrip
	// layoutFull has every line.
	layoutFull
	// layoutWide has two lines of keys.
	layoutWide
)

func (o Opts) layout() layout {
	switch {
	case o.W >= 120 && o.H >= 30:
		return layoutWide
	case o.W >= 80 && o.H >= 24:
		return layoutFull
	case o.W >= 40 && o.H >= 6:
		return layoutStrip
	}
	return layoutLine
}

// LinkState says how fresh the snapshot is.
type LinkState int

// The states of the link to the gateway.
const (
	// LinkLoading: there has been no answer yet.
	LinkLoading LinkState = iota
	// LinkLive: the snapshot is fresh.
	LinkLive
	// LinkStale: the gateway does not answer; what is shown is old.
	LinkStale
	// LinkGone: the gateway has ended or cannot be reached; the last record stays on the screen.
	LinkGone
)

// Link is the way to the gateway as the header tells it.
type Link struct {
	State LinkState
	// At is when the snapshot was read.
	At time.Time
	// Err says for people why there is no fresh snapshot.
	Err string
	// Attached is false for the gateway in this process. ReadOnly takes the levers away. Paused freezes the picture.
	Attached, ReadOnly, Paused bool
	// Missed counts the events that were lost to slowness; Behind the changes since the pause.
	Missed, Behind int
	// Try and NextTry are of the search for the next life, after LinkGone.
	Try     int
	NextTry time.Time
}

// TableState is how the person looks at one list. It is the caller's; views only read it.
type TableState struct {
	// Selected is the key of the selected row (Keys), empty for none; Offset the index of the first row of the window,
	// which is Page rows high.
	Selected string
	Offset   int
	Marked   map[string]bool
	// Sort is the name of the column that the rows are sorted by (SortColumns), empty for DefaultSort.
	Sort    string
	Reverse bool
	// Places are the places that rows had when they were last put in order, by key. With them Order changes no more than
	// it must, so that rows do not dance: what needs attention comes first at once, every other row keeps its place among
	// those that had one, and new rows come where they belong. Nil: the order is made afresh.
	Places map[string]int
	// Still leaves rows in their places that need attention, too: a person is at the keys.
	Still bool
	// Filter is the filter as it was typed (see Order); Total the number of rows before it.
	Filter string
	Total  int
}

// Hint is one key of the footer that does something here and now.
type Hint struct{ Key, Label string }

// Screen is one whole frame. Rows come filtered and sorted; see Draw.
type Screen struct {
	Opts
	View View
	Link Link
	// Snap is the last snapshot; its row slices are already filtered and sorted for View.
	Snap  ops.Snapshot
	Table TableState
	// Detail is how the person looks at the detail of the selected row.
	Detail Detail
	// Talk is what was read for the page "talk".
	Talk Talk
	// Output is what was read for the pages "output" and "processes".
	Output Output
	// Events are what view 7 shows and what the shutdown view shows at its bottom, oldest first. Follow keeps the newest in sight.
	Events []ops.Event
	Follow bool
	// Log is what the page "log" shows, and view 7 if Stream says so.
	Log    Log
	Stream Stream
	// Stop is the shutdown that runs, else the last one, nil if none is known. StopItem is "kind:id" of the selected item.
	Stop     *ops.Shutdown
	StopItem string
	Plan     ops.Plan
	// WhatIf is what the plan page assumes.
	WhatIf WhatIf
	// Earlier are the reports of the stops before Stop, newest first, as far as they are known.
	Earlier []ops.Shutdown
	// Replay says that Stop is a moment of a past stop that is played back; nil: it is not.
	Replay *Replay
	// StopPage is the page of the shutdown view, Past what StopLives lists, of which Table has the selected row, and Life the
	// one that StopReport tells of, with its report as Stop.
	StopPage StopPage
	History  History
	Life     *ops.Life
	// Turn is what the page "timeline" of a session shows.
	Turn TurnTimeline
	// Rates are the figures of the overview's graphs, nil before the first; Range is the span that they were asked for.
	Rates *ops.Rates
	Range time.Duration
	// Message is the one line about what was done or why not; Failed says that it is bad news. Input is a prompt that
	// takes keys, such as "/foo" or ":reset", drawn with its cursor instead of the message.
	Message string
	Failed  bool
	Input   string
	Hints   []Hint
	// Guide is what a newcomer can try next in a demo; empty draws no line for it.
	Guide string
	// InboxGrew lights the inbox's count: a request has come within the last second.
	InboxGrew bool
	// Over is drawn over the view: a dialog, the palette's list or the help page. Nil: nothing.
	Over Overlay
}

// StopPage is what the shutdown view shows.
type StopPage int

// The pages of the shutdown view.
const (
	// StopNow is the stop that runs, or the one that was watched to its end: its report stays until the person goes on.
	StopNow StopPage = iota
	// StopLives is the list of past lives, StopReport what is known of one of them, and StopPlan the stop as it would run.
	StopLives
	StopReport
	StopPlan
	// StopReplay is a past stop that is played back.
	StopReplay
)

// Replay is how far a past stop is played back: the moment At of Took, at Speed seconds of the stop in a second.
type Replay struct {
	At, Took time.Duration
	Speed    float64
	Paused   bool
}

// History are the past lives as far as they have been read, and how the reading goes.
type History struct {
	// Lives are filtered already, newest first; Read is how many have been read, and More says that there are more.
	Lives []ops.Life
	Read  int
	More  bool
	// At is when they were read, zero if they never were. Asking says that an answer is awaited, Err why the last one failed.
	At     time.Time
	Asking bool
	Err    string
}

// Overlay is a box over the view.
type Overlay interface {
	// Lines draws the box: at most o.H lines of at most o.W cells.
	Lines(o Opts) []string
}
