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

// someLives are one life of each outcome, newest first; the stops are those of stopStates.
func someLives() []ops.Life {
	states := stopStates()
	report := func(state, life string, began time.Duration) *ops.Shutdown {
		sd := *states[state]().Stop
		sd.ID, sd.Life = "s-"+life, life
		shift := noon.Add(-began).Sub(sd.StartedAt.Time)
		move := func(t *ops.Time) {
			if !t.IsZero() {
				*t = ops.At(t.Add(shift))
			}
		}
		move(&sd.StartedAt)
		move(&sd.EndedAt)
		move(&sd.KillAt)
		sd.Phases = append([]ops.Phase(nil), sd.Phases...)
		for i := range sd.Phases {
			move(&sd.Phases[i].StartedAt)
		}
		return &sd
	}
	life := func(id string, pid int, began, ended time.Duration, o ops.Outcome) ops.Life {
		l := ops.Life{Life: "01KAK" + id, PID: pid, Version: "v0.1.0", StartedAt: before(began), LastSeenAt: before(ended), Outcome: o}
		if o == ops.OutcomeClean {
			l.EndedAt = before(ended)
		}
		return l
	}
	h := time.Hour
	lives := []ops.Life{
		life("7M4Q0R3V9ZJX1B8T5C2N6D", 4121, 76*h, 0, ops.OutcomeRunning),
		life("5H2W8E0K4PSY7G1A9F3L6V", 4002, 77*h, 76*h+time.Minute, ops.OutcomeClean),
		life("4T9B6N1X3QZC8J5R2M7D0K", 3810, 100*h, 78*h, ops.OutcomeCutShort),
		life("3G0P7V5L2WHE9S4Y1A6F8T", 3644, 101*h, 100*h+10*time.Minute, ops.OutcomeCrashed),
		life("2C8R4K6D0BNJ1X7Q3Z5M9V", 3301, 300*h, 102*h, ops.OutcomeClean),
		life("1E5Y3F9H7TAS2L0W8P4G6C", 2990, 9000*h, 301*h, ops.OutcomeClean),
		life("0J6Z1Q8M4VDX5N2B7R9K3T", 2741, 9001*h, 9000*h, ops.Outcome("exploded")),
	}
	lives[1].Shutdown, lives[1].Reason, lives[1].By = report("done", lives[1].Life, 76*h+2*time.Minute), "SIGTERM", "signal, uid 0"
	lives[2].Shutdown, lives[2].Phase, lives[2].Reason, lives[2].By = report("cut-short", lives[2].Life, 78*h+time.Minute), "adapters", "new kernel", "maria, uid 1000"
	lives[4].Shutdown, lives[4].Reason, lives[4].By = report("clean", lives[4].Life, 102*h+time.Minute), "planned restart", "console, uid 1000"
	forced := report("forced", lives[5].Life, 301*h+time.Minute)
	forced.Outcome, forced.EndedAt = ops.ShutdownForced, before(301*h)
	lives[5].Shutdown, lives[5].Reason, lives[5].By = forced, "deploy", "deploy-bot, uid 998"
	lives[6].EndedAt, lives[6].LastSeenAt = ops.Time{}, ops.Time{}
	return lives
}

// livesScreen is the list of lives as it was just read, row at selected.
func livesScreen(lives []ops.Life, at int) Screen {
	s := stopScreen(nil)
	s.Snap.State, s.Plan, s.StopPage = ops.StateRunning, somePlan(), StopLives
	s.History = History{Lives: lives, Read: len(lives), At: noon.Add(-time.Second)}
	if at < len(lives) {
		s.Snap.Life, s.Table.Selected = lives[0].Life, lives[at].Life
	}
	s.Hints = []Hint{{"enter", "open"}, {"/", "filter"}, {"]", "plan"}, {"D", "drain"}, {"S", "stop"}, {":", "command"}, {"?", "help"}}
	return s
}

