package views

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"gatewaytui/core/ops"
)

var hostile = []string{
	"", "plain", "\x1b]0;title\x07", "\u202egnippots", "0\ufe0f00000", "\n\r\t\u009b31m", "界界界界界界界", "a\u0301\u0302\u0303\u0304\u0305\u0306",
	"👩‍👩‍👧‍👦 family", "\xff\xfe", strings.Repeat("long", 200), "\x00\x7f\u200b",
}

var someSteps = []ops.StepState{
	ops.StepPending, ops.StepRunning, ops.StepDone, ops.StepTimedOut, ops.StepFailed, ops.StepSkipped, "exploded", "",
}

// anyStop draws a stop as a core that is wrong in any way might report it.
func anyStop(t *rapid.T) *ops.Shutdown {
	text := rapid.SampledFrom(hostile)
	ms := rapid.OneOf(rapid.Int64Range(0, 100_000), rapid.SampledFrom([]int64{-1, 0, math.MinInt64, math.MaxInt64}))
	at := rapid.Custom(func(t *rapid.T) ops.Time {
		switch rapid.IntRange(0, 4).Draw(t, "moment") {
		case 0:
			return ops.Time{}
		case 1:
			return ops.At(time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "unix"), 0))
		}
		return before(time.Duration(rapid.Int64Range(-100, 100).Draw(t, "s")) * sec)
	})
	item := rapid.Custom(func(t *rapid.T) ops.Item {
		return ops.Item{
			Kind: rapid.SampledFrom([]string{"turn", "adapter", "agent", "processes", "store", "task", "x\x1b[2J"}).Draw(t, "kind"), ID: text.Draw(t, "id"),
			State: rapid.SampledFrom(someSteps).Draw(t, "state"), ElapsedMS: ms.Draw(t, "elapsed"), BudgetMS: ms.Draw(t, "budget"),
			Detail: text.Draw(t, "detail"), LastProgressAt: at.Draw(t, "progress"), Next: text.Draw(t, "next"), NextInMS: ms.Draw(t, "in"),
		}
	})
	sd := &ops.Shutdown{
		Life: rapid.SampledFrom([]string{"", "01KAK", "other"}).Draw(t, "life"), Reason: text.Draw(t, "reason"), By: text.Draw(t, "by"),
		Mode:      rapid.SampledFrom([]ops.Mode{ops.ModeGraceful, ops.ModeFast, ops.ModeImmediate, "", "odd\x07"}).Draw(t, "mode"),
		StartedAt: at.Draw(t, "started"), DeadlineAt: at.Draw(t, "deadline"), KillAt: at.Draw(t, "kill"), EndedAt: ops.Time{},
		ElapsedMS: ms.Draw(t, "elapsed"), NotAwaited: rapid.SliceOfN(item, 0, 3).Draw(t, "not awaited"),
		Outcome: rapid.SampledFrom([]string{ops.ShutdownRunning, "", ops.ShutdownClean, ops.ShutdownForced, "\x1b[31mbad"}).Draw(t, "outcome"),
	}
	for range rapid.IntRange(0, 14).Draw(t, "phases") {
		sd.Phases = append(sd.Phases, ops.Phase{
			Name: rapid.SampledFrom(append([]string{"drain", "reap", "stores", "adapters"}, hostile...)).Draw(t, "name"), State: rapid.SampledFrom(someSteps).Draw(t, "state"),
			StartedAt: at.Draw(t, "began"), ElapsedMS: ms.Draw(t, "took"), BudgetMS: ms.Draw(t, "budget"),
			Items: rapid.SliceOfN(item, 0, 6).Draw(t, "items"), Detail: text.Draw(t, "detail"),
			PhaseRules: ops.PhaseRules{
				Vital: rapid.Bool().Draw(t, "vital"), Then: rapid.SampledFrom([]string{"", ops.ThenAbandoned, ops.ThenInterrupted, "odd\x07"}).Draw(t, "then"),
				SkippedIn: rapid.SliceOfN(rapid.SampledFrom([]ops.Mode{ops.ModeFast, ops.ModeImmediate, "odd"}), 0, 2).Draw(t, "skipped in"),
			},
		})
	}
	return sd
}

