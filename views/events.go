package views

import (
	"fmt"
	"time"

	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
)

// eventsBody is view 7: what happened, oldest first. With Follow the newest is in sight; else the window begins at the
// table's offset. The event that enter opens is marked: the newest when it follows, else the first in the window. The line
// above says what is filtered out and whether it follows.
func eventsBody(s Screen, w, h int) []string {
	n := len(s.Events)
	room := max(h-1, 0)
	at := min(max(s.Table.Offset, 0), max(n-room, 0))
	if s.Follow {
		at = max(n-room, 0)
	}
	lines := []string{s.rule(eventsTitle(&s, n), w)}
	if n == 0 {
		return fit(append(lines, "   "+noEvents(&s)), w, h)
	}
	for i := at; i < min(at+room, n); i++ {
		open := i == at && !s.Follow || i == n-1 && s.Follow
		lines = append(lines, eventLine(&s, s.Events[i], open, true, w))
	}
	return fit(lines, w, h)
}

func eventsTitle(s *Screen, n int) string {
	title := fmt.Sprintf("events %d", n)
	if s.Table.Filter != "" {
		title = fmt.Sprintf("events %d of %d, filter %s", n, max(s.Table.Total, n), shown(s.Table.Filter))
	}
	if s.Follow {
		title += ", following"
	} else {
		title += ", not following (f follows)"
	}
	if dropped := s.Link.Missed; dropped > 0 {
		title += fmt.Sprintf(", %d missed", dropped)
	}
	return title
}

func noEvents(s *Screen) string {
	if wrong := wrongFilter(s.Table.Filter, filter.Events); wrong != "" {
		return wrong
	}
	if s.Table.Filter != "" {
		return fmt.Sprintf("0 of %d match %s; esc clears the filter", max(s.Table.Total, 0), shown(s.Table.Filter))
	}
	return "Nothing has happened yet since this console looks."
}

// eventLine is one event: when, what kind, to what, and in words. Only view 7 marks one and names the types.
func eventLine(s *Screen, e ops.Event, marked, types bool, w int) string {
	at := "--:--:--"
	if !e.At.IsZero() {
		layout := time.TimeOnly
		if w >= 120 {
			layout = "15:04:05.000"
		}
		at = e.At.In(s.Now.Location()).Format(layout)
	}
	sel := " "
	if marked {
		sel = ">"
	}
	used := 1 + cellsOf(at) + 2
	line := sel + s.paint(Muted, at) + "  "
	if types && w >= 72 {
		line += s.cell(eventRole(e.Type), shown(string(e.Type)), 23) + " "
		used += 24
	}
	subject := min(max(w/6, 10), 24)
	line += s.cell(Accent, shown(e.Subject), subject) + " "
	used += subject + 1
	return line + s.cut(shown(eventWords(e)), w-used)
}

func eventWords(e ops.Event) string {
	if missed, ok := ops.PayloadOf[ops.Missed](e); ok && e.Type == ops.EventDropped && e.Text == "" {
		return fmt.Sprintf("%d events were missed", missed.Count)
	}
	return e.Text
}

func eventRole(t ops.EventType) Role {
	switch t {
	case ops.EventWarning, ops.EventTurnStalled, ops.EventDropped, ops.EventMessageRefused:
		return Slow
	case ops.EventProcessKilled:
		return Bad
	case ops.EventShutdownPhase, ops.EventShutdownItem, ops.EventShutdownEnded, ops.EventGatewayState:
		return Busy
	}
	return Plain
}

// stopEvents are the events that the shutdown view shows at its bottom, oldest first.
func (d *stopDraw) stopEvents() []ops.Event {
	var out []ops.Event
	for _, e := range d.s.Events[max(len(d.s.Events)-200, 0):] {
		if e.Type != ops.EventTurnProgress {
			out = append(out, e)
		}
	}
	return out
}

// eventList is the newest of them first, under a rule, in at most h lines.
func (d *stopDraw) eventList(events []ops.Event, w, h int) []string {
	lines := []string{d.rule("events", w)}
	for i := len(events) - 1; i >= 0 && len(lines) < h; i-- {
		lines = append(lines, eventLine(d.s, events[i], false, false, w))
	}
	return lines
}