// opened is the report page of one of someLives.
func opened(at int) Screen {
	s := livesScreen(someLives(), at)
	s.StopPage, s.Life = StopReport, &s.History.Lives[at]
	s.Stop = s.Life.Shutdown
	s.Hints = []Hint{{"left", "lives"}, {"]", "plan"}, {":", "command"}, {"?", "help"}}
	return s
}

// replayed is a past stop as it is played back, at a moment.
func replayed(at time.Duration, change func(*ops.Shutdown)) Screen {
	s := opened(1)
	report := *s.Stop
	report.Phases = append([]ops.Phase(nil), report.Phases...)
	if change != nil {
		change(&report)
	}
	then := report.At(at)
	s.StopPage, s.Life, s.Stop, s.Events = StopReplay, nil, &then, nil
	s.Replay = &Replay{At: min(at, report.Took()), Took: report.Took(), Speed: 5}
	s.Now = report.StartedAt.Add(at)
	s.Link = Link{State: LinkLive, At: s.Now, ReadOnly: true}
	s.Snap = ops.Snapshot{Status: ops.Status{State: ops.StateStopping, Life: then.Life}}
	s.Hints = []Hint{{"space", "pause"}, {"<", "slower"}, {">", "faster"}, {"left", "step back"}, {"right", "step"}, {":", "command"}, {"?", "help"}}
	return s
}

// hostileLife has everything in it that must not reach a terminal, and figures that cannot be.
func hostileLife() ops.Life {
	const text = "\x1b[2J\x1b]0;x\x07\u202eevil\u2066\x00\x9b31m\r\n"
	sd := &ops.Shutdown{
		ID: text, Life: text, Mode: text, Reason: text, By: text, Outcome: text, ElapsedMS: -5, StartedAt: before(-time.Hour),
		Phases: []ops.Phase{{Name: text, State: ops.StepTimedOut, ElapsedMS: 1 << 62, BudgetMS: -1, Detail: text, Items: []ops.Item{{Kind: text, ID: text, State: ops.StepFailed, Detail: text}}}},
	}
	return ops.Life{
		Life: text, PID: -1, Version: text, StartedAt: before(-48 * time.Hour), EndedAt: before(48 * time.Hour), Outcome: ops.OutcomeCutShort,
		Phase: text, Reason: text, By: text, Shutdown: sd,
	}
}

