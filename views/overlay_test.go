package views

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muesli/termenv"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/soak"
)

func drainDialog() Dialog {
	return Dialog{
		Title: "Drain the gateway?",
		Text:  []string{"New messages are refused with a notice; running work may finish."},
		Facts: []Fact{
			{"would wait for", "3 turns: telegram:dm:4412 (3:12), discord:ops/deploys (0:09), slack:C02/1718.22 (waits for an approval since 1:40: will NOT end by itself)"},
			{"would keep", "5 adapters connected, 6 sessions, 9 process trees"},
			{"undo", "U takes new work again at any time"},
		},
		Buttons: []Button{{"n or esc", "Cancel"}, {"y", "Drain"}},
		Armed:   true,
	}
}

func someDialogs() map[string]Overlay {
	fresh := drainDialog()
	fresh.Armed, fresh.ArmsIn = false, 300*time.Millisecond
	changed := drainDialog()
	changed.News, changed.Focus = "A newer turn has begun: 0:03", 1
	force := Dialog{
		Title: "Force the end of the gateway?", Danger: true,
		Text:  []string{"Everything that is not necessary is skipped; the stores are still closed."},
		Facts: []Fact{{"would lose", "2 turns: telegram:dm:4412, slack:C02"}, {"would kill", "pid 4199 bash -c pytest -q tests/gateway and 2 more"}},
		Want:  "force", Typed: "for", Note: "exit code 70", Buttons: []Button{{"esc", "Cancel"}, {"", "Force"}}, Armed: true,
	}
	keys := []Hint{{"1-7", "open a view"}, {"j k up down", "move"}, {"/", "filter"}, {"o O", "sort, reverse"}, {"enter", "open"}, {"esc", "one level up"}}
	var many []Match
	for i := range 40 {
		many = append(many, Match{Name: fmt.Sprintf("command-%d", i), Text: "does something", Key: "K"})
	}
	return map[string]Overlay{
		"dialog-armed": drainDialog(), "dialog-fresh": fresh, "dialog-changed": changed, "dialog-force": force,
		"help": Help{Title: "keys", Note: "esc closes", Sections: []HelpSection{
			{"everywhere", keys},
			{"sessions", []Hint{{"R", "reset"}, {"E", "evict"}, {"I", "interrupt"}}},
			{"shutdown", []Hint{{"A", "abandon the selected item"}, {">", "end this phase now"}, {"+", "30 s more"}, {"F", "force"}}},
		}},
		"help-scrolled": Help{Offset: 9, Sections: []HelpSection{{"everywhere", append(keys, append(keys, append(keys, keys...)...)...)}}},
		"palette": Palette{Input: "re", Selected: 1, Note: "tab completes", Matches: []Match{
			{Name: "reset SESSION", Text: "end a session and start a fresh one", Key: "R"},
			{Name: "reconnect ADAPTER", Text: "drop one platform's connection and make a new one"},
			{Name: "restart", Text: "stop, then start again", Off: "a stop runs already"},
		}},
		"palette-many": Palette{Input: strings.Repeat("long ", 30), Selected: 33, Matches: many},
		"found":        Found{Text: "disk full", Hits: someHits(2), Selected: 1, Note: "j k select   enter goes to the session   esc closes"},
		"found-many":   Found{Text: "\x1b[31mdisk", Hits: someHits(40), Selected: 30, Note: "esc closes; 7 older messages are not in the index yet"},
		"usage":        someUsage(ops.UsageGroups[0]), "usage-reading": Used{By: "model"}, "usage-none": Used{By: "person", Read: true, Err: "the gateway is starting"},
		"usage-many":    someUsage("session"),
		"palette-empty": Palette{Input: "xyzzy", Note: "nearest: kill"},
	}
}

