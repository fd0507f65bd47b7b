package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
	"gatewaytui/views"
)

// reply answers one request of the inbox (OP1, TR4): its facts, and a key for each answer. It names the request by its id, so that
// a key never answers another one.
type reply struct {
	asking
	item ops.InboxItem
	// writes is what the line of text becomes; nil while none is written.
	writes func(text string) ops.Command
}

// replyArms is how long the facts of a request must have been on the screen before a key answers it.
const replyArms = 500 * time.Millisecond

func inboxKey(i ops.InboxItem) string { return i.ID }

// respond opens the request under the cursor: that of the row, of the session, or of the concern.
func (m *model) respond() tea.Cmd {
	item := m.requested()
	switch {
	case item == nil:
		m.deny("nothing here waits for an answer; 8 shows the inbox")
		return nil
	case m.opt.ReadOnly:
		m.deny(readOnlyNote)
		return nil
	case item.State != ops.InboxWaiting:
		m.deny("request " + term.Clean(item.ID, maxName) + " has ended: " + string(item.State))
		return nil
	}
	r := &reply{item: *item}
	r.wait = replyArms
	r.choose()
	m.dialog, m.stale, m.message = r, true, ""
	return r.arm(m)
}

// requested is the request that the selected row is or has; nil: none.
func (m *model) requested() *ops.InboxItem {
	snap, selected := m.snapshot(), m.lists[m.view].Selected
	waits := func(of func(ops.InboxItem) bool) *ops.InboxItem {
		if i := slices.IndexFunc(snap.Inbox, func(i ops.InboxItem) bool { return i.State == ops.InboxWaiting && of(i) }); i >= 0 {
			return &snap.Inbox[i]
		}
		return nil
	}
	switch m.view {
	case views.Inbox:
		return find(snap.Inbox, selected, inboxKey)
	case views.Sessions:
		return waits(func(i ops.InboxItem) bool { return i.Session == selected })
	case views.Adapters:
		return waits(func(i ops.InboxItem) bool {
			return i.Kind == ops.InboxAdapter && strings.HasPrefix(i.Text, selected+": ")
		})
	case views.Overview:
		switch row := m.overviewRow(); row.View {
		case views.Inbox:
			return find(snap.Inbox, row.Key, inboxKey)
		case views.Sessions:
			if item := waits(func(i ops.InboxItem) bool { return i.Session == row.Key }); item != nil {
				return item
			}
		}
		return waits(func(ops.InboxItem) bool { return true })
	}
	return nil
}

// choose makes the answers that the request takes.
func (r *reply) choose() {
	r.writes, r.typed, r.Want, r.Note = nil, nil, "", ""
	r.Title = string(r.item.Kind) + " " + r.item.ID
	r.answers = []answer{{key: "esc", label: "Later"}}
	add := func(key, label string, cmd ops.Command) {
		r.answers = append(r.answers, answer{key, label, func(m *model) tea.Cmd { return r.give(m, cmd) }})
	}
	switch {
	case r.item.Kind.Remedied():
		for i, option := range r.item.Options {
			first, n := utf8.DecodeRuneInString(option)
			add(views.RemedyKey(i, option), string(unicode.ToUpper(first))+option[n:], r.command(ops.VerbAnswer, func(c *ops.Command) { c.Text = option }))
		}
	case r.item.Kind == ops.InboxQuestion:
		for i, option := range r.item.Options[:min(len(r.item.Options), 9)] {
			add(strconv.Itoa(i+1), option, r.command(ops.VerbAnswer, func(c *ops.Command) { c.Text = option }))
		}
		r.answers = append(r.answers, answer{"w", "Write", func(*model) tea.Cmd {
			return r.write("your answer", func(text string) ops.Command {
				return r.command(ops.VerbAnswer, func(c *ops.Command) { c.Text = text })
			})
		}})
	default:
		r.approvals(add)
	}
	if r.item.Session != "" {
		r.Note = "t opens the session"
	}
}

