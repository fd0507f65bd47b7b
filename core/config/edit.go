package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Setting is a key of the file and the value that it gets: a text, a bool, a number or a list of these.
type Setting struct {
	// Path has the parts of the key, such as "model" and "base_url". The last one is bare.
	Path  []string
	Value any
}

// String is the change as a line of a file without tables.
func (c Setting) String() string { return dotted(c.Path) + " = " + literal(reflect.ValueOf(c.Value)) }

// In reports whether the text of a config file has this value for the key already.
func (c Setting) In(text []byte) bool {
	value, err := decoded(c)
	return err == nil && reflect.DeepEqual(Lookup(text, c.Path...), value)
}

// ChangedSettings are the settings of the text after that the text before does not have, sorted by their keys. Tables in lists, lists
// of mixed kinds and dates are left out; so is everything where one of the texts is not TOML.
func ChangedSettings(before, after []byte) []Setting {
	var doc map[string]any
	if toml.Unmarshal(after, &doc) != nil || toml.Unmarshal(before, new(map[string]any)) != nil {
		return nil
	}
	var found []Setting
	var walk func(path []string, table map[string]any)
	walk = func(path []string, table map[string]any) {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			c := Setting{Path: append(slices.Clone(path), name)}
			if below, is := table[name].(map[string]any); is {
				walk(c.Path, below)
				continue
			}
			if c.Value = settable(table[name]); c.Value != nil && !c.In(before) {
				found = append(found, c)
			}
		}
	}
	walk(nil, doc)
	return found
}

// settable is a decoded value as a Setting has it; nil: it can have none of this kind.
func settable(v any) any {
	items, list := v.([]any)
	switch {
	case list && len(items) == 0:
		return []string{}
	case list:
		if all, ok := allOf[string](items); ok {
			return all
		}
		if all, ok := allOf[int64](items); ok {
			return all
		}
		return nil
	}
	switch v.(type) {
	case string, bool, int64, float64:
		return v
	}
	return nil
}

func allOf[T any](items []any) (all []T, ok bool) {
	for _, item := range items {
		one, is := item.(T)
		if !is {
			return nil, false
		}
		all = append(all, one)
	}
	return all, true
}

// Edit returns the text of a config file with changes. Everything else stays as it is: comments, order, spaces and the keys that
// no change names. An error says that the text is not TOML, or which key has a place in it that no change can be made at; then the
// caller shows the changes to a person.
func Edit(text []byte, changes []Setting) ([]byte, error) {
	var want map[string]any
	if err := toml.Unmarshal(text, &want); err != nil {
		return nil, fmt.Errorf("edit the config: it is not TOML: %w", err)
	}
	if want == nil {
		want = map[string]any{}
	}
	out := bytes.Clone(text)
	for _, c := range changes {
		value, err := decoded(c)
		if err != nil {
			return nil, err
		}
		if !put(want, c.Path, value) {
			return nil, fmt.Errorf("edit the config: %s is below a key that is not a table", dotted(c.Path))
		}
		out = splice(out, c)
		var got map[string]any
		if err := toml.Unmarshal(out, &got); err != nil || !reflect.DeepEqual(got, want) {
			return nil, fmt.Errorf("edit the config: the place of %s cannot be changed; write by hand: %s", dotted(c.Path), c)
		}
	}
	return out, nil
}

// Lookup is what the text of a config file says about a key, as TOML decodes it; nil: nothing, or the text is not TOML.
func Lookup(text []byte, path ...string) any {
	var doc map[string]any
	if toml.Unmarshal(text, &doc) != nil {
		return nil
	}
	var v any = doc
	for _, part := range path {
		table, is := v.(map[string]any)
		if !is {
			return nil
		}
		v = table[part]
	}
	return v
}

