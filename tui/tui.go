// Package tui is the console: a Bubble Tea program over an ops.Console, which is the gateway in this process or the
// client of its control socket; it cannot tell which.
//
// What it will promise: a frozen, closed or hostile terminal never slows the gateway; every screen, key and dialog of
// the design; every verb. What it does so far: one read-only header line, read once a second, and a key to leave.
// No verb of the program opens it yet, and Run does not yet bound what a terminal that nobody reads may cost.
//
// It alone imports Bubble Tea. It asks the gateway and is never asked: nothing of core calls into it.
package tui

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/charmbracelet/bubbles/help"
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
	_ "gatewaytui/tui/darkbg" // or importing bubbletea costs 5 s on a silent terminal
	"gatewaytui/views"
)

const (
	refresh  = time.Second // between two looks at the gateway
	patience = time.Second // for one answer; a gateway that is slower is shown as not answering
)

// Run shows c on the terminal behind in and out until a key or the end of ctx leaves it; both are a nil error. Leaving
// never touches the gateway. Signals stay with the caller: Bubble Tea would end the console at the first SIGTERM, just
// when a stop is worth watching.
func Run(ctx context.Context, c ops.Console, in io.Reader, out io.Writer) error {
	looking, done := context.WithCancel(ctx) // what Bubble Tea leaves running when it returns ends with this
	defer done()
	p := tea.NewProgram(newModel(looking, c), tea.WithInput(in), tea.WithOutput(out),
		tea.WithAltScreen(), tea.WithFPS(15), tea.WithoutSignalHandler())
	// Not tea.WithContext: the end of that one closes the input under the goroutine that reads it.
	defer context.AfterFunc(ctx, p.Quit)()
	if _, err := p.Run(); err != nil {
		return fmt.Errorf("run the console: %w", err)
	}
	return nil
}

// keyMap is every key of the console; the help line is made of it.
type keyMap struct{ leave key.Binding }

var keys = keyMap{
	leave: key.NewBinding(key.WithKeys("q", "ctrl+c"), key.WithHelp("q", "leave; the gateway goes on")),
}

func (k keyMap) ShortHelp() []key.Binding  { return []key.Binding{k.leave} }
func (k keyMap) FullHelp() [][]key.Binding { return [][]key.Binding{k.ShortHelp()} }

type model struct {
	// ctx is Run's. It is kept because Bubble Tea's commands take no argument.
	ctx     context.Context
	console ops.Console
	help    help.Model
	width   int
	status  ops.Status
	read    time.Time // when status was read; zero before the first answer
	err     error     // of the last look; status is then as old as read says
}

func newModel(ctx context.Context, c ops.Console) model {
	return model{ctx: ctx, console: c, help: help.New(), width: 80}
}

// looked is one look at the gateway.
type looked struct {
	status ops.Status
	at     time.Time
	err    error
}

type lookAgain struct{}

func (m model) look() tea.Msg {
	ctx, cancel := context.WithTimeout(m.ctx, patience)
	defer cancel()
	st, err := m.console.Status(ctx)
	return looked{st, time.Now(), err}
}

func (m model) rest() tea.Msg {
	t := time.NewTimer(refresh)
	defer t.Stop()
	select {
	case <-t.C:
	case <-m.ctx.Done():
	}
	return lookAgain{}
}

func (m model) Init() tea.Cmd { return m.look }

func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.help.Width = msg.Width, msg.Width
	case tea.KeyMsg:
		if key.Matches(msg, keys.leave) {
			return m, tea.Quit
		}
	case looked:
		if m.err = msg.err; msg.err == nil {
			m.status, m.read = msg.status, msg.at
		}
		// The next look is asked for when this one is over, so a slow gateway is never asked twice at once.
		return m, m.rest
	case lookAgain:
		return m, m.look
	}
	return m, nil
}

func (m model) View() string {
	var line string
	switch {
	case m.err != nil:
		line = ansi.Truncate("no answer: "+term.Clean(m.err.Error(), 0), m.width, string(term.Ellipsis))
	case m.read.IsZero():
		line = ansi.Truncate("asking the gateway", m.width, string(term.Ellipsis))
	default:
		line = views.Status(m.status, m.width, m.read)
	}
	return line + "\n\n" + m.help.View(keys)
}
