package tui

import (
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
	"gatewaytui/views"
)

// mostMatches bounds what the palette lists.
const mostMatches = 50

// palette is ":": every action by its name, with its targets completed.
type palette struct {
	views.Palette
	typed *input
	moved bool // the person chose a match
	// preview is the theme of the match that is chosen; nil: the match is no theme.
	preview *views.Theme
	back    int // how many lines ago what is shown was typed; 0: it was typed now
}

type command struct {
	name, help, key string
	// binding is what it does; nil for the commands below.
	binding *binding
	// takes lists what may follow the name; nil if nothing may. free says that anything may.
	// more says that something may follow the target.
	takes      func(m *model) []string
	free, more bool
	run        func(m *model, arg string) tea.Cmd
}

// argument is what follows the command's name, without the name of its flag: "stop --mode fast" is "stop fast".
func (c command) argument(arg string) string {
	if c.binding == nil {
		return arg
	}
	flag := map[ops.Verb]string{ops.VerbStop: "--mode", ops.VerbDrain: "--reason", ops.VerbExtend: "--by"}[c.binding.verb]
	if rest, is := strings.CutPrefix(arg, flag); is && flag != "" && (rest == "" || rest[0] == ' ' || rest[0] == '=') {
		return strings.TrimSpace(strings.TrimPrefix(rest, "="))
	}
	return arg
}

// names reports whether arg is something that the command can act on.
func (c command) names(m *model, arg string) bool {
	if arg == "" || c.takes == nil || c.free {
		return true
	}
	if c.more {
		arg, _, _ = strings.Cut(arg, " ")
	}
	return slices.Contains(c.takes(m), arg)
}

// settings are the commands that are no key: they take a value.
func settings() []command {
	return []command{
		{name: "theme", help: "dark, light, high-contrast or mono; auto is that of the config", takes: themes, run: (*model).setTheme},
		{name: "mouse", help: "on: the wheel scrolls, a click selects a row or a tab; off: the terminal selects text", takes: func(*model) []string { return []string{"on", "off"} }, run: (*model).setMouse},
		{name: "sort-by", help: "sort the rows by a column", takes: func(m *model) []string { return views.SortColumns(m.view) }, run: (*model).sortBy},
		{name: "filter-by", help: "show what matches", free: true, run: (*model).setFilter},
		{name: "search", help: "what was said in all conversations, newest first", free: true, run: (*model).search},
		{name: "export", help: "write a session's conversation into a new file of this folder: export [KEY]", takes: func(m *model) []string { return views.Keys(m.snapshot(), views.Sessions) }, run: (*model).export},
		{name: "quit", help: "ask how to leave", run: func(m *model, _ string) tea.Cmd { return m.askLeave() }},
	}
}

// commands are all of them. A read-only console has no levers.
func (m *model) commands() []command {
	var out []command
	for i := range bindings {
		b := &bindings[i]
		if b.isAction() && m.opt.ReadOnly {
			continue
		}
		c := command{name: b.action, help: b.help, key: keyNames(b.keys), binding: b, run: func(m *model, arg string) tea.Cmd { return m.runNamed(b, arg) }}
		if spec, ok := b.verb.Spec(); ok {
			c.takes = targets(spec)
			c.free = spec.Rest.Free()
			c.more = spec.Target == ops.TargetInbox || spec.Target == ops.TargetBudget
		}
		out = append(out, c)
	}
	return append(out, settings()...)
}

// targets lists what a verb can act on; nil for one that takes no name.
func targets(spec ops.VerbSpec) func(m *model) []string {
	if spec.Rest == ops.RestMode {
		return func(*model) []string {
			return []string{string(ops.ModeGraceful), string(ops.ModeFast), string(ops.ModeImmediate)}
		}
	}
	switch spec.Target {
	case ops.TargetInbox:
		return (*model).waitingRequests
	case ops.TargetServer:
		return (*model).serverNames
	case ops.TargetJob:
		return func(m *model) (names []string) {
			for _, j := range m.snapshot().Jobs {
				names = append(names, j.Name)
			}
			return names
		}
	case ops.TargetBudget:
		return func(m *model) (names []string) {
			for _, b := range m.status.Budgets {
				names = append(names, b.Name)
			}
			return names
		}
	}
	v, has := map[ops.TargetKind]views.View{ops.TargetSession: views.Sessions, ops.TargetProcess: views.Processes, ops.TargetAdapter: views.Adapters}[spec.Target]
	if !has {
		return nil
	}
	return func(m *model) []string { return views.Keys(m.snapshot(), v) }
}

