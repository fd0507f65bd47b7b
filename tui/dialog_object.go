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

// A question is about an object: the gateway, a conversation, a process tree, an adapter, an item of a stop. Work that comes
// and goes in the object changes what the dialog lists, in place, and nothing else: its keys stay armed and its answer holds.
// Only the end of the object closes a question, and then nothing is done (TF1, TF2).

// refreshGap is how often an open question asks again what its commands would do.
const refreshGap = time.Second

// seenTarget is what a question showed of a command's target when it opened.
type seenTarget struct {
	turn  string // of a session
	ticks uint64 // of a process: its start, so that a pid that is used again is another process
}

func (q *question) noteTargets(m *model) {
	q.seen = make([]seenTarget, len(q.cmds))
	snap := m.snapshot()
	for i, cmd := range q.cmds {
		if row := find(snap.Sessions, cmd.Target, sessionKey); row != nil {
			q.seen[i].turn = row.Turn
		}
		if row := find(snap.Processes, cmd.Target, processKey); row != nil {
			q.seen[i].ticks = row.StartTicks
		}
	}
}

// gone says why cmd has nothing left to act on; "" while it has. A session that is missing in the snapshot is no
// reason: a snapshot is bounded. The gateway's preview says whether such a session is still there.
func (m *model) gone(cmd ops.Command, s seenTarget) string {
	snap, state, name := m.snapshot(), m.status.State, object(cmd)
	spec, _ := cmd.Verb.Spec()
	switch {
	case m.link.State == views.LinkGone:
		return "the gateway is gone"
	case state == ops.StateStopping && (!spec.WhileStopping || cmd.Verb == ops.VerbStop || cmd.Verb == ops.VerbRestart):
		return "the gateway is stopping already"
	case state == ops.StateDraining && cmd.Verb == ops.VerbDrain:
		return "the gateway is draining already"
	}
	switch cmd.Verb {
	case ops.VerbReset, ops.VerbEvict, ops.VerbInterrupt:
		return goneSession(snap, cmd)
	case ops.VerbKill:
		if row := find(snap.Processes, cmd.Target, processKey); row == nil || s.ticks != 0 && row.StartTicks != s.ticks {
			return "process " + name + " has ended"
		}
	case ops.VerbPause, ops.VerbReconnect:
		return goneAdapter(snap, cmd)
	case ops.VerbRestartServer, ops.VerbDeleteJob:
		if heldCalled(snap.Held, cmd.Target) == nil {
			return string(spec.Target) + " " + name + " has gone"
		}
	case ops.VerbSkip, ops.VerbForce:
		return goneInStop(m.stopping(), cmd)
	}
	return ""
}

func goneSession(snap *ops.Snapshot, cmd ops.Command) string {
	row, name := find(snap.Sessions, cmd.Target, sessionKey), object(cmd)
	switch {
	case row == nil:
	case cmd.Expect != "" && row.ID != cmd.Expect:
		return name + " was reset by someone else"
	case cmd.Verb == ops.VerbEvict && !row.Cached && !running(row) && find(snap.Agents, cmd.Target, agentKey) == nil:
		return name + " has no cached agent any more"
	}
	return ""
}

func goneAdapter(snap *ops.Snapshot, cmd ops.Command) string {
	switch row, name := find(snap.Adapters, cmd.Target, adapterKey), object(cmd); {
	case row == nil:
		return "adapter " + name + " has gone"
	case row.State == ops.AdapterPaused && cmd.Verb == ops.VerbPause:
		return name + " is paused already"
	case row.State == ops.AdapterPaused:
		return name + " is paused"
	}
	return ""
}

func goneInStop(stop *ops.Shutdown, cmd ops.Command) string {
	if stop == nil {
		return "the stop has ended"
	}
	p, running := stop.Running()
	switch {
	case cmd.Phase == "": // the whole stop, whichever phase runs
		return ""
	case !running || p.Name != cmd.Phase:
		return "phase " + cmd.Phase + " has ended"
	case cmd.Item == "":
		return ""
	}
	if it := find(p.Items, cmd.Item, ops.Item.Key); it != nil && it.State == ops.StepRunning {
		return ""
	}
	return "the stop no longer waits for " + object(cmd)
}

