package model

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxExpansion bounds what a template may grow to, in bytes: a message may be long, and a template may repeat it.
const maxExpansion = 1 << 20

// template is a text of a script with holes, as Script says.
type template struct{ text string }

// hole is what is not literal text: $$, $1, ${name}, {{fact}}, {{result.member}}, {{number $1}}.
var hole = regexp.MustCompile(`\$\$|\$(\d+)|\$\{(\w+)\}|\{\{\s*(?:(number)\s+\$(?:(\d+)|\{(\w+)\})|([\w.]+))\s*\}\}`)

// holeOf reads a match of hole: the number or name of a captured group, or the word between braces; $$ is neither.
func holeOf(m []string) (group, fact string) { return m[1] + m[2] + m[4] + m[5], m[6] }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *template) UnmarshalText(text []byte) error {
	t.text = string(text)
	return t.check(nil)
}

// check says whether all holes of t can be filled. groups are the groups of the rule's match; nil: they are not known yet.
func (t template) check(groups map[string]string) error {
	for _, m := range hole.FindAllStringSubmatch(t.text, -1) {
		group, fact := holeOf(m)
		member, isMember := strings.CutPrefix(fact, "result.")
		if fact != "" && !slices.Contains([]string{"input", "session", "model", "round", "result"}, fact) && (!isMember || member == "") {
			return fmt.Errorf("{{%.40s}} is not known; there are input, session, model, round, result, result.NAME and number $1", fact)
		}
		if _, known := groups[group]; group != "" && groups != nil && !known {
			return fmt.Errorf("$%s is not a group of match", group)
		}
	}
	return nil
}

// facts is what the holes of a rule's templates are filled with.
type facts struct {
	groups                map[string]string
	input, session, model string
	round                 int
	result                string // the last tool result as the model got it
}

// fill returns t's text; whole is false if a member of the result was asked for that it does not have.
func (t template) fill(f *facts) (text string, whole bool) {
	whole = true
	room := maxExpansion
	text = hole.ReplaceAllStringFunc(t.text, func(m string) string {
		value, ok := f.value(m)
		whole = whole && ok
		value = value[:min(len(value), room)]
		room -= len(value)
		return value
	})
	return strings.ToValidUTF8(text[:min(len(text), maxExpansion)], ""), whole
}

// value is what the hole text is filled with.
func (f *facts) value(text string) (string, bool) {
	group, fact := holeOf(hole.FindStringSubmatch(text))
	switch {
	case group != "":
		return f.groups[group], true
	case fact == "": // $$
		return "$", true
	case fact == "result":
		return readable(f.result), true
	}
	if name, isMember := strings.CutPrefix(fact, "result."); isMember {
		return member(f.result, name)
	}
	return map[string]string{"input": f.input, "session": f.session, "model": f.model, "round": strconv.Itoa(f.round)}[fact], true
}

// fillArguments returns the JSON of a call's arguments.
func fillArguments(arguments any, f *facts) string {
	switch v := arguments.(type) {
	case nil:
		return "{}"
	case string:
		text, _ := template{v}.fill(f)
		return text
	}
	filled, _ := mapTexts(arguments, func(t template) (any, error) {
		text, _ := t.fill(f)
		if m := hole.FindStringSubmatch(t.text); m != nil && m[0] == t.text && m[3] == "number" {
			if n, err := strconv.ParseFloat(text, 64); err == nil && json.Valid([]byte(text)) {
				return json.Number(strconv.FormatFloat(n, 'f', -1, 64)), nil
			}
		}
		return text, nil
	})
	out, err := json.Marshal(filled)
	if err != nil {
		// A value that TOML has and JSON has not, such as inf.
		return fmt.Sprintf("{%q:%q}", "error", err)
	}
	return string(out)
}

// mapTexts is a value of a TOML document with f's result in place of each string.
func mapTexts(value any, f func(template) (any, error)) (any, error) {
	var err error
	switch v := value.(type) {
	case string:
		return f(template{v})
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, member := range v {
			if out[key], err = mapTexts(member, f); err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, member := range v {
			if out[i], err = mapTexts(member, f); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return value, nil
}