// serverNames are the names of the MCP servers, each once.
func (m *model) serverNames() (names []string) {
	for _, s := range m.snapshot().Servers {
		names = append(names, s.Name)
	}
	return slices.Compact(names)
}

// waitingRequests are the ids of the requests of the inbox that wait.
func (m *model) waitingRequests() (ids []string) {
	for _, i := range m.snapshot().Inbox {
		if i.State == ops.InboxWaiting {
			ids = append(ids, i.ID)
		}
	}
	return ids
}

func (m *model) openPalette(text string) tea.Cmd {
	p := &palette{typed: newInput(text)}
	m.dialog = p
	p.match(m)
	return nil
}

// match lists what the input could mean, best first.
func (p *palette) match(m *model) {
	p.Input, p.Selected, p.Note, p.moved = p.typed.text(), 0, "", false
	p.Matches = p.Matches[:0]
	name, arg, spaced := strings.Cut(p.Input, " ")
	all := m.commands()
	if i := slices.IndexFunc(all, func(c command) bool { return c.name == name }); i >= 0 && spaced {
		p.complete(m, all[i], strings.TrimSpace(arg))
		return
	}
	var names []string
	for _, c := range all {
		names = append(names, c.name)
	}
	for _, i := range rank(names, name) {
		c := all[i]
		match := views.Match{Name: c.name, Text: c.help, Key: c.key}
		switch {
		case c.binding != nil && c.takes == nil:
			match.Off = c.binding.works(m.keyContext(false))
		case c.binding != nil:
			match.Off = c.binding.off(m.keyContext(false))
		}
		p.Matches = append(p.Matches, match)
	}
	switch {
	case len(p.Matches) > 0 || name == "":
	case m.opt.ReadOnly && named(name) != nil:
		p.Note = readOnlyNote
	default:
		p.Note = "no command " + name + "; nearest: " + text.Nearest(name, names)
	}
}

func (p *palette) complete(m *model, c command, arg string) {
	if c.takes == nil {
		p.Matches = append(p.Matches, views.Match{Name: c.name, Text: c.help, Key: c.key})
		return
	}
	if c.free || c.more { // what follows the target is no name
		arg, _, _ = strings.Cut(arg, " ")
	}
	arg = c.argument(arg)
	names := c.takes(m)
	for _, i := range rank(names, arg) {
		p.Matches = append(p.Matches, views.Match{Name: c.name + " " + names[i], Text: c.help})
		if len(p.Matches) == mostMatches {
			break
		}
	}
	if len(p.Matches) == 0 && arg != "" && len(names) > 0 && !c.free {
		p.Note = "nothing is called " + arg + "; nearest: " + text.Nearest(arg, names)
	}
}

func (p *palette) draw(s *views.Screen) {
	s.Over = p.Palette
	if p.preview != nil {
		s.Theme = p.preview
	}
}

// look shows the screen in the theme that enter would set.
func (p *palette) look(m *model) {
	p.preview = nil
	if p.Selected >= len(p.Matches) {
		return
	}
	if name, is := strings.CutPrefix(p.Matches[p.Selected].Name, "theme "); is && name != themeAuto {
		p.preview = theme(m.themed(name))
	}
}

func (p *palette) help() string                     { return "" }
func (p *palette) closedBy(*model, occurrence) bool { return false }