func anyLink(t *rapid.T) Link {
	return Link{
		State: LinkState(rapid.IntRange(0, 3).Draw(t, "link")), At: rapid.SampledFrom([]time.Time{{}, noon, noon.Add(-6 * sec), noon.Add(time.Hour)}).Draw(t, "at"),
		Err: rapid.SampledFrom(hostile).Draw(t, "err"), Paused: rapid.Bool().Draw(t, "paused"), ReadOnly: rapid.Bool().Draw(t, "read-only"),
		Try: rapid.IntRange(0, 3).Draw(t, "try"),
	}
}

func TestAnyReportOfAStopDrawsAtAnySize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := stopScreen(anyStop(t))
		sc.Link = anyLink(t)
		sc.StopItem = rapid.SampledFrom([]string{"", "turn:plain", "unknown:x"}).Draw(t, "item")
		sc.Snap.Supervisor = ops.Supervisor{Name: rapid.SampledFrom(hostile).Draw(t, "name"), BudgetMS: rapid.Int64Range(-1, 100_000).Draw(t, "limit")}
		sc.W, sc.H = rapid.IntRange(1, 200).Draw(t, "w"), rapid.IntRange(1, 60).Draw(t, "h")
		sc.ASCII = rapid.Bool().Draw(t, "ascii")
		checkFrame(t, sc)
	})
}

// failer is what a test, a fuzz test and a property have in common.
type failer interface {
	Fatalf(format string, args ...any)
}

// checkFrame draws what stands in these files, by itself and in its frame, and checks its size and that nothing acts on a
// terminal.
func checkFrame(t failer, sc Screen) {
	parts := map[string][]string{"frame": Draw(sc)}
	switch sc.View {
	case Shutdown:
		parts["body"] = shutdownBody(sc, sc.W, sc.H)
	case Overview:
		parts["body"] = overviewBody(sc, sc.W, sc.H)
	case Events:
		parts["body"] = eventsBody(sc, sc.W, sc.H)
	}
	for name, lines := range parts {
		if len(lines) != sc.H {
			t.Fatalf("%s: %d lines for a height of %d", name, len(lines), sc.H)
		}
		for i, line := range lines {
			if got := ansi.StringWidth(line); got != sc.W {
				t.Fatalf("%s: line %d has %d cells, not %d: %q", name, i, got, sc.W, line)
			}
			for _, r := range line {
				if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
					t.Fatalf("%s: line %d carries %U: %q", name, i, r, line)
				}
			}
		}
	}
}

func TestTheForecastNeverEndsBeforeNowAndSpareIsWhatIsLeftToTheKill(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := stopScreen(anyStop(t))
		sc.Link = anyLink(t)
		v := stopOf(sc)
		f := v.forecast()
		if f.exit < v.now {
			t.Fatalf("exit by %s, now is %s", f.exit, v.now)
		}
		if f.known && f.spare != v.kill-f.exit {
			t.Fatalf("spare %s of %s to %s", f.spare, f.exit, v.kill)
		}
		if !f.known && (f.spare != 0 || f.killed >= 0) {
			t.Fatalf("an unknown outer deadline was guessed at: %+v", f)
		}
		if f.killed >= 0 && f.spare >= 0 {
			t.Fatalf("killed in phase %d with %s to spare", f.killed, f.spare)
		}
	})
}

