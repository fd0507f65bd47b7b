package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
	"gatewaytui/views"
)

// question asks before commands are given: in the footer, in a box that shows what would end, or with a word to type.
type question struct {
	asking
	tier    tier
	binding *binding
	gateway string // what it is called
	// number is that of the preview that is wanted; older ones are dropped. waits is while it is on its way, askedAt when
	// it was asked for, known says that one has arrived.
	number  int
	waits   bool
	askedAt time.Time
	known   bool
	// cmds are what is done, seen what the target of each was when the question opened.
	cmds []ops.Command
	seen []seenTarget
	// drain is the time that a graceful stop gives to running turns; 0 is unknown.
	drain time.Duration
	// choice says which key changes what the answer would do, left which marked rows are left out and why.
	choice, left string
	// Of the eviction of one agent: runs says that a turn of it runs, closes that the session's process trees are ended as
	// well, by the commands after the first.
	runs, closes bool
	// Of an eviction of marked rows: idle and busy are the commands for idle and busy sessions, busyToo whether the busy ones
	// are interrupted and evicted as well.
	idle, busy []ops.Command
	busyToo    bool
}

// question is the open question about commands, nil for none.
func (m *model) question() *question {
	q, _ := m.dialog.(*question)
	return q
}

// asks says that a question of any kind is open.
func (m *model) asks() bool {
	_, leaves := m.dialog.(*leaving)
	return leaves || m.question() != nil
}

func (m *model) submit(b *binding, cmd ops.Command, t tier) tea.Cmd {
	if t == atOnce {
		return m.send([]ops.Command{cmd})
	}
	return m.ask(&question{tier: t, binding: b, cmds: []ops.Command{cmd}})
}

// activateMarked is activate for all marked rows that it applies to, with one question. The question names the rows that are
// left out, each with its own reason. Busy agents are left out of an eviction unless the person chooses to interrupt their
// turns.
func (m *model) activateMarked(b *binding) tea.Cmd {
	l := m.lists[m.view]
	q := &question{tier: withDialog, binding: b}
	var out leftOut
	for _, key := range l.keys {
		if !l.Marked[key] {
			continue
		}
		f := m.keyContextOf(key)
		if not := b.works(f); not != "" {
			out.add(key, not)
		} else if cmd := b.target(f); cmd.Interrupt {
			q.busy = append(q.busy, cmd)
		} else {
			q.idle = append(q.idle, cmd)
		}
	}
	if len(q.idle) == 0 { // they are all busy: there is nothing to leave out
		q.idle, q.busy = q.busy, nil
	}
	if q.cmds = slices.Clone(q.idle); len(q.cmds) == 0 {
		m.deny("nothing to do: " + out.String())
		return nil
	}
	if len(out.why) > 0 {
		q.left = "Left out: " + out.String() + "."
	}
	return m.ask(q)
}

// mostNamed is how many rows of a kind a question names.
const mostNamed = 3

// leftOut are rows that a question about marked rows leaves out, by reason.
type leftOut struct {
	why  []string
	rows map[string][]string
}

func (o *leftOut) add(key, why string) {
	name := term.Clean(key, maxName)
	why = strings.TrimPrefix(strings.TrimPrefix(why, key+" "), name+" ")
	if o.rows == nil {
		o.rows = map[string][]string{}
	}
	if o.rows[why] == nil {
		o.why = append(o.why, why)
	}
	o.rows[why] = append(o.rows[why], name)
}

// String is each reason with its rows.
func (o *leftOut) String() string {
	var out []string
	for _, why := range o.why {
		out = append(out, text.Some(o.rows[why], mostNamed)+" ("+why+")")
	}
	return strings.Join(out, "; ")
}

func (m *model) ask(q *question) tea.Cmd {
	q.drain = time.Duration(m.plan.DrainMS) * time.Millisecond
	q.gateway = "the gateway"
	if m.opt.Name != "" {
		q.gateway = "gateway " + term.Clean(m.opt.Name, maxName)
	}
	q.choose(m, "")
	m.dialog, m.stale, m.message = q, true, ""
	return tea.Batch(q.arm(m), q.preview(m))
}

// choose takes a key that changes what the answer would do, and reports whether the question has that choice. Without a key it
// makes the choices with which a question opens.
func (q *question) choose(m *model, key string) bool {
	cmd, opens := &q.cmds[0], key == ""
	switch {
	case cmd.Verb == ops.VerbStop && (opens || key == "m"):
		cmd.Mode = cmp.Or(cmd.Mode, ops.ModeGraceful)
		if !opens {
			cmd.Mode = ops.Modes[(slices.Index(ops.Modes, cmd.Mode)+1)%len(ops.Modes)]
		}
	case len(q.busy) > 0 && (opens || key == "i"):
		q.busyToo = !opens && !q.busyToo
		q.cmds, q.choice = slices.Clone(q.idle), "i interrupts the busy ones and evicts them as well: "
		if q.busyToo {
			q.cmds, q.choice = append(q.cmds, q.busy...), "i leaves out the busy ones: "
		}
		names := make([]string, len(q.busy))
		for i, cmd := range q.busy {
			names[i] = object(cmd)
		}
		q.choice += text.Some(names, mostNamed)
	case cmd.Verb == ops.VerbEvict && len(q.busy) == 0 && (q.closes || len(q.cmds) == 1) && (opens || key == "c"):
		q.close(m.snapshot(), !opens && !q.closes)
	case !opens:
		return false
	}
	q.write()
	q.noteTargets(m)
	return true
}

