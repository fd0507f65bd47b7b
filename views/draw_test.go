package views

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/muesli/termenv"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/soak"
)

var sizes = [][2]int{{20, 5}, {40, 6}, {80, 24}, {140, 40}, {200, 60}}

var someHints = []Hint{
	{"R", "reset"},
	{"E", "evict"},
	{"D", "drain"},
	{"S", "stop"},
	{"enter", "open"},
	{"/", "filter"},
	{"o", "sort"},
	{":", "cmd"},
	{"?", "help"},
}

// screen is one of the four lists on a live link, its rows ordered as the console orders them.
func screen(v View, snap ops.Snapshot) Screen {
	s := Screen{
		View: v, Hints: someHints,
		Link: Link{State: LinkLive, At: noon.Add(-400 * time.Millisecond)},
	}
	s.Now, s.Detail.Page = noon, "details" // what is read in addition has tests of its own
	s.Table.Total = Rows(&snap, v)
	s.Snap = Order(snap, v, s.Table)
	if keys := Keys(&s.Snap, v); len(keys) > 1 {
		s.Table.Selected = keys[1]
		if len(keys) > 2 {
			s.Table.Marked = map[string]bool{keys[2]: true}
		}
	}
	return s
}

// states are what a list can be in; each gets a golden file with all sizes.
var states = []struct {
	name string
	make func(v View) Screen
}{
	{"loading", func(v View) Screen {
		s := screen(v, ops.Snapshot{})
		s.Link = Link{State: LinkLoading}
		return s
	}},
	{"empty", func(v View) Screen {
		snap := fiveRows()
		snap.Sessions, snap.Agents, snap.Processes = nil, nil, nil
		if v == Adapters {
			snap.Adapters = nil
		}
		if v == Inbox {
			snap.Inbox, snap.Counts.Inbox = nil, 0
		}
		if v == Held {
			snap.Servers, snap.Jobs, snap.Held = nil, nil, nil
		}
		return screen(v, snap)
	}},
	{"filtered-out", func(v View) Screen {
		s := screen(v, fiveRows())
		s.Table.Filter = "foo"
		s.Snap = Order(s.Snap, v, s.Table)
		return s
	}},
	{"rows", func(v View) Screen { return screen(v, fiveRows()) }},
	{"details", func(v View) Screen {
		s := screen(v, fiveRows())
		s.Detail.Open = true
		return s
	}},
	{"many", func(v View) Screen {
		s := screen(v, manyRows(10_000, 1000))
		s.Table.Offset = 40
		s.Table.Selected = Keys(&s.Snap, v)[42]
		return s
	}},
	{"stale", func(v View) Screen {
		s := screen(v, fiveRows())
		s.Link = Link{State: LinkStale, At: noon.Add(-6 * time.Second), Err: "the socket did not answer in 1s", Attached: true}
		return s
	}},
	{"gone", func(v View) Screen {
		snap := fiveRows()
		snap.State = ops.StateStopping
		s := screen(v, snap)
		s.Link = Link{
			State: LinkGone, At: noon.Add(-7 * time.Second), Err: "the socket is closed", Attached: true, Try: 3,
			NextTry: noon.Add(2 * time.Second),
		}
		return s
	}},
	{"read-only", func(v View) Screen {
		s := screen(v, fiveRows())
		s.Link.Attached, s.Link.ReadOnly = true, true
		s.Hints = []Hint{{"enter", "open"}, {"/", "filter"}, {"?", "help"}}
		s.Message, s.Failed = "this console is read-only: :unlock lifts it", true
		return s
	}},
	{"draining", func(v View) Screen {
		snap := fiveRows()
		snap.State = ops.StateDraining
		snap.Drain = &ops.DrainState{By: "maria", Reason: "new kernel", Since: before(40 * time.Second)}
		s := screen(v, snap)
		s.Input = "/tele"
		return s
	}},
	{"paused", func(v View) Screen {
		s := screen(v, fiveRows())
		s.Link.Paused, s.Link.Behind, s.Link.Missed, s.Link.At = true, 41, 12, noon.Add(-12*time.Second)
		s.Table.Sort, s.Table.Reverse, s.Table.Filter = "state", true, "!zz"
		s.Snap = Order(s.Snap, v, s.Table)
		return s
	}},
}

