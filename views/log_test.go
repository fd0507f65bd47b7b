package views

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

// logScreen is a session with the page log open, of which n lines were read.
func logScreen(n int) Screen {
	s := screen(Sessions, fiveRows())
	s.Detail.Page, s.Detail.End = "log", true
	s.Log.Read = true
	for i := range n {
		l := ops.LogLine{
			ID: fmt.Sprint("1-", i), At: before(time.Duration(n-i) * time.Second), Level: "info", Text: fmt.Sprintf("turn %d started", i),
			Fields: []ops.LogField{{Key: "turn", Value: "01M82QG7D277Z6ZNQDWG73N1V5"}, {Key: "session", Value: s.Table.Selected}, {Key: "elapsed", Value: "3 s"}},
		}
		if i%5 == 4 {
			l.Level, l.Text = "error", "reply not sent \x1b[31m"
		}
		s.Log.Lines = append(s.Log.Lines, l)
	}
	return s
}

func TestOP2_TheLogPageLooksAsReviewed(t *testing.T) {
	for name, change := range map[string]func(s *Screen){
		"end":      func(*Screen) {},
		"begin":    func(s *Screen) { s.Detail.End, s.Log.More = false, true },
		"unfolded": func(s *Screen) { s.Detail.Unfolded = true },
		"empty":    func(s *Screen) { s.Log.Lines = nil },
		"reading":  func(s *Screen) { s.Log = Log{} },
		"failed":   func(s *Screen) { s.Detail.Errs[0] = "the gateway did not answer in 2s" },
	} {
		t.Run(name, func(t *testing.T) {
			s := logScreen(60)
			change(&s)
			var a album
			for _, size := range [][2]int{{80, 24}, {140, 40}} {
				s.W, s.H = size[0], size[1]
				s.Detail.Open = s.W < sideWidth
				lines := Draw(s)
				exact(t, lines, s.W, s.H)
				inert(t, lines)
				a.add(fmt.Sprintf("%dx%d", s.W, s.H), lines)
			}
			a.check(t, "log-"+name)
		})
	}
}

// Only the lines in sight are drawn, and they are the same wherever the page is scrolled to.
func TestALongLogIsDrawnWhereItIsInSight(t *testing.T) {
	s := logScreen(3000)
	s.W, s.H = 140, 40
	for _, at := range []int{0, 1, 1500, 2990} {
		s.Detail.End, s.Detail.Scroll = false, at
		text := strings.Join(Draw(s), "\n")
		first := min(at, 3000-35)
		if first%5 == 4 {
			first++
		}
		if !strings.Contains(text, fmt.Sprintf("turn %d started", first)) {
			t.Errorf("scrolled to %d it does not show turn %d:\n%s", at, first, text)
		}
	}
	if n := testing.AllocsPerRun(5, func() { Draw(s) }); n > 1200 {
		t.Errorf("a frame takes %.0f allocations", n)
	}
}

func TestOP2_View7ShowsTheLog(t *testing.T) {
	s := logScreen(60)
	s.View, s.Stream, s.Detail = Events, Stream{Log: true, About: s.Table.Selected, Selected: 30}, Detail{}
	s.Table = TableState{Offset: 20, Total: 60}
	var a album
	for _, size := range [][2]int{{40, 6}, {80, 24}, {140, 40}, {200, 60}} {
		s.W, s.H = size[0], size[1]
		lines := Draw(s)
		exact(t, lines, s.W, s.H)
		inert(t, lines)
		a.add(fmt.Sprintf("%dx%d", s.W, s.H), lines)
	}
	a.check(t, "log-view7")
}
