package plain

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
	"gatewaytui/core/text"
	"gatewaytui/views/lines"
)

// lifeSentence is a life as the console of lines says it.
func lifeSentence(l ops.Life) (target, string) {
	how := text.Words(l.Outcome)
	if l.Phase != "" {
		how += " in " + l.Phase
	}
	when := "began " + text.Moment(l.StartedAt.Time)
	switch at, known := l.End(); {
	case known:
		when += ", ended " + text.Moment(at.Time)
	case !at.IsZero():
		when += ", last seen " + text.Moment(at.Time)
	}
	asked, late := "", lines.Overran(l)
	if l.By != "" || l.Reason != "" {
		asked = "asked for by " + cmp.Or(l.By, "an unknown sender") + ": " + cmp.Or(l.Reason, "no reason given")
	}
	if late != "" {
		late = "overran: " + late
	}
	return target{name: l.Life}, enumerate(how+" (life "+l.Life+")", when, asked, late)
}

// history lists the past lives, or says all that is known of the one with a number of the last list.
func (l *Console) history(ctx context.Context, rest string) error {
	if _, err := strconv.Atoi(rest); err != nil {
		return list(ctx, l, "life", rest, l.Gateway.History, lifeSentence)
	}
	t, err := l.target("life", rest)
	if err != nil {
		return err
	}
	page, err := l.Gateway.History(ctx, ops.Query{Filter: filter.Quote(t.name)}) // others may name it in their reason
	if err != nil {
		return err
	}
	i := slices.IndexFunc(page.Items, func(r ops.Life) bool { return r.Life == t.name })
	if i < 0 {
		return &ops.Error{Code: ops.CodeNotFound, Message: "the life " + t.name + " is not recorded any more", Hint: "say history again"}
	}
	l.Printer.Life(page.Items[i])
	return nil
}
