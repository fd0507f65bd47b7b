package logs

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/lmittmann/tint"

	"gatewaytui/core/term"
)

// handler passes every record to each sink, in the sink's own form.
type handler struct {
	level    *slog.LevelVar
	branches []branch
}

// branch is the way to one sink: through fold, where a line may be folded into an identical one before it, or straight.
// While off is set the sink accepts nothing, and no line is formed for it.
type branch struct {
	fold, straight slog.Handler
	off            *atomic.Bool
}

// Enabled lets every line of Info reach Handle, because it may be a milestone, which no level silences.
func (h *handler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= min(h.level.Level(), slog.LevelInfo) && len(h.branches) > 0
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	straight := milestone(r.Message)
	if r.Level < h.level.Level() && !straight {
		return nil
	}
	r.Time = time.Time{} // each sink stamps its lines
	grouped := false
	r.Attrs(func(a slog.Attr) bool {
		grouped = mayBeGroup(a)
		return !grouped
	})
	if grouped {
		c := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
		r.Attrs(func(a slog.Attr) bool {
			c.AddAttrs(cleanKeys(a))
			return true
		})
		r = c
	}
	for _, b := range h.branches {
		switch {
		case b.off.Load():
		case straight:
			_ = b.straight.Handle(ctx, r) // a branch only queues: nothing in it can fail
		default:
			_ = b.fold.Handle(ctx, r)
		}
	}
	return nil
}

// mayBeGroup reports whether a is a group or may become one.
func mayBeGroup(a slog.Attr) bool {
	return a.Value.Kind() == slog.KindGroup || a.Value.Kind() == slog.KindLogValuer
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if slices.ContainsFunc(attrs, mayBeGroup) {
		attrs = slices.Clone(attrs) // they are the caller's
		for i, a := range attrs {
			attrs[i] = cleanKeys(a)
		}
	}
	return h.with(func(s slog.Handler) slog.Handler { return s.WithAttrs(attrs) })
}

func (h *handler) WithGroup(name string) slog.Handler {
	name = key(name)
	return h.with(func(s slog.Handler) slog.Handler { return s.WithGroup(name) })
}

func (h *handler) with(f func(slog.Handler) slog.Handler) slog.Handler {
	c := &handler{level: h.level}
	for _, b := range h.branches {
		c.branches = append(c.branches, branch{f(b.fold), f(b.straight), b.off})
	}
	return c
}

// milestone reports whether a reader counts on each line with this message: the life's begin, its end, and the phases of
// its stop (CONTRACT.md, 8). Such a line is neither folded nor silenced by a level.
func milestone(msg string) bool {
	return msg == "ready" || msg == "stopped" || strings.HasPrefix(msg, "shutdown.")
}

// timeLayout is the format of times: RFC 3339 in UTC with milliseconds (CONTRACT.md, 7).
const timeLayout = "2006-01-02T15:04:05.000Z"

// lowest is below every level in use: the level is checked before a form gets a line.
const lowest = slog.Level(-128)

// form is the format of a sink's lines. The handler writes a line without its time, so that lines with equal content are
// the same bytes. stamp adds the time, and how often the line was repeated if it was.
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
				dst = fmt.Appendf(dst, `,"repeated":%d`, repeated)
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
			dst = fmt.Appendf(dst, "%s%s%s %s", faint, at.Format("15:04:05.000"), normal, line[:len(line)-len("\n")])
			if repeated > 0 {
				dst = fmt.Appendf(dst, " %srepeated=%s%d", faint, normal, repeated)
			}
			return append(dst, '\n')
		},
	}
}

// appendEscaped appends a piece of JSON and escapes what is not printable in it. JSON allows bidi controls and the like
// in a text, and people read the file on terminals. Such characters occur only inside of strings.
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
