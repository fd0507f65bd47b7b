package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// maxDepth is how many parts of a key are looked at: one more than any known key has.
const maxDepth = 6

// place is one key or table header, where it stands in the file. A part of its path that is a place in a list reads [1], counted
// from 1.
type place struct {
	path   []string
	offset int
	table  bool
}

// decode sets l.Config from data, the content of file. It takes two passes: one of the parser for the places, since a
// decoded document has none, and one of the decoder for the values. What is not TOML is left out, line by line, so that the
// rest is checked as well.
func (l *Loaded) decode(file string, data []byte) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	at := func(offset int) Origin {
		line, column := position(data, offset)
		return Origin{File: file, Line: line, Column: column}
	}
	doc, whole := l.parse(file, data)
	if doc == nil {
		return
	}
	for _, p := range places(whole) {
		name := keyName(p.path)
		if l.origins[name] == (Origin{}) {
			l.origins[name] = at(p.offset)
		}
		if l.insideFaulty(p.path) || len(l.errors) == maxErrors {
			continue
		}
		if e := l.set(p, name, lookup(doc, p.path), doc); e != nil {
			if e.Key != name {
				l.faulty[e.Key] = true // one error for the value that is used as a table, not one for each key in it
			}
			l.add(e, name)
		}
	}
}

// insideFaulty reports whether a table around path was found wrong already: what stands in it is not looked at.
func (l *Loaded) insideFaulty(path []string) bool {
	for i := 1; i < len(path); i++ {
		if l.faulty[keyName(path[:i])] {
			return true
		}
	}
	return false
}

// expression matches a line on which a key or a table header begins, header one with a table header. Only a config with a
// mistake needs them.
var (
	expression = text.Lazily(`^\s*([A-Za-z0-9_."'-][A-Za-z0-9_."' -]*=|\[+[A-Za-z0-9_."' -]+\])`)
	header     = text.Lazily(`^\s*\[+[A-Za-z0-9_."' -]+\]`)
)

// parse decodes data. Each expression that is not TOML is an error and is blanked, which moves nothing; what could be
// decoded comes back with the data that it was decoded from, and nil where nothing could.
func (l *Loaded) parse(file string, data []byte) (doc map[string]any, whole []byte) {
	data = bytes.Clone(data)
	for range maxErrors {
		doc = nil
		err := toml.Unmarshal(data, &doc)
		if err == nil {
			if doc == nil {
				doc = map[string]any{}
			}
			return doc, data
		}
		e := syntaxError(file, data, places(data), err)
		l.add(e, "")
		if e.Line == 0 || !blank(data, e.Line) {
			return nil, nil
		}
	}
	return nil, nil
}

// blank replaces the expression that has the given line, which counts from 1, by spaces: a table header with all that
// stands below it. It reports false if there was nothing to replace.
func blank(data []byte, line int) bool {
	lines := bytes.SplitAfter(data, []byte("\n"))
	first := min(line, len(lines)) - 1
	begins := bytes.HasPrefix(bytes.TrimSpace(lines[first]), []byte("["))
	for at := first; !begins && at >= 0; at-- { // an error may be far below the key whose value it is in
		if expression().Match(lines[at]) {
			first = at
			break
		}
	}
	next := expression
	if begins {
		next = header
	}
	changed := false
	for at := first; at < len(lines); at++ {
		if at > first && at >= line && next().Match(lines[at]) {
			break
		}
		for i, c := range lines[at] {
			if c != '\n' && c != '\r' && c != ' ' {
				lines[at][i] = ' '
				changed = true
			}
		}
	}
	return changed
}

// set takes over the value at one place of doc.
func (l *Loaded) set(p place, name string, value any, doc map[string]any) *Error {
	if k, known := keyByName[name]; known {
		if want := assign(k.field(&l.Config), value); want != "" {
			return l.fault(wants(name, want, value), name)
		}
		return nil
	}
	if f := familyAt(p.path); f != nil {
		return l.setNamed(f, p, name, value, lookup(doc, f.parts()))
	}
	if isSection(name) {
		if _, ok := value.(map[string]any); !ok {
			return l.fault(wants(name, fmt.Sprintf("a table, written [%s]", name), value), name)
		}
		return nil
	}
	for i := 1; i < len(p.path); i++ {
		if above := keyName(p.path[:i]); keyByName[above].name != "" {
			e := l.fault(above+" is a value, not a table", name)
			e.Key = above
			return e
		}
	}
	e := l.fault("unknown key "+name, name)
	e.Nearest = nearestKey(name)
	if _, table := value.(map[string]any); p.table || table {
		e.Message = "unknown table " + name
		e.Nearest = nearestSection(p.path)
	}
	return e
}