func (p *palette) key(m *model, k tea.KeyMsg) tea.Cmd {
	defer p.look(m)
	switch k.String() {
	case "esc":
		m.dialog = nil
	case "up":
		if p.recall(m, 1) {
			return nil
		}
		p.Selected, p.moved = max(p.Selected-1, 0), true
	case "ctrl+p":
		p.Selected, p.moved = max(p.Selected-1, 0), true
	case "down":
		if p.recall(m, -1) {
			return nil
		}
		p.Selected, p.moved = min(p.Selected+1, max(len(p.Matches)-1, 0)), true
	case "ctrl+n":
		p.Selected, p.moved = min(p.Selected+1, max(len(p.Matches)-1, 0)), true
	case "tab":
		p.take(m)
	case "enter":
		return p.enter(m)
	case "backspace":
		if p.typed.text() == "" {
			m.dialog = nil
			return nil
		}
		fallthrough
	default:
		if p.typed.key(k) {
			p.back = 0
			p.match(m)
		}
	}
	return nil
}

// recall shows the line that was typed before the one that is shown, or after it. It reports false where the key chooses a match.
func (p *palette) recall(m *model, older int) bool {
	to := p.back + older
	if p.back == 0 && (older < 0 || p.typed.text() != "" || len(m.lines) == 0) {
		return false
	}
	p.back = min(max(to, 0), len(m.lines))
	line := ""
	if p.back > 0 {
		line = m.lines[len(m.lines)-p.back]
	}
	p.typed = newInput(line)
	p.match(m)
	return true
}

func (p *palette) take(m *model) {
	if p.Selected >= len(p.Matches) {
		return
	}
	text := p.Matches[p.Selected].Name
	for _, c := range m.commands() {
		if c.name == text && (c.takes != nil || c.free) {
			text += " "
		}
	}
	p.typed = newInput(text)
	p.match(m)
}

// enter runs what was typed, if it is a command; else it completes it, so that nothing is run that was not read.
func (p *palette) enter(m *model) tea.Cmd {
	if p.moved {
		p.take(m)
	}
	name, arg, _ := strings.Cut(strings.TrimSpace(p.typed.text()), " ")
	arg = strings.TrimSpace(arg)
	c := find(m.commands(), name, func(c command) string { return c.name })
	if c != nil {
		arg = c.argument(arg)
	}
	switch {
	case name == "":
		m.dialog = nil
		return nil
	case c == nil && m.opt.ReadOnly && named(name) != nil:
		p.Note = readOnlyNote
		return nil
	case c == nil, !c.names(m, arg):
		p.take(m)
		return nil
	}
	m.dialog = nil
	m.typed(c, strings.TrimSpace(name+" "+arg))
	if c.key != "" && c.binding != nil && c.binding.isAction() {
		defer func() {
			if m.dialog == nil && m.message == "" && len(m.doing) == 0 {
				m.say("the key for it: " + c.key)
			}
		}()
	}
	return c.run(m, arg)
}

// runNamed is a binding by its name, on a named target or on the row under the cursor.
func (m *model) runNamed(b *binding, arg string) tea.Cmd {
	if !b.isAction() || arg == "" {
		if !b.inView(m.view) && !b.isAction() {
			m.deny(b.action + " works in the " + b.in[0].String() + " view")
			return nil
		}
		return m.invoke(b)
	}
	f, snap, text := m.keyContext(true), m.snapshot(), ""
	f.session, f.agent, f.process, f.adapter, f.held = nil, nil, nil, nil, nil
	spec, _ := b.verb.Spec()
	if takesText(b.verb) || spec.Target == ops.TargetInbox || spec.Target == ops.TargetBudget {
		arg, text, _ = strings.Cut(arg, " ")
	}
	switch spec.Target {
	case ops.TargetSession:
		f.session = find(snap.Sessions, arg, sessionKey)
	case ops.TargetProcess:
		f.process = find(snap.Processes, arg, processKey)
	case ops.TargetAdapter:
		f.adapter = find(snap.Adapters, arg, adapterKey)
	default:
		f.named = arg
	}
	if why := b.works(f); why != "" {
		m.deny(why)
		return nil
	}
	cmd := b.target(f)
	if why := b.read(&cmd, arg, strings.TrimSpace(text)); why != "" {
		m.deny(why)
		return nil
	}
	return m.submit(b, cmd, b.tier(f))
}