func TestTheForecastIsTheSumOfTheBudgetsThatAreLeft(t *testing.T) {
	sc := stopScreen(adaptersStuck(90*sec, 10500*time.Millisecond).report())
	v := stopOf(sc)
	left := 4500 * time.Millisecond // of the adapters
	for _, p := range standard[7:] {
		left += ops.Span(p.BudgetMS)
	}
	f := v.forecast()
	if f.exit != v.now+left || f.spare != 90*sec-f.exit {
		t.Fatalf("exit by %s with %s to spare, want %s", f.exit, f.spare, v.now+left)
	}

	sc.Stop.Mode = ops.ModeImmediate // background and release do not run then
	if got, want := stopOf(sc).forecast().exit, f.exit-5*sec; got != want {
		t.Fatalf("immediate: exit by %s, want %s", got, want)
	}
	sc.Stop.Mode = ops.ModeGraceful
	sc.Stop.Phases[9].Detail = "skipped by console" // a lever on a phase whose turn has not come
	if got, want := stopOf(sc).forecast().exit, f.exit-3*sec; got != want {
		t.Fatalf("skipped: exit by %s, want %s", got, want)
	}
	sc.Stop.DeadlineAt = ops.At(sc.Stop.StartedAt.Add(v.now + sec)) // the watchdog is nearer than the budgets
	if got, want := stopOf(sc).forecast().exit, v.now+sec; got != want {
		t.Fatalf("watchdog: exit by %s, want %s", got, want)
	}
}

func TestAnOldAnswerBringsTheKillNearerButMakesNoItemStuck(t *testing.T) {
	sc := stopScreen(adaptersStuck(90*sec, 2*sec).report())
	p, _ := stopOf(sc).current()
	discord := p.Items[2]
	was := stopOf(sc)
	sc.Link = Link{State: LinkStale, At: noon.Add(-6 * sec)}
	old := stopOf(sc)
	if old.now != was.now+6*sec {
		t.Fatalf("now is %s, want %s", old.now, was.now+6*sec)
	}
	if a, b := was.itemBadge(p, discord), old.itemBadge(p, discord); a != b {
		t.Fatalf("%s was %s and is called %s without news of it", discord.ID, a.word, b.word)
	}
	if got, want := old.next(discord), was.next(discord)-6*sec; got != want {
		t.Fatalf("abandoned in %s, want %s", got, want)
	}
	sc.Link.State = LinkLive // a fresh one ages
	if m := stopOf(sc).itemBadge(p, discord); m != badgeStuck {
		t.Fatalf("silent for 8 s and called %s", m.word)
	}
}

func TestTheWordForAnItem(t *testing.T) {
	for _, c := range []struct {
		name string
		it   ops.Item
		want badge
	}{
		{"one that moves runs", running("turn", "a", 2*sec, 20*sec, sec, "", ""), badgeRun},
		{"one that is silent for 3 s is slow", running("adapter", "a", 4*sec, 20*sec, 3*sec, "", ""), badgeSlow},
		{"one over half its budget is slow", running("adapter", "a", 11*sec, 20*sec, sec, "", ""), badgeSlow},
		{"one that is silent for 5 s is stuck", running("adapter", "a", 6*sec, 20*sec, 5*sec, "", ""), badgeStuck},
		{"a turn that waits for its model runs", running("turn", "a", 50*sec, 60*sec, 50*sec, "", ""), badgeRun},
		{"a turn without a byte for a minute is stuck", running("turn", "a", 61*sec, 90*sec, 60*sec, "", ""), badgeStuck},
		{"one over its budget is stuck", running("turn", "a", 21*sec, 20*sec, 0, "", ""), badgeStuck},
		{"one that never said a word is silent since it began", running("adapter", "a", 6*sec, 20*sec, -1, "", ""), badgeStuck},
		{"a slow one that moves is never stuck", running("adapter", "a", 19*sec, 20*sec, sec, "", ""), badgeSlow},
		{"one without a budget is not over it", running("turn", "a", sec, 0, 0, "", ""), badgeRun},
		{"a turn whose time is over was late", over("turn", "a", ops.StepTimedOut, sec, ""), badgeLate},
		{"a state of another version is unknown", over("turn", "a", "exploded", sec, ""), badgeUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newStop(ops.ModeGraceful, 90*sec).runs("drain", 21*sec, c.it)
			v := stopOf(stopScreen(b.report()))
			if got := v.itemBadge(v.Phases[2], c.it); got != c.want {
				t.Fatalf("%s, want %s", got.word, c.want.word)
			}
		})
	}
}

