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

// armAfter is how long nobody may have typed before a question takes keys: what was typed a moment too early is lost,
// not done (console notes, 3.5).
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
	typed   *field

	// armed says that keys are taken; quiet numbers the waits for it, so that each key begins a new one.
	armed  bool
	quiet  int
	number int // of the preview that is wanted; older ones are dropped
	known  bool

	// cmds are what is done, with what each target was when it was shown; nil for a question that gives no command.
	binding *binding
	gateway string
	cmds    []ops.Command
	was     []string
	changed string
	note    string
	dead    bool // what it asks about is gone
	// closes says that an eviction ends the session's process trees as well: the commands after the first.
	closes bool
}

// answer is one button: the key that presses it and what it does. do is nil for Cancel.
type answer struct {
	key, label string
	do         func(m *model) tea.Cmd
}

func cancelAnswer() answer { return answer{key: "n", label: "Cancel"} }

// armed says that nobody has typed since the wait with this number began.
type armed struct{ quiet int }

// previewed is what the commands of a question would do.
type previewed struct {
	number int
	all    []ops.Preview
	err    error
}

// pull begins what a lever does: at once, or after its question.
func (m *model) pull(b *binding, f facts) tea.Cmd {
	cmd := b.aim(f)
	if cmd.Verb == ops.VerbMessage {
		return m.openPalette("send " + cmd.Target + " ")
	}
	return m.put(b, []ops.Command{cmd}, b.tier(f))
}

// pullMarked is pull for all marked rows that it applies to, with one question.
func (m *model) pullMarked(b *binding) tea.Cmd {
	l := m.lists[m.view]
	var cmds []ops.Command
	why := ""
	for _, key := range l.keys {
		if !l.Marked[key] {
			continue
		}
		f := m.factsOf(key)
		if not := b.works(f); not != "" {
			why = not
			continue
		}
		cmds = append(cmds, b.aim(f))
	}
	if len(cmds) == 0 {
		m.deny("none of the marked rows: " + why)
		return nil
	}
	cmd := m.put(b, cmds, withDialog)
	if left := len(l.Marked) - len(cmds); left > 0 && m.ask != nil {
		m.ask.note = fmt.Sprintf("%d marked rows are left out: %s", left, why)
	}
	return cmd
}

// put gives commands, or asks first.
func (m *model) put(b *binding, cmds []ops.Command, t tier) tea.Cmd {
	if t == atOnce {
		return m.give(cmds)
	}
	q := &question{tier: t, binding: b, cmds: cmds}
	q.name(m.opt.Name)
	if len(cmds) == 1 && cmds[0].Verb == ops.VerbEvict {
		q.setClose(m.snapshot(), false)
	}
	q.see(m)
	return m.raise(q)
}

// see notes what each target is now.
func (q *question) see(m *model) {
	q.was = nil
	for _, cmd := range q.cmds {
		is, _ := identify(m.snapshot(), m.stopping(), cmd)
		q.was = append(q.was, is)
	}
}

func (m *model) snapshot() *ops.Snapshot {
	if m.snap == nil {
		return &ops.Snapshot{}
	}
	return m.snap
}

// name writes the words of a question from its commands. gateway is what the gateway is called, empty for none.
func (q *question) name(gateway string) {
	cmd := q.cmds[0]
	q.gateway = strings.TrimSpace("gateway " + term.Clean(gateway, maxName))
	if gateway == "" {
		q.gateway = "the gateway"
	}
	what := object(cmd)
	switch {
	case len(q.cmds) > 1:
		what = fmt.Sprintf("%d marked", len(q.cmds))
	case cmd.Verb == ops.VerbForce:
		what = "the stop"
	case what == "":
		what = q.gateway
	}
	verb := strings.ToUpper(q.binding.action[:1]) + strings.ReplaceAll(q.binding.action[1:], "-", " ")
	q.title = verb + " " + what + "?"
	q.text = []string{upper(q.binding.help) + "."}
	do := func(m *model) tea.Cmd { return m.confirmed(q) }
	q.answers = []answer{cancelAnswer(), {"y", verb, do}}
	if cmd.Verb == ops.VerbForce {
		q.want = "force"
	}
	if cmd.Verb == ops.VerbStop {
		q.setMode(ops.ModeGraceful)
	}
	if q.want != "" {
		q.typed, q.tier = newField(""), withWord
	}
}

