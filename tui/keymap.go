package tui

import (
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// tier is how much a key asks before it acts. It depends on the state, not on the verb (DESIGN.md, 8.2).
type tier int

const (
	// atOnce acts without a question.
	atOnce tier = iota
	// oneLine asks in the footer.
	oneLine
	// withDialog shows what would end, and defaults to Cancel.
	withDialog
	// withWord has a word typed as well.
	withWord
)

func (t tier) String() string {
	return [...]string{"at once", "asks in one line", "shows what would end, then asks", "shows what is lost, a word is typed"}[t]
}

// binding is one row of the one table of keys: key presses, footer, help page, palette, read-only and the documentation
// are all made of it.
type binding struct {
	// action is its name in the palette.
	action string
	// keys are as Bubble Tea names them; none is reached by the palette alone.
	keys []string
	// label stands in the footer; empty keeps it out of there. help is one line.
	label, help string
	// pair is what stands before the label where two rows are one pair of keys; empty is the first key.
	pair string
	// in are the views in which it works; nil is everywhere.
	in []views.View
	// pages are those of the shutdown view on which it works; nil is all of them.
	pages []views.StopPage
	// verb is what an action key asks of the gateway; twin is the same on the command line.
	verb          ops.Verb
	cliEquivalent string
	// confirm is the highest tier that asks can answer. asks is the tier here and now; nil is always highest.
	confirm tier
	asks    func(f keyContext) tier
	// disabledReason says in one line why it does not apply; "" if it does. nil applies always. Of an action key it is asked only
	// where the verb has something to act on.
	disabledReason func(f keyContext) string
	// target makes the command of an action key, which acts on the row or on the gateway.
	target func(f keyContext) ops.Command
	// marks says that an action key acts on all marked rows.
	marks bool
	// do is what a key does that has no verb.
	do func(m *model) tea.Cmd
}

func (b *binding) isAction() bool { return b.verb != "" }

// readOnlyNote is why a console that only looks does not act.
const readOnlyNote = "this console is read-only"

// works says why b does not work here and now; "" if it does.
func (b *binding) works(f keyContext) string {
	if why := b.off(f); why != "" || b.disabledReason == nil {
		return why
	}
	if f.view == views.Shutdown && !b.onPage(f.page) && b.disabledReason(f) == "" {
		return "it works on another page of this view"
	}
	return b.disabledReason(f)
}

// off says why the keys of b's verb work on no row.
func (b *binding) off(f keyContext) string {
	if !b.isAction() {
		return ""
	}
	switch {
	case f.page == views.StopReplay && f.view == views.Shutdown:
		return "this is a replay of a past stop: no key acts on the gateway; esc leaves it"
	case f.readOnly:
		return readOnlyNote
	case f.link == views.LinkGone:
		return "the gateway is gone"
	case f.link == views.LinkLoading:
		return "the gateway has not answered yet"
	}
	if spec, _ := b.verb.Spec(); f.state == ops.StateStopping && !spec.WhileStopping {
		return "the gateway is stopping; only the levers of the shutdown work"
	}
	return ""
}

func (b *binding) tier(f keyContext) tier {
	if b.asks == nil {
		return b.confirm
	}
	return b.asks(f)
}

func (b *binding) inView(v views.View) bool { return b.in == nil || slices.Contains(b.in, v) }

// bindings is the table. It is filled by init because some of its functions read it.
var bindings []binding

func (b *binding) onPage(p views.StopPage) bool {
	return b.pages == nil || slices.Contains(b.pages, p)
}

// bindingFor returns the row that a key means in a view, and on a page of the shutdown view: the page's own, before what works
// everywhere, before that of another page, which says why it does not work.
func bindingFor(key string, v views.View, page views.StopPage) *binding {
	var everywhere, other *binding
	for i := range bindings {
		switch b := &bindings[i]; {
		case !slices.Contains(b.keys, key):
		case b.in == nil:
			everywhere = b
		case b.inView(v) && (v != views.Shutdown || b.onPage(page)):
			return b
		case b.inView(v) && other == nil:
			other = b
		}
	}
	if everywhere != nil {
		return everywhere
	}
	return other
}

// elsewhere is a row of a key that does nothing here.
func elsewhere(key string) *binding {
	if i := slices.IndexFunc(bindings, func(b binding) bool { return slices.Contains(b.keys, key) }); i >= 0 {
		return &bindings[i]
	}
	return nil
}

func named(action string) *binding {
	return find(bindings, action, func(b binding) string { return b.action })
}

// Key is one row of the table for the documentation.
type Key struct {
	// Action is its name after ":" in the palette; Keys are what is pressed, empty for the palette alone.
	Action string
	Keys   []string
	Help   string
	// Views are the names of the views in which it works, empty for all.
	Views []string
	// Confirm says how it asks before it acts.
	Confirm string
	// Verb is what a lever asks of the gateway, Command its twin on the command line; both are empty for other keys.
	Verb    ops.Verb
	Command string
}

// Keys is the whole table, in the order of the help page.
func Keys() []Key {
	out := make([]Key, 0, len(bindings))
	for _, b := range bindings {
		k := Key{Action: b.action, Help: b.help, Confirm: b.confirm.String(), Verb: b.verb, Command: b.cliEquivalent}
		for _, name := range b.keys {
			k.Keys = append(k.Keys, keyName(name))
		}
		for _, v := range b.in {
			k.Views = append(k.Views, v.String())
		}
		out = append(out, k)
	}
	return out
}

func keyName(key string) string {
	if key == " " {
		return "space"
	}
	return key
}

func keyNames(keys []string) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = keyName(k)
	}
	return strings.Join(names, " ")
}

