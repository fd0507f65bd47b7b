package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// Duration is a duration that is written as Go writes it: "90s", "1h30m", "0".
type Duration struct{ time.Duration }

// maxDuration bounds every duration, so that no sum of them overflows.
const maxDuration = 10 * 365 * 24 * time.Hour

// MarshalText writes d as short as it can be read back.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String is d without the zero parts that time.Duration writes: "1h", not "1h0m0s".
func (d Duration) String() string {
	return text.Exact(d.Duration)
}

func parseDuration(s string) (Duration, bool) {
	d, err := time.ParseDuration(s)
	return Duration{d}, err == nil && d.Abs() <= maxDuration
}

// Size is a number of bytes, written "64KiB", "256MiB", "1GB" or as a plain number in quotes.
type Size int64

var sizeUnits = []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}

// MarshalText writes s in the largest unit that holds it exactly.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s Size) String() string {
	unit := 0
	for s != 0 && s%1024 == 0 && unit < len(sizeUnits)-1 {
		s /= 1024
		unit++
	}
	return strconv.FormatInt(int64(s), 10) + sizeUnits[unit]
}

func parseSize(s string) (Size, bool) {
	n, err := humanize.ParseBytes(s)
	return Size(n), err == nil && n <= math.MaxInt64
}

// What a value of each type looks like, for people.
const (
	wantDuration  = `a duration such as "90s"`
	wantSize      = `a size such as "64KiB"`
	wantString    = `a text in quotes`
	wantInt       = `a whole number`
	wantNumber    = `a number`
	wantBool      = `true or false`
	wantStrings   = `a list of texts such as ["a", "b"]`
	wantNetwork   = `true, false, or a list of hosts such as ["pypi.org", "*.github.com"]`
	wantVariables = `a table of texts such as { Authorization = "FILES_AUTH" }`
	wantSettings  = `a table of settings`
	wantInts      = `a list of whole numbers such as [4711]`
	wantIDs       = `a list of ids such as ["U0123", 4711]`
)

// assign sets a field of Config from a decoded TOML value. It returns what the field wants, if v is not that.
func assign(field reflect.Value, v any) (want string) {
	switch p := field.Addr().Interface().(type) {
	case *string:
		return into(p, v, wantString)
	case *bool:
		return into(p, v, wantBool)
	case *int:
		return intoInt(p, v)
	case *float64:
		return intoNumber(p, v)
	case *Duration:
		return intoParsed(p, v, parseDuration, wantDuration)
	case *Size:
		return intoParsed(p, v, parseSize, wantSize)
	case *Network:
		if !p.set(v) {
			return wantNetwork
		}
	case *Variables:
		if !p.set(v) {
			return wantVariables
		}
	case *Settings:
		if !p.set(v) {
			return wantSettings
		}
	case *IDs:
		if !p.set(v) {
			return wantIDs
		}
	case *[]string:
		return intoList(p, v, wantStrings)
	case *[]int64:
		return intoNumbers(p, v)
	default:
		panic(fmt.Sprintf("config: a field of type %T has no decoding", p))
	}
	return ""
}

// intoNumbers sets ids that are numbers, which may be written as texts.
func intoNumbers(p *[]int64, v any) string {
	var ids IDs
	if !ids.set(v) {
		return wantInts
	}
	all := make([]int64, 0, len(ids))
	for _, id := range ids {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return wantInts
		}
		all = append(all, n)
	}
	*p = all
	return ""
}

func intoNumber(p *float64, v any) string {
	n, ok := v.(float64)
	if whole, is := v.(int64); is {
		n, ok = float64(whole), true
	}
	if !ok || math.IsNaN(n) || math.IsInf(n, 0) {
		return wantNumber
	}
	*p = n
	return ""
}

// intoParsed sets what is written as a text in quotes.
func intoParsed[T any](p *T, v any, parse func(string) (T, bool), want string) string {
	s, ok := v.(string)
	value, valid := parse(s)
	if !ok || !valid {
		return want
	}
	*p = value
	return ""
}

func intoInt(p *int, v any) string {
	n, ok := v.(int64)
	if !ok || int64(int(n)) != n {
		return wantInt
	}
	*p = int(n)
	return ""
}

func into[T any](p *T, v any, want string) string {
	t, ok := v.(T)
	if !ok {
		return want
	}
	*p = t
	return ""
}

func intoList[T any](p *[]T, v any, want string) string {
	items, ok := v.([]any)
	if !ok {
		return want
	}
	list := make([]T, len(items))
	for i, item := range items {
		if into(&list[i], item, want) != "" {
			return want
		}
	}
	*p = list
	return ""
}

// fromText is what a variable's text stands for in a field, as TOML would have decoded it. Lists are separated by
// commas. Text that cannot be it is returned as it is, for assign to refuse.
func fromText(field reflect.Value, text string) any {
	switch field.Interface().(type) {
	case bool:
		if b, err := strconv.ParseBool(text); err == nil {
			return b
		}
	case int:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	case float64:
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return n
		}
	case []string, IDs:
		return fromList(text, func(s string) (any, bool) { return s, true })
	case []int64:
		return fromList(text, func(s string) (any, bool) {
			n, err := strconv.ParseInt(s, 10, 64)
			return n, err == nil
		})
	}
	return text
}

func fromList(text string, item func(string) (any, bool)) any {
	list := []any{}
	if strings.TrimSpace(text) == "" {
		return list
	}
	for part := range strings.SplitSeq(text, ",") {
		v, ok := item(strings.TrimSpace(part))
		if !ok {
			return text
		}
		list = append(list, v)
	}
	return list
}

// literal writes a field's value as TOML.
func literal(field reflect.Value) string {
	switch v := field.Interface().(type) {
	case []string:
		return literalStrings(v)
	case Network:
		return v.String()
	case IDs:
		return v.String()
	case Variables:
		return v.String()
	case Settings:
		return v.written()
	case []int64:
		return list(v, func(n int64) string { return strconv.FormatInt(n, 10) })
	case string:
		return strconv.Quote(v)
	case fmt.Stringer:
		return strconv.Quote(v.String())
	case float64:
		if n := strconv.FormatFloat(v, 'f', -1, 64); strings.Contains(n, ".") {
			return n
		}
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return fmt.Sprint(v)
	}
}

// shown is literal without secrets.
func shown(field reflect.Value) string {
	if s, is := field.Interface().(Settings); is {
		return s.String()
	}
	return literal(field)
}

func literalStrings(items []string) string { return list(items, strconv.Quote) }

func list[T any](items []T, write func(T) string) string {
	var parts []string
	for _, item := range items {
		parts = append(parts, write(item))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// describe says what was found where something else was wanted. The text of a key that should name a variable or a file
// is not repeated: a secret may have been put there (see named).
func describe(key string, v any) string {
	switch v := v.(type) {
	case string:
		if namesSecret(key) {
			return "what stands there"
		}
		return quote(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case map[string]any:
		return "a table"
	case []any:
		if slices.ContainsFunc(v, func(item any) bool { _, table := item.(map[string]any); return table }) {
			return "a list of tables"
		}
		return "this list"
	default:
		return "a date or time"
	}
}

// quote is untrusted text of the config for an error message.
func quote(s string) string { return `"` + term.Clean(term.Redact(s), 60) + `"` }
