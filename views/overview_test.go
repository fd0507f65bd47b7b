package views

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// On a screen of the usual size every text is whole as long as lines are empty.
func TestTF39_NothingIsCutWhileLinesAreEmpty(t *testing.T) {
	for _, size := range [][2]int{{140, 40}, {200, 60}} {
		s := overviewStates()["rows"]
		s.W, s.H = size[0], size[1]
		s.Rates.Lately = s.Rates.Lately[:2]
		w := s.W/2 + 4
		text := strings.Join(s.leftHalf(overviewSections(&s), w, s.H-5), " ")
		for _, want := range []string{"waiting for the model", "R resets it", "dd if=/dev/sdb of=/dev/null", "set it and reconnect", "expires in 29:20", "2 behind it"} {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
				t.Errorf("%dx%d lacks %q:\n%s", s.W, s.H, want, text)
			}
		}
	}
}

func TestTF39_EveryGraphHasAScaleARangeAndAPeak(t *testing.T) {
	s := overviewStates()["rows"]
	s.W, s.H = 140, 40
	text := strings.Join(Draw(s), "\n")
	for _, want := range []string{"LAST 30 MIN", "[ ] range", "-30m", "-15m", "now", "62┤", "0┤", "peak 62", "p95 3.4s", "peak 29.1k", "today $3.20", "peak 5", "gateway 37 MiB  tools 1.1 GiB in 31 procs"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not there:\n%s", want, text)
		}
	}
	for i, g := range s.activity() {
		if len(g.tall(&s.Opts, 60, 4)) != 4 || ansi.StringWidth(g.flat(&s.Opts, 60)) > 60 {
			t.Errorf("graph %d does not keep to its size", i)
		}
	}
}

// The whole span has its place from the first minute of a life on, and each graph has the newest value at its right end.
func TestAGraphOfAYoungGatewayBeginsWhereTheGatewayDid(t *testing.T) {
	g := graph{name: "turns/min", word: figure, samples: []float64{1, 2, 4}, slots: 12}
	for _, w := range []int{6, 12, 24, 100} {
		columns := g.columns(w)
		if !math.IsNaN(columns[0]) || columns[w-1] != 4 {
			t.Errorf("%d columns: %v", w, columns)
		}
	}
	if got := g.columns(4); !math.IsNaN(got[2]) || got[3] != 4 {
		t.Errorf("a column that stands for three samples has the greatest of them: %v", got)
	}
}

func TestAPlotHasEightLevelsInEachRow(t *testing.T) {
	samples := []float64{0, 1, 4, 8, 9, 16, math.NaN(), math.Inf(1), -3}
	got := strings.Join((&Opts{}).plot(samples, 16, 2), "\n")
	if want := "    ▁█   \n▁▁▄███  ▁"; got != want {
		t.Fatalf("%q, not %q", got, want)
	}
	if got := (&Opts{ASCII: true}).plot(samples, 16, 1)[0]; got != "..:=+#  ." {
		t.Fatalf("%q", got)
	}
	if got := (&Opts{}).plot([]float64{0, 0}, 0, 1)[0]; got != "▁▁" {
		t.Fatalf("%q", got)
	}
}

func TestTheNewestRateIsThatOfTheLastMinute(t *testing.T) {
	s := overviewStates()["rows"]
	s.Snap.StartedAt = before(25 * time.Minute)
	r := s.Rates
	for i := range r.Steps {
		r.Steps[i].Turns = 10 // in 30 s
	}
	r.Steps[len(r.Steps)-1].Turns = 0 // has just begun
	if g := s.activity()[0]; g.now != "20" || g.samples[0] != 20 {
		t.Fatalf("%s turns a minute, and %v at first", g.now, g.samples[0])
	}
}