func TestEachListLooksAsReviewedInEveryStateAndSize(t *testing.T) {
	for _, v := range []View{Sessions, Agents, Processes, Adapters, Inbox, Held} {
		for _, st := range states {
			name := v.String() + "-" + st.name
			t.Run(name, func(t *testing.T) {
				s := st.make(v)
				var a album
				for _, ascii := range []bool{false, true} {
					for _, size := range append([][2]int{{60, 15}}, sizes...) {
						s.W, s.H, s.ASCII = size[0], size[1], ascii
						if ascii && s.W != 80 { // the signs do not depend on the size
							continue
						}
						lines := Draw(s)
						exact(t, lines, s.W, s.H)
						inert(t, lines)
						title := fmt.Sprintf("%dx%d", s.W, s.H)
						if ascii {
							title += " ascii"
						}
						a.add(title, lines)
					}
				}
				a.check(t, name)
			})
		}
	}
}

// A tree that ran into a limit says so where its last output stood, and in its details (HF4).
func TestHF4_AProcessThatReachedALimitIsMarked(t *testing.T) {
	const reached = "out of memory: limits.tree_memory"
	snap := fiveRows()
	snap.Processes[0].Limit = reached
	s := screen(Processes, snap)
	s.W, s.H, s.Table.Selected = 200, 40, strconv.Itoa(snap.Processes[0].PID)
	for _, s.Detail.Open = range []bool{false, true} {
		if text := strings.Join(Draw(s), "\n"); !strings.Contains(text, "out of memory") {
			t.Errorf("details %v: the limit is not there:\n%s", s.Detail.Open, text)
		}
	}
}

// C17: a process that does what an older one does already is marked in its row and named in its details, and is found by
// the mark.
func TestC17_ADuplicateProcessIsMarked(t *testing.T) {
	snap := fiveRows()
	for i := range snap.Processes[3:5] {
		snap.Processes[3+i].Command, snap.Processes[3+i].State = "npm run dev", "running"
	}
	snap.Processes[4].DuplicateOf = snap.Processes[3].PID
	s := screen(Processes, snap)
	s.Table.Selected, s.Detail.Open = "4411", true
	var a album
	for _, size := range [][2]int{{60, 15}, {80, 24}, {140, 40}} {
		s.W, s.H = size[0], size[1]
		lines := Draw(s)
		exact(t, lines, s.W, s.H)
		a.add(fmt.Sprintf("%dx%d", s.W, s.H), lines)
	}
	a.check(t, "processes-duplicate")
	s.Table.Filter = "dup of"
	if s.Snap = Order(snap, Processes, s.Table); len(s.Snap.Processes) != 1 || s.Snap.Processes[0].PID != 4411 {
		t.Fatalf("the filter %q finds %+v", s.Table.Filter, s.Snap.Processes)
	}
}

func TestEachThemeLooksAsReviewed(t *testing.T) {
	for _, name := range Themes {
		t.Run(name, func(t *testing.T) {
			var a album
			for _, profile := range []termenv.Profile{termenv.TrueColor, termenv.ANSI} {
				s := states[3].make(Sessions)
				s.W, s.H, s.Theme = 80, 24, NewTheme(name, profile)
				lines := Draw(s)
				exact(t, lines, s.W, s.H)
				for i, line := range lines {
					lines[i] = strings.ReplaceAll(line, "\x1b", "␛")
				}
				a.add(fmt.Sprintf("%dx%d, profile %d", s.W, s.H, profile), lines[:10])
			}
			a.check(t, "theme-"+name)
		})
	}
}

func TestNoSizeOfAnyViewPanicsOrMissesItsSize(t *testing.T) {
	snaps := []ops.Snapshot{{}, nonsense()}
	for k, v := range []View{0, Overview, Sessions, Agents, Processes, Adapters, Shutdown, Events, Inbox, 99} {
		for _, snap := range snaps {
			s := screen(v, snap)
			s.Detail.Open, s.Message = true, "done"
			for i, w := range []int{-1, 1, 2, 3, 5, 19, 39, 40, 79, 80, 119, 120, 200} {
				for j, h := range []int{0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 23, 24, 29, 30, 60} {
					if (i+j+k)%3 != 0 && !soak.On() { // each view has each width and each height, and a third of the pairs
						continue
					}
					s.W, s.H = w, h
					lines := Draw(s)
					exact(t, lines, max(w, 1), max(h, 1))
					if strings.TrimSpace(lines[0]) == "" {
						t.Fatalf("%s at %dx%d begins with a blank line", v, w, h)
					}
				}
			}
		}
	}
}