var modeText = map[ops.Mode]string{
	ops.ModeGraceful:  "Graceful: running turns may finish within the drain's time, then everything is closed in order.",
	ops.ModeFast:      "Fast: running turns are interrupted at once, then everything is closed in order.",
	ops.ModeImmediate: "Immediate: turns are cut off, processes killed, the stores closed. Type the word to do it.",
}

// setMode chooses the strength of a stop; the strongest asks for a word.
func (q *question) setMode(mode ops.Mode) {
	q.cmds[0].Mode = mode
	q.title = "Stop " + q.gateway + " (" + string(mode) + ")?"
	q.text = []string{modeText[mode]}
	q.note = "m changes the mode: graceful, fast, immediate"
	q.want, q.typed, q.tier = "", nil, withDialog
	if mode == ops.ModeImmediate {
		q.want, q.typed, q.tier = "immediate", newField(""), withWord
		q.note = "tab, then m, changes the mode: graceful, fast, immediate"
	}
}

// setClose chooses whether an eviction keeps the session's process trees or ends them too (console notes, 3.1). Without any
// there is nothing to choose.
func (q *question) setClose(snap *ops.Snapshot, on bool) {
	evict := q.cmds[0]
	q.cmds, q.closes, q.note = []ops.Command{evict}, false, ""
	var kills []ops.Command
	for _, p := range snap.Processes {
		if p.Session == evict.Target && p.State != "killing" {
			kills = append(kills, ops.Command{Verb: ops.VerbKill, Target: processKey(p)})
		}
	}
	trees := objects(append([]ops.Command{evict}, kills...))
	switch {
	case len(kills) == 0:
	case on:
		q.cmds, q.closes = append(q.cmds, kills...), true
		q.title, q.text = "Evict "+trees+"?", []string{"Drop the cached agent and end the session's processes: TERM, then KILL. The session and its history are kept."}
		q.note = "c keeps the processes"
		return
	default:
		q.note = "c ends the session's processes too"
	}
	q.title, q.text = "Evict "+object(evict)+"?", []string{upper(q.binding.help) + "."}
}

// raise opens a question.
func (m *model) raise(q *question) tea.Cmd {
	m.ask, m.stale, m.message = q, true, ""
	if q.cmds == nil {
		q.known = true
	}
	return tea.Batch(q.arm(m), q.preview(m))
}

// arm waits for armAfter without a key.
func (q *question) arm(m *model) tea.Cmd {
	q.armed = false
	q.quiet++
	a := armed{q.quiet}
	return m.tasks.cmd("arm the keys", func(ctx context.Context) tea.Msg {
		rest(ctx, armAfter)
		return a
	})
}

func (m *model) onArmed(a armed) {
	if m.ask != nil && m.ask.quiet == a.quiet {
		m.ask.armed, m.stale = true, true
	}
}

// mostPreviews bounds what one dialog asks; of more marked rows it says that there are more.
const mostPreviews = 32

// preview asks what the commands would do now.
func (q *question) preview(m *model) tea.Cmd {
	if q.cmds == nil {
		return nil
	}
	m.previews++
	q.number, q.known = m.previews, false
	cmds, number := slices.Clone(q.cmds[:min(len(q.cmds), mostPreviews)]), q.number
	return m.tasks.cmd("preview", func(ctx context.Context) tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, previewBound)
		defer cancel()
		p := previewed{number: number}
		for _, cmd := range cmds {
			one, err := m.console.Preview(ctx, cmd)
			if err != nil {
				p.err = err
				break
			}
			p.all = append(p.all, one)
		}
		return p
	})
}

func (m *model) onPreviewed(p previewed) tea.Cmd {
	q := m.ask
	if q == nil || q.number != p.number {
		return nil
	}
	m.stale, q.known = true, true
	q.facts = merge(p.all)
	if q.closes { // the eviction alone would keep what is ended here
		q.facts = slices.DeleteFunc(q.facts, func(f views.Fact) bool { return f.Label == "would keep" })
	}
	switch {
	case p.err != nil && !ops.HasCode(p.err, ops.CodeUnavailable) && !ops.HasCode(p.err, ops.CodeInternal):
		q.die(ops.AsError(p.err).Message)
	case p.err != nil:
		q.facts = append(q.facts, views.Fact{Label: "would end", Text: "unknown: " + ops.AsError(p.err).Message})
	case len(q.cmds) > mostPreviews:
		q.facts = append(q.facts, views.Fact{Label: "and", Text: fmt.Sprintf("what %d more rows come to", len(q.cmds)-mostPreviews)})
	}
	return nil
}