// someUsage is what was used of budgets, one of them used up, by days or, many and hostile, by sessions.
func someUsage(by string) Used {
	money := func(n float64) *float64 { return &n }
	u := Used{By: by, Read: true, Budgets: []ops.Budget{
		{Name: "default", Currency: "USD", Windows: []ops.BudgetWindow{
			{Window: "turn", Limit: 1},
			{Window: "session"},
			{Window: "day", Limit: 10, Spent: money(8.42), Reserved: money(0.12), RenewsAt: ops.At(noon.Add(9 * time.Hour))},
			{Window: "month", Spent: money(61.5), RenewsAt: ops.At(noon.Add(200 * time.Hour))},
		}, Raises: []ops.BudgetRaise{{Money: 5, Until: ops.At(noon.Add(time.Hour)), By: "maria\x1b[2J"}}},
		{Name: "night\u202e", Currency: "USD", Windows: []ops.BudgetWindow{{Window: "tokens", Limit: 500_000, Spent: money(612_000), Reserved: money(0)}}},
	}}
	for i := range 3 {
		u.Days = append(u.Days, ops.Usage{
			Group: fmt.Sprintf("2026-11-%d", 21-i), Calls: 812, TokensIn: 1_840_000, TokensOut: 92_000, Cached: 1_200_000, Unpriced: int64(i) * 4000,
			Cost: money(8.42 / float64(i+1)), Currency: "USD", Estimated: i == 1,
		})
	}
	u.Days = append(u.Days, ops.Usage{Group: "2026-11-18", Calls: 1, TokensIn: 90, TokensOut: 4, Unpriced: 94, Currency: "USD"})
	if u.Rows = u.Days; by != "day" {
		u.Rows, u.Offset = nil, 30
		for i := range 40 {
			u.Rows = append(u.Rows, ops.Usage{Group: fmt.Sprintf("telegram:dm:%d\x1b[31m", 4711+i), Calls: int64(40 - i), TokensIn: int64(4000 - 90*i), TokensOut: 300, Unpriced: int64(4300 - 90*i)})
		}
		u.Rows[39].Group = ""
	}
	return u
}

// someHits is what a search found, hostile texts among it.
func someHits(n int) (hits []ops.Hit) {
	for i := range n {
		h := ops.Hit{Session: fmt.Sprintf("telegram:dm:%d", 4711+i), Who: "maria (4711)", At: ops.At(time.Date(2026, 11, 21, 12, 4, 5-i, 0, time.UTC)), Snippet: "the disk is full again, what can I delete without losing the backups of last week?"}
		if i%3 == 1 {
			h.Who, h.Undone, h.Snippet = "", true, "Look at \x1b[2J/var/log first: "+strings.Repeat("it is large. ", 20)
		}
		hits = append(hits, h)
	}
	return hits
}

func TestTheSelectedMessageOfASearchIsAlwaysInSight(t *testing.T) {
	for h := 6; h <= 60; h++ {
		for selected := range 40 {
			if (h+selected)%3 != 0 && !soak.On() {
				continue
			}
			lines := Found{Text: "disk", Hits: someHits(40), Selected: selected, Note: "esc closes"}.Lines(Opts{W: 80, H: h})
			text := strings.Join(lines, "\n")
			if len(lines) > h || !strings.Contains(text, fmt.Sprintf("in telegram:dm:%d ", 4711+selected)) || !strings.Contains(text, "esc closes") {
				t.Fatalf("height %d, message %d:\n%s", h, selected, text)
			}
		}
	}
}

func TestTheOverlaysLookAsReviewed(t *testing.T) {
	for name, over := range someDialogs() {
		t.Run(name, func(t *testing.T) {
			sc := stopStates()["stuck"]()
			sc.Over = over
			everySize(t, sc).check(t, "over-"+name)
		})
	}
}