// recheck closes the open dialog if its object has ended, and otherwise refreshes what a question lists.
func (m *model) recheck() tea.Cmd {
	m.happened(newsCame)
	q := m.question()
	if q == nil || m.snap == nil {
		return nil
	}
	q.follow(m)
	if q.waits || time.Since(q.askedAt) < refreshGap {
		return nil
	}
	return q.preview(m)
}

// closedBy leaves out the commands whose object has ended. If none is left, the question is withdrawn.
func (q *question) closedBy(m *model, e occurrence) bool {
	for i := 0; e == newsCame && m.snap != nil && i < len(q.cmds); {
		why := m.gone(q.cmds[i], q.seen[i])
		switch {
		case why == "":
			i++
		case len(q.cmds) == 1, q.closes && i == 0: // its processes end only together with the agent
			m.withdraw(why)
			return true
		default:
			q.News = why + "; it is left out"
			q.cmds = append(q.cmds[:i:i], q.cmds[i+1:]...)
			q.seen = append(q.seen[:i:i], q.seen[i+1:]...)
			m.stale = true
		}
	}
	return e == lifeBegan
}

// withdraw closes the open question because its object has ended. The keys that a person is typing into it at this moment
// are dropped: they would mean something else in the view below.
func (m *model) withdraw(why string) {
	m.dialog = nil
	m.deafUntil = time.Now().Add(armAfter)
	m.deny(why + ". Nothing was done.")
}

// follow says what has changed in a conversation since the question opened: an interrupt means the turn that runs now.
func (q *question) follow(m *model) {
	cmd := q.cmds[0]
	s := find(m.snap.Sessions, cmd.Target, sessionKey)
	if s == nil || len(q.cmds) > 1 && !q.closes || cmd.Verb != ops.VerbReset && cmd.Verb != ops.VerbInterrupt && cmd.Verb != ops.VerbEvict {
		return
	}
	if q.runs = running(s); cmd.Verb == ops.VerbEvict {
		q.write()
	}
	was := q.News
	switch {
	case s.Turn != "" && s.Turn != q.seen[0].turn:
		q.News = "a newer turn has begun: "
		if q.seen[0].turn == "" {
			q.News = "a turn has begun: "
		}
		q.News += clock(m.now, s.TurnStartedAt)
		if q.tier == oneLine && q.binding.tier(keyContext{session: s, now: m.now}) > oneLine {
			q.tier = withDialog
		}
	case s.Turn == "" && cmd.Verb == ops.VerbInterrupt:
		q.News = "no turn runs at this moment; one that begins at once is interrupted"
	default:
		q.News = ""
	}
	m.stale = m.stale || was != q.News
}

// clock is how long something has run, as minutes and seconds.
func clock(now time.Time, since ops.Time) string {
	if since.IsZero() {
		return "0:00"
	}
	s := int(max(now.Sub(since.Time), 0) / time.Second)
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

type previewed struct {
	number int
	all    []ops.Preview
	err    error
}

// mostPreviews bounds what one dialog asks; of more marked rows it says that there are more.
const mostPreviews = 32

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
	if len(q.cmds) == 1 && len(p.all) == 1 && p.all[0].Seen != "" { // what is confirmed is what was shown
		q.cmds[0].Expect = p.all[0].Seen
	}
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
func merge(all []ops.Preview) (out []views.Fact) {
	const most = 6
	for i, part := range (ops.Preview{}).Parts() {
		var texts []string
		for _, p := range all {
			for _, fact := range p.Parts()[i].What {
				if !slices.Contains(texts, fact) {
					texts = append(texts, fact)
				}
			}
		}
		if n := len(texts); n > most {
			texts = append(texts[:most:most], fmt.Sprintf("and %d more", n-most))
		}
		if len(texts) > 0 {
			out = append(out, views.Fact{Label: "would " + part.Does, Text: strings.Join(texts, "; ")})
		}
	}
	var worst int64
	for _, p := range all {
		worst = max(worst, p.WorstCaseMS)
	}
	if worst > 0 {
		out = append(out, views.Fact{Label: "at the latest", Text: text.Exact((time.Duration(worst) * time.Millisecond).Round(100 * time.Millisecond))})
	}
	return out
}
