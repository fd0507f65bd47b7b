// Package plain is the console as lines, for screen readers, serial lines and very slow links.
//
// What it promises: what changes is said in a sentence; a row is named by the number that it was read out with; nothing ends
// without an answer that confirms it; a line that was not asked for comes at most every two seconds. It reads lines and speaks to
// ops.Console alone.
package plain

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"gatewaytui/core/follow"
	"gatewaytui/core/ops"
	"gatewaytui/core/text"
	"gatewaytui/tui"
	"gatewaytui/views/lines"
)

const (
	// restTime is the pause between two lines that are not answers.
	restTime = 2 * time.Second
	// maxRows is how many rows of a list are read out.
	maxRows = 20
	// patience bounds one answer of the gateway.
	patience = 5 * time.Second
	// lookEvery is between two looks for the next life of a gateway that is gone.
	lookEvery = 2 * time.Second
)

// Console is the console as lines, for screen readers, serial lines and very slow links: commands are typed, rows have
// numbers, what changes is said in a sentence, and nothing that was printed is ever drawn again. A line that was not
// asked for comes at most every restTime.
//
// All of it happens in run's goroutine but what waits: for typed lines, for events, for the end of requests.
type Console struct {
	Printer lines.Printer
	Gateway ops.Console
	// Attached says that the gateway is in another process.
	Attached bool
	// From names who wanted lines.
	From string

	pid     int
	life    string              // of the gateway that answers
	asked   func(answer string) // what the next line answers; nil: it is a command
	watched bool                // every event is said as it comes
	listed  map[string][]target // what the numbers of the last list of a kind mean
	waiting []string            // sentences that were not said yet
	said    time.Time           // when the last one was
	f       *follow.Stream      // nil while no gateway answers
	ended   chan became         // what became of requests
	ctx     context.Context     // run's: what waits for a request outlives the command that gave it
	pending sync.WaitGroup      // who waits for them
	exit    *tui.How            // set once it is left
}

// target is a row that a command can name by its number.
type target struct {
	name   string
	expect string // ops.Command.Expect
}

// Run reads commands from in until the console is left, in ends, or ctx does.
func (l *Console) Run(ctx context.Context, in io.Reader) (tui.Exit, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer l.pending.Wait()
	defer cancel()
	l.ctx, l.listed, l.ended = ctx, map[string][]target{}, make(chan became)
	typed, why := readLines(ctx, in)
	l.hello(ctx)
	defer func() { l.unfollow() }()
	tick := time.NewTicker(follow.Tick)
	defer tick.Stop()
	var look time.Time // when the next life is looked for
	for l.exit == nil {
		var news chan follow.Heard
		if l.f != nil {
			news = l.f.News
		}
		select {
		case text, more := <-typed:
			if !more {
				l.inputEnded(why())
				break
			}
			l.line(ctx, text)
		case h, more := <-news:
			if !more || h.Err != nil {
				l.unfollow()
				look = time.Now().Add(lookEvery)
				if l.Attached {
					l.say("The gateway (pid %d) is gone. quit leaves; the next one on this home is waited for.", l.pid)
				}
				break
			}
			l.hear(h.Event)
		case b := <-l.ended:
			l.tell(b)
		case <-tick.C:
			l.sayWaiting(ctx)
			if l.f == nil && l.Attached && time.Now().After(look) {
				l.hello(ctx)
				look = time.Now().Add(lookEvery)
			}
		case <-ctx.Done():
			return tui.Exit{How: tui.Cancelled}, nil
		}
	}
	return tui.Exit{How: *l.exit}, nil
}

func (l *Console) say(format string, args ...any) { l.Printer.Say(format, args...) }

// fullStop ends a text as a sentence, whether or not it is one already.
func fullStop(text string) string { return strings.TrimRight(text, ".") + "." }

func (l *Console) leave(how tui.How) { l.exit = &how }

func (l *Console) unfollow() {
	if l.f != nil {
		l.f.Close()
		l.f = nil
	}
}

// hello says which gateway answers and begins to hear what happens there. No answer is no news.
func (l *Console) hello(ctx context.Context) {
	ask, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s, err := l.Gateway.Snapshot(ask)
	if err != nil {
		return
	}
	if l.pid == 0 {
		l.say("plain mode (from %s). Commands: help, status, sessions, watch, reset 2, drain, stop, quit.", l.From)
	}
	l.pid, l.life = s.PID, s.Life
	l.say("The gateway (pid %d) is %s: %s, %s, %d of %d adapters connected.", s.PID, text.Words(s.State),
		text.Count(s.Counts.Sessions, "session"), text.Count(s.Counts.RunningTurns, "running turn"), s.Counts.AdaptersConnected, s.Counts.Adapters)
	l.f = follow.Start(ctx, l.Gateway, s.Seq)
	l.f.Stopping = s.State == ops.StateStopping
}