func TestADialogKeepsItsButtonsOnAnyScreen(t *testing.T) {
	for h := 4; h <= 60; h++ {
		for _, w := range []int{30, 60, 80, 200} {
			for _, armed := range []bool{true, false} {
				d := drainDialog()
				d.Armed, d.ArmsIn = armed, 300*time.Millisecond
				lines := d.Lines(Opts{W: w, H: h})
				if len(lines) > h {
					t.Fatalf("%dx%d: %d lines", w, h, len(lines))
				}
				text := strings.Join(lines, "\n")
				if !strings.Contains(text, "[ Cancel ]") || !strings.Contains(text, "esc cancel") || !strings.Contains(text, "y drain") {
					t.Fatalf("%dx%d: the buttons or the key that acts are gone:\n%s", w, h, text)
				}
			}
		}
	}
}

func TestADialogThatIsNotArmedSaysWhenItWillBe(t *testing.T) {
	text := strings.Join(someDialogs()["dialog-fresh"].Lines(Opts{W: 80, H: 24}), "\n")
	if !strings.Contains(text, "keys armed in 0.3s") {
		t.Fatal(text)
	}
}

func TestADialogWithManyKeysThatIsNotArmedSaysSoBesideItsNote(t *testing.T) {
	d := Dialog{Title: "approval 7", Note: "t opens the session", ArmsIn: 500 * time.Millisecond}
	for _, label := range []string{"Later", "Once", "Turn", "Session", "Always", "No", "Why"} {
		d.Buttons = append(d.Buttons, Button{Key: strings.ToLower(label[:1]), Label: label})
	}
	o := Opts{W: 140, H: 40}
	fresh := d.Lines(o)
	d.Armed = true
	armed := d.Lines(o)
	if text := strings.Join(fresh, "\n"); !strings.Contains(text, "t opens the session   keys armed in 0.5s") {
		t.Errorf("before keys are taken:\n%s", text)
	}
	if text := strings.Join(armed, "\n"); strings.Contains(text, "0.5s") || len(armed) != len(fresh) {
		t.Errorf("when keys are taken it has %d lines, before %d:\n%s", len(armed), len(fresh), text)
	}
}

// overviewStates are the states in which the overview is reviewed.
func overviewStates() map[string]Screen {
	base := func() Screen {
		sc := stopScreen(nil)
		sc.View, sc.Snap = Overview, fiveRows()
		sc.Rates, sc.Range = someRates(), 30*time.Minute
		return sc
	}
	calm := base()
	calm.Snap.Warnings = nil
	calm.Snap.Sessions = calm.Snap.Sessions[3:4]
	calm.Snap.Processes = calm.Snap.Processes[:2]
	calm.Snap.Adapters = calm.Snap.Adapters[:1]
	draining := base()
	draining.Snap.State = ops.StateDraining
	draining.Snap.Drain = &ops.DrainState{By: "maria", Reason: "new kernel", Since: before(40 * sec)}
	draining.Snap.LastEnd = &ops.LastEnd{Life: "01KAJ", Outcome: ops.OutcomeCutShort, Phase: "adapters", Reason: "SIGKILL", At: before(77 * time.Hour)}
	starting := base()
	starting.Snap.State, starting.Snap.Sessions, starting.Snap.Agents, starting.Snap.Processes = ops.StateStarting, nil, nil, nil
	starting.Snap.Adapters = []ops.Adapter{{Name: "telegram", State: ops.AdapterConnecting, Since: before(2 * sec)}}
	starting.Rates = &ops.Rates{At: before(sec), SpanMS: 1_800_000, StepMS: 30_000, Steps: make([]ops.RateStep, 1)}
	starting.Snap.StartedAt, starting.Snap.Counts = before(2*sec), ops.Counts{Adapters: 1}
	stopping := base()
	stopping.Snap.State, stopping.Snap.Shutdown = ops.StateStopping, adaptersStuck(90*sec, 4*sec).report()
	many := base()
	many.Snap = manyRows(10_000, 1000)
	loading := Screen{Opts: Opts{Now: noon}, View: Overview}
	return map[string]Screen{
		"rows": base(), "calm": calm, "draining": draining, "starting": starting, "stopping": stopping, "many": many, "loading": loading,
	}
}