func TestNonsenseInASnapshotIsDrawnAsUnknown(t *testing.T) {
	for _, v := range []View{Sessions, Agents, Processes, Adapters, Inbox, Held} {
		t.Run(v.String(), func(t *testing.T) {
			var a album
			for _, page := range []string{"", "details", "run", "processes", "no such page"} {
				s := screen(v, nonsense())
				s.W, s.H, s.Detail = 140, 40, Detail{Open: page != "", Page: page}
				lines := Draw(s)
				exact(t, lines, s.W, s.H)
				inert(t, lines)
				if text := strings.Join(lines, "\n"); !strings.Contains(text, "? unknown") {
					t.Fatalf("no row has an unknown state:\n%s", text)
				}
				if page == "" {
					a.add("140x40", lines)
				}
			}
			a.check(t, v.String()+"-nonsense")
		})
	}
}

func TestTheSelectedRowIsMarkedInText(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		s := screen(Sessions, fiveRows())
		s.W, s.H, s.ASCII = 80, 24, ascii
		var marked []string
		for _, line := range Draw(s) {
			if strings.HasPrefix(line, ">") {
				marked = append(marked, line)
			}
		}
		if len(marked) != 1 || !strings.Contains(marked[0], s.Table.Selected[len(s.Table.Selected)-10:]) {
			t.Fatalf("selected is %s, marked with > are %q", s.Table.Selected, marked)
		}
	}
}

func TestASCIIFramesHaveNothingElse(t *testing.T) {
	snap := fiveRows()
	snap.Sessions[0].Key, snap.Sessions[0].Doing = "tg:李小龍", "naïve e\u0301 \u0301\u0301 🎉"
	for v := Overview; v <= Events; v++ {
		s := screen(v, snap)
		s.W, s.H, s.ASCII, s.Detail.Open = 140, 40, true, true
		s.Theme = NewTheme("dark", termenv.TrueColor)
		lines := Draw(s)
		exact(t, lines, s.W, s.H)
		for _, line := range lines {
			if strings.ContainsFunc(line, func(r rune) bool { return r > unicode.MaxASCII }) {
				t.Fatalf("in %s: %q", v, line)
			}
		}
	}
}

func TestPageIsHowManyRowsAFrameShows(t *testing.T) {
	for _, size := range append(sizes, [2]int{60, 15}, [2]int{90, 9}) {
		for _, detail := range []bool{false, true} {
			s := screen(Sessions, manyRows(1000, 0))
			s.W, s.H, s.Detail.Open = size[0], size[1], detail
			s.Table.Selected = ""
			got := 0
			for _, line := range Draw(s) {
				if strings.HasPrefix(line, "   telegram:dm:") || strings.HasPrefix(line, " * telegram:dm:") {
					got++
				}
			}
			if page := Page(s); page != got {
				t.Errorf("%v with details %v: Page is %d, drawn are %d rows", size, detail, page, got)
			}
		}
	}
}

func TestTheLastHintStaysWhenHintsDoNotFit(t *testing.T) {
	s := screen(Sessions, fiveRows())
	for w := 40; w < 160; w++ {
		s.W, s.H = w, 12
		lines := Draw(s)
		if last := lines[len(lines)-1]; !strings.Contains(last, "? help") || strings.Contains(last, "…") {
			t.Fatalf("at %d cells the keys are %q", w, last)
		}
	}
}

func TestAPromptThatIsTooLongShowsItsEnd(t *testing.T) {
	s := screen(Sessions, fiveRows())
	s.W, s.H, s.Input = 40, 12, "/"+strings.Repeat("x", 100)+"end"
	if text := strings.Join(Draw(s), "\n"); !strings.Contains(text, "xend█") {
		t.Fatalf("drawn:\n%s", text)
	}
}

