package shutdown

import (
	"fmt"
	"runtime/debug"
	"strings"
	"unicode"
	"unicode/utf8"
)

// failure is how a call into foreign code failed; the zero value is success.
type failure struct {
	bad   bool
	err   error  // what was returned; nil for a panic
	text  string // fit for a report
	stack []byte // of a panic
}

// guard calls f and passes its outcome to over, also when f panics or ends its goroutine.
func guard(f func() error, over func(failure)) {
	fail := failure{bad: true, text: "ended its goroutine instead of returning"}
	defer func() {
		if v := recover(); v != nil {
			fail = failure{bad: true, text: clean(fmt.Sprint("panic: ", v)), stack: debug.Stack()}
		}
		over(fail)
	}()
	err := f()
	if err == nil {
		fail = failure{}
		return
	}
	// With fmt, because the Error of a foreign type may panic, for instance on a nil receiver.
	fail = failure{bad: true, err: err, text: clean(fmt.Sprint(err))}
}

// attempt is guard for a call that returns nothing.
func attempt(f func()) (out failure) {
	guard(func() error { f(); return nil }, func(f failure) { out = f })
	return out
}

// longestDetail bounds the text of foreign code in a report, in bytes.
const longestDetail = 300

// clean makes text of foreign code fit for a report and a log: one line, bounded, valid UTF-8, no control or format
// characters.
func clean(s string) string {
	cut := len(s) > longestDetail
	if cut {
		n := longestDetail
		for n > longestDetail-utf8.UTFMax && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	s = strings.Map(func(c rune) rune {
		switch {
		case c == utf8.RuneError:
			return '?'
		case unicode.IsControl(c), unicode.In(c, unicode.Cf, unicode.Zl, unicode.Zp):
			return ' '
		}
		return c
	}, s)
	if cut {
		s += "…"
	}
	return strings.TrimSpace(s)
}
