package tui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

const (
	// timelinePage is the name of the page of a session that shows a turn.
	timelinePage = "timeline"
	// turnEvery is the pause between two looks at a turn that runs, restEvery at one that does not. Events about its session cut
	// them short.
	turnEvery = time.Second
	restEvery = 10 * time.Second
)

// turnAim is a turn of a session that the person wants to see. number tells two aims apart.
type turnAim struct {
	session, turn string
	number        int
}

// timelineReader reads one turn of a session: the newest, or the one that the person chose.
type timelineReader struct {
	session string
	// turn is the chosen one; empty: the newest.
	turn string
	aim  int
	seen views.TurnTimeline
	// again asks at once.
	again bool
}

func (r *timelineReader) next(m *model) (readQuestion, time.Duration) {
	if a := m.turnAim; a.session == r.session && a.number != r.aim {
		r.aim = a.number
		r.choose(a.turn)
	}
	wait := restEvery
	switch t := r.seen.Timeline; {
	case r.again || r.seen.At.IsZero():
		wait = 0
	case t != nil && t.Running():
		wait = turnEvery
	case r.turn != "": // it does not change any more
		return nil, 0
	}
	session, turn := r.session, r.turn
	return func(ctx context.Context, c ops.Console) (func(*model), error) {
		seen, err := readTurn(ctx, c, session, turn)
		return func(*model) {
			if turn == r.turn {
				r.seen, r.again = seen, false
			}
		}, err
	}, wait
}

func (r *timelineReader) show(s *views.Screen) { s.Turn = r.seen }

// choose shows a turn, or with none the newest.
func (r *timelineReader) choose(turn string) { r.turn, r.again = turn, true }

// readTurn asks for a turn, or for the newest one of a session.
func readTurn(ctx context.Context, c ops.Console, session, turn string) (views.TurnTimeline, error) {
	seen := views.TurnTimeline{Pinned: turn != ""}
	if turn == "" {
		page, err := c.Turns(ctx, session, ops.Query{Limit: 1})
		if err != nil {
			return seen, err
		}
		if seen.None = len(page.Items) == 0; seen.None {
			seen.At = time.Now()
			return seen, nil
		}
		turn = page.Items[0].ID
	}
	t, err := c.Timeline(ctx, turn)
	seen.Timeline, seen.At = &t, time.Now()
	return seen, err
}

// timelines is the reader of the page if it is in sight; nil: it is not.
func (m *model) timelines() *timelineReader {
	for i := range m.readings {
		if r, is := m.readings[i].reader.(*timelineReader); is {
			return r
		}
	}
	return nil
}

// openTurn shows a turn of a session: with none its newest.
func (m *model) openTurn(session, turn string) tea.Cmd {
	cmd := m.jump(views.Sessions, session)
	m.turnAim = turnAim{session: session, turn: turn, number: m.turnAim.number + 1}
	return tea.Batch(cmd, m.showPage(timelinePage))
}

// turnOf is the turn that an event is about; empty: none.
func turnOf(ev ops.Event) string {
	if end, is := ops.PayloadOf[ops.TurnEnd](ev); is && ev.Type == ops.EventTurnEnded {
		return end.Turn
	}
	if begin, is := ops.PayloadOf[ops.TurnChange](ev); is && ev.Type == ops.EventTurnStarted {
		return begin.Turn
	}
	return ""
}

// otherTurn goes to the turn before the one that is shown, or after it. After the last one the newest is followed.
func (m *model) otherTurn(earlier bool) tea.Cmd {
	r := m.timelines()
	if r == nil {
		return m.showPage(timelinePage)
	}
	t := r.seen.Timeline
	if t == nil {
		return nil
	}
	to := t.Later
	if earlier {
		to = t.Earlier
	}
	switch {
	case to == "" && earlier:
		m.say("this is the first turn that is kept of the conversation")
	case to == "" && r.turn == "":
		m.say("this is the newest turn")
	default:
		r.choose(to)
		m.rouse()
	}
	return nil
}

// timelineBindings are the keys of the page with a turn.
func timelineBindings() []binding {
	in := []views.View{views.Sessions}
	return []binding{
		{action: "timeline", keys: []string{"t"}, label: "timeline", help: "where the time of the session's turn went: its calls, waits and questions", in: in, do: func(m *model) tea.Cmd { return m.showPage(timelinePage) }},
		{action: "turn-before", keys: []string{",", "<"}, help: "in a timeline: the turn before", in: in, do: func(m *model) tea.Cmd { return m.otherTurn(true) }},
		{action: "turn-after", keys: []string{".", ">"}, help: "in a timeline: the turn after; after the last one the newest is followed", in: in, do: func(m *model) tea.Cmd { return m.otherTurn(false) }},
	}
}