// decoded is the value of a change as a decoder reads it.
func decoded(c Setting) (any, error) {
	if len(c.Path) < 2 || slices.Contains(c.Path, "") {
		return nil, errors.New("edit the config: a change names no key of a table")
	}
	if s, is := c.Value.(string); is && strings.ContainsFunc(s, unicode.IsControl) {
		return nil, fmt.Errorf("edit the config: the value of %s has a control character", dotted(c.Path))
	}
	var doc map[string]any
	if err := toml.Unmarshal([]byte("v = "+literal(reflect.ValueOf(c.Value))), &doc); err != nil {
		return nil, fmt.Errorf("edit the config: the value of %s cannot be written: %w", dotted(c.Path), err)
	}
	return doc["v"], nil
}

// put sets a key of a decoded document. It is false where a part of the path is a value.
func put(doc map[string]any, path []string, value any) bool {
	for _, part := range path[:len(path)-1] {
		if doc[part] == nil {
			doc[part] = map[string]any{}
		}
		next, is := doc[part].(map[string]any)
		if !is {
			return false
		}
		doc = next
	}
	if _, table := doc[path[len(path)-1]].(map[string]any); table {
		return false
	}
	doc[path[len(path)-1]] = value
	return true
}

// spot is a key or a header of the text: from begin to end, which is behind its value.
type spot struct {
	table      []string // the header above it; for a header its own path
	path       []string
	begin, end int
	// value is where the value begins; 0: it is a header.
	value  int
	inline bool // the value is an inline table
}

// splice makes one change at the best place that it finds. Edit checks what came of it.
func splice(text []byte, c Setting) []byte {
	written := literal(reflect.ValueOf(c.Value))
	parent := c.Path[:len(c.Path)-1]
	var header, sibling *spot
	all := spots(text)
	for i, s := range all {
		switch {
		case s.value > 0 && slices.Equal(s.path, c.Path):
			return replaced(text, s.value, s.end, written)
		case s.inline && len(s.path) < len(c.Path) && slices.Equal(s.path, c.Path[:len(s.path)]):
			return intoInline(text, s, c.Path[len(s.path):], written)
		case s.value > 0 && len(s.path) == len(c.Path) && slices.Equal(s.path[:len(parent)], parent):
			sibling = &all[i]
		case s.value == 0 && slices.Equal(s.path, parent):
			header = &all[i]
		}
	}
	at, relative := sibling, []string(nil)
	switch {
	case sibling != nil:
		relative = c.Path[len(sibling.table):]
	case header != nil:
		at, relative = header, c.Path[len(parent):]
	default:
		out := bytes.TrimRight(text, " \t\r\n")
		if len(out) > 0 {
			out = append(out, "\n\n"...)
		}
		return fmt.Appendf(out, "[%s]\n%s = %s\n", dotted(parent), dotted(c.Path[len(parent):]), written)
	}
	end := at.end
	if n := bytes.IndexByte(text[end:], '\n'); n >= 0 {
		end += n + 1
	} else {
		text, end = append(text, '\n'), len(text)+1
	}
	return replaced(text, end, end, dotted(relative)+" = "+written+"\n")
}

// intoInline adds a key to an inline table.
func intoInline(text []byte, s spot, relative []string, written string) []byte {
	add := " " + dotted(relative) + " = " + written
	if len(bytes.TrimSpace(text[s.value+1:s.end-1])) > 0 {
		add += ","
	} else {
		add += " "
	}
	return replaced(text, s.value+1, s.value+1, add)
}

func replaced(text []byte, from, to int, with string) []byte {
	return slices.Concat(text[:from], []byte(with), text[to:])
}

// spots lists the keys with values and the headers of a text that is TOML, in their order. What stands in a list of tables is left
// out: no change is made there.
func spots(text []byte) (found []spot) {
	var parser unstable.Parser
	var table []string
	listed := false
	parser.Reset(text)
	for parser.NextExpression() {
		n := parser.Expression()
		switch n.Kind {
		case unstable.Table:
			path, begin, end := keyRange(n.Key())
			table = path
			listed = slices.ContainsFunc(found, func(s spot) bool { return s.begin < 0 && len(path) > 0 && s.path[0] == path[0] })
			if !listed {
				found = append(found, spot{table: path, path: path, begin: begin, end: end})
			}
		case unstable.ArrayTable:
			path, _, end := keyRange(n.Key())
			listed = true
			found = append(found, spot{path: path, begin: -1, end: end, table: []string{""}}) // it matches no change
		case unstable.KeyValue:
			if !listed {
				found = addPair(found, text, table, table, n)
			}
		}
	}
	return slices.DeleteFunc(found, func(s spot) bool { return s.begin < 0 })
}