// read completes cmd by what was typed after the name of the binding: arg, and the text behind its target. It says what is wrong
// with it; empty: nothing is.
func (b *binding) read(cmd *ops.Command, arg, text string) (wrong string) {
	switch spec, _ := b.verb.Spec(); {
	case takesText(b.verb):
		if cmd.Text = text; text == "" {
			return b.action + " needs a text: " + b.action + " " + arg + " TEXT"
		}
	case spec.Target == ops.TargetInbox, spec.Target == ops.TargetBudget:
		if err := spec.ReadRest(cmd, text); err != nil {
			return err.Error()
		}
	case b.verb == ops.VerbStop:
		cmd.Mode = ops.Mode(arg)
	case b.verb == ops.VerbDrain:
		cmd.Reason = arg
	case b.verb == ops.VerbExtend:
		d, err := time.ParseDuration(arg)
		if err != nil || d <= 0 {
			return arg + " is not a duration; try more-time 30s"
		}
		cmd.ByMS = d.Milliseconds()
	}
	return ""
}

// takesText reports whether a verb needs a text after its target.
func takesText(v ops.Verb) bool {
	spec, _ := v.Spec()
	return spec.TakesTarget() && spec.Rest == ops.RestText
}

// themeAuto is the theme of the config, or of the terminal.
const themeAuto = "auto"

func themes(*model) []string { return append(slices.Clone(views.Themes), themeAuto) }

func (m *model) setTheme(name string) tea.Cmd {
	if !slices.Contains(themes(m), name) {
		m.deny("there are the themes " + strings.Join(themes(m), ", "))
		return nil
	}
	m.chosenTheme = name
	if name == themeAuto {
		m.chosenTheme, name = "", m.opt.Theme
	}
	m.theme = theme(m.themed(name))
	return nil
}

func (m *model) sortBy(column string) tea.Cmd {
	columns := views.SortColumns(m.view)
	if !slices.Contains(columns, column) {
		m.deny("the columns of " + m.view.String() + ": " + strings.Join(columns, ", "))
		return nil
	}
	l := m.lists[m.view]
	l.Sort, l.Reverse = column, false
	return m.reorder()
}

// rank returns the indexes of the names that text could mean: those that begin with it, that contain it, that have its
// letters in their order.
func rank(names []string, text string) []int {
	text = strings.ToLower(text)
	var tiers [3][]int
	for i, name := range names {
		name = strings.ToLower(name)
		for tier, fits := range []func(name, text string) bool{strings.HasPrefix, strings.Contains, letters} {
			if fits(name, text) {
				tiers[tier] = append(tiers[tier], i)
				break
			}
		}
	}
	return slices.Concat(tiers[:]...)
}

func letters(name, text string) bool {
	for _, r := range text {
		_, after, ok := strings.Cut(name, string(r))
		if !ok {
			return false
		}
		name = after
	}
	return true
}

func (m *model) invoke(b *binding) tea.Cmd {
	m.endFollowing(b.action)
	if !b.isAction() {
		if b.disabledReason != nil {
			if why := b.disabledReason(m.keyContext(true)); why != "" {
				m.deny(why)
				return nil
			}
		}
		return b.do(m)
	}
	if b.marks && len(m.lists[m.view].Marked) > 0 {
		return m.activateMarked(b)
	}
	f := m.keyContext(true)
	if why := b.works(f); why != "" {
		m.deny(why)
		return nil
	}
	return m.activate(b, f)
}

// activate begins what an action key does: at once, or after its question.
func (m *model) activate(b *binding, f keyContext) tea.Cmd {
	cmd := b.target(f)
	if takesText(cmd.Verb) {
		return m.openPalette(b.action + " " + cmd.Target + " ")
	}
	return m.submit(b, cmd, b.tier(f))
}