func TestTheSelectionStartsOnWhatIsStuckForLongestAndStaysByID(t *testing.T) {
	sc := stopScreen(adaptersStuck(90*sec, 10500*time.Millisecond).report())
	if phase, item := StopItem(sc); phase != "adapters" || item != "adapter:feishu" {
		t.Fatalf("%s, %s", phase, item)
	}
	sc.StopItem = "adapter:discord"
	if _, item := StopItem(sc); item != "adapter:discord" {
		t.Fatalf("it moved to %s", item)
	}
	items := sc.Stop.Phases[6].Items
	items[1], items[2] = items[2], items[1]
	if _, item := StopItem(sc); item != "adapter:discord" {
		t.Fatalf("it moved to %s when the rows did", item)
	}
	sc.StopItem = "adapter:gone"
	if _, item := StopItem(sc); item != "adapter:feishu" {
		t.Fatalf("%s, after the selected one is not known any more", item)
	}
	if got := fmt.Sprint(StopItems(sc)); got != "[adapter:discord adapter:feishu adapter:telegram adapter:slack adapter:api]" {
		t.Fatalf("drawn: %s", got)
	}
}

func TestTheRunningPhaseAndItsItemsNeverFold(t *testing.T) {
	sc := stopStates()["stuck"]()
	for h := tableHeight; h <= 60; h++ {
		for _, w := range []int{tableWidth, 60, 80, 119, 120, 200} {
			sc.W, sc.H = w, h
			text := strings.Join(Draw(sc), "\n")
			for _, want := range []string{"7 adapters", "feishu", "discord", "SIGKILL in 0:51", "exit by 1:01"} {
				if !strings.Contains(text, want) {
					t.Fatalf("%dx%d does not show %q:\n%s", w, h, want, text)
				}
			}
		}
	}
}

func TestThatItWillBeKilledStandsFirstAtEverySize(t *testing.T) {
	sc := stopStates()["killed"]()
	for _, size := range [][2]int{{20, 3}, {20, 5}, {40, 6}, {60, 15}, {80, 24}, {140, 40}, {200, 60}} {
		sc.W, sc.H = size[0], size[1]
		if first := Draw(sc)[0]; !strings.HasPrefix(first, "WILL BE KILLED") {
			t.Fatalf("%v: %q", size, first)
		}
	}
}

func TestAThousandItemsLeaveTheSelectedOneInSight(t *testing.T) {
	b := newStop(ops.ModeGraceful, 90*sec).ok("mark", "notify")
	var items []ops.Item
	for i := range 1000 {
		items = append(items, running("turn", fmt.Sprintf("telegram:dm:%04d", i), 2*sec, 20*sec, sec, "model call", "interrupted"))
	}
	sc := stopScreen(b.runs("drain", 2*sec, items...).report())
	for _, i := range []int{0, 500, 999} {
		sc.StopItem = "turn:" + items[i].ID
		for _, size := range sizes[1:] {
			sc.W, sc.H = size[0], size[1]
			if text := strings.Join(Draw(sc), "\n"); !strings.Contains(text, items[i].ID) {
				t.Fatalf("%v does not show %s:\n%s", size, items[i].ID, text)
			}
		}
	}
}