// approvals are the answers to what is allowed or denied.
func (r *reply) approvals(add func(key, label string, cmd ops.Command)) {
	allow := func(s ops.Scope) ops.Command {
		return r.command(ops.VerbApprove, func(c *ops.Command) { c.Scope = s })
	}
	once := "Once"
	if r.item.Kind == ops.InboxPairing {
		once = "Let in"
	}
	add("y", once, allow(""))
	for _, s := range []struct {
		scope      ops.Scope
		key, label string
	}{{ops.ScopeTurn, "u", "Turn"}, {ops.ScopeSession, "s", "Session"}, {ops.ScopeAlways, "a", "Always"}} {
		if slices.Contains(r.item.Options, string(s.scope)) {
			add(s.key, s.label, allow(s.scope))
		}
	}
	add("n", "No", r.command(ops.VerbDeny, func(*ops.Command) {}))
	r.answers = append(r.answers, answer{"r", "Why", func(*model) tea.Cmd {
		return r.write("why not", func(text string) ops.Command {
			return r.command(ops.VerbDeny, func(c *ops.Command) { c.Reason = text })
		})
	}})
}

// command acts on the request while its turn waits for it.
func (r *reply) command(verb ops.Verb, with func(*ops.Command)) ops.Command {
	cmd := ops.Command{Verb: verb, Target: r.item.ID, Expect: r.item.Turn}
	with(&cmd)
	return cmd
}

// write begins a line of text.
func (r *reply) write(what string, then func(text string) ops.Command) tea.Cmd {
	r.typed, r.writes = newInput(""), then
	r.Note = what + ": enter sends it, esc goes back"
	return nil
}

// give sends the answer.
func (r *reply) give(m *model, cmd ops.Command) tea.Cmd {
	if m.happened(newsCame); m.dialog == nil {
		return nil
	}
	b := find(bindings, string(cmd.Verb), func(b binding) string { return string(b.verb) })
	if why := b.off(m.keyContext(false)); why != "" {
		r.Note = why
		return nil
	}
	m.dialog = nil
	return m.send([]ops.Command{cmd})
}

func (r *reply) key(m *model, k tea.KeyMsg) tea.Cmd {
	key := k.String()
	switch {
	case r.writes != nil && key == "esc":
		r.choose()
	case r.writes != nil && key == "enter" && r.typed.text() != "":
		return r.give(m, r.writes(r.typed.text()))
	case r.writes != nil:
		r.typed.key(k)
	case k.Paste:
	case key == "esc", key == "q":
		m.dialog = nil
	case key == "t" && r.item.Session != "":
		m.dialog = nil
		cmd := m.jump(views.Sessions, r.item.Session)
		return tea.Batch(cmd, m.showPage(views.PageTalk))
	case !r.armed:
		return r.arm(m)
	case key == "left", key == "shift+tab":
		r.Focus = max(r.Focus-1, 0)
	case key == "right", key == "tab":
		r.Focus = (r.Focus + 1) % len(r.answers)
	case key == "enter" && r.Focus == 0:
		m.dialog = nil
	case key == "enter":
		return r.answers[r.Focus].do(m)
	default:
		if a := find(r.answers[1:], key, func(a answer) string { return a.key }); a != nil {
			return a.do(m)
		}
	}
	return nil
}

func (r *reply) draw(s *views.Screen) {
	d := r.Dialog
	d.Armed, d.ArmsIn, d.Facts = r.armed, replyArms, views.InboxFacts(s.Opts, &r.item)
	if r.writes != nil {
		d.Note += "\n> " + r.typed.text() + "_"
	}
	for _, a := range r.answers {
		d.Buttons = append(d.Buttons, views.Button{Key: a.key, Label: a.label})
	}
	s.Over = d
}

func (r *reply) help() string { return "y allows it once; n denies it; esc leaves it for later." }

// closedBy closes the dialog when the request has ended elsewhere.
func (r *reply) closedBy(m *model, e occurrence) bool {
	if e != newsCame || m.snap == nil {
		return e == lifeBegan
	}
	name := "request " + term.Clean(r.item.ID, maxName)
	now := find(m.snap.Inbox, r.item.ID, inboxKey)
	switch {
	case m.link.State == views.LinkGone:
		m.withdraw("the gateway is gone")
	case now == nil && m.snap.Omitted != nil && m.snap.Omitted.Inbox > 0:
		return false
	case now == nil:
		m.withdraw(name + " has ended")
	case now.State != ops.InboxWaiting:
		by := ""
		if now.By != "" {
			by = " by " + term.Clean(now.By, maxName)
		}
		m.withdraw(fmt.Sprintf("%s is %s%s already", name, now.State, by))
	default:
		r.item = *now
		return false
	}
	return true
}
