package views

import (
	"path/filepath"
	"testing"

	"github.com/muesli/termenv"

	"gatewaytui/fixtures/golden"
	"gatewaytui/fixtures/screens"
)

// pictures are the screens that the README shows.
func pictures() map[string]Screen {
	overview := overviewStates()["rows"]
	overview.Hints = []Hint{{"R", "reset"}, {"I", "interrupt"}, {"D", "drain"}, {"S", "stop"}, {"enter", "open"}, {"i", "answer"}, {"[ ]", "range"}, {"/", "filter"}, {":", "command"}, {"?", "help"}}
	sessions := talking(chat()...)
	sessions.Table.Marked, sessions.Detail.Open = nil, false
	inbox := screen(Inbox, fiveRows())
	inbox.Table.Marked = nil
	item := fiveRows().Inbox[0]
	inbox.Over = Dialog{
		Title: "command " + item.ID, Facts: InboxFacts(Opts{Now: noon}, &item), Armed: true, Focus: 1,
		Buttons: []Button{{"esc", "Later"}, {"y", "Once"}, {"u", "Turn"}, {"s", "Session"}, {"a", "Always"}, {"n", "No"}, {"r", "Why"}},
		Note:    "t opens the session",
	}
	timeline := screen(Sessions, fiveRows())
	timeline.Table.Selected, timeline.Table.Marked, timeline.Detail.Page = "telegram:dm:4412", nil, "timeline"
	timeline.Detail.Open, timeline.Detail.Whole = true, true
	timeline.Turn = TurnTimeline{Timeline: turns()["running"], At: noon}
	stuck := stopStates()["stuck"]()
	report := opened(2)
	return map[string]Screen{"overview": overview, "sessions": sessions, "timeline": timeline, "inbox": inbox, "stuck-stop": stuck, "report": report}
}

// The pictures of the README are frames of the console, to the cell.
func TestEachPictureShowsItsFrame(t *testing.T) {
	for name, s := range pictures() {
		t.Run(name, func(t *testing.T) {
			s.W, s.H, s.Theme = 140, 40, NewTheme("dark", termenv.TrueColor)
			lines := Draw(s)
			exact(t, lines, s.W, s.H)
			golden.Check(t, filepath.Join("..", "fixtures", "screens", name+".svg"), screens.SVG("gatewaytui: "+name, lines, screens.Dark))
		})
	}
}