func TestThePastLivesLookAsReviewed(t *testing.T) {
	for name, screen := range map[string]func() Screen{
		"rows":    func() Screen { return livesScreen(someLives(), 2) },
		"running": func() Screen { return livesScreen(someLives(), 0) },
		"empty":   func() Screen { return livesScreen(nil, 0) },
		"first": func() Screen {
			return livesScreen(someLives()[:1], 0)
		},
		"loading": func() Screen {
			s := livesScreen(nil, 0)
			s.History = History{Asking: true}
			return s
		},
		"failed": func() Screen {
			s := livesScreen(nil, 0)
			s.History = History{Err: "the past lives could not be read: disk I/O error; asked again in a moment"}
			return s
		},
		"stale": func() Screen {
			s := livesScreen(someLives(), 3)
			s.History.At, s.History.Err = noon.Add(-5*time.Minute), "the past lives could not be read: disk I/O error"
			return s
		},
		"gone": func() Screen {
			s := livesScreen(someLives(), 0)
			s.Link = Link{State: LinkGone, At: noon.Add(-7 * sec), Err: "socket closed", Attached: true, Try: 3, NextTry: noon.Add(2 * sec)}
			return s
		},
		"filtered": func() Screen {
			s := livesScreen(someLives(), 0)
			s.Table.Filter = "overran:feishu"
			s.History.Lives = FilterLives(s.History.Lives, s.Table.Filter)
			s.Table.Selected = s.History.Lives[0].Life
			return s
		},
		"filtered-out": func() Screen {
			s := livesScreen(someLives(), 0)
			s.Table.Filter = "zebra"
			s.History.Lives = FilterLives(s.History.Lives, s.Table.Filter)
			return s
		},
		"more": func() Screen {
			s := livesScreen(manyLives(200), 190)
			s.History.More, s.History.Asking, s.Table.Offset = true, true, 183
			return s
		},
		"opened":         func() Screen { return opened(2) },
		"opened-clean":   func() Screen { return opened(4) },
		"opened-crashed": func() Screen { return opened(3) },
		"plan": func() Screen {
			s := livesScreen(someLives(), 0)
			s.StopPage = StopPlan
			return s
		},
		"replay":       func() Screen { return replayed(31*time.Second, nil) },
		"replay-ended": func() Screen { return replayed(time.Hour, nil) },
		"replay-paused": func() Screen {
			s := replayed(3*time.Second, func(r *ops.Shutdown) { r.Phases[1].StartedAt = ops.Time{} })
			s.Replay.Paused = true
			return s
		},
		"what-if": func() Screen {
			s := livesScreen(someLives(), 0)
			s.StopPage = StopPlan
			s.Plan.If, s.Plan.ExpectedMS = []string{"drain=30s", "processes=20", "hang=feishu"}, 17_000
			s.Plan.Phases = append([]ops.PlanPhase(nil), s.Plan.Phases...)
			s.Plan.Phases[2].BudgetMS, s.Plan.Phases[2].Bound = 30_000, "--if drain=30s"
			s.Plan.Phases[5].ExpectedMS, s.Plan.Phases[5].Expects = 2000, "20 processes killed after the grace"
			s.Plan.Phases[6].ExpectedMS, s.Plan.Phases[6].Expects = 15_000, "feishu hangs"
			s.WhatIf = WhatIf{At: 4, Rows: []Assumption{
				{"drain", "30s", true}, {"processes ignore TERM", "20", true}, {"one fsync takes", "0s", false}, {"telegram", "answers", false}, {"feishu", "HANGS", true},
			}}
			s.Hints = []Hint{{"left", "lives"}, {"+", "more"}, {"-", "less"}, {"space", "hangs"}, {":", "command"}, {"?", "help"}}
			return s
		},
		"hostile": func() Screen { return livesScreen([]ops.Life{hostileLife(), hostileLife()}, 0) },
		"hostile-opened": func() Screen {
			s, l := opened(2), hostileLife()
			s.Life, s.Stop = &l, l.Shutdown
			return s
		},
	} {
		t.Run(name, func(t *testing.T) { everySize(t, screen()).check(t, "lives-"+name) })
	}
}

// The gateway can be gone while the last that was read of its life is a stop that runs.
func TestTheReportOfALifeWhoseStopRunsIsDrawnAtEverySize(t *testing.T) {
	s := opened(2)
	s.Snap.Life = s.Life.Life
	for _, w := range []int{20, 56, 79, 80, 140} {
		for _, h := range []int{3, 12, 23, 24, 49} {
			s.W, s.H = w, h
			exact(t, Draw(s), w, h)
		}
	}
}

func manyLives(n int) []ops.Life {
	some := someLives()
	lives := make([]ops.Life, n)
	for i := range lives {
		lives[i] = some[1+i%5]
		lives[i].Life = fmt.Sprintf("life-%d", n-i)
	}
	lives[0] = some[0]
	return lives
}

