package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dustin/go-humanize/english"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// maxLine bounds one line that is printed for people, in characters.
const maxLine = 1000

// writeJSON prints v as one line. What a terminal would act on is escaped, which changes nothing for a reader of JSON:
// the encoder alone leaves C1 controls and bidi marks as they are (I4).
func (p *program) writeJSON(w io.Writer, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		fmt.Fprintf(p.err, "gatewaytui: encode the answer: %v\n", err) // no row of ours can fail to encode
		return
	}
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r < 0x7f || unicode.IsPrint(r):
			out.Write(b[:n])
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		b = b[n:]
	}
	fmt.Fprintln(w, out.String())
}

// say prints one line for people on stdout.
func (p *program) say(format string, args ...any) { p.line(p.out, format, args...) }

// line prints one line for people on w. Each argument that is text is made safe.
func (p *program) line(w io.Writer, format string, args ...any) {
	for i, a := range args {
		switch v := a.(type) {
		case string:
			args[i] = term.Clean(v, maxLine)
		case error:
			args[i] = term.Clean(v.Error(), maxLine)
		}
	}
	fmt.Fprintf(w, format+"\n", args...)
}

// age is a duration as people say it: in its two largest units, and none that do not matter beside them.
func age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d <= 0:
		return "0s"
	case d < time.Second:
		return fmt.Sprintf("%dms", ops.Millis(d))
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
}

func millis(ms int64) string { return age(time.Duration(ms) * time.Millisecond) }

// ago is the time since t, empty for no time.
func ago(t ops.Time) string {
	if t.IsZero() {
		return ""
	}
	return age(time.Since(t.Time))
}

// moment is t on the local clock, empty for no time.
func moment(t ops.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime)
}

// words turns a name of the wire into words.
func words[T ~string](s T) string { return strings.ReplaceAll(string(s), "_", " ") }

// counted is n with its noun: "1 session", "2 sessions", "0 processes".
func counted(n int, noun string) string { return english.Plural(n, noun, "") }
