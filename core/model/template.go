package model

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// maxExpansion bounds what a template may grow to, in bytes: a message may be long, and a template may repeat it.
const maxExpansion = 1 << 20

// template is a text of a script with holes, as Script says.
type template struct {
	pieces []piece
}

// piece is literal text, or a hole.
type piece struct {
	text string
	// group is the number or name of a captured group, fact one of the words between braces; one at most is set.
	group, fact string
	// number says that the value is a JSON number where it stands alone.
	number bool
}

// hole matches what is not literal text: $$, $1, ${name}, {{fact}}, {{result.member}}, {{number $1}}.
var hole = regexp.MustCompile(`\$\$|\$(\d+)|\$\{(\w+)\}|\{\{\s*(?:(number)\s+\$(?:(\d+)|\{(\w+)\})|([\w.]+))\s*\}\}`)

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *template) UnmarshalText(text []byte) error {
	s, at := string(text), 0
	for _, m := range hole.FindAllStringSubmatchIndex(s, -1) {
		sub := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return s[m[2*i]:m[2*i+1]]
		}
		if m[0] > at {
			t.pieces = append(t.pieces, piece{text: s[at:m[0]]})
		}
		at = m[1]
		switch {
		case sub(0) == "$$":
			t.pieces = append(t.pieces, piece{text: "$"})
		case sub(6) != "":
			if !knownFact(sub(6)) {
				return fmt.Errorf("{{%.40s}} is not known; there are input, session, model, round, result, result.NAME and number $1", sub(6))
			}
			t.pieces = append(t.pieces, piece{fact: sub(6)})
		default:
			t.pieces = append(t.pieces, piece{group: sub(1) + sub(2) + sub(4) + sub(5), number: sub(3) != ""})
		}
	}
	if at < len(s) {
		t.pieces = append(t.pieces, piece{text: s[at:]})
	}
	return nil
}

func knownFact(name string) bool {
	switch name {
	case "input", "session", "model", "round", "result":
		return true
	}
	member, ok := strings.CutPrefix(name, "result.")
	return ok && member != ""
}

// fixed returns the text of a template without holes.
func (t *template) fixed() (string, bool) {
	var b strings.Builder
	for _, p := range t.pieces {
		if p.group != "" || p.fact != "" {
			return "", false
		}
		b.WriteString(p.text)
	}
	return b.String(), true
}

// check says whether the rule's match has every group that t names.
func (t *template) check(groups map[string]bool) error {
	for _, p := range t.pieces {
		if p.group != "" && !groups[p.group] {
			return fmt.Errorf("$%s is not a group of match", p.group)
		}
	}
	return nil
}

// facts is what the holes of a rule's templates are filled with.
type facts struct {
	groups         map[string]string
	input, session string
	model          string
	round          int
	result         string // the last tool result as the model got it
}

// fill returns t's text; whole is false if a member of the result was asked for that it does not have.
func (t *template) fill(f *facts) (text string, whole bool) {
	var b strings.Builder
	whole = true
	for _, p := range t.pieces {
		value, ok := f.value(p)
		whole = whole && ok
		if b.Len()+len(value) > maxExpansion {
			b.WriteString(value[:maxExpansion-b.Len()])
			break
		}
		b.WriteString(value)
	}
	return strings.ToValidUTF8(b.String(), ""), whole
}

func (f *facts) value(p piece) (string, bool) {
	switch {
	case p.group != "":
		return f.groups[p.group], true
	case p.fact == "":
		return p.text, true
	}
	switch p.fact {
	case "input":
		return f.input, true
	case "session":
		return f.session, true
	case "model":
		return f.model, true
	case "round":
		return strconv.Itoa(f.round), true
	case "result":
		return readable(f.result), true
	}
	return member(f.result, strings.TrimPrefix(p.fact, "result."))
}

// fillArguments returns the JSON of a call's arguments.
func fillArguments(value any, f *facts) string {
	if t, ok := value.(*template); ok {
		text, _ := t.fill(f)
		return text
	}
	out, err := json.Marshal(fillValue(value, f))
	if err != nil {
		// A value that TOML has and JSON has not, such as inf.
		return fmt.Sprintf("{%q:%q}", "error", err)
	}
	return string(out)
}

func fillValue(value any, f *facts) any {
	switch v := value.(type) {
	case *template:
		text, _ := v.fill(f)
		if len(v.pieces) == 1 && v.pieces[0].number {
			if n, err := strconv.ParseFloat(text, 64); err == nil && json.Valid([]byte(text)) {
				return json.Number(strconv.FormatFloat(n, 'f', -1, 64))
			}
		}
		return text
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, member := range v {
			out[key] = fillValue(member, f)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, member := range v {
			out[i] = fillValue(member, f)
		}
		return out
	default:
		return value
	}
}
