package logs

import (
	"encoding"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"

	"gatewaytui/core/term"
)

// maxText bounds one message or attribute, in runes: a traceback that is logged in a loop must not fill the files alone
// (H9).
const maxText = 8 << 10

// values makes messages and attributes fit to be written: masked, cleaned, bounded, and of kinds that a handler writes
// unchanged. Every object becomes its text, because only a text can be searched for secrets.
type values struct {
	redactor *term.Redactor
	// terminal keeps U+FFFD out: tint without colours cuts a text off there.
	terminal bool
}

// replace is a ReplaceAttr of slog.HandlerOptions; it is called for each attribute that is not a group.
func (v values) replace(groups []string, a slog.Attr) slog.Attr {
	if a.Key == "" && a.Equal(slog.Attr{}) {
		return a // which a handler leaves out
	}
	if len(groups) == 0 && a.Key == slog.LevelKey {
		if _, ok := a.Value.Any().(slog.Level); ok {
			return a
		}
	}
	a.Key = key(a.Key)
	if term.SecretName(a.Key) || slices.ContainsFunc(groups, term.SecretName) {
		return slog.String(a.Key, term.Mask)
	}
	switch a.Value.Kind() {
	case slog.KindInt64, slog.KindUint64, slog.KindFloat64, slog.KindBool:
	case slog.KindDuration:
		a.Value = slog.StringValue(a.Value.Duration().String()) // a handler of JSON would write nanoseconds
	case slog.KindTime:
		a.Value = slog.StringValue(a.Value.Time().UTC().Format(timeLayout))
	case slog.KindString:
		a.Value = slog.StringValue(v.text(a.Value.String()))
	default:
		a.Value = v.other(a.Value.Any())
	}
	return a
}

// other is any value as a text, and a list of texts as a list, so that programs that read the log get the list
// (CONTRACT.md, 8: blockers).
func (v values) other(x any) slog.Value {
	r := reflect.ValueOf(x)
	if r.IsValid() && r.Kind() == reflect.Slice && r.Type().Elem().Kind() == reflect.String {
		list := make([]string, r.Len())
		for i := range list {
			list[i] = v.text(r.Index(i).String())
		}
		if v.terminal {
			return slog.StringValue(strings.Join(list, ", "))
		}
		return slog.AnyValue(list)
	}
	return slog.StringValue(v.text(plain(x)))
}

// text masks before it cleans, because a secret may have line ends in it. It masks again after it, because dropped
// characters may have been inside of one. It cuts last, because half a secret is not recognised.
func (v values) text(s string) string {
	s = v.redactor.Redact(s)
	if c := term.Clean(s, 0); c != s {
		s = v.redactor.Redact(c)
	}
	s = term.Clean(s, maxText)
	if v.terminal {
		s = strings.ReplaceAll(s, "\ufffd", "?")
	}
	return s
}

// plain is the text of any value. A value that panics must not stop the caller.
func plain(x any) (s string) {
	defer func() {
		if r := recover(); r != nil {
			s = fmt.Sprintf("!PANIC: %v", r)
		}
	}()
	switch x := x.(type) {
	case nil:
		return "<nil>"
	case error:
		return x.Error()
	case fmt.Stringer:
		return x.String()
	case encoding.TextMarshaler:
		if b, err := x.MarshalText(); err == nil {
			return string(b)
		}
	case []byte:
		return string(x)
	}
	if r := reflect.ValueOf(x); r.Kind() == reflect.String { // a named type, such as a state
		return r.String()
	}
	if b, err := json.Marshal(x); err == nil {
		return string(b)
	}
	return fmt.Sprintf("%+v", x)
}

// maxKey bounds a key, in runes.
const maxKey = 128

func key(k string) string { return term.Clean(k, maxKey) }

// cleanKeys cleans the keys of the groups in a, for which ReplaceAttr is not called.
func cleanKeys(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	if v.Kind() != slog.KindGroup {
		return a
	}
	members := make([]slog.Attr, 0, len(v.Group()))
	for _, m := range v.Group() {
		members = append(members, cleanKeys(m))
	}
	return slog.Attr{Key: key(a.Key), Value: slog.GroupValue(members...)}
}