// A state is said in a word and a sign, so that it is there without colours too.
func TestHowALifeEndedIsSaidWithoutColour(t *testing.T) {
	for _, tc := range []struct {
		at          int
		sign, ascii string
	}{
		{0, "● running", "> running"},
		{1, "✓ clean", "+ clean"},
		{2, "▲ cut short in adapters", "! cut short in adapters"},
		{3, "■ crashed", "x crashed"},
		{5, "◐ clean, forced", "~ clean, forced"},
		{6, "? unknown", "? unknown"},
	} {
		for _, ascii := range []bool{false, true} {
			s := livesScreen(someLives(), tc.at)
			s.W, s.H, s.ASCII, s.Theme = 140, 40, ascii, NewTheme("mono", termenv.Ascii)
			want := tc.sign
			if ascii {
				want = tc.ascii
			}
			if text := strings.Join(Draw(s), "\n"); !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}
}

// At any size, the selected life is in sight if there is room for one, and Page is how many there are.
func TestTheSelectedLifeIsInSightAtEverySize(t *testing.T) {
	lives := manyLives(300)
	for i, w := range []int{20, 39, 40, 79, 80, 119, 140, 200} {
		for j, h := range []int{3, 4, 5, 6, 7, 8, 9, 10, 12, 17, 18, 19, 23, 24, 25, 30, 31, 60} {
			if (i+j)%3 != 0 && !soak.On() { // each width and each height, and a third of the pairs
				continue
			}
			s := livesScreen(lives, 0)
			s.W, s.H = w, h
			n := Page(s)
			if n == 0 && h > 3 {
				t.Fatalf("no room for a life on %dx%d", w, h)
			}
			for _, at := range []int{0, 1, n, 150, 299} {
				if n == 0 {
					continue
				}
				at = min(at, 299)
				s.Table.Offset, s.Table.Selected = max(at-n+1, 0), lives[at].Life
				for _, message := range []string{"", "a message takes a line on the smallest screens"} {
					s.Message = message
					lines := Draw(s)
					exact(t, lines, w, h)
					marked := 0
					for _, line := range lines {
						if strings.HasPrefix(line, ">") {
							marked++
						}
					}
					if marked != 1 && Page(s) > 0 {
						t.Fatalf("%d selected rows on %dx%d at %d, message %q:\n%s", marked, w, h, at, message, strings.Join(lines, "\n"))
					}
				}
			}
		}
	}
}

// Drawing costs what is on the screen, not what was read.
func TestAFrameOfThousandsOfLivesCostsItsRowsAlone(t *testing.T) {
	cost := func(n int) float64 {
		s := livesScreen(manyLives(n), n/2)
		s.W, s.H, s.Theme, s.Table.Offset = 140, 40, NewTheme("dark", termenv.TrueColor), n/2-3
		return testing.AllocsPerRun(5, func() { Draw(s) })
	}
	few, many := cost(100), cost(20_000)
	if many > few+20 {
		t.Fatalf("%.0f allocations with 20,000 lives, %.0f with 100", many, few)
	}
}

func TestAFilterFindsLivesByWhatTheTableShows(t *testing.T) {
	for filter, want := range map[string]string{
		"":                "0 1 2 3 4 5 6",
		"crashed":         "3",
		"how:cut":         "2",
		"asked:maria":     "2",
		"overran:feishu":  "1 2 5",
		"!clean":          "0 2 3 6",
		"life:01KAK5":     "1",
		"~nwkrnl":         "2",
		"how:running":     "0",
		"no such life":    "",
		"overran:discord": "1 2",
	} {
		all := someLives()
		var got []string
		for _, l := range FilterLives(all, filter) {
			for i := range all {
				if all[i].Life == l.Life {
					got = append(got, fmt.Sprint(i))
				}
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q finds %q, want %q", filter, got, want)
		}
	}
}

// No size of the screen shows a replay without saying that it is one.
func TestOP6_EveryFrameOfAReplaySaysThatItIsOne(t *testing.T) {
	for _, at := range []time.Duration{0, 12 * time.Second, 31 * time.Second, time.Hour} {
		for _, size := range [][2]int{{8, 1}, {16, 3}, {20, 5}, {40, 6}, {56, 12}, {80, 24}, {140, 40}, {200, 60}} {
			s := replayed(at, nil)
			s.W, s.H = size[0], size[1]
			if frame := strings.Join(Draw(s), "\n"); !strings.Contains(frame, "REPLAY") || strings.Contains(frame, "STOPPING") || strings.Contains(frame, "Press ") {
				t.Errorf("%dx%d at %s:\n%s", size[0], size[1], at, frame)
			}
		}
	}
}