// box is an overlay of our own making.
type box []string

func (b box) Lines(Opts) []string { return b }

func TestAnOverlayLiesOverTheMiddle(t *testing.T) {
	snap := fiveRows()
	snap.Sessions[0].Key = strings.Repeat("界", 60)
	s := screen(Sessions, snap)
	s.Theme = NewTheme("dark", termenv.ANSI)
	s.Over = box{"+------+", "| sure |", "+------+"}
	for w := 1; w < 160; w += 7 {
		for h := 1; h < 50; h += 3 {
			s.W, s.H = w, h
			lines := Draw(s)
			exact(t, lines, w, h)
			if text := strings.Join(lines, "\n"); w >= 8 && h >= 3 && !strings.Contains(text, "| sure |") {
				t.Fatalf("%dx%d hides the box:\n%s", w, h, text)
			}
		}
	}
	s.W, s.H = 80, 24
	s.Over = box(strings.Split(strings.Repeat("\x1b[7m界", 90)+"\n"+strings.Repeat("x\n", 100), "\n"))
	exact(t, Draw(s), 80, 24)
}

func FuzzAFrameHasItsSizeAndNothingThatActsOnATerminal(f *testing.F) {
	f.Add("tg:1\x1b]0;title\x07", "界\ufe0f0000", 80, 24, 2, false, true)
	f.Add("\u202egnippots\u2066", "0\ufe0f00000", 9, 3, 3, true, false)
	f.Add("\n\r\t\u009b31m", "e\u0301\u0301\u0301\u0301\u0301\u0301", 1, 1, 4, false, false)
	f.Add("\xff\xfe", "👩‍👩‍👧‍👦🇩🇪🇩", 140, 40, 5, true, true)
	f.Add("\u0600\u06dd1", "ก็็็็\u0e33\u0e33\u1100\u1161\u11a8", 121, 31, 2, false, true)
	f.Fuzz(func(t *testing.T, a, b string, w, h, view int, ascii, detail bool) {
		w, h = 1+abs(w)%200, 1+abs(h)%60
		snap := fiveRows()
		snap.Version, snap.State, snap.Warnings[0].Message = a, ops.State(b), a
		snap.Drain = &ops.DrainState{By: a, Reason: b}
		for i := range 2 {
			r := &snap.Sessions[i]
			r.Key, r.User, r.Platform, r.Doing, r.ID, r.Turn, r.State = a, b, a, b, a, b, ops.SessionState(a)
			g := &snap.Agents[i]
			g.Session, g.Model, g.State = a, b, ops.AgentState(a)
			p := &snap.Processes[i]
			p.Session, p.Command, p.LastOutput, p.Limit = a, b, a, b
			p.State, p.Policy, p.Origin = ops.ProcessState(b), ops.Policy(a), ops.Origin(b)
			d := &snap.Adapters[i]
			d.Name, d.LastError, d.State = b, a, ops.AdapterState(b)
			i := &snap.Inbox[i]
			i.ID, i.Session, i.Text, i.Command, i.Folder, i.Environment, i.By, i.Who = a, b, a, b, a, b, a, b
			i.Kind, i.State, i.Reasons, i.Options = ops.InboxKind(a), ops.InboxState(b), []string{a}, []string{b}
		}
		s := Screen{
			View: []View{Sessions, Agents, Processes, Adapters, Inbox, Held}[abs(view)%6], Snap: snap, Detail: Detail{Open: detail, Scroll: abs(h) % 9, End: ascii, Whole: abs(w)%3 == 0, Page: a},
			Link:  Link{State: LinkState(abs(view) % 4), At: noon, Err: a, Attached: true},
			Table: TableState{Selected: a, Filter: b, Sort: a, Total: 9, Marked: map[string]bool{b: true}}, Message: b, Hints: someHints,
		}
		if ascii {
			s.Input = a
		}
		s.W, s.H, s.Now, s.ASCII = w, h, noon, ascii
		lines := Draw(s)
		exact(t, lines, w, h)
		inert(t, lines)
	})
}

func abs(n int) int { return max(n, -(n + 1)) }
