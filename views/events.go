package views

import (
	"fmt"
	"slices"
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
		title += fmt.Sprintf(" of %d, filter %s", max(s.Table.Total, n), shown(s.Table.Filter))
	}
	if s.Follow {
		title += ", following"
	} else {
		title += ", not following (f follows)"
	}
	if s.Link.Missed > 0 {
		title += fmt.Sprintf(", %d missed", s.Link.Missed)
	}
	return title
}

func noEvents(s *Screen) string {
	if s.Table.Filter == "" {
		return "Nothing has happened yet since this console looks."
	}
	return or(wrongFilter(s.Table.Filter, filter.Events), fmt.Sprintf("0 of %d match %s; esc clears the filter", max(s.Table.Total, 0), shown(s.Table.Filter)))
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
	used := 1 + cellsOf(at) + 2
	line := pointer(marked)[:1] + s.paint(Muted, at) + "  "
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
	last := d.s.Events[max(len(d.s.Events)-200, 0):]
	return slices.DeleteFunc(slices.Clone(last), func(e ops.Event) bool { return e.Type == ops.EventTurnProgress })
}

// eventList is the newest of them first, under a rule, in at most h lines.
func (d *stopDraw) eventList(events []ops.Event, w, h int) []string {
	lines := []string{d.rule("events", w)}
	for _, e := range slices.Backward(events[max(len(events)-(h-1), 0):]) {
		lines = append(lines, eventLine(d.s, e, false, false, w))
	}
	return lines
}