// keyContext is what a key is judged by: where the person is, and what the newest snapshot says of the row under the cursor.
type keyContext struct {
	view     views.View
	link     views.LinkState
	readOnly bool
	state    ops.State
	gateway  string        // its life
	stop     *ops.Shutdown // the one that runs, nil if none does

	session *ops.Session
	agent   *ops.Agent
	process *ops.Process
	adapter *ops.Adapter
	held    *ops.Held
	named   string     // a person, a request of the inbox or a rule that was named; empty: none
	phase   *ops.Phase // of stop: the selected item's, else the running one
	item    *ops.Item  // of stop: selected, nil if none is
	page    views.StopPage
	life    *ops.Life
	last    *ops.Shutdown // the one that was watched to its end, nil if none was
	now     time.Time
}

// subject is the session that a key about sessions means: the row's own, or the one that owns the row.
func (f keyContext) subject() string {
	switch {
	case f.session != nil:
		return f.session.Key
	case f.agent != nil:
		return f.agent.Session
	}
	return ""
}

// nameFor is the name of what a verb acts on that takes a name: what was typed, or the row of view 9.
func (f keyContext) nameFor(kind ops.TargetKind) string {
	switch {
	case f.named != "" || f.held == nil:
		return f.named
	case kind == ops.TargetJob && f.held.Kind == views.KindJob:
		return f.held.ID
	case kind == ops.TargetServer && (f.held.Kind == ops.HeldServer || f.held.Kind == ops.HeldBrowser):
		return f.held.ID
	}
	return ""
}

// busy reports whether the row's session or agent runs a turn, or may begin its next one at any moment.
func (f keyContext) busy() bool { return busy(f.session, f.now) || f.agent != nil && f.agent.Busy }

// keyContext are those of the row under the cursor: as it is drawn, or as the newest snapshot has it.
func (m *model) keyContext(newest bool) keyContext {
	f := keyContext{
		view: m.view, link: m.link.State, readOnly: m.opt.ReadOnly, state: m.status.State, stop: m.stopping(), now: m.now, gateway: m.status.Life,
	}
	snap := &m.shown
	if newest && m.snap != nil {
		snap = m.snap
	}
	l := m.lists[m.view]
	switch m.view {
	case views.Overview:
		switch r := m.overviewRow(); r.View {
		case views.Sessions:
			f.session = find(snap.Sessions, r.Key, sessionKey)
		case views.Processes:
			f.process = find(snap.Processes, r.Key, processKey)
		case views.Adapters:
			f.adapter = find(snap.Adapters, r.Key, adapterKey)
		}
	case views.Sessions:
		f.session = row(l, snap.Sessions, sessionKey)
	case views.Agents:
		if f.agent = row(l, snap.Agents, agentKey); f.agent != nil {
			f.session = find(snap.Sessions, f.agent.Session, sessionKey)
		}
	case views.Processes:
		f.process = row(l, snap.Processes, processKey)
	case views.Adapters:
		f.adapter = row(l, snap.Adapters, adapterKey)
	case views.Held:
		if f.held = row(l, snap.Held, heldKey); f.held != nil && f.held.Kind == ops.HeldAgent { // its program ends with the cached agent of its session
			f.session = find(snap.Sessions, f.held.Session, sessionKey)
		}
	}
	f.phase, f.item = m.stopChoice()
	f.page, f.life, f.last = m.leaf(), m.life(), m.stop
	return f
}

// keyContextOf are those of another row of the open view, for marks.
func (m *model) keyContextOf(key string) keyContext {
	l := m.lists[m.view]
	was := l.Selected
	l.Selected = key
	defer func() { l.Selected = was }()
	return m.keyContext(true)
}

func (m *model) stopChoice() (*ops.Phase, *ops.Item) {
	s := m.stopping()
	if s == nil {
		return nil, nil
	}
	phase, key := views.StopItem(m.bare())
	p := find(s.Phases, phase, func(p ops.Phase) string { return p.Name })
	if p == nil {
		return nil, nil
	}
	return p, find(p.Items, key, ops.Item.Key)
}

// running reports whether the session has a turn that a reset or an interrupt would end.
func running(s *ops.Session) bool {
	return s != nil && (s.Turn != "" || s.State == ops.SessionRunning || s.State == ops.SessionStalled)
}

// lately is how long after its last activity a session counts as busy: one whose client sends its next message as soon as it
// has an answer runs no turn for moments at a time.
const lately = 2 * time.Second

// busy reports whether the session runs a turn, or may begin its next one at any moment.
func busy(s *ops.Session, now time.Time) bool {
	if s == nil {
		return false
	}
	since := now.Sub(s.LastActivityAt.Time)
	return running(s) || since >= 0 && since < lately
}
