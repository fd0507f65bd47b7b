package logs

import (
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/lmittmann/tint"

	"gatewaytui/core/term"
)

// timeLayout is how times are written: RFC 3339 in UTC with milliseconds (CONTRACT.md, 7).
const timeLayout = "2006-01-02T15:04:05.000Z"

// lowest is below every level that is used: what is logged is decided before a form sees it.
const lowest = slog.Level(-128)

// form is how a sink writes its lines. The handler writes a line without its time, so that two lines that differ in
// nothing else are the same bytes; stamp adds the time, and how often the line was repeated if it was.
type form struct {
	handler func(io.Writer) slog.Handler
	stamp   func(dst []byte, at time.Time, line string, repeated int) []byte
}

// jsonForm writes {"time":…,"level":…,"msg":…, attributes}.
func jsonForm(r *term.Redactor) form {
	return form{
		handler: func(w io.Writer) slog.Handler {
			return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: lowest, ReplaceAttr: values{redactor: r}.replace})
		},
		stamp: func(dst []byte, at time.Time, line string, repeated int) []byte {
			dst = append(dst, `{"time":"`...)
			dst = at.UTC().AppendFormat(dst, timeLayout)
			dst = append(dst, `",`...)
			dst = appendEscaped(dst, line[len("{"):len(line)-len("}\n")])
			if repeated > 0 {
				dst = append(dst, `,"repeated":`...)
				dst = strconv.AppendInt(dst, int64(repeated), 10)
			}
			return append(dst, "}\n"...)
		},
	}
}

// textForm writes one readable line, in local time.
func textForm(r *term.Redactor, colour bool) form {
	faint, normal := "", ""
	if colour {
		faint, normal = "\x1b[2m", "\x1b[0m"
	}
	return form{
		handler: func(w io.Writer) slog.Handler {
			return tint.NewTextHandler(w, &tint.Options{Level: lowest, NoColor: !colour, ReplaceAttr: values{redactor: r, terminal: true}.replace})
		},
		stamp: func(dst []byte, at time.Time, line string, repeated int) []byte {
			dst = append(dst, faint...)
			dst = at.AppendFormat(dst, "15:04:05.000")
			dst = append(dst, normal...)
			dst = append(dst, ' ')
			dst = append(dst, line[:len(line)-len("\n")]...)
			if repeated > 0 {
				dst = append(dst, ' ')
				dst = append(dst, faint...)
				dst = append(dst, "repeated="...)
				dst = append(dst, normal...)
				dst = strconv.AppendInt(dst, int64(repeated), 10)
			}
			return append(dst, '\n')
		},
	}
}

// appendEscaped appends a piece of JSON with what is not printable in it escaped: JSON allows bidi controls and the like
// to stand in a text as they are, and people read the file on terminals. Only what is inside of strings can be such.
func appendEscaped(dst []byte, text string) []byte {
	kept := 0 // text[:kept] is in dst
	for i := 0; i < len(text); {
		if text[i] < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if !unicode.IsPrint(r) {
			dst = append(dst, text[kept:i]...)
			if hi, lo := utf16.EncodeRune(r); hi != utf8.RuneError {
				dst = fmt.Appendf(dst, `\u%04x\u%04x`, hi, lo)
			} else {
				dst = fmt.Appendf(dst, `\u%04x`, r)
			}
			kept = i + size
		}
		i += size
	}
	return append(dst, text[kept:]...)
}
