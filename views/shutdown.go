package views

import (
	"fmt"
	"time"

	"gatewaytui/core/ops"
)

// shutdownHeader is the header while a stop runs, and after its gateway is gone, with its end seen or not: what state it is
// in, when the service manager kills it, and what happens without an action. What matters most comes first, for screens that
// show one line. It is nil where the common header says all.
func shutdownHeader(s Screen, w int) []string {
	if s.StopPage != StopNow && s.StopPage != StopReplay {
		return nil
	}
	d := drawStop(&s)
	switch {
	case s.Replay != nil:
		return d.replayHeader(w)
	case d.kind == stopEnded && s.Link.State == LinkGone && d.Life == s.Snap.Life:
		return d.ended(w)
	case d.kind != stopRuns:
		return nil
	case d.tiny():
		return []string{d.oneLine(w)}
	case s.Link.State == LinkGone:
		return d.gone(w)
	}
	if d.small() {
		return d.compact(w, s.H)[:1]
	}
	lines := []string{d.identity(w), d.deadline(w), d.outlook(w)}
	if d.f.spare < 0 {
		lines = []string{lines[2], lines[0], lines[1]}
	}
	return lines
}

// shutdownBody is the shutdown view: the stop that runs or was watched, and, while none runs, the past lives, what is known of
// one of them, or the plan of the next stop.
func shutdownBody(s Screen, w, h int) []string {
	switch s.StopPage {
	case StopLives:
		return livesBody(&s, w, h)
	case StopPlan:
		return fit(planPage(&s, w, h), w, h)
	}
	d := drawStop(&s)
	switch {
	case s.StopPage == StopReport && d.kind == stopNone:
		return fit(lifeLines(&s, w), w, h)
	case d.tiny():
		return fit(nil, w, h)
	case d.kind == stopNone:
		return fit(planLines(&s, w, h), w, h)
	case d.kind != stopRuns:
		return fit(d.report(w, h), w, h)
	case s.Link.State == LinkGone && d.small():
		var lines []string
		for _, line := range d.gone(maxShown)[1:] {
			lines = append(lines, wrap(line, w)...)
		}
		return fit(lines, w, h)
	case d.small():
		return fit(d.compact(w, h+1)[1:], w, h)
	}
	var lines []string
	if head := shutdownHeader(s, w); s.layout() < layoutFull && len(head) > 0 { // the frame has kept its first line only
		lines = head[1:]
	}
	if room := h - len(lines); w >= 120 && room >= 20 {
		lines = append(lines, d.wide(w, room)...)
	} else {
		lines = append(lines, d.column(w, room, true)...)
	}
	return fit(lines, w, h)
}

// cause says in the header who stops the gateway and why.
func cause(reason, who string) string {
	if text, ok := askedBy(reason, who); ok {
		return text
	}
	return "cause: " + or(reason, unknown) + by(who)
}

// identity is the line of state, with why the gateway stops.
func (d *stopDraw) identity(w int) string {
	more := []piece{same(Plain, 2, cause(shown(d.Reason), shown(d.By)))}
	switch began := d.Began(); {
	case began != d.Mode:
		more = append(more, same(Slow, 3, shown(string(d.Mode)+" (began "+string(began)+")")))
	case d.Mode != ops.ModeGraceful && d.Mode != "":
		more = append(more, same(Slow, 3, shown(string(d.Mode))))
	}
	if d.Restart {
		more = append(more, same(Plain, 2, "then restart"))
	}
	return d.s.stateLine(w, more...)
}

func (d *stopDraw) supervisor() string {
	return or(term40(d.s.Snap.Supervisor.Name), "service manager")
}

// deadline is the outer deadline as a line with a bar.
func (d *stopDraw) deadline(w int) string {
	left, right, role, most := d.supervisor()+" SIGKILL in "+clock(d.kill-d.now), clock(d.now)+" / "+clock(d.kill), Plain, d.kill
	switch {
	case d.kill <= 0:
		left, right, most = "outer deadline unknown", clock(d.now)+" / "+clock(d.f.exit)+" at most", d.f.exit
	case d.now > d.kill:
		left, role = d.supervisor()+" SIGKILL was due "+clock(d.now-d.kill)+" ago", Danger
	case d.f.spare < 0:
		role = Bad
	}
	if src := shown(d.s.Snap.Supervisor.Source); w >= 120 && d.kill > 0 && src != "" {
		right += "   (limit from " + src + ")"
	}
	room := w - cellsOf(left) - cellsOf(right) - 4
	line := d.paint(role, left)
	if room >= 8 && most > 0 {
		line += "  " + d.paint(Graph, d.bar(d.now, most, min(room, 62)))
	}
	return line + "  " + right
}