// close chooses whether an eviction keeps the session's process trees or ends them too (DESIGN.md, 8.2). Without any
// there is nothing to choose.
func (q *question) close(snap *ops.Snapshot, on bool) {
	evict := q.cmds[0]
	q.cmds, q.closes, q.choice = []ops.Command{evict}, false, ""
	q.runs = running(find(snap.Sessions, evict.Target, sessionKey))
	for _, p := range snap.Processes {
		if p.Session != evict.Target || p.State == ops.ProcessKilling {
			continue
		}
		q.choice = "c ends the session's processes too"
		if on {
			q.cmds, q.closes = append(q.cmds, ops.Command{Verb: ops.VerbKill, Target: processKey(p)}), true
			q.choice = "c keeps the processes"
		}
	}
}

// write makes the words of the question from its commands and choices.
func (q *question) write() {
	cmd, what := q.cmds[0], objects(q.cmds)
	spec, _ := cmd.Verb.Spec()
	verb := upper(strings.ReplaceAll(q.binding.action, "-", " "))
	text := upper(q.binding.help) + "."
	q.Title, q.Want = verb+" "+cmp.Or(what, q.gateway)+"?", spec.Word
	switch {
	case cmd.Verb == ops.VerbSkip && cmd.Item == "":
		q.Title = "End " + what + " now?"
	case cmd.Verb == ops.VerbForce:
		q.Title = verb + " the stop?"
	case cmd.Verb == ops.VerbStop:
		q.Title = "Stop " + q.gateway + " (" + string(cmd.Mode) + ")?"
		text, q.tier = q.ofMode(cmd.Mode), withDialog
	case q.busyToo:
		text = "Interrupt the running turns first, then drop the cached agents. The sessions, their histories and their processes are kept."
	case len(q.busy) > 0:
		text = "Drop the cached agents. The sessions, their histories and their processes are kept."
	case cmd.Verb == ops.VerbEvict && (q.closes || len(q.cmds) == 1):
		verb, text = q.ofEviction()
		q.Title = verb + " " + what + "?"
	case cmd.Verb == ops.VerbEvict && cmd.Interrupt:
		text = "Turns run in these sessions. Interrupt them first, then drop the cached agents."
	}
	if q.typed = nil; q.Want != "" {
		q.typed, q.tier = newInput(""), withWord
	}
	q.Danger = q.tier == withWord
	q.Text, q.Note = []string{text}, strings.TrimSpace(q.left+" "+q.choice)
	q.answers = []answer{{key: "n", label: "Cancel"}, {"y", verb, func(m *model) tea.Cmd { return m.confirmed(q) }}}
}

// ofMode is what a stop of a mode does; the strongest asks for a word.
func (q *question) ofMode(mode ops.Mode) string {
	const changes = " changes the mode: graceful, fast, immediate"
	q.choice = "m" + changes
	switch mode {
	case ops.ModeFast:
		return "Fast: running turns are interrupted at once, then everything is closed in order."
	case ops.ModeImmediate:
		q.Want, q.choice = "immediate", "tab, then m,"+changes
		return "Immediate: turns are cut off, processes killed, the stores closed. Type the word to confirm."
	}
	finish := "may finish"
	if q.drain > 0 {
		finish = "get up to " + strconv.FormatFloat(q.drain.Seconds(), 'f', -1, 64) + " s to finish"
	}
	return "Graceful: running turns " + finish + ", then everything is closed in order."
}

// ofEviction is what the eviction of one agent does, with a turn of it that runs or without one.
func (q *question) ofEviction() (verb, text string) {
	verb, text = "Evict", "Drop the cached agent"
	if q.cmds[0].Interrupt && q.runs {
		verb, text = "Interrupt and evict", "A turn runs. Interrupt it first, then drop the cached agent"
	}
	if q.closes {
		return verb, text + " and end the session's processes: SIGTERM, then SIGKILL. The session and its history are kept."
	}
	return verb, text + ". The session, its history and its processes are kept."
}

func (q *question) key(m *model, k tea.KeyMsg) tea.Cmd {
	key, ready := k.String(), q.armed && q.known
	switch {
	case k.Paste || !ready:
	case q.tier == oneLine && (key == "y" || key == "Y"):
		return m.confirmed(q)
	case q.tier == oneLine:
		return m.dismiss()
	case (q.typed == nil || q.Focus > 0) && q.choose(m, key): // the person's own key: it arms the keys again
		q.Focus, q.Facts, q.known = 0, nil, false
		return tea.Batch(q.arm(m), q.preview(m))
	}
	return q.press(m, k, ready)
}

// confirmed sends the commands, unless their objects have ended since the newest snapshot.
func (m *model) confirmed(q *question) tea.Cmd {
	if m.happened(newsCame); m.dialog == nil {
		return nil
	}
	if why := q.binding.off(m.keyContext(false)); why != "" {
		m.withdraw(why)
		return nil
	}
	m.dialog = nil
	return m.send(q.cmds)
}

// draw puts the question into the footer or into a box. The answers of a line follow it as soon as their keys are taken.
func (q *question) draw(s *views.Screen) {
	ready := q.armed && q.known
	if q.tier != oneLine {
		d := q.box(ready)
		if !q.known && len(q.Facts) == 0 {
			d.Facts = []views.Fact{{Label: "would end", Text: "asking the gateway"}}
		}
		s.Over = d
		return
	}
	s.Input = strings.TrimSuffix(q.Title, "?")
	for _, f := range q.Facts {
		if f.Label == "would kill" || f.Label == "would interrupt" || f.Label == "would lose" {
			s.Input += " (" + f.Label + " " + term.Clean(f.Text, 2*maxName) + ")"
		}
	}
	if ready {
		s.Input += "? y/N "
	} else {
		s.Input += fmt.Sprintf("? (armed in %.1fs) ", armAfter.Seconds())
	}
}

func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
