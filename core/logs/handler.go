package logs

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// handler passes every record to each sink, in the sink's own form.
type handler struct {
	level    slog.Level
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
	return level >= min(h.level, slog.LevelInfo) && len(h.branches) > 0
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	straight := milestone(r.Message)
	if r.Level < h.level && !straight {
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