// outlook is what happens if you do nothing, computed from the budgets that are left. Where the line is short the items lose
// their names before the end loses its moment.
func (d *stopDraw) outlook(w int) string {
	if d.f.spare < 0 {
		return d.paint(Danger, d.cut(d.killNotice(), w))
	}
	end := "exit by " + clock(d.f.exit)
	if d.f.known {
		end += ", " + whole(d.f.spare) + " to spare"
	}
	if list := d.notAwaited(); list != "" && w >= 120 {
		end += ". Not awaited: " + list
	}
	text := ""
	for _, what := range d.nextSteps() {
		if text = "If you do nothing: " + what + "; " + end + "."; cellsOf(text) <= w {
			return text
		}
	}
	if w < 120 || text == "" {
		text = "If you do nothing: " + end + "."
	}
	return d.cut(text, w)
}

func (d *stopDraw) killNotice() string {
	text := "WILL BE KILLED"
	if i := d.f.killed; i >= 0 {
		text += fmt.Sprintf(" in phase %d %s", i+1, d.phaseName(d.Phases[i]))
	}
	if d.now > d.kill {
		text += " any moment: " + whole(d.now-d.kill) + " overdue."
	} else {
		text += " at " + clock(d.kill) + ": " + whole(max(-d.f.spare, time.Second)) + " short."
	}
	switch {
	case d.s.Link.ReadOnly, d.Mode == ops.ModeImmediate:
		return text
	case d.at >= 0 && !d.phase.Vital:
		return text + " Press > or F now."
	}
	return text + " Press F now."
}

// nextSteps are what happens to the running items first, in words from long to short: "adapter feishu abandoned in 4.5s".
func (d *stopDraw) nextSteps() []string {
	first, found := d.soonest(d.phase)
	if !found {
		return nil
	}
	same, kind := 0, first.Kind
	for _, it := range d.phase.Items {
		if isRunning(it) && it.Next == first.Next && d.next(it) <= d.next(first)+100*time.Millisecond {
			if same++; it.Kind != kind {
				kind = "item"
			}
		}
	}
	tail := " " + term40(first.Next) + " in " + tenths(d.next(first))
	if same > 1 {
		return []string{count(same, term40(kind)) + tail}
	}
	id := d.cut(shown(first.ID), 30)
	return []string{term40(first.Kind) + " " + id + tail, id + tail, "1 item" + tail}
}

// gone is what is known of a stop whose gateway is not there any more and wrote no end.
func (d *stopDraw) gone(w int) []string {
	s := d.s
	why := "exit: not seen"
	if s.Link.Err != "" {
		why += " (" + d.cut(shown(s.Link.Err), 60) + ")"
	}
	return []string{
		s.stateLine(w),
		d.cut(why+". Waiting for a new gateway"+s.search()+".", w),
		d.cut(d.lastWord(), w),
	}
}

// ended is the header after a gateway has ended as it said it would.
func (d *stopDraw) ended(w int) []string {
	s := d.s
	role := Good
	if d.Outcome != ops.ShutdownClean {
		role = Bad
	}
	line := s.stateEnded(w, same(role, 0, "ENDED "+or(term40(d.Outcome), unknown)), same(Plain, 1, fmt.Sprintf("exit code %d", d.ExitCode)), same(Plain, 2, "after "+clock(d.now)))
	return []string{line, d.cut("Waiting for a new gateway"+s.search()+".", w)}
}

func (d *stopDraw) lastWord() string {
	text := fmt.Sprintf("Last report: phase %d/%d", d.reached(), len(d.Phases))
	if d.at >= 0 {
		text += " " + d.phaseName(d.phase)
	}
	var left, waited []string
	stores := false
	for _, p := range d.Phases {
		stores = stores || p.Name == "stores" && p.State == ops.StepDone
		waited = append(waited, d.named(p.Items, isRunning)...)
		left = append(left, d.named(p.Items, func(it ops.Item) bool {
			b := d.itemBadge(p, it)
			return b == badgeAbandoned || b == badgeFailed
		})...)
	}
	if len(waited) > 0 {
		text += ", waiting for " + names(waited, 2)
	}
	if !stores {
		text += ", stores not confirmed closed"
	}
	if len(left) > 0 {
		text += ", gave up " + names(left, 2)
	}
	return text + "."
}
