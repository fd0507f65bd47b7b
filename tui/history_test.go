package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// livesOf are n lives, newest first: the current one, then in turn one that ended cleanly, one that was cut short, one that
// crashed.
func livesOf(n int) []ops.Life {
	lives := make([]ops.Life, n)
	for i := range lives {
		at := began.Add(-time.Duration(i) * time.Hour)
		l := ops.Life{Life: fmt.Sprintf("life-%d", n-i), PID: 100 + i, StartedAt: ops.At(at), LastSeenAt: ops.At(at.Add(30 * time.Minute))}
		stop := someStop()
		stop.ID, stop.Life, stop.StartedAt = fmt.Sprintf("stop of %s", l.Life), l.Life, ops.At(at)
		switch i % 3 {
		case 1:
			l.Outcome, l.EndedAt, l.Reason, l.By = ops.OutcomeClean, l.LastSeenAt, "deploy", "maria"
			stop.Outcome, stop.EndedAt = ops.ShutdownIncomplete, l.EndedAt
			stop.Phases[1].State, stop.Phases[1].ElapsedMS = ops.StepTimedOut, 5000
			stop.Phases[1].Items[0].State = ops.StepTimedOut
			l.Shutdown = stop
		case 2:
			l.Outcome, l.Phase, l.Shutdown = ops.OutcomeCutShort, "adapters", stop
		default:
			l.Outcome = ops.OutcomeCrashed
		}
		lives[i] = l
	}
	if n > 0 {
		lives[0].Outcome, lives[0].Life = ops.OutcomeRunning, "life-now"
	}
	return lives
}

func (g *gateway) withLives(n int) *gateway {
	g.lives = livesOf(n)
	if n > 0 {
		g.snap.Life = g.lives[0].Life
	}
	return g
}

func (g *gateway) queries() []ops.Query {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.asked)
}

// text is the frame without its styles.
func (b *bench) text() string {
	b.m.stale = true
	return ansi.Strip(b.m.View())
}

func (b *bench) mustShow(want ...string) {
	b.t.Helper()
	text := b.text()
	for _, w := range want {
		if !strings.Contains(text, w) {
			b.t.Fatalf("the screen does not show %q:\n%s", w, text)
		}
	}
}

func (b *bench) mustNotShow(not string) {
	b.t.Helper()
	if text := b.text(); strings.Contains(text, not) {
		b.t.Fatalf("the screen shows %q:\n%s", not, text)
	}
}

func TestThePastLivesAreListedOpenedAndLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newGateway().withLives(7), Options{})
		if len(b.g.queries()) != 0 {
			t.Fatal("the lives were read though they are not shown")
		}
		b.keys("6")
		b.mustShow("lives: 7", "running", "clean", "cut short in adapters", "crashed", "adapters 5.0s/5s (telegr")
		if got := b.m.life(); got == nil || got.Life != "life-now" {
			t.Fatalf("the current life does not lead: %+v", got)
		}
		b.keys("j")
		b.mustShow("life life-6", "deploy by maria")
		b.keys("enter")
		b.mustShow("stop of life life-6", "incomplete", "phases 2/3", "gave up: telegram")
		b.keys("j") // the next one's, without going back
		b.mustShow("stop of life life-5", "CUT SHORT")
		b.keys("j")
		b.mustShow("no report")
		b.keys("esc")
		b.mustShow("lives: 7", "life life-4")
		for _, back := range []string{"left", "h", "esc", "q"} {
			b.keys("g", "j", "enter")
			b.mustShow("stop of life life-6")
			b.keys(back)
			b.mustShow("lives: 7")
		}
		b.keys("G")
		if got := b.m.life().Life; got != "life-1" {
			t.Fatalf("G went to %s", got)
		}
		b.keys("k", "pgup", "g", "ctrl+d", "home", "end", "up")
		if got := b.m.life().Life; got != "life-2" {
			t.Fatalf("the keys went to %s, want life-2", got)
		}
		b.keys("esc")
		if b.m.view == views.Shutdown {
			t.Fatal("esc does not leave the view from its list")
		}
	})
}

func TestThePlanIsOneKeyAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newGateway().withLives(3), Options{})
		b.keys("6", "]")
		if b.m.leaf() != views.StopPlan {
			t.Fatalf("the page is %d", b.m.leaf())
		}
		b.keys("j", "G") // nothing to move
		b.keys("left")
		b.mustShow("lives: 3")
		b.keys("2", "]")
		if b.m.view != views.Sessions {
			t.Fatal("] opened the plan from another view")
		}
	})
}

func TestFurtherLivesAreReadWhenTheSelectionNearsTheirEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newGateway().withLives(5*lifePage/2), Options{})
		b.keys("6")
		if got := b.g.queries(); len(got) != 1 || got[0].Cursor != "" || got[0].Limit != lifePage {
			t.Fatalf("entering asked for %+v, promised one page", got)
		}
		b.mustShow(fmt.Sprintf("lives: %d+", lifePage))
		for range lifePage / 2 {
			b.keys("j")
		}
		if got := b.g.queries(); len(got) != 1 {
			t.Fatalf("in the middle of the first page %d were asked for", len(got))
		}
		for range lifePage/2 - 1 {
			b.keys("j")
		}
		if got := b.g.queries(); len(got) != 2 || got[1].Cursor == "" {
			t.Fatalf("at the end of the first page these were asked for: %+v", got)
		}
		b.keys("G", "G", "G", "G")
		if got := len(b.g.queries()); got != 3 {
			t.Fatalf("%d pages were asked for, there are 3", got)
		}
		b.mustShow(fmt.Sprintf("lives: %d,", 5*lifePage/2))
		if got := b.m.life().Life; got != "life-1" {
			t.Fatalf("the last life is %s", got)
		}
		seen := map[string]bool{}
		for _, l := range b.m.history.lives {
			if seen[l.Life] {
				t.Fatalf("%s is listed twice", l.Life)
			}
			seen[l.Life] = true
		}
	})
}

func TestAFilterOfLivesReadsOnUntilTheScreenIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newGateway().withLives(4*lifePage), Options{})
		b.keys("6", "/")
		b.typing("life:life-3")
		b.keys("enter")
		// 3, 30 to 39: too few for a screen, so that everything was read.
		b.mustShow(fmt.Sprintf("lives: 11 of %d match", 4*lifePage))
		b.keys("esc")
		b.mustShow(fmt.Sprintf("lives: %d,", 4*lifePage))
		before := len(b.g.queries())
		b.keys("/")
		b.typing("how:crashed") // a third of them: more than a screen
		if got := len(b.g.queries()); got != before {
			t.Fatalf("what has been read was read again: %d", got-before)
		}
	})
}

func TestHowTheReadingGoesIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway().withLives(3)
		l := live(t, g, Options{})
		time.Sleep(time.Second)
		frame := func() (text string) {
			l.see(func(m *model) { m.stale = true; text = ansi.Strip(m.View()) })
			return text
		}
		press := func(k string) { l.see(func(m *model) { l.cmd(m.onKey(press(k))) }) }
		must := func(when, want string) {
			t.Helper()
			if text := frame(); !strings.Contains(text, want) {
				t.Errorf("%s the screen does not show %q:\n%s", when, want, text)
			}
		}
		g.change(func(g *gateway) {
			g.historyE = &ops.Error{Code: ops.CodeUnavailable, Message: "the past lives could not be read: disk I/O error"}
		})
		press("6")
		time.Sleep(100 * time.Millisecond)
		must("after a refusal", "Not read: the past lives could not be read: disk I/O error")
		g.change(func(g *gateway) { g.historyE = nil })
		time.Sleep(2 * pageRetry)
		must("when it is asked again", "lives: 3, read")
		g.change(func(g *gateway) { g.historyE = errors.New("boom") })
		press("r")
		time.Sleep(100 * time.Millisecond)
		must("after one that failed later", "STALE")
		must("after one that failed later", "cut short in adapters")
		n := len(g.queries())
		time.Sleep(10 * time.Second)
		if got := len(g.queries()) - n; got < 3 || got > 6 {
			t.Errorf("it was asked %d times in 10 s, promised once every %s", got, pageRetry)
		}
	})
}

