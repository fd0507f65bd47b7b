package views

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

var (
	glyphFolded   = glyph{"+", "▸"}
	glyphUnfolded = glyph{"-", "▾"}
)

// call is a call of a tool: one line, and unfolded its arguments and its result. A call without a result is the running one, or one
// that never got any.
func (d *talkDraw) call(m *ops.Message, c *ops.MessageCall, result *ops.Message, took time.Duration, latest bool) []string {
	w := d.w - d.from
	g := glyphFolded
	if d.Detail.Unfolded {
		g = glyphUnfolded
	}
	ended, role := d.outcome(m, result, latest)
	if took > 0 {
		ended = strings.TrimRight(fmt.Sprintf("%6s  %-7s", brief(took), ended), " ")
	}
	name := d.clean(c.Name, maxWord)
	left := d.glyph(g) + " " + name
	room := w - cellsOf(left) - 2 - cellsOf(ended) - 2
	short := ""
	if room >= 8 {
		short = d.cut(d.clean(shortArguments(c.Arguments), maxShown), room)
	}
	line := d.paint(Muted, d.glyph(g)) + " " + name
	used := cellsOf(left)
	if short != "" {
		line += "  " + d.paint(Muted, short)
		used += 2 + cellsOf(short)
	}
	line += spaces(max(w-used-cellsOf(ended), 1)) + d.paint(role, ended)
	lines := []string{line}
	if !d.Detail.Unfolded || m.Withheld {
		return lines
	}
	if text := longArguments(c.Arguments); text != "" && (strings.Contains(text, "\n") || cellsOf(text) > max(room, 0)) {
		lines = append(lines, d.gutter(text, maxGutterLines, Muted)...)
	}
	if result != nil {
		lines = append(lines, d.gutter(resultText(result.Text), maxResultLines, Plain)...)
	}
	return lines
}

// outcome is how a call ended, or how it is getting on.
func (d *talkDraw) outcome(m *ops.Message, result *ops.Message, latest bool) (string, Role) {
	switch {
	case result == nil && (d.row.Turn == "" || d.row.Turn != m.Turn || !latest):
		return "no result", Muted
	case result == nil && d.row.State == ops.SessionWaitingApproval:
		return "asks since " + clockSince(d.Now, d.row.LastProgressAt), Slow
	case result == nil:
		return clockSince(d.Now, d.row.DoingSince), Busy
	case result.Exit != nil && *result.Exit != 0:
		return "exit " + strconv.Itoa(*result.Exit), Bad
	case result.Exit != nil:
		return "exit 0", Muted
	case result.Withheld:
		return count(result.Length, "character"), Muted
	case resultError(result.Text) != "":
		return "failed", Bad
	}
	return "", Muted
}

// brief is a duration in a few cells: 40ms, 1.2s, 2:10.
func brief(d time.Duration) string {
	if d = max(d, 0); d < 100*time.Millisecond {
		return strconv.Itoa(int(max(d/time.Millisecond, 1))) + "ms"
	}
	return tenths(d)
}

// gutter is text with a bar at its left, at most so many lines of it.
func (d *talkDraw) gutter(text string, most int, role Role) []string {
	part, left := bounded(text)
	lines := d.code(part, d.w-d.from-4, role)
	if n := len(lines) - most; n > 0 {
		lines = append(lines[:most], d.paint(Muted, d.glyph(glyphMore)+" "+count(n, "line")+" more"))
	}
	lines = append(lines, d.leftOut(left)...)
	for i := range lines {
		lines[i] = "  " + d.paint(Muted, d.glyph(glyphBar)) + " " + lines[i]
	}
	return lines
}

// shortArguments are the arguments of a call in one line: the only one alone, or the values with their names.
func shortArguments(arguments string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(longArguments(arguments), "\n", " ")), " ")
}

// longArguments are the arguments of a call as people read them. A text that is not a JSON object stays as it is.
func longArguments(arguments string) string {
	var given map[string]any
	if json.Unmarshal([]byte(arguments), &given) != nil {
		return arguments
	}
	for _, first := range []string{"command", "path", "goal", "url", "query"} { // what such a call is about
		if text, is := given[first].(string); is {
			delete(given, first)
			if rest := pairsOf(given); rest != "" {
				return text + "  " + rest
			}
			return text
		}
	}
	return pairsOf(given)
}

func pairsOf(given map[string]any) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		text, is := given[name].(string)
		if !is {
			b, err := json.Marshal(given[name])
			if err != nil { // it was read from JSON
				continue
			}
			text = string(b)
		}
		out = append(out, name+"="+text)
	}
	return strings.Join(out, " ")
}

// resultText is the result of a call as people read it: the output of a command, the text of an error, and else what the tool wrote.
func resultText(text string) string {
	var result map[string]any
	if json.Unmarshal([]byte(text), &result) != nil {
		return text
	}
	if output, is := result["output"].(string); is {
		if why, is := result["error"].(string); is && why != "" {
			output = strings.TrimRight(output, "\n") + "\n" + why
		}
		if strings.TrimSpace(output) == "" {
			return "(no output)"
		}
		return output
	}
	if why := resultError(text); why != "" {
		return why
	}
	return text
}

// resultError is why a call failed; empty: it did not.
func resultError(text string) string {
	if !strings.HasPrefix(text, `{"error":`) {
		return ""
	}
	var result struct {
		Error string `json:"error"`
	}
	if json.Unmarshal([]byte(text), &result) != nil {
		return ""
	}
	return result.Error
}
