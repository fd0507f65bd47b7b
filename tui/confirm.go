package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
	"gatewaytui/views"
)

// armAfter is how long the person must not have pressed a key before a question takes keys: a key that was meant for the
// screen before is lost, not done (DESIGN.md, 8.2). What the gateway does meanwhile does not matter.
const armAfter = 300 * time.Millisecond

// question asks before something is done. It takes the keys before everything else, and its first answer is Cancel.
type question struct {
	tier  tier
	title string
	text  []string
	facts []views.Fact
	// answers are what can be said; the first is Cancel.
	answers []answer
	focus   int
	want    string
	typed   *input

	// armed says that keys are taken; quiet numbers the waits for it, so that each key of the person begins a new one.
	armed bool
	quiet int
	// number is that of the preview that is wanted; older ones are dropped. asking is while it is on its way, askedAt when
	// it was asked for, known says that one has arrived.
	number  int
	asking  bool
	askedAt time.Time
	known   bool

	// cmds are what is done, seen what the target of each was when the question opened; nil for a question that gives no
	// command.
	binding *binding
	gateway string
	cmds    []ops.Command
	seen    []seenTarget
	// drain is the time that a graceful stop gives to running turns; 0 is unknown.
	drain time.Duration
	// news says what has changed since the question opened; note is any other line.
	news, note string
	// closes says that an eviction ends the session's process trees as well: the commands after the first.
	closes bool
	// Of an eviction of marked rows: idle and busy are the commands for idle and busy sessions, busyToo whether the busy ones
	// are interrupted and evicted as well, left the rows that are left out, with the reasons.
	idle, busy []ops.Command
	busyToo    bool
	left       string
}

// answer is one button: the key that presses it and what it does. do is nil for Cancel.
type answer struct {
	key, label string
	do         func(m *model) tea.Cmd
}

func cancelAnswer() answer { return answer{key: "n", label: "Cancel"} }

// armed says that no key was pressed since the wait with this number began.
type armed struct{ quiet int }

// activate begins what an action key does: at once, or after its question.
func (m *model) activate(b *binding, f keyContext) tea.Cmd {
	cmd := b.target(f)
	if cmd.Verb == ops.VerbMessage {
		return m.openPalette("send " + cmd.Target + " ")
	}
	return m.submit(b, []ops.Command{cmd}, b.tier(f))
}

// activateMarked is activate for all marked rows that it applies to, with one question. The question names the rows that are
// left out, each with its own reason. Busy agents are left out of an eviction unless the person chooses to interrupt their
// turns.
func (m *model) activateMarked(b *binding) tea.Cmd {
	l := m.lists[m.view]
	var cmds, busy []ops.Command
	var out leftOut
	for _, key := range l.keys {
		if !l.Marked[key] {
			continue
		}
		f := m.keyContextOf(key)
		if not := b.works(f); not != "" {
			out.add(key, not)
			continue
		}
		cmd := b.target(f)
		if cmd.Interrupt {
			busy = append(busy, cmd)
			continue
		}
		cmds = append(cmds, cmd)
	}
	if len(cmds)+len(busy) == 0 {
		m.deny("nothing to do: " + out.String())
		return nil
	}
	q := &question{tier: withDialog, binding: b, cmds: cmds}
	if len(cmds) == 0 { // they are all busy: there is nothing to leave out
		q.cmds, busy = busy, nil
	}
	q.idle, q.busy = slices.Clone(q.cmds), busy
	q.name(m)
	if len(out.why) > 0 {
		q.left = "Left out: " + out.String() + "."
		q.note = strings.TrimSpace(q.left + " " + q.note)
	}
	if len(busy) > 0 {
		q.setBusy(false)
	}
	q.noteTargets(m)
	return m.openDialog(q)
}

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
		out = append(out, enumerated(o.rows[why])+" ("+why+")")
	}
	return strings.Join(out, "; ")
}

// submit sends commands, or opens their question first.
func (m *model) submit(b *binding, cmds []ops.Command, t tier) tea.Cmd {
	if t == atOnce {
		return m.send(cmds)
	}
	q := &question{tier: t, binding: b, cmds: cmds}
	q.name(m)
	q.noteTargets(m)
	return m.openDialog(q)
}

func (m *model) snapshot() *ops.Snapshot {
	if m.snap == nil {
		return &ops.Snapshot{}
	}
	return m.snap
}