func TestAGatewayThatNeverAnswersLeavesTheViewLoadingAndUsable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway().withLives(3)
		l := live(t, g, Options{})
		time.Sleep(time.Second)
		g.change(func(g *gateway) { g.mute = true })
		l.see(func(m *model) { l.cmd(m.onKey(press("6"))) })
		time.Sleep(50 * time.Millisecond)
		l.see(func(m *model) {
			m.stale = true
			if text := ansi.Strip(m.View()); !strings.Contains(text, "Loading the past lives") {
				t.Errorf("it shows\n%s", text)
			}
			l.cmd(m.onKey(press("1")))
			if m.view != views.Overview {
				t.Error("keys wait for the gateway")
			}
		})
		close(g.release)
	})
}

// What was read of a gateway that is gone stays; the next life leads the list, and the one before has its end.
func TestTheListGoesOnFromOneLifeToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway().withLives(3 * lifePage / 2)
		b := newBench(t, g, Options{Attached: true})
		b.keys("6", "j", "j")
		for range lifePage {
			b.keys("j")
		}
		read := len(b.m.history.lives)
		if read != 3*lifePage/2 {
			t.Fatalf("%d lives were read", read)
		}
		b.keys("g", "j")
		chosen := b.m.life().Life
		g.change(func(g *gateway) { g.err = errGone })
		b.refresh()
		b.mustShow("GONE", "STALE", "gone, end not seen", "clean")
		n := len(g.queries())
		b.keys("r", "G", "g", "j")
		if len(g.queries()) != n {
			t.Fatal("a gateway that is gone was asked")
		}
		g.change(func(g *gateway) {
			g.err = nil
			g.snap.Life, g.snap.PID = "life-next", 5000
			g.lives[0].Outcome = ops.OutcomeCrashed
			g.lives = append([]ops.Life{{Life: "life-next", PID: 5000, StartedAt: ops.At(began), Outcome: ops.OutcomeRunning}}, g.lives...)
		})
		b.refresh()
		b.mustShow(fmt.Sprintf("lives: %d,", read+1), "running")
		b.mustNotShow("STALE")
		if got := len(g.queries()) - n; got != 1 {
			t.Fatalf("%d pages were read for one new life", got)
		}
		if got := b.m.life().Life; got != chosen {
			t.Fatalf("the selection moved from %s to %s", chosen, got)
		}
		if got := b.m.history.lives[1]; got.Life != "life-now" || got.Outcome != ops.OutcomeCrashed {
			t.Fatalf("the life before is %+v", got)
		}
	})
}

// A list that has grown by more than a page since it was read begins again: what lies between is not known.
func TestAListThatDoesNotJoinTheOlderOneReplacesIt(t *testing.T) {
	for _, tc := range []struct {
		name  string
		had   []string
		page  []string
		next  string
		want  string
		wantN string
	}{
		{"they overlap", []string{"c", "b", "a"}, []string{"d", "c"}, "x", "d c b a", "old"},
		{"the newest is all there is", []string{"c", "b", "a"}, []string{"d", "c"}, "", "d c", ""},
		{"they do not meet", []string{"b", "a"}, []string{"f", "e"}, "x", "f e", "x"},
		{"they end together", []string{"c", "b"}, []string{"c", "b"}, "x", "c b", "x"},
		{"nothing is there any more", []string{"c", "b"}, nil, "", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lives := func(ids []string) (out []ops.Life) {
				for _, id := range ids {
					out = append(out, ops.Life{Life: id})
				}
				return out
			}
			p := history{lives: lives(tc.had), next: "old"}
			p.renew(ops.Page[ops.Life]{Items: lives(tc.page), Next: tc.next})
			var got []string
			for _, l := range p.lives {
				got = append(got, l.Life)
			}
			if strings.Join(got, " ") != tc.want || p.next != tc.wantN {
				t.Fatalf("%q, then %q; want %q, then %q", got, p.next, tc.want, tc.wantN)
			}
		})
	}
}

