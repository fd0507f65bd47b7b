package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
	"gatewaytui/views"
)

// previewed is what the commands of a question would do.
type previewed struct {
	number int
	all    []ops.Preview
	err    error
}

// mostPreviews bounds what one dialog asks; of more marked rows it says that there are more.
const mostPreviews = 32

// preview asks what the commands would do now.
func (q *question) preview(m *model) tea.Cmd {
	m.previews++
	q.number, q.waits, q.askedAt = m.previews, true, time.Now()
	cmds, number := slices.Clone(q.cmds[:min(len(q.cmds), mostPreviews)]), q.number
	return m.tasks.cmd("preview", func(ctx context.Context) tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, previewBound)
		defer cancel()
		p := previewed{number: number}
		for _, cmd := range cmds {
			one, err := m.console.Preview(ctx, cmd)
			if ended(err) && len(cmds) > 1 {
				continue // one of several: what it comes to is said by its own outcome
			}
			if err != nil {
				p.err = err
				break
			}
			p.all = append(p.all, one)
		}
		return p
	})
}

// ended reports whether a preview's error says that the object of the command has ended.
func ended(err error) bool {
	return ops.HasCode(err, ops.CodeNotFound) || ops.HasCode(err, ops.CodeConflict) || ops.HasCode(err, ops.CodeNotStopping)
}

// onPreviewed shows what the commands would do, in place of what was shown before.
func (m *model) onPreviewed(p previewed) tea.Cmd {
	q := m.question()
	if q == nil || q.number != p.number {
		return nil
	}
	m.stale, q.waits = true, false
	switch {
	case p.err != nil && ops.HasCode(p.err, ops.CodeConflict) && q.cmds[0].Expect != "":
		m.withdraw(object(q.cmds[0]) + " was reset by someone else")
		return nil
	case p.err != nil && !ops.HasCode(p.err, ops.CodeUnavailable) && !ops.HasCode(p.err, ops.CodeInternal):
		m.withdraw(ops.AsError(p.err).Message)
		return nil
	case p.err != nil && q.known:
		return nil // it was slow to answer once: what was shown is the best there is
	}
	q.known = true
	q.Facts = merge(p.all)
	if q.closes { // the eviction alone would keep what is ended here
		q.Facts = slices.DeleteFunc(q.Facts, func(f views.Fact) bool { return f.Label == "would keep" })
	}
	switch {
	case p.err != nil:
		q.Facts = append(q.Facts, views.Fact{Label: "would end", Text: "unknown: " + ops.AsError(p.err).Message})
	case len(q.cmds) > mostPreviews:
		q.Facts = append(q.Facts, views.Fact{Label: "and", Text: fmt.Sprintf("what %d more rows come to", len(q.cmds)-mostPreviews)})
	}
	return nil
}

// merge is what several previews say together. What several of them say in the same words is said once.
func merge(all []ops.Preview) []views.Fact {
	var out []views.Fact
	add := func(label string, of func(ops.Preview) []string) {
		var texts []string
		for _, p := range all {
			for _, fact := range of(p) {
				if !slices.Contains(texts, fact) {
					texts = append(texts, fact)
				}
			}
		}
		if len(texts) == 0 {
			return
		}
		const most = 6
		if n := len(texts); n > most {
			texts = append(texts[:most:most], fmt.Sprintf("and %d more", n-most))
		}
		out = append(out, views.Fact{Label: label, Text: strings.Join(texts, "; ")})
	}
	add("would wait for", func(p ops.Preview) []string { return p.WaitsFor })
	add("would interrupt", func(p ops.Preview) []string { return p.Interrupt })
	add("would close", func(p ops.Preview) []string { return p.Closes })
	add("would kill", func(p ops.Preview) []string { return p.Kills })
	add("would lose", func(p ops.Preview) []string { return p.Loses })
	add("would keep", func(p ops.Preview) []string { return p.Keeps })
	var worst int64
	for _, p := range all {
		worst = max(worst, p.WorstCaseMS)
	}
	if worst > 0 {
		out = append(out, views.Fact{Label: "at the latest", Text: text.Exact((time.Duration(worst) * time.Millisecond).Round(100 * time.Millisecond))})
	}
	return out
}
