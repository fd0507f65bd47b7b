package views

import (
	"strings"
	"time"

	"gatewaytui/core/ops"
)

// The least size at which a running stop is drawn as a table; below it is the strip.
const (
	tableWidth  = 56
	tableHeight = 12
)

type stopDraw struct {
	stopAt
	*Opts
	s *Screen
	f forecast
	// phase is the one that runs and at its index, -1 if none does; item is the selected one of its items.
	phase ops.Phase
	at    int
	item  ops.Item
	has   bool
}

func drawStop(s *Screen) *stopDraw {
	d := &stopDraw{stopAt: stopOf(*s), s: s, Opts: &s.Opts}
	d.phase, d.at = d.current()
	d.f = d.forecast()
	d.item, d.has = d.chosen(d.phase, s.StopItem)
	return d
}

// small says that the screen has no room for a table; tiny that it has room for one line only.
func (o *Opts) small() bool { return o.W < tableWidth || o.H < tableHeight }
func (o *Opts) tiny() bool  { return o.W < 20 || o.H < 3 }

// askedBy says who asked for a stop whose reason is the one that the gateway itself gives to a stop without one. That
// reason repeats who it was, and is left out.
func askedBy(reason, who string) (string, bool) {
	done := strings.TrimSuffix(strings.TrimSuffix(reason, " by an operator"), " by a tool")
	switch {
	case done == reason || who == "":
		return "", false
	case who == "console":
		return done + " from the console", true
	}
	return done + by(who), true
}

// notAwaited names the turns that the drain leaves out, each with why.
func (d *stopDraw) notAwaited() string {
	var list []string
	for _, it := range d.NotAwaited {
		list = append(list, d.cut(shown(it.ID), 30)+" ("+d.cut(or(shown(it.Detail), unknown), 60)+")")
	}
	return names(list, 2)
}

func (d *stopDraw) soonest(p ops.Phase) (first ops.Item, found bool) {
	for _, it := range p.Items {
		if it.State == ops.StepRunning && it.Next != "" && (!found || d.next(it) < d.next(first)) {
			first, found = it, true
		}
	}
	return first, found
}

// named are the items that are meant, by name.
func (d *stopDraw) named(items []ops.Item, meant func(ops.Item) bool) (list []string) {
	for _, it := range items {
		if meant(it) {
			list = append(list, d.cut(shown(it.ID), 24))
		}
	}
	return list
}

// isRunning reports whether the item is waited for; waitedFor counts such items.
func isRunning(it ops.Item) bool { return it.State == ops.StepRunning }

func waitedFor(items []ops.Item) (n int) {
	for _, it := range items {
		if isRunning(it) {
			n++
		}
	}
	return n
}

// nextOf is the next step of a running phase: "abandon in 4.5s".
func (d *stopDraw) nextOf(p ops.Phase) string {
	if p.State != ops.StepRunning {
		return ""
	}
	first, found := d.soonest(p)
	if !found {
		return "ends in " + tenths(d.rest(p))
	}
	return imperative(first.Next) + " in " + tenths(d.next(first))
}

// imperative turns the core's word for what becomes of an item into what it does then.
func imperative(next string) string {
	return or(map[string]string{"abandoned": "abandon", "interrupted": "interrupt"}[next], term40(next))
}

func (d *stopDraw) phaseName(p ops.Phase) string { return or(term40(p.Name), unknown) }

// whole is a duration in whole seconds, rounded down: "31s", "2:05".
func whole(d time.Duration) string { return budget(max(d, 0).Truncate(time.Second)) }
