package config

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gatewaytui/core/term"
)

// Settings are keys that a program gets as the operator wrote them. A value is a text, an int64, a float64, a bool, a []any or a
// map[string]any of these, so that JSON can write it.
type Settings map[string]any

// maxNested bounds lists and tables within each other.
const maxNested = 16

// set takes over a decoded TOML value; ok is false for one that is not a table. It leaves out what wrongSetting refuses.
func (s *Settings) set(value any) (ok bool) {
	*s = Settings{}
	if value == "" { // the default, as its tag has it
		return true
	}
	table, ok := value.(map[string]any)
	for name, one := range table {
		if wrongSetting(one) == "" {
			(*s)[name] = one
		}
	}
	return ok
}

// wrongSetting says what a decoded TOML value is, or has in it, that no setting can be; empty: it is one.
func wrongSetting(value any) string { return wrongNested(value, maxNested) }

func wrongNested(value any, levels int) string {
	var below []any
	switch v := value.(type) {
	case string, bool, int64:
		return ""
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return "a number that JSON cannot write"
		}
		return ""
	case []any:
		below = v
	case map[string]any:
		below = slices.Collect(maps.Values(v))
	default:
		return "a date or time, which is written as a text in quotes"
	}
	if levels == 0 {
		return "lists and tables that are nested too deeply"
	}
	for _, one := range below {
		if wrong := wrongNested(one, levels-1); wrong != "" {
			return wrong
		}
	}
	return ""
}

// written is s as TOML has it, with its secrets.
func (s Settings) written() string {
	return inline(nil, map[string]any(s), func(_ []string, text string) string { return text })
}

// String is s as it is shown: without its secrets.
func (s Settings) String() string {
	return inline(nil, map[string]any(s), func(path []string, text string) string {
		if isSecret(path, text) {
			return "(not shown)"
		}
		return text
	})
}

// secrets are the texts that look like secrets, by their keys.
func (s Settings) secrets() map[string]string {
	all := map[string]string{}
	inline(nil, map[string]any(s), func(path []string, text string) string {
		if isSecret(path, text) {
			all[keyName(path)] = text
		}
		return text
	})
	return all
}

// isSecret reports whether a text is a secret by the name of its key or by its form. Parts of path may be places in lists.
func isSecret(path []string, text string) bool {
	path = slices.DeleteFunc(slices.Clone(path), func(part string) bool { return indexOf(part) >= 0 })
	return text != "" && (term.SecretName(path[len(path)-1]) || term.Redact(text) != text)
}

// inline writes the value at a path. show is asked for each text in it.
func inline(path []string, value any, show func(path []string, text string) string) string {
	switch v := value.(type) {
	case string:
		return strconv.Quote(show(path, v))
	case []any:
		var parts []string
		for i, one := range v {
			parts = append(parts, inline(append(slices.Clone(path), indexPart(i)), one, show))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		if len(v) == 0 {
			return "{}"
		}
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, dotted([]string{name})+" = "+inline(append(slices.Clone(path), name), v[name], show))
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	default:
		return literal(reflect.ValueOf(v))
	}
}