func FuzzTheScreensFillTheirSizeAndCarryNothingThatActsOnATerminal(f *testing.F) {
	for i, text := range hostile {
		f.Add(text, uint8(17*i), uint8(5*i), int64(1000*i), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, text string, w, h uint8, ms int64, ascii bool) {
		b := newStop(ops.ModeGraceful, 60*sec).ok("mark", "notify")
		it := running("turn", text, 4*sec, 20*sec, sec, text, text)
		it.NextInMS, it.ElapsedMS = ms, ms
		sd := b.runs("drain", 4*sec, it, over(text, text, ops.StepFailed, sec, text)).report()
		sd.Reason, sd.By, sd.ElapsedMS = text, text, ms
		sd.NotAwaited = []ops.Item{{Kind: text, ID: text, Detail: text}}
		sc := stopScreen(sd)
		sc.W, sc.H, sc.ASCII = int(w)%200+1, int(h)%60+1, ascii
		sc.Link.Err, sc.Message, sc.Table.Filter = text, text, text
		sc.Snap.Supervisor.Name, sc.Snap.Supervisor.Source = text, text
		sc.Snap.Sessions[2].Key, sc.Snap.Sessions[2].Doing = text, text
		sc.Snap.Adapters[2].Name, sc.Snap.Adapters[2].LastError, sc.Snap.Adapters[1].State = text, text, ops.AdapterState(text)
		sc.Snap.Warnings = []ops.Warning{{Code: text, Message: text}}
		sc.Snap.Drain = &ops.DrainState{By: text, Reason: text}
		sc.Snap.LastEnd = &ops.LastEnd{Outcome: ops.Outcome(text), Phase: text, Reason: text}
		sc.Events = []ops.Event{{Type: ops.EventType(text), Subject: text, Text: text}, {Type: ops.EventDropped, Data: ops.Raw(text)}}
		sc.Plan = ops.Plan{Phases: []ops.PlanPhase{{Name: text, BudgetMS: ms, Bound: text}}, WorstCaseMS: ms, SupervisorBudgetMS: -ms, Shrunk: []ops.ShrunkPhase{{Name: text}}}
		overlays := []Overlay{
			nil,
			Dialog{Title: text, Text: []string{text}, Facts: []Fact{{text, text}}, Buttons: []Button{{text, text}, {"y", text}}, Focus: int(w), Want: text, Typed: text, News: text, Note: text},
			Help{Title: text, Sections: []HelpSection{{text, []Hint{{text, text}, {text, text}}}}, Offset: int(ms), Note: text},
			Palette{Input: text, Matches: []Match{{text, text, text, text}, {Name: text}}, Selected: int(ms), Note: text},
		}
		for _, view := range []View{Shutdown, Overview, Events} {
			for _, over := range overlays {
				sc.View, sc.Over = view, over
				checkFrame(t, sc)
			}
		}
		sc.Over, sc.View, sc.Stop = nil, Shutdown, nil
		checkFrame(t, sc)
		sd.Outcome, sd.EndedAt = ops.ShutdownIncomplete, ops.At(noon)
		sc.Stop = sd
		checkFrame(t, sc)
		sc.Link.State = LinkGone
		checkFrame(t, sc)
	})
}

func FuzzAnyReportFromTheWireDraws(f *testing.F) {
	for _, name := range []string{"stuck", "killed", "done"} {
		b, err := json.Marshal(stopStates()[name]().Stop)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"phases":null,"started_at":null,"elapsed_ms":-1}`))
	f.Fuzz(func(t *testing.T, wire []byte) {
		var sd ops.Shutdown
		if json.Unmarshal(wire, &sd) != nil || len(wire) > 1<<16 {
			return
		}
		sc := stopScreen(&sd)
		for _, size := range sizes {
			sc.W, sc.H = size[0], size[1]
			checkFrame(t, sc)
		}
	})
}

func BenchmarkStopFrame(b *testing.B) {
	stuck := stopStates()["stuck"]()
	stuck.Snap = manyRows(10_000, 1000)
	stuck.Snap.State = ops.StateStopping
	over := overviewStates()["many"]
	for name, sc := range map[string]Screen{"view=shutdown": stuck, "view=overview": over} {
		b.Run(name+"/size=140x40", func(b *testing.B) {
			sc.W, sc.H = 140, 40
			b.ReportAllocs()
			for b.Loop() {
				Draw(sc)
			}
		})
	}
}
