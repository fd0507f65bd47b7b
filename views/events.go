package views

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/charmbracelet/x/ansi"

	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
)

// Stream is how the person looks at view 7, which shows what happened: the events, or the log.
type Stream struct {
	// Log shows the log.
	Log bool
	// About is what the rows are about, empty for everything.
	About string
	// Selected is the index of the selected row, of Screen.Events or of Screen.Log.Lines.
	Selected int
}

// streamed is how many rows view 7 has.
func (s *Screen) streamed() int {
	if s.Stream.Log {
		return len(s.Log.Lines)
	}
	return len(s.Events)
}

// eventsBody is view 7: what happened, oldest first, with the detail of the selected row next to it. With Follow the newest is in
// sight and selected; else the window begins at the table's offset. The line above says what is filtered out and whether it follows.
func eventsBody(s Screen, w, h int) []string {
	sp := s.split(w)
	if sp.lw == 0 {
		return s.pane(streamTitle(&s), PageInfo{Name: "details"}, true, streamDetail(&s, pane{w - 1, h - 1}), w, h)
	}
	lines := fit(streamRows(&s, sp.lw, h), sp.lw, h)
	if sp.dw > 0 {
		detail := s.pane(streamTitle(&s), PageInfo{Name: "details"}, true, streamDetail(&s, pane{sp.dw - 1, h - 1}), sp.dw, h)
		return s.joined("", lines, detail)
	}
	return lines
}

func streamRows(s *Screen, w, h int) []string {
	n, room := s.streamed(), max(h-1, 0)
	at := min(max(s.Table.Offset, 0), max(n-room, 0))
	if s.Follow {
		at = max(n-room, 0)
	}
	lines := []string{s.rule(eventsTitle(s, n), w)}
	if n == 0 {
		return append(lines, indented(wrap(noEvents(s), max(w-2, 1)))...)
	}
	for i := at; i < min(at+room, n); i++ {
		var line string
		if s.Stream.Log {
			line = pointer(i == s.selectedRow())[:1] + logLine(s, &s.Log.Lines[i], s.Stream.About, w-1)[1:]
		} else {
			line = eventLine(s, s.Events[i], i == s.selectedRow(), true, w)
		}
		if i == s.selectedRow() {
			line = s.paint(Selected, fitLine(ansi.Strip(line), w))
		}
		lines = append(lines, line)
	}
	return lines
}

// selectedRow is the index of the selected row of view 7, -1 if there is none.
func (s *Screen) selectedRow() int {
	n := s.streamed()
	if s.Follow {
		return n - 1
	}
	return min(max(s.Stream.Selected, 0), n-1)
}

// streamTitle is what the detail of view 7 is about.
func streamTitle(s *Screen) string {
	at := s.selectedRow()
	switch {
	case at < 0:
		return ""
	case s.Stream.Log:
		return s.Log.Lines[at].Text
	}
	return string(s.Events[at].Type)
}

// streamDetail is the selected row of view 7 with all that it has.
func streamDetail(s *Screen, p pane) []string {
	at := s.selectedRow()
	if at < 0 {
		return nil
	}
	var row, fields []Fact
	if s.Stream.Log {
		l := &s.Log.Lines[at]
		row = []Fact{{"at", moment(s, l.At)}, {"level", l.Level}, {"text", l.Text}}
		for _, f := range l.Fields {
			fields = append(fields, Fact{f.Key, f.Value})
		}
	} else {
		e := &s.Events[at]
		row = []Fact{{"at", moment(s, e.At)}, {"type", string(e.Type)}, {"subject", e.Subject}, {"text", eventWords(*e)}}
		fields = payloadFacts(e.Data)
	}
	groups := [][]Fact{row, fields}
	about := s.Stream.About
	if !s.Stream.Log {
		about = s.Events[at].Subject
	}
	if of := sessionOf(s, about); of != nil {
		groups = append(groups, append([]Fact{{"session", of.Key}, {"user", of.User}, {"title", of.Title}}, sessionWork(s, of)...))
	}
	return s.told(p, groups...)
}

// payloadFacts are the fields of an event's payload, as its JSON has them.
func payloadFacts(data ops.Payload) (facts []Fact) {
	if data == nil {
		return nil
	}
	text, err := json.Marshal(data)
	var fields map[string]any
	if err != nil || json.Unmarshal(text, &fields) != nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		value, isText := fields[key].(string)
		if !isText {
			one, _ := json.Marshal(fields[key]) // it came from JSON
			value = string(one)
		}
		facts = append(facts, Fact{key, value})
	}
	return facts
}

// moment is a time to the millisecond, and how long ago it was.
func moment(s *Screen, t ops.Time) string {
	if t.IsZero() {
		return unknown
	}
	text := t.In(s.Now.Location()).Format("2006-01-02 15:04:05.000")
	if d, ok := ago(s.Now, t); ok {
		text += ", " + span(d) + " ago"
	}
	return text
}

func eventsTitle(s *Screen, n int) string {
	title := "[events] log"
	if s.Stream.Log {
		title = "events [log]"
	}
	title += " " + number(n)
	if s.Table.Filter != "" {
		title += fmt.Sprintf(" of %d, filter %s", max(s.Table.Total, n), shown(s.Table.Filter))
	}
	if s.Stream.About != "" {
		title += ", about " + shown(s.Stream.About) + " (esc: all)"
	}
	if s.Follow {
		title += ", following"
	} else {
		title += ", not following (f follows)"
	}
	if s.Link.Missed > 0 && !s.Stream.Log {
		title += fmt.Sprintf(", %d missed", s.Link.Missed)
	}
	return title
}

func noEvents(s *Screen) string {
	switch {
	case s.Stream.Log && s.Log.Err != "":
		return shown(s.Log.Err)
	case s.Stream.Log && !s.Log.Read:
		return "Reading the log."
	case s.Table.Filter != "" && s.Stream.Log:
		return or(wrongFilter(s.Table.Filter, filter.Log), fmt.Sprintf("0 of %d lines match %s; esc clears the filter", max(s.Table.Total, 0), shown(s.Table.Filter)))
	case s.Table.Filter != "":
		return or(wrongFilter(s.Table.Filter, filter.Events), fmt.Sprintf("0 of %d match %s; esc clears the filter", max(s.Table.Total, 0), shown(s.Table.Filter)))
	case s.Stream.Log:
		return "The log has no line" + after(" about ", shown(s.Stream.About)) + "."
	case s.Stream.About != "":
		return "Nothing has happened to " + shown(s.Stream.About) + " since this console looks; ] shows the log, which reaches further back."
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
	used := 1 + cellsOf(at) + 2
	line := pointer(marked)[:1] + s.paint(Muted, at) + "  "
	if types && w >= 72 {
		line += s.cell(eventRole(e.Type), shown(string(e.Type)), 23) + " "
		used += 24
	}
	subject := min(max(w/6, 10), 24)
	if types {
		subject = min(max(w/4, 10), 28)
	}
	line += s.cell(Accent, s.cutHead(shown(e.Subject), subject), subject) + " "
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
