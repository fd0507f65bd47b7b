package views

import (
	"fmt"
	"slices"
)

// compact is a running stop in at most h short lines: the one that matters most first, the least important ones left out.
func (d *stopDraw) compact(w, h int) []string {
	type row struct {
		text string
		role Role
		rank int // the greatest goes first when there is no room
	}
	var rows []row
	doomed := d.f.spare < 0
	if doomed {
		rows = append(rows, row{d.shortKillNotice(), Danger, 0})
	}
	head := "STOPPING " + clock(d.now)
	if d.s.Replay != nil {
		head = replayWord + " " + clock(d.now)
	}
	if d.s.Snap.Demo != nil {
		head = demoWord + " " + head
	}
	if w >= 26 {
		head = "gatewaytui " + head
	}
	if d.s.Link.State == LinkStale {
		head += " STALE " + d.s.seen()
	}
	rows = append(rows, row{head, Bad, 0})
	if d.at >= 0 {
		m := d.phaseBadge(d.phase)
		rows = append(rows, row{
			fmt.Sprintf("%d/%d %s %s %s", d.at+1, len(d.Phases), d.phaseName(d.phase), m.word, tenths(d.elapsed(d.phase.ElapsedMS, d.phase.State))), m.role, 1,
		})
	}
	if d.has {
		rows = append(rows, row{d.cut(shown(d.item.ID), max(w/2, 8)) + ": " + d.reason(d.phase, d.item), Plain, 2})
	}
	if what := d.nextOf(d.phase); what != "" {
		rows = append(rows, row{what, Plain, 4})
	}
	switch {
	case doomed:
	case d.kill > 0:
		rows = append(rows, row{"SIGKILL in " + clock(d.kill-d.now), Plain, 3})
	default:
		rows = append(rows, row{"outer deadline unknown", Plain, 5})
	}
	for len(rows) > max(h, 1) {
		worst := 0
		for i, r := range rows {
			if r.rank >= rows[worst].rank {
				worst = i
			}
		}
		rows = slices.Delete(rows, worst, worst+1)
	}
	lines := make([]string, len(rows))
	for i, r := range rows {
		lines[i] = d.paint(r.role, d.cut(r.text, w))
	}
	return lines
}

func (d *stopDraw) shortKillNotice() string {
	at := ""
	if i := d.f.killed; i >= 0 {
		at = " in " + d.phaseName(d.Phases[i])
	}
	if d.now > d.kill {
		return "WILL BE KILLED now" + at
	}
	return "WILL BE KILLED " + clock(d.kill-d.now) + at
}

// oneLine is a running stop in one line; what has no room is left out.
func (d *stopDraw) oneLine(w int) string {
	l := d.s.line(w)
	if d.s.Snap.Demo != nil {
		l.add(2, Slow, demoWord)
	}
	if d.s.Link.State == LinkGone {
		return l.add(0, Danger, "GONE "+d.s.seen()).add(1, Plain, "in stop").String()
	}
	if d.f.spare < 0 {
		l.add(0, Danger, d.shortKillNotice())
	}
	l.add(1, Bad, "STOPPING "+clock(d.now))
	if d.at >= 0 {
		m := d.phaseBadge(d.phase)
		l.add(1, m.role, d.phaseName(d.phase)+" "+m.word)
	}
	if d.kill > 0 && d.f.spare >= 0 {
		l.add(1, Plain, "KILL "+clock(d.kill-d.now))
	}
	if d.has {
		l.add(1, Plain, d.cut(shown(d.item.ID), 20))
	}
	return l.String()
}
