package importer

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// tree is a decoded document.
type tree map[string]any

// parseYAML reads a YAML document that is a table.
func parseYAML(data []byte) (t tree, err error) {
	defer func() {
		if r := recover(); r != nil { // of the parser, for a document made to break it
			err = errors.New("it cannot be parsed")
		}
	}()
	if err := yaml.Unmarshal(data, &t); err != nil {
		return nil, err
	}
	return t, nil
}

// parseJSON5 reads JSON5: JSON with comments, trailing commas, names without quotes and single quotes. Without its comments and tabs
// it is the flow style of YAML.
func parseJSON5(data []byte) (tree, error) { return parseYAML(uncommented(data)) }

// uncommented is JSON5 with spaces in place of comments and tabs. Line breaks stay, so that errors name the right line.
func uncommented(data []byte) []byte {
	out := slices.Clone(data)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	for i := 0; i < len(data); i++ {
		rest := data[i:]
		switch c := data[i]; {
		case c == '"' || c == '\'':
			i += stringEnd(rest)
		case c == '\t' || c == '\r':
			out[i] = ' '
		case bytes.HasPrefix(rest, []byte("//")):
			end := i + commentEnd(rest, "\n")
			blank(i, end)
			i = end - 1
		case bytes.HasPrefix(rest, []byte("/*")):
			end := i + commentEnd(rest, "*/")
			blank(i, end)
			i = end - 1
		}
	}
	return out
}

// stringEnd is where the string ends that a text begins with: the place of its last quote, or of the end of the text.
func stringEnd(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case text[0]:
			return i
		case '\\':
			i++
		}
	}
	return len(text)
}

// commentEnd is the length of the comment that a text begins with, and that this ends.
func commentEnd(text []byte, with string) int {
	if n := bytes.Index(text[2:], []byte(with)); n >= 0 {
		return 2 + n + len(with)
	}
	return len(text)
}

// at is what stands at a path; nil: nothing.
func (t tree) at(path ...string) any {
	var v any = map[string]any(t)
	for _, part := range path {
		table, is := v.(map[string]any)
		if !is {
			if other, is := v.(tree); is {
				table = other
			}
		}
		v = table[part]
	}
	return v
}

// text is a text or a number at a path.
func (t tree) text(path ...string) string {
	switch v := t.at(path...).(type) {
	case string:
		return v
	case int, int64, uint64:
		return fmt.Sprint(v)
	}
	return ""
}

// table is a table at a path; nil: none.
func (t tree) table(path ...string) tree {
	switch v := t.at(path...).(type) {
	case map[string]any:
		return v
	case tree:
		return v
	}
	return nil
}

// list are the texts and numbers of a list at a path.
func (t tree) list(path ...string) (all []string) {
	items, _ := t.at(path...).([]any)
	for _, item := range items {
		if s := (tree{"": item}).text(""); s != "" {
			all = append(all, s)
		}
	}
	return all
}