// name writes the words of a question from its commands.
func (q *question) name(m *model) {
	cmd := q.cmds[0]
	q.drain = time.Duration(m.plan.DrainMS) * time.Millisecond
	q.gateway = strings.TrimSpace("gateway " + term.Clean(m.opt.Name, maxName))
	if m.opt.Name == "" {
		q.gateway = "the gateway"
	}
	q.text = []string{upper(q.binding.help) + "."}
	do := func(m *model) tea.Cmd { return m.confirmed(q) }
	q.answers = []answer{cancelAnswer(), {"y", q.verb(), do}}
	q.retitle()
	spec, _ := cmd.Verb.Spec()
	switch {
	case spec.Word != "":
		q.want = spec.Word
	case cmd.Verb == ops.VerbStop:
		q.setMode(ops.ModeGraceful)
	case cmd.Verb == ops.VerbEvict && len(q.cmds) == 1:
		q.setClose(m.snapshot(), false)
	case cmd.Verb == ops.VerbEvict && cmd.Interrupt:
		q.text = []string{"Turns run in these sessions. Interrupt them first, then drop the cached agents."}
	}
	if q.want != "" {
		q.typed, q.tier = newInput(""), withWord
	}
}

// verb is what the answer does, in a word or two.
func (q *question) verb() string { return upper(strings.ReplaceAll(q.binding.action, "-", " ")) }

// retitle writes the title: what is done to what.
func (q *question) retitle() {
	cmd := q.cmds[0]
	what := objects(q.cmds)
	switch {
	case len(q.cmds) > 1:
	case cmd.Verb == ops.VerbSkip && cmd.Item == "":
		q.title = "End " + what + " now?"
		return
	case cmd.Verb == ops.VerbForce:
		what = "the stop"
	case what == "":
		what = q.gateway
	}
	q.title = q.verb() + " " + what + "?"
}

// openDialog opens a question.
func (m *model) openDialog(q *question) tea.Cmd {
	m.ask, m.stale, m.message = q, true, ""
	if q.cmds == nil {
		q.known = true
	}
	return tea.Batch(q.arm(m), q.preview(m))
}

// arm waits for armAfter without a key of the person.
func (q *question) arm(m *model) tea.Cmd {
	q.armed = false
	q.quiet++
	a := armed{q.quiet}
	return m.tasks.cmd("arm the keys", func(ctx context.Context) tea.Msg {
		pause(ctx, armAfter)
		return a
	})
}

func (m *model) onArmed(a armed) {
	if m.ask != nil && m.ask.quiet == a.quiet {
		m.ask.armed, m.stale = true, true
	}
}

// confirmed sends the commands, unless their objects have ended since the newest snapshot.
func (m *model) confirmed(q *question) tea.Cmd {
	if m.settle(); m.ask == nil {
		return nil
	}
	if why := q.binding.off(m.keyContext(false)); why != "" {
		m.withdraw(why)
		return nil
	}
	m.ask = nil
	return m.send(q.cmds)
}

// line is the question in one line. The answers follow it as soon as their keys are taken.
func (q *question) line() string {
	text := strings.TrimSuffix(q.title, "?")
	for _, f := range q.facts {
		if f.Label == "would kill" || f.Label == "would interrupt" || f.Label == "would lose" {
			text += " (" + f.Label + " " + term.Clean(f.Text, 2*maxName) + ")"
		}
	}
	if !q.armed || !q.known {
		return text + fmt.Sprintf("? (armed in %.1fs) ", armAfter.Seconds())
	}
	return text + "? y/N "
}

// dialog is the question as a box.
func (q *question) dialog() views.Dialog {
	d := views.Dialog{
		Title: q.title, Text: q.text, Facts: q.facts, Focus: q.focus, Want: q.want,
		Armed: q.armed && q.known, ArmsIn: armAfter, News: q.news, Note: q.note, Danger: q.tier == withWord,
	}
	if q.typed != nil {
		d.Typed = q.typed.text()
	}
	if !q.known && len(q.facts) == 0 {
		d.Facts = []views.Fact{{Label: "would end", Text: "asking the gateway"}}
	}
	for i, a := range q.answers {
		key := a.key
		if i == 0 {
			key = "n or esc"
		}
		switch {
		case q.typed != nil && i == 0:
			key = "esc"
		case q.typed != nil:
			key = "enter"
		}
		d.Buttons = append(d.Buttons, views.Button{Key: key, Label: a.label})
	}
	return d
}

func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
