package views

import (
	"testing"
	"time"

	"github.com/muesli/termenv"
)

func BenchmarkFrame(b *testing.B) {
	for _, v := range []View{Sessions, Agents, Processes, Adapters} {
		for _, detail := range []bool{false, true} {
			name := "view=" + v.String() + "/details=no"
			if detail {
				name = "view=" + v.String() + "/details=yes"
			}
			b.Run(name, func(b *testing.B) {
				s := screen(v, manyRows(10_000, 1000))
				s.W, s.H, s.Detail.Open, s.Theme = 140, 40, detail, NewTheme("dark", termenv.TrueColor)
				b.ReportAllocs()
				for b.Loop() {
					Draw(s)
				}
			})
		}
	}
}

func BenchmarkOrder(b *testing.B) {
	snap := manyRows(10_000, 1000)
	for _, bc := range []struct {
		name  string
		view  View
		state TableState
	}{
		{"sessions/by=last", Sessions, TableState{}},
		{"sessions/by=session", Sessions, TableState{Sort: "session"}},
		{"sessions/filter=substring", Sessions, TableState{Filter: "dm:0999"}},
		{"processes/trees", Processes, TableState{}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Order(snap, bc.view, bc.state)
			}
		})
	}
}

func BenchmarkFilter(b *testing.B) {
	rows := manyRows(10_000, 0).Sessions
	for name, filter := range map[string]string{"field": "session:dm:0999", "substring": "dm:0999", "none": "zebra", "fuzzy": "~tgdm99"} {
		b.Run("kind="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sessionList.filter(rows, filter)
			}
		})
	}
}

func TestAFrameOfTenThousandRowsTakesAtMost600Allocations(t *testing.T) {
	for _, v := range []View{Sessions, Agents, Processes, Adapters} {
		s := screen(v, manyRows(10_000, 1000))
		s.W, s.H, s.Detail.Open, s.Theme = 140, 40, true, NewTheme("dark", termenv.TrueColor)
		if n := testing.AllocsPerRun(5, func() { Draw(s) }); n > 600 {
			t.Errorf("%s takes %.0f", v, n)
		}
	}
}

// everyScreen is each view, and each page of its details, with many rows.
func everyScreen() map[string]Screen {
	out := map[string]Screen{}
	for name, s := range pictures() {
		out[name] = s
	}
	many := manyRows(1000, 300)
	for _, v := range Views {
		s := screen(v, many)
		s.Rates, s.Range = someRates(), 30*time.Minute
		out[v.String()] = s
		for _, page := range Pages(v) {
			s.Detail.Page = page.Name
			out[v.String()+"-"+page.Name] = s
		}
	}
	return out
}

// BenchmarkFrame200x60 is a frame of each screen at 200x60, at most 1.5 ms.
func BenchmarkFrame200x60(b *testing.B) {
	for name, s := range everyScreen() {
		b.Run("screen="+name, func(b *testing.B) {
			s.W, s.H, s.Theme = 200, 60, NewTheme("dark", termenv.TrueColor)
			b.ReportAllocs()
			for b.Loop() {
				Draw(s)
			}
		})
	}
}