// addPair adds a key with its value, and the keys of an inline table.
func addPair(found []spot, text []byte, table, prefix []string, n *unstable.Node) []spot {
	path, begin, end := keyRange(n.Key())
	s := spot{table: table, path: slices.Concat(prefix, path), begin: begin, inline: n.Value().Kind == unstable.InlineTable}
	if eq := bytes.IndexByte(text[end:], '='); eq >= 0 {
		s.value = end + eq + 1
	}
	for s.value < len(text) && (text[s.value] == ' ' || text[s.value] == '\t') {
		s.value++
	}
	s.end = valueEnd(text, s.value)
	if !s.inline {
		return append(found, s)
	}
	// Its keys come first: where one is the key that is changed, nothing is added to the table.
	for it := n.Value().Children(); it.Next(); {
		before := len(found)
		found = addPair(found, text, table, s.path, it.Node())
		for i := range found[before:] {
			found[before+i].table = []string{""} // no line follows a key of an inline table
		}
	}
	return append(found, s)
}

// keyRange is the parts of a key, and where they begin and end in the text.
func keyRange(parts unstable.Iterator) (path []string, begin, end int) {
	for parts.Next() {
		n := parts.Node()
		if len(path) == 0 {
			begin = int(n.Raw.Offset)
		}
		end = int(n.Raw.Offset + n.Raw.Length)
		path = append(path, string(n.Data))
	}
	return path, begin, end
}

// valueEnd is where the value that begins at an offset of a text ends.
func valueEnd(text []byte, at int) int {
	depth := 0
	for at < len(text) {
		rest := text[at:]
		switch c := rest[0]; {
		case bytes.HasPrefix(rest, []byte(`"""`)), bytes.HasPrefix(rest, []byte(`'''`)):
			at += longEnd(rest)
		case c == '"' || c == '\'':
			at += shortEnd(rest)
		case c == '[' || c == '{':
			depth++
			at++
		case (c == ']' || c == '}') && depth > 0:
			depth--
			at++
		case c == '#' && depth > 0:
			at += lineEnd(rest)
		case depth == 0 && strings.IndexByte(",]}#\n\r", c) >= 0:
			return at - len(text[:at]) + len(bytes.TrimRight(text[:at], " \t"))
		default:
			at++
			continue
		}
		if depth == 0 && strings.IndexByte(`"']}`, text[at-1]) >= 0 {
			return at
		}
	}
	return len(bytes.TrimRight(text, " \t"))
}

// shortEnd is the length of the string on one line that text begins with.
func shortEnd(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && text[0] == '"':
			i++
		case text[i] == text[0]:
			return i + 1
		}
	}
	return len(text)
}

// longEnd is the length of the string of several lines that text begins with. Up to two quotes may stand before the last three.
func longEnd(text []byte) int {
	for i := 3; i < len(text); i++ {
		switch {
		case text[i] == '\\' && text[0] == '"':
			i++
		case bytes.HasPrefix(text[i:], text[:3]):
			end := i + 3
			for end < len(text) && end < i+5 && text[end] == text[0] {
				end++
			}
			return end
		}
	}
	return len(text)
}

func lineEnd(text []byte) int {
	if n := bytes.IndexByte(text, '\n'); n >= 0 {
		return n
	}
	return len(text)
}

// dotted is a key as TOML writes it.
func dotted(path []string) string {
	var parts []string
	for _, p := range path {
		if p == "" || strings.Trim(p, bare) != "" {
			p = literal(reflect.ValueOf(p))
		}
		parts = append(parts, p)
	}
	return strings.Join(parts, ".")
}

// Bare reports whether TOML writes a key without quotes: it has letters, digits, - and _ alone.
func Bare(key string) bool { return key != "" && strings.Trim(key, bare) == "" }
