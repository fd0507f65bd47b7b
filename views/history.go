package views

import (
	"strings"
	"time"

	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
)

// StopPage is what the shutdown view shows.
type StopPage int

// The pages of the shutdown view.
const (
	// StopNow is the stop that runs, or the one that was watched to its end: its report stays until the person goes on.
	StopNow StopPage = iota
	// StopLives is the list of past lives, StopReport what is known of one of them, and StopPlan the stop as it would run.
	StopLives
	StopReport
	StopPlan
)

// History are the past lives as far as they have been read, and how the reading goes.
type History struct {
	// Lives are filtered already, newest first; Read is how many have been read, and More says that there are more.
	Lives []ops.Life
	Read  int
	More  bool
	// At is when they were read, zero if they never were. Asking says that an answer is awaited, Err why the last one failed.
	At     time.Time
	Asking bool
	Err    string
}

// outcomeGone is a life that was read as running and whose gateway is gone. Its end was not seen.
const outcomeGone ops.Outcome = "gone"

// lifeMoment is a moment of a life, by day where that is another than today.
func lifeMoment(now time.Time, t ops.Time) string {
	at, layout := t.In(now.Location()), time.DateOnly
	switch {
	case t.IsZero():
		return "-"
	case at.Year() == now.Year() && at.YearDay() == now.YearDay():
		layout = time.TimeOnly
	case at.Year() == now.Year():
		layout = "01-02 15:04"
	}
	return at.Format(layout)
}

// lifeEnd is when a life ended, or was last seen where its end is not known.
func lifeEnd(now time.Time, l *ops.Life) string {
	at, known := l.End()
	switch {
	case known:
		return lifeMoment(now, at)
	case l.Outcome == ops.OutcomeRunning:
		return "-"
	case at.IsZero():
		return unknown
	}
	return "~" + lifeMoment(now, at)
}

// lifeLasted is how long a life has lasted, as far as that is known.
func lifeLasted(now time.Time, l *ops.Life) string {
	end, known := l.End()
	if !known && l.Outcome == ops.OutcomeRunning {
		end = ops.At(now)
	}
	if l.StartedAt.IsZero() || end.IsZero() || end.Before(l.StartedAt.Time) {
		return unknown
	}
	return clock(end.Sub(l.StartedAt.Time))
}

// lifeAsked is why a life was ended, and by whom.
func lifeAsked(l *ops.Life) string {
	if l.Reason == "" {
		return l.By
	}
	return l.Reason + by(l.By)
}

// lifeOverran is what did not end in time or failed in the stop of a life, with its figures; of one that was cut short, what
// was waited for as well.
func lifeOverran(l *ops.Life) string {
	if l.Shutdown == nil {
		return ""
	}
	phases := l.Shutdown.Overran()
	if p, runs := l.Shutdown.Running(); runs && l.Outcome != ops.OutcomeRunning {
		p.Items = l.Shutdown.Blockers()
		phases = append(phases, p)
	}
	list := make([]string, len(phases))
	for i, p := range phases {
		list[i] = stepText(p)
	}
	return strings.Join(list, ", ")
}

// stepText is a phase with what it took of its budget, and the items that are to blame.
func stepText(p ops.Phase) string {
	text := p.Name + " " + tenths(millis(p.ElapsedMS)) + "/" + budget(millis(p.BudgetMS))
	if p.State == ops.StepFailed {
		text += " failed"
	}
	var who []string
	for _, it := range p.Items {
		name := it.ID
		if p.State == ops.StepDone { // the figure is the item's, for the phase was in time
			name += " " + tenths(millis(it.ElapsedMS))
		}
		who = append(who, name)
	}
	if len(who) > 0 {
		text += " (" + names(who, 3) + ")"
	}
	return text
}

var lifeList = &list[ops.Life]{
	noun:   "lives",
	key:    func(l *ops.Life) string { return l.Life },
	fields: filter.Lives,
	columns: []column[ops.Life]{
		{name: "began", width: 11, drop: 4, cell: func(o *Opts, l *ops.Life) (string, Role) { return lifeMoment(o.Now, l.StartedAt), Plain }},
		{name: "ended", width: 12, drop: 2, cell: func(o *Opts, l *ops.Life) (string, Role) { return lifeEnd(o.Now, l), Plain }},
		{name: "lasted", width: 10, drop: 5, right: true, cell: func(o *Opts, l *ops.Life) (string, Role) { return lifeLasted(o.Now, l), Plain }},
		{
			name: "how", title: "HOW IT ENDED", width: 23,
			cell: func(o *Opts, l *ops.Life) (string, Role) {
				s := lifeBadge(l)
				return o.badge(s), s.role
			},
		},
		{
			name: "overran", least: 27, drop: 3,
			cell: func(_ *Opts, l *ops.Life) (string, Role) { return or(lifeOverran(l), "-"), Plain },
		},
		{
			name: "asked", title: "ASKED BY", width: 32, drop: 6, wide: true,
			cell: func(_ *Opts, l *ops.Life) (string, Role) { return or(lifeAsked(l), "-"), Plain },
		},
		{
			name: "life", width: 26, drop: 7,
			cell: func(_ *Opts, l *ops.Life) (string, Role) { return or(l.Life, unknown), Muted },
		},
	},
}