// places lists the keys and tables of data in the order of the file, as far as it can be parsed.
func places(data []byte) []place {
	var (
		found  []place
		prefix []string
		parser unstable.Parser
		keyval func(prefix []string, n *unstable.Node)
		inline func(path []string, offset int, n *unstable.Node)
		items  int // of the list of tables so far
	)
	keyval = func(prefix []string, n *unstable.Node) {
		path, offset := keyPath(prefix, n.Key())
		found = append(found, place{path, offset, false})
		inline(path, offset, n.Value())
	}
	inline = func(path []string, offset int, n *unstable.Node) {
		if len(path) >= maxDepth {
			return
		}
		at := 0
		for it := n.Children(); n.Kind == unstable.InlineTable && it.Next(); {
			keyval(path, it.Node())
		}
		for it := n.Children(); n.Kind == unstable.Array && isList(path) && it.Next(); at++ {
			item := append(slices.Clone(path), indexPart(at))
			found = append(found, place{item, offset, false})
			inline(item, offset, it.Node())
		}
	}
	parser.Reset(data)
	for parser.NextExpression() {
		switch n := parser.Expression(); n.Kind {
		case unstable.Table, unstable.ArrayTable:
			path, offset := keyPath(nil, n.Key())
			if len(path) > 0 && isList(path[:1]) && (n.Kind == unstable.ArrayTable && len(path) == 1 || items > 0) {
				if len(path) == 1 {
					items++
				}
				path = slices.Insert(path, 1, indexPart(items-1))
				path = path[:min(len(path), maxDepth)]
			}
			found = append(found, place{path, offset, true})
			prefix = path
		case unstable.KeyValue:
			keyval(prefix, n)
		}
	}
	return found
}

// keyPath is prefix and the parts of a key, maxDepth at most, and the offset at which the key begins.
func keyPath(prefix []string, parts unstable.Iterator) (path []string, offset int) {
	path = append(make([]string, 0, maxDepth), prefix...)
	for first := true; parts.Next(); first = false {
		if first {
			offset = int(parts.Node().Raw.Offset)
		}
		if len(path) < maxDepth {
			path = append(path, string(parts.Node().Data))
		}
	}
	return path, offset
}

// isList reports whether path is a list of tables that the config knows. There is one.
func isList(path []string) bool {
	f := familyOf(path[0])
	return len(path) == 1 && f != nil && f.list
}

func lookup(doc map[string]any, path []string) any {
	var v any = doc
	for _, part := range path {
		if items, list := v.([]any); list {
			at := indexOf(part)
			if at < 0 || at >= len(items) {
				return v
			}
			v = items[at]
			continue
		}
		m, ok := v.(map[string]any)
		if !ok {
			return v
		}
		v = m[part]
	}
	return v
}

// syntaxError says where the document ends to be TOML, and which key is set twice where that is what is wrong.
func syntaxError(file string, data []byte, found []place, err error) *Error {
	e := &Error{File: file, Message: "not TOML: " + term.Clean(strings.TrimPrefix(err.Error(), "toml: "), 200)}
	broken, ok := errors.AsType[*toml.DecodeError](err)
	if !ok {
		return e
	}
	row, column := broken.Position()
	lines := bytes.SplitAfterN(data, []byte("\n"), row)
	offset := len(data) - len(lines[len(lines)-1]) + column - 1
	e.Line, e.Column = position(data, offset)
	for i, p := range found {
		if p.offset != offset {
			continue
		}
		e.Key = keyName(p.path)
		for _, earlier := range found[:i] {
			if keyName(earlier.path) == e.Key {
				line, _ := position(data, earlier.offset)
				e.Message = fmt.Sprintf("%s is set twice, first in line %d", e.Key, line)
				return e
			}
		}
	}
	return e
}

// position is the line and the column of offset, in characters, both from 1.
func position(data []byte, offset int) (line, column int) {
	before := data[:min(max(offset, 0), len(data))]
	line = bytes.Count(before, []byte("\n")) + 1
	start := bytes.LastIndexByte(before, '\n') + 1
	return line, utf8.RuneCount(before[start:]) + 1
}