func TestTheOverviewLooksAsReviewed(t *testing.T) {
	for name, sc := range overviewStates() {
		t.Run(name, func(t *testing.T) { everySize(t, sc).check(t, "overview-"+name) })
	}
}

func TestWhatIsMostUrgentStandsFirst(t *testing.T) {
	sc := overviewStates()["draining"]
	list, total := alerts(&sc)
	if total != len(list) {
		t.Fatalf("%d of %d", len(list), total)
	}
	var got []string
	for _, c := range list {
		_, what, _ := c.words(&sc)
		got = append(got, what)
	}
	want := "telegram:group:-100123:topic:7 pairing telegram:dm:4412 pid 4411 slack"
	if text := strings.Join(got, " "); !strings.HasPrefix(text, want) {
		t.Fatalf("order %q, want %q first", text, want)
	}
	if got[len(got)-2] != "last end" || got[len(got)-1] != "discord" {
		t.Fatalf("the last end that was not clean and the paused adapter close the list: %q", got)
	}
}

func TestOP1_ASessionThatLoopsNeedsAttentionAndSaysWhy(t *testing.T) {
	sc := overviewStates()["calm"]
	sc.Snap.Inbox, sc.Snap.Held, sc.Snap.Sessions = nil, nil, []ops.Session{{
		Key: "api:user:robot", State: ops.SessionIdle, Attention: ops.AttentionLooping, AttentionReason: "23 turns in a minute", AttentionSince: before(20 * sec), LastActivityAt: before(sec),
	}}
	list, _ := alerts(&sc)
	if len(list) == 0 {
		t.Fatal("nothing needs attention")
	}
	b, what, text := list[0].words(&sc)
	if b.word != "looping" || what != "api:user:robot" || !strings.HasPrefix(text, "23 turns in a minute; ") {
		t.Errorf("shown as %q %q %q", b.word, what, text)
	}
	if got := Order(sc.Snap, Sessions, TableState{Filter: "state:looping"}).Sessions; len(got) != 1 {
		t.Errorf("the filter finds %d sessions", len(got))
	}
}

func TestTheEventsLookAsReviewed(t *testing.T) {
	for name, change := range map[string]func(*Screen){
		"follow": func(*Screen) {},
		"scrolled": func(sc *Screen) {
			sc.Follow, sc.Table.Offset, sc.Link.Missed = false, 2, 12
		},
		"filtered-out": func(sc *Screen) { sc.Events, sc.Table.Filter, sc.Table.Total = nil, "foo", 340 },
		"empty":        func(sc *Screen) { sc.Events = nil },
		"dropped": func(sc *Screen) {
			sc.Events = append(sc.Events, ops.Event{Seq: 60, At: before(sec), Type: ops.EventDropped, Subject: "events", Data: ops.Missed{Count: 22}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			sc := stopScreen(nil)
			sc.View, sc.Snap.State = Events, ops.StateRunning
			change(&sc)
			everySize(t, sc).check(t, "events-"+name)
		})
	}
}

func TestTheShutdownViewInEachThemeLooksAsReviewed(t *testing.T) {
	for _, name := range Themes {
		t.Run(name, func(t *testing.T) {
			var a album
			sc := stopStates()["killed"]()
			sc.W, sc.H, sc.Theme = 80, 24, NewTheme(name, termenv.ANSI256)
			lines := Draw(sc)
			exact(t, lines, sc.W, sc.H)
			for i, line := range lines {
				lines[i] = strings.ReplaceAll(line, "\x1b", "␛")
			}
			a.add("80x24", lines)
			sc.Over = drainDialog()
			lines = Draw(sc)
			exact(t, lines, sc.W, sc.H)
			for i, line := range lines {
				lines[i] = strings.ReplaceAll(line, "\x1b", "␛")
			}
			a.add("80x24, a dialog over it", lines)
			a.check(t, "shutdown-theme-"+name)
		})
	}
}