// inputEnded leaves the console when nothing more is typed.
func (l *Console) inputEnded(err error) {
	switch {
	case !errors.Is(err, io.EOF):
		l.leave(tui.TerminalLost)
	case l.Attached:
		l.leave(tui.Detached)
	default:
		l.leave(tui.LeftRunning)
	}
}

// line is one typed line: an answer, or a command with its arguments.
func (l *Console) line(ctx context.Context, typed string) {
	typed = strings.TrimSpace(typed)
	if ask := l.asked; ask != nil {
		l.asked = nil
		ask(typed)
		return
	}
	if typed == "" {
		return
	}
	name, rest, _ := strings.Cut(typed, " ")
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, c := range commands() {
		if c.name != name {
			continue
		}
		if err := c.do(l, ctx, strings.TrimSpace(rest)); err != nil {
			l.complain(err)
		}
		return
	}
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	if near := text.Suggest(name, names); near != "" {
		l.say("There is no command %s; did you mean %s?", strconv.Quote(name), near)
		return
	}
	l.say("There is no command %s; help lists them.", strconv.Quote(name))
}

func (l *Console) complain(err error) {
	e := ops.AsError(err)
	l.say("Not done: %s", fullStop(e.Error()))
}

// hear takes an event: at once while events are watched, else only what a person should know, one line at a time.
func (l *Console) hear(ev ops.Event) {
	l.f.Stopping = l.f.Stopping || ev.Type == ops.EventShutdownPhase
	line, ok := lines.ShutdownEvent(ev)
	if !ok {
		line = cmp.Or(ev.Subject, "-")
		if ev.Text != "" {
			line += ": " + ev.Text
		}
	}
	switch {
	case l.watched:
		l.say("%s: %s", string(ev.Type), line)
	case newsworthy(ev):
		l.waiting = append(l.waiting, line)
	}
}

func newsworthy(ev ops.Event) bool {
	switch ev.Type {
	case ops.EventApprovalAsked, ops.EventGatewayState, ops.EventAdapterState, ops.EventTurnStalled, ops.EventWarning, ops.EventDropped, ops.EventShutdownEnded:
		return true
	case ops.EventShutdownPhase:
		change, ok := ops.PayloadOf[ops.PhaseChange](ev)
		return ok && change.Phase.State != ops.StepSkipped
	case ops.EventShutdownItem:
		change, ok := ops.PayloadOf[ops.ItemChange](ev)
		return ok && lines.EndedBadly(change.Item)
	}
	return false
}

// sayWaiting says the newest of what waits, or what a stop waits for, if the last such line is long enough ago.
func (l *Console) sayWaiting(ctx context.Context) {
	if time.Since(l.said) < restTime {
		return
	}
	if n := len(l.waiting); n > 0 {
		line := l.waiting[n-1]
		if n > 1 {
			line += fmt.Sprintf(" (and %d more; watch says each)", n-1)
		}
		l.say("%s", fullStop(line))
		l.waiting, l.said = nil, time.Now()
		return
	}
	if l.f != nil && l.f.Stopping && l.sayBlocker(ctx) {
		l.said = time.Now()
	}
}

// sayBlocker names one thing that a stop waits for and that was not named lately.
func (l *Console) sayBlocker(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	w, due := l.f.One(ctx)
	if due {
		l.say("The stop waits for %s. skip stops waiting for it.", lines.Blocker(w.Shutdown, w.Items[0]))
	}
	return due
}

// readLines sends the lines of in to the channel that it returns, which is closed when in ends; then the error says why,
// io.EOF for an end that was typed. A read cannot be given up: the goroutine ends with in or with the process.
func readLines(ctx context.Context, in io.Reader) (lines <-chan string, why func() error) {
	ch := make(chan string)
	var err error
	go func() {
		defer close(ch)
		scan := bufio.NewScanner(in)
		scan.Buffer(nil, maxTyped)
		for scan.Scan() {
			select {
			case ch <- scan.Text():
			case <-ctx.Done():
				return
			}
		}
		if err = scan.Err(); err == nil {
			err = io.EOF
		}
	}()
	return ch, func() error { return err } // to be called once the channel is closed
}

// maxTyped bounds one typed line, in bytes; a terminal itself takes 4095 (termios(3), canonical mode).
const maxTyped = 1 << 20