// The report of a stop that was watched stays on the screen, also when another life answers, until the person goes on.
func TestTheReportOfAWatchedStopStaysUntilThePersonGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway().withLives(3)
		g.snap.Life = "life-1"
		b := newBench(t, g, Options{Attached: true})
		g.stopping()
		b.refresh()
		b.mustShow("STOPPING")
		for _, k := range []string{"enter", "/", "]", "left"} {
			b.keys(k)
			if b.m.leaf() != views.StopNow || b.m.dialog != nil || !b.m.bad {
				t.Fatalf("%s left the stop that runs, message %q", k, b.m.message)
			}
		}
		g.change(func(g *gateway) { g.err = errGone })
		b.refresh()
		b.mustShow("GONE", "Last report")
		b.keys("2", "6")
		b.mustShow("Last report")
		b.keys("esc")
		b.mustShow("not read before")
		g.change(func(g *gateway) {
			g.err, g.snap.Shutdown = nil, nil
			g.snap.State, g.snap.Life = ops.StateRunning, "life-now"
		})
		b.refresh()
		b.mustShow("lives: 3")
	})
}

func TestALifeIsCopiedWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newGateway().withLives(3), Options{})
		var got []byte
		b.m.raw = func(p []byte) bool { got = p; return true }
		b.keys("6", "j", "y")
		if string(got) != clipboard("life-2") {
			t.Fatalf("y copied %q", got)
		}
		b.keys("Y")
		if !strings.Contains(b.m.message, "past life") {
			t.Fatalf("Y says %q", b.m.message)
		}
	})
}

func TestASmallScreenShowsTheLivesToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newGateway().withLives(40), Options{})
		b.keys("6")
		for _, size := range [][2]int{{20, 5}, {40, 6}, {80, 24}, {140, 40}} {
			b.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			for range 45 {
				b.keys("j")
				if strings.Count(b.text(), "\n>") != 1 {
					t.Fatalf("at %v the selected life is not in sight:\n%s", size, b.text())
				}
			}
			b.keys("g")
		}
	})
}

// A replay is left as it was entered, steps and speeds change what is shown, and no key of it reaches the gateway.
func TestOP6_NoKeyOfAReplayActsOnTheGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway().withLives(4)
		stop := g.lives[1].Shutdown
		stop.EndedAt, stop.ElapsedMS = ops.At(stop.StartedAt.Add(9*time.Second)), 9000
		for i := range stop.Phases {
			stop.Phases[i].StartedAt = ops.At(stop.StartedAt.Add(time.Duration(i) * time.Second))
		}
		b := newBench(t, g, Options{})
		b.keys("6", "j", "v")
		b.mustShow("REPLAY", "of 9.0s", "1x")
		time.Sleep(2 * time.Second)
		b.send(replayStep{b.m.replay.number})
		b.mustShow("2.0s of 9.0s")
		b.keys(">", ">")
		b.mustShow("5x")
		b.keys(" ")
		b.mustShow("paused")
		for _, key := range []string{"A", "F", "+", "D", "S", "d"} {
			b.keys(key)
			b.mustShow("REPLAY")
			b.mustShow("this is a replay of a past stop")
		}
		if len(g.commands()) > 0 {
			t.Errorf("a key of a replay asked for %+v", g.commands())
		}
		at := b.m.replay.At
		b.keys("right")
		if b.m.replay.At <= at {
			t.Errorf("a step went from %s to %s", at, b.m.replay.At)
		}
		b.keys("left", "esc")
		b.mustNotShow("REPLAY")
		b.mustShow("lives: 4")
		if cmd := b.m.onReplayStep(replayStep{b.m.replay.number}); cmd != nil {
			t.Error("a replay that was left goes on")
		}
	})
}

// The keys of the plan page change what is assumed, the gateway computes the plan of it, and leaving takes it back.
func TestOP9_ThePlanPageAsksWhatIf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newGateway().withLives(3), Options{})
		b.send(tea.WindowSizeMsg{Width: 140, Height: 40})
		b.keys("6", "]")
		b.mustShow("what if", "drain                   20s", "This is what a stop would do now")
		b.keys("+", "+", "-")
		b.mustShow("what if      drain=30s")
		b.keys("j", "+", "j", "+", "j", " ")
		name := b.m.snap.Adapters[0].Name
		b.mustShow("drain=30s, processes=10, fsync=50ms and hang="+name, "HANGS")
		b.keys("k", "k", " ", "j", "-", "j", " ", "G", "g", " ") // all taken back
		b.mustShow("This is what a stop would do now")
		b.keys("+", "left", "]")
		b.mustShow("This is what a stop would do now", "drain                   20s")
		if got := b.g.commands(); len(got) > 0 {
			t.Errorf("the page asked the gateway for %+v", got)
		}
	})
}
