package views

import (
	"strconv"

	"gatewaytui/core/ops"
)

// replayWord marks every frame of a replay, so that none is taken for a stop that runs.
const replayWord = "REPLAY"

// replayHeader is the header of a past stop that is played back: that it is one, how far it is, and, while the stop runs in
// it, what the screen said then.
func (d *stopDraw) replayHeader(w int) []string {
	r := d.s.Replay
	pace := strconv.FormatFloat(r.Speed, 'g', 3, 64) + "x"
	switch {
	case r.At >= r.Took:
		pace = "at its end"
	case r.Paused:
		pace = "paused"
	}
	l := d.s.line(w).add(0, Selected, " "+replayWord+" ").add(1, Plain, tenths(r.At)+" of "+tenths(r.Took)).add(2, Busy, pace)
	l.add(2, Plain, cause(shown(d.Reason), shown(d.By)))
	if d.Mode != "" {
		l.add(2, Plain, shown(d.ModeText()))
	}
	first := l.add(3, Muted, "life "+shown(d.Life)).String()
	if d.small() {
		return []string{first}
	}
	bar := d.bar(r.At, r.Took, min(w, 100))
	if d.kind != stopRuns {
		return []string{first, bar}
	}
	return []string{first, bar, d.replayOutlook(w)}
}

// replayOutlook is what would have happened next, computed as it was then.
func (d *stopDraw) replayOutlook(w int) string {
	text := "no phase runs in this moment"
	if d.at >= 0 {
		text = "phase " + d.phaseName(d.phase) + " since " + tenths(d.elapsed(d.phase.ElapsedMS, d.phase.State))
		if what := d.nextOf(d.phase); what != "" {
			text += "; next: " + what
		}
	}
	text += "; the stop could take until " + clock(d.f.exit)
	if d.f.known && d.kill > 0 {
		text += ", killed at " + clock(d.kill)
	}
	var unknown []string
	for _, p := range d.Phases {
		if p.Detail == ops.WhenUnknown {
			unknown = append(unknown, d.phaseName(p))
		}
	}
	if len(unknown) > 0 {
		text += "; when they ran is unknown: " + names(unknown, 3)
	}
	return d.paint(Muted, d.cut(text, w))
}