// merge is what several previews say together.
func merge(all []ops.Preview) []views.Fact {
	var out []views.Fact
	add := func(label string, of func(ops.Preview) []string) {
		var texts []string
		for _, p := range all {
			texts = append(texts, of(p)...)
		}
		if len(texts) == 0 {
			return
		}
		const most = 6
		if n := len(texts); n > most {
			texts = append(texts[:most:most], fmt.Sprintf("and %d more", n-most))
		}
		out = append(out, views.Fact{Label: label, Text: strings.Join(texts, "; ")})
	}
	add("would wait for", func(p ops.Preview) []string { return p.WaitsFor })
	add("would interrupt", func(p ops.Preview) []string { return p.Interrupt })
	add("would close", func(p ops.Preview) []string { return p.Closes })
	add("would kill", func(p ops.Preview) []string { return p.Kills })
	add("would lose", func(p ops.Preview) []string { return p.Loses })
	add("would keep", func(p ops.Preview) []string { return p.Keeps })
	var worst int64
	for _, p := range all {
		worst = max(worst, p.WorstCaseMS)
	}
	if worst > 0 {
		out = append(out, views.Fact{Label: "at the latest", Text: (time.Duration(worst) * time.Millisecond).Round(100 * time.Millisecond).String()})
	}
	return out
}

// recheck compares what an open question showed with what is there now. What has changed is said, the preview is made
// again, and the keys are armed anew.
func (m *model) recheck() tea.Cmd {
	q := m.ask
	if q == nil || q.dead || q.cmds == nil || m.snap == nil {
		return nil
	}
	for i := range q.cmds {
		is, ok := identify(m.snap, m.stopping(), q.cmds[i])
		if ok && is == q.was[i] {
			continue
		}
		m.stale = true
		name := object(q.cmds[i])
		if !ok {
			if len(q.cmds) == 1 || q.closes && i == 0 {
				q.die(or(name, name, "what it is about") + " is not there any more")
				return nil
			}
			q.changed = name + " is not there any more; it is left out"
			q.cmds, q.was = slices.Delete(q.cmds, i, i+1), slices.Delete(q.was, i, i+1)
			return tea.Batch(q.arm(m), q.preview(m))
		}
		q.was[i] = is
		q.changed = or(name, name+" has changed", "what is running has changed")
		if s := find(m.snap.Sessions, q.cmds[i].Target, sessionKey); s != nil && q.cmds[i].Expect != "" {
			q.cmds[i].Expect = expect(s)
			if q.tier == oneLine && q.binding.tier(facts{session: s}) > oneLine {
				q.tier = withDialog
			}
		}
		return tea.Batch(q.arm(m), q.preview(m))
	}
	return nil
}

func or(name, some, none string) string {
	if name != "" {
		return some
	}
	return none
}

// die leaves the question open without an answer but Cancel.
func (q *question) die(why string) {
	q.dead, q.changed = true, why+"; nothing will be done"
	q.answers, q.focus, q.want, q.typed, q.tier = q.answers[:1], 0, "", nil, max(q.tier, withDialog)
	q.known = true
}

// confirmed gives the commands, unless what was shown is no longer so.
func (m *model) confirmed(q *question) tea.Cmd {
	if q.dead {
		return nil
	}
	if cmd := m.recheck(); cmd != nil || q.dead {
		m.ask = q
		return cmd
	}
	if why := q.binding.off(m.facts(false)); why != "" {
		m.ask = nil
		m.deny("nothing done: " + why)
		return nil
	}
	m.ask = nil
	return m.give(q.cmds)
}

// line is the question in one line.
func (q *question) line() string {
	text := strings.TrimSuffix(q.title, "?")
	if q.changed != "" {
		text = "changed: " + q.changed + ". " + text
	}
	for _, f := range q.facts {
		if f.Label == "would kill" || f.Label == "would interrupt" || f.Label == "would lose" {
			text += " (" + f.Label + " " + term.Clean(f.Text, 2*maxName) + ")"
		}
	}
	return text + "? y/N "
}

// dialog is the question as a box.
func (q *question) dialog() views.Dialog {
	d := views.Dialog{
		Title: q.title, Text: q.text, Facts: q.facts, Focus: q.focus, Want: q.want,
		Armed: q.armed && q.known, ArmsIn: armAfter, Changed: q.changed, Note: q.note, Danger: q.tier == withWord,
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
		if q.typed != nil {
			key = or(key, map[bool]string{true: "esc", false: "enter"}[i == 0], "")
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
