package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatewaytui/core/control"
	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
)

func historyVerb(p *program) *cobra.Command {
	var shutdowns bool
	c := listing[ops.Life]{
		use: "history", short: "list the past lives, newest first, and how each ended",
		example: "  gatewaytui history\n  gatewaytui history --shutdowns --limit 1\n  gatewaytui history --filter crashed",
		ask:     (*control.Client).History, fields: filter.Lives,
		columns: []column[ops.Life]{
			{"LIFE", func(r ops.Life) string { return r.Life }, 0},
			{"STARTED", func(r ops.Life) string { return moment(r.StartedAt) }, 3},
			{"ENDED", ended, 5},
			{"LASTED", lasted, 2},
			{"OUTCOME", func(r ops.Life) string { return words(r.Outcome) }, 1},
			{"PHASE", func(r ops.Life) string { return r.Phase }, 6},
			{"STOP", stopSummary, 7},
			{"OVERRAN", overran, 9},
			{"BY", func(r ops.Life) string { return r.By }, 8},
			{"REASON", func(r ops.Life) string { return r.Reason }, 4},
		},
		down: func(err error, q ops.Query) (page ops.Page[ops.Life], answered bool, _ error) {
			past, ok := p.past(err)
			if !ok {
				return page, false, nil
			}
			page, err = past.Page(q)
			if !p.json {
				p.line(p.err, "no gateway runs here; this is read from the home's files")
			}
			for _, t := range past.Problems() {
				p.line(p.err, "warning: %s", t)
			}
			return page, true, err
		},
		show: func(lives []ops.Life) bool {
			if shutdowns {
				p.showShutdowns(lives)
			}
			return shutdowns
		},
	}.verb(p)
	c.Flags().BoolVar(&shutdowns, "shutdowns", false, "show each life's shutdown with its phases and what overran")
	return c
}

// ended marks a moment that is no end but the last word of a life that was killed.
func ended(l ops.Life) string {
	at, known := l.End()
	if known || at.IsZero() {
		return moment(at)
	}
	return "~" + moment(at)
}

// lasted is how long a life has lasted; that of one whose clock was set back meanwhile is unknown.
func lasted(l ops.Life) string {
	at, _ := l.End()
	if l.Outcome == ops.OutcomeRunning {
		at = ops.At(time.Now())
	}
	switch {
	case at.IsZero():
		return ""
	case at.Before(l.StartedAt.Time):
		return "unknown"
	}
	return age(at.Sub(l.StartedAt.Time))
}

// stopSummary is the stop of a life in a few words: how far it came in which time, and how strong it was.
func stopSummary(l ops.Life) string {
	s := l.Shutdown
	if s == nil {
		return ""
	}
	reached := 0
	for i, ph := range s.Phases {
		if ph.State != ops.StepPending {
			reached = i + 1
		}
	}
	text := fmt.Sprintf("%s, %d of %d phases in %s", s.ModeText(), reached, len(s.Phases), millis(s.ElapsedMS))
	if s.Outcome == ops.ShutdownIncomplete || s.Outcome == ops.ShutdownForced {
		text += ", " + s.Outcome
	}
	return text
}

// overran names what ran out of time or failed in the stop of a life, with its figures, and what one that was cut short
// waited for.
func overran(l ops.Life) string {
	if l.Shutdown == nil {
		return ""
	}
	phases := l.Shutdown.Overran()
	if ph, running := l.Shutdown.Running(); running && l.Outcome != ops.OutcomeRunning {
		ph.Items = l.Shutdown.Blockers()
		phases = append(phases, ph)
	}
	const most = 3 // --shutdowns has all of them
	var list []string
	for _, ph := range phases {
		var items []string
		for i, it := range ph.Items {
			if i == most {
				items = append(items, fmt.Sprintf("%d more", len(ph.Items)-i))
				break
			}
			items = append(items, it.Kind+" "+it.ID+" "+millis(it.ElapsedMS))
		}
		text := fmt.Sprintf("%s %s of %s", ph.Name, millis(ph.ElapsedMS), millis(ph.BudgetMS))
		if ph.State == ops.StepFailed {
			text += " failed"
		}
		if len(items) > 0 {
			text += " (" + strings.Join(items, ", ") + ")"
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}

func (p *program) showShutdowns(lives []ops.Life) {
	for i, l := range lives {
		if i > 0 {
			p.say("")
		}
		p.showLife(l)
	}
}

// showLife prints a life and its shutdown, as far as one was recorded.
func (p *program) showLife(l ops.Life) {
	how := words(l.Outcome)
	if l.Phase != "" {
		how += " in " + l.Phase
	}
	till := "to " + moment(l.EndedAt)
	switch at, known := l.End(); {
	case known:
	case l.Outcome == ops.OutcomeRunning:
		till = "to now"
	case at.IsZero():
		till = "to an unknown end"
	default:
		till = "last seen " + moment(at)
	}
	p.say("life        %s, %s, from %s %s, pid %d", l.Life, how, moment(l.StartedAt), till, l.PID)
	switch {
	case l.Shutdown != nil:
		p.showShutdown(lastReport(l))
	case l.Outcome == ops.OutcomeRunning:
		p.say("shutdown    none yet")
	default:
		p.say("shutdown    no report: it never began one, or was ended before the first phase")
	}
}

// lastReport is the report of a life's stop. One that still ran when the life was killed runs no more: it was cut short, and
// nothing comes next.
func lastReport(l ops.Life) ops.Shutdown {
	s := *l.Shutdown
	if s.Outcome != ops.ShutdownRunning || l.Outcome == ops.OutcomeRunning {
		return s
	}
	s.Outcome = string(ops.OutcomeCutShort)
	s.Phases = slices.Clone(s.Phases)
	for i := range s.Phases {
		s.Phases[i].Items = slices.Clone(s.Phases[i].Items)
		for j := range s.Phases[i].Items {
			s.Phases[i].Items[j].Next = ""
		}
	}
	return s
}

// lifeSentence is a life as the console of lines says it.
func lifeSentence(l ops.Life) (target, string) {
	how := words(l.Outcome)
	if l.Phase != "" {
		how += " in " + l.Phase
	}
	when := "began " + moment(l.StartedAt)
	switch at, known := l.End(); {
	case known:
		when += ", ended " + moment(at)
	case !at.IsZero():
		when += ", last seen " + moment(at)
	}
	asked, late := "", overran(l)
	if l.By != "" || l.Reason != "" {
		asked = "asked for by " + or(l.By, "an unknown sender") + ": " + or(l.Reason, "no reason given")
	}
	if late != "" {
		late = "overran: " + late
	}
	return target{name: l.Life}, enumerate(how+" (life "+l.Life+")", when, asked, late)
}

// history lists the past lives, or says all that is known of the one with a number of the last list.
func (l *plain) history(ctx context.Context, rest string) error {
	if _, err := strconv.Atoi(rest); err != nil {
		return list(ctx, l, "life", rest, l.c.History, lifeSentence)
	}
	t, err := l.target("life", rest)
	if err != nil {
		return err
	}
	page, err := l.c.History(ctx, ops.Query{Filter: filter.Quote(t.name)}) // others may name it in their reason
	if err != nil {
		return err
	}
	i := slices.IndexFunc(page.Items, func(r ops.Life) bool { return r.Life == t.name })
	if i < 0 {
		return &ops.Error{Code: ops.CodeNotFound, Message: "the life " + t.name + " is not recorded any more", Hint: "say history again"}
	}
	l.p.showLife(page.Items[i])
	return nil
}
