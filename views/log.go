package views

import (
	"strings"
	"time"

	"gatewaytui/core/ops"
)

// Log is what the page "log" of a row and the log of view 7 show.
type Log struct {
	// Lines are those that were read, oldest first; More says that there are older ones.
	Lines []ops.LogLine
	More  bool
	// Read says that the gateway has answered, Err why it did not the last time.
	Read bool
	Err  string
}

// logPage is the page of a row whose log lines are read: one line each, and wrapped when it is unfolded.
func logPage[T any]() page[T] {
	return page[T]{name: "log", ends: true, folds: true, lines: func(s *Screen, _ *T, p pane) []string { return logLines(s, p) }}
}

func logLines(s *Screen, p pane) []string {
	lines := s.Log.Lines
	switch {
	case !s.Log.Read:
		return []string{s.paint(Muted, " Reading the log.")}
	case len(lines) == 0:
		return indented(wrap("The log has no line about it. It has what the gateway does: turns, commands of operators, connections, warnings.", p.w-2))
	}
	out := make([]string, 0, len(lines)+1)
	if s.Log.More {
		out = append(out, s.paint(Muted, " older lines come when you scroll up"))
	}
	if s.Detail.Unfolded {
		for i := range lines {
			head := logTime(s, &lines[i], p.w) + " "
			for n, text := range wrap(logText(&lines[i], s.Table.Selected), p.w-cellsOf(head)-6) {
				if n > 0 {
					head = spaces(cellsOf(head))
				}
				level, role := logLevel(lines[i].Level)
				if n > 0 {
					level = "    "
				}
				out = append(out, " "+s.paint(Muted, head)+s.paint(role, level)+" "+text)
			}
		}
		return out
	}
	from, to := s.inSight(len(lines)+len(out), p)
	for i := range lines { // only those in sight are drawn
		if at := len(out); at >= from && at < to || at >= len(lines)-p.h {
			out = append(out, logLine(s, &lines[i], s.Table.Selected, p.w))
			continue
		}
		out = append(out, "")
	}
	return out
}

// inSight are the lines of the open page that its pane shows, of n.
func (s *Screen) inSight(n int, p pane) (from, to int) {
	last := max(n-p.h, 0)
	from = min(max(s.Detail.Scroll, 0), last)
	if s.Detail.End {
		from = last
	}
	return from, from + p.h
}

// logLine is one line of the log in w cells. What it is about is known, and not said again.
func logLine(s *Screen, l *ops.LogLine, about string, w int) string {
	at := logTime(s, l, w)
	level, role := logLevel(l.Level)
	return " " + s.paint(Muted, at) + " " + s.paint(role, level) + " " + s.cut(logText(l, about), w-len(at)-7)
}

func logTime(s *Screen, l *ops.LogLine, w int) string {
	if l.At.IsZero() {
		return "--:--:--"
	}
	layout := "15:04:05"
	if w >= 100 {
		layout = "15:04:05.000"
	}
	if s.Now.Sub(l.At.Time) >= 24*time.Hour {
		layout = "2 Jan 15:04:05"
	}
	return l.At.In(s.Now.Location()).Format(layout)
}

// logText is the message and the fields of a line, without those that say what it is about. Ids, which no person reads, come last.
func logText(l *ops.LogLine, about string) string {
	const idLength = 26
	var b, ids strings.Builder
	b.WriteString(shown(l.Text))
	for _, f := range l.Fields {
		if f.Value == "" || f.Value == about || f.Key == "event" && f.Value == l.Text {
			continue
		}
		value := shown(f.Value)
		if strings.ContainsAny(value, " =") {
			value = `"` + value + `"`
		}
		to := &b
		if len(value) == idLength && strings.Trim(value, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") == "" {
			to = &ids
		}
		to.WriteString("  " + shown(f.Key) + "=" + value)
	}
	return b.String() + ids.String()
}

// logLevel is the word of a level in four cells, and how it looks.
func logLevel(level string) (string, Role) {
	switch level {
	case "debug":
		return "dbg ", Muted
	case "info":
		return "info", Muted
	case "warn":
		return "WARN", Slow
	case "error":
		return "ERR ", Bad
	}
	return "?   ", Muted
}
