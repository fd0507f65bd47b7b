package views

import (
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

func TestWorkThatTakesLongIsOnEveryScreenWithHowFarItIs(t *testing.T) {
	s := livesScreen(nil, 0)
	s.W, s.H = 140, 40
	s.Snap.Background = []ops.Background{
		{ID: "bg-1", Name: "retention", StartedAt: before(time.Hour)},
		{ID: "bg-2", Name: "request gateway.backup", StartedAt: before(42 * time.Second), Progress: "1.2 GiB of at most 3 GiB\x1b[2J", Percent: 40},
		{ID: "bg-3", Name: "build search index", StartedAt: before(9 * time.Second), Progress: "at most 12 older messages left"},
		{ID: "bg-4", Name: "quick", StartedAt: before(time.Second), Progress: "1 of 2"},
	}
	want := "[████░░░░░░░░] backup: 1.2 GiB of at most 3 GiB␛[2J, for 0:42; and 1 other long task"
	for _, v := range Views {
		s.View, s.StopPage = v, StopLives
		if lines := Draw(s); !strings.Contains(lines[1], want) {
			t.Errorf("the view %s shows\n%s\n%s, want %q", v, lines[0], lines[1], want)
		}
	}
	s.W = 80
	if text := s.longWork(); strings.HasPrefix(text, "[") {
		t.Errorf("80 cells have a bar: %q", text)
	}
	s.Snap.Background = s.Snap.Background[:1]
	if text := s.longWork(); text != "" {
		t.Errorf("a task that says nothing is shown as %q", text)
	}
}
