package tui

import (
	"context"
	"slices"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

const (
	// logName is the name of the page that shows the log about a row.
	logName = "log"
	// logRows is how many lines are asked for at once, and logMost how many are held.
	logRows, logMost = 200, 5000
	// logEvery is the pause between two looks for new lines.
	logEvery = time.Second
)

// logReader reads the log about one thing, or all of it: the newest lines, those that come, and older ones when the person scrolls up.
type logReader struct {
	about string
	// whole says that view 7 shows it, in place of a page.
	whole bool
	seen  views.Log
	older string // the cursor of the older lines; empty: there are none
}

func (r *logReader) next(m *model) (readQuestion, time.Duration) {
	q, wait := ops.LogQuery{About: r.about, Limit: logRows}, time.Duration(0)
	switch {
	case !r.seen.Read:
	case r.older != "" && len(r.seen.Lines) < logMost && r.nearBegin(m):
		q.Cursor = r.older
	default:
		wait = 5 * logEvery // the whole log is looked at again
		if n := len(r.seen.Lines); n > 0 {
			wait, q.After = logEvery, r.seen.Lines[n-1].ID
		}
	}
	return func(ctx context.Context, c ops.Console) (func(*model), error) {
		page, err := c.Logs(ctx, q)
		slices.Reverse(page.Items)
		return func(m *model) { r.take(m, q, page) }, err
	}, wait
}

// nearBegin reports whether the screen has room for older lines than those that are there, or is about to show them.
func (r *logReader) nearBegin(m *model) bool {
	if r.whole {
		return !m.follow && m.lists[views.Events].Offset < m.page() || len(m.shownLog) < m.page()
	}
	all, shows := views.PageLines(m.screen())
	return all <= shows || !m.detail.End && m.detail.Scroll < shows
}

// take puts an answer, oldest line first, in its place.
func (r *logReader) take(m *model, q ops.LogQuery, page ops.Page[ops.LogLine]) {
	lines := page.Items
	switch {
	case q.Cursor != "":
		before := m.streamed()
		put := func() {
			r.seen.Lines, r.older = append(lines, r.seen.Lines...), page.Next
			r.shown(m)
		}
		if r.whole {
			put()
			m.lists[views.Events].Offset += m.streamed() - before
			return
		}
		m.growAbove(put)
		return
	case q.After != "" && page.Next == "":
		kept := r.seen.Lines[max(len(r.seen.Lines)+len(lines)-logMost, 0):]
		if len(kept) < len(r.seen.Lines) {
			r.older = kept[0].ID
		}
		r.seen.Lines = append(kept[:len(kept):len(kept)], lines...)
	default: // the first answer, or so many new lines that there would be a gap
		r.seen.Lines, r.older = lines, page.Next
	}
	r.seen.Read = true
	r.shown(m)
}

// shown tells view 7 of new lines.
func (r *logReader) shown(m *model) {
	r.seen.More = r.older != ""
	if r.whole && !m.link.Paused {
		m.log = r.seen
		m.filterEvents()
	}
}

func (r *logReader) show(s *views.Screen) {
	if !r.whole {
		s.Log = r.seen
	}
}
