package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
	"gatewaytui/tui"
	"gatewaytui/views/lines"
)

const (
	// plainRest is between two lines that nobody asked for.
	plainRest = 2 * time.Second
	// plainRows is how many rows of a list are read out.
	plainRows = 20
	// plainPatience bounds one answer of the gateway.
	plainPatience = 5 * time.Second
	// plainLook is between two looks for the next life of a gateway that is gone.
	plainLook = 2 * time.Second
)

// plainFrom says whether the console is to be lines, and who wants it so: the flag, where it is given, beats the variable
// (ACCESSIBLE, as other programs know it).
func plainFrom(given, wanted bool, getenv func(string) string) (from string, on bool) {
	if given {
		return "--plain", wanted
	}
	switch v := getenv("ACCESSIBLE"); strings.ToLower(v) {
	case "", "0", "false", "no", "off":
		return "", false
	default:
		return "ACCESSIBLE=" + v, true
	}
}

// plain is the console as lines, for screen readers, serial lines and very slow links: commands are typed, rows have
// numbers, what changes is said in a sentence, and nothing that was printed is ever drawn again. A line that nobody asked
// for comes at most every plainRest.
//
// All of it happens in run's goroutine but what waits: for typed lines, for events, for the end of requests.
type plain struct {
	p        *program // its out takes the lines
	c        ops.Console
	attached bool
	from     string // who wanted lines

	pid     int
	life    string              // of the gateway that answers
	asked   func(answer string) // what the next line answers; nil: it is a command
	watched bool                // every event is said as it comes
	listed  map[string][]target // what the numbers of the last list of a kind mean
	waiting []string            // sentences that were not said yet
	said    time.Time           // when the last one was
	f       *follower           // nil while nobody answers
	seen    uint64              // the last event
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

// run reads commands from in until the console is left, in ends, or ctx does.
func (l *plain) run(ctx context.Context, in io.Reader) (tui.Exit, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer l.pending.Wait()
	defer cancel()
	l.ctx, l.listed, l.ended = ctx, map[string][]target{}, make(chan became)
	typed, why := readLines(ctx, in)
	l.hello(ctx)
	defer func() { l.unfollow() }()
	tick := time.NewTicker(blockerTick)
	defer tick.Stop()
	var look time.Time // when the next life is looked for
	for l.exit == nil {
		var news chan heard
		if l.f != nil {
			news = l.f.news
		}
		select {
		case text, more := <-typed:
			if !more {
				l.inputEnded(why())
				break
			}
			l.line(ctx, text)
		case h, more := <-news:
			if !more || h.err != nil {
				l.unfollow()
				look = time.Now().Add(plainLook)
				if l.attached {
					l.say("The gateway (pid %d) is gone. quit leaves; the next one on this home is waited for.", l.pid)
				}
				break
			}
			l.hear(h.event)
		case b := <-l.ended:
			l.tell(b)
		case <-tick.C:
			l.sayWaiting(ctx)
			if l.f == nil && l.attached && time.Now().After(look) {
				l.hello(ctx)
				look = time.Now().Add(plainLook)
			}
		case <-ctx.Done():
			return tui.Exit{How: tui.Cancelled}, nil
		}
	}
	return tui.Exit{How: *l.exit}, nil
}

func (l *plain) say(format string, args ...any) { l.p.say(format, args...) }

// fullStop ends a text as a sentence, whether or not it is one already.
func fullStop(text string) string { return strings.TrimRight(text, ".") + "." }

func (l *plain) leave(how tui.How) { l.exit = &how }

func (l *plain) unfollow() {
	if l.f != nil {
		l.f.close()
		l.f = nil
	}
}

// hello says who answers and begins to hear what happens there. Nobody who answers is no news, only somebody.
func (l *plain) hello(ctx context.Context) {
	ask, cancel := context.WithTimeout(ctx, plainPatience)
	defer cancel()
	s, err := l.c.Snapshot(ask)
	if err != nil {
		return
	}
	if l.pid == 0 {
		l.say("plain mode (from %s). Commands: help, status, sessions, watch, reset 2, drain, stop, quit.", l.from)
	}
	l.pid, l.life = s.PID, s.Life
	l.say("The gateway (pid %d) is %s: %s, %s, %d of %d adapters connected.", s.PID, text.Words(s.State),
		count(s.Counts.Sessions, "session"), count(s.Counts.RunningTurns, "running turn"), s.Counts.AdaptersConnected, s.Counts.Adapters)
	l.seen = s.Seq
	l.f = l.p.follow(ctx, l.c, s.Seq)
	l.f.stopping = s.State == ops.StateStopping
}

// count is a number of things in words.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// inputEnded leaves the console of somebody who types nothing more.
func (l *plain) inputEnded(err error) {
	switch {
	case !errors.Is(err, io.EOF):
		l.leave(tui.TerminalLost)
	case l.attached:
		l.leave(tui.Detached)
	default:
		l.leave(tui.LeftRunning)
	}
}

// line is one typed line: an answer, or a command with its arguments.
func (l *plain) line(ctx context.Context, text string) {
	text = strings.TrimSpace(text)
	if ask := l.asked; ask != nil {
		l.asked = nil
		ask(text)
		return
	}
	if text == "" {
		return
	}
	name, rest, _ := strings.Cut(text, " ")
	ctx, cancel := context.WithTimeout(ctx, plainPatience)
	defer cancel()
	for _, c := range plainCommands() {
		if c.name != name {
			continue
		}
		if err := c.do(l, ctx, strings.TrimSpace(rest)); err != nil {
			l.complain(err)
		}
		return
	}
	var names []string
	for _, c := range plainCommands() {
		names = append(names, c.name)
	}
	if near := nearest(names, name); near != "" {
		l.say("There is no command %s; did you mean %s?", strconv.Quote(name), near)
		return
	}
	l.say("There is no command %s; help lists them.", strconv.Quote(name))
}

func (l *plain) complain(err error) {
	e := ops.AsError(err)
	l.say("Not done: %s", fullStop(e.Error()))
}

// hear takes an event: at once for who watches, else only what somebody should know, one line at a time.
func (l *plain) hear(ev ops.Event) {
	l.seen = max(l.seen, ev.Seq)
	l.f.stopping = l.f.stopping || ev.Type == ops.EventShutdownPhase
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

// newsworthy reports whether an event is said to somebody who did not ask.
func newsworthy(ev ops.Event) bool {
	switch ev.Type {
	case ops.EventGatewayState, ops.EventAdapterState, ops.EventTurnStalled, ops.EventWarning, ops.EventDropped, ops.EventShutdownEnded:
		return true
	case ops.EventShutdownPhase:
		ph, ok := lines.EventRow[ops.Phase](ev, "phase")
		return ok && ph.State != ops.StepSkipped
	case ops.EventShutdownItem:
		it, ok := lines.EventRow[ops.Item](ev, "item")
		return ok && lines.EndedBadly(it)
	}
	return false
}

// sayWaiting says the newest of what waits, or what a stop waits for, if the last such line is long enough ago.
func (l *plain) sayWaiting(ctx context.Context) {
	if time.Since(l.said) < plainRest {
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
	if l.f != nil && l.f.stopping && l.sayBlocker(ctx) {
		l.said = time.Now()
	}
}

// sayBlocker names one thing that a stop waits for and that was not named lately.
func (l *plain) sayBlocker(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, plainPatience)
	defer cancel()
	s, err := l.c.Shutdown(ctx)
	if err != nil {
		return false // the events say what is the matter
	}
	now := time.Now()
	for _, b := range s.Blockers() {
		name := b.Kind + "\x00" + b.ID
		if now.Sub(l.f.shown[name]) < blockerAgain {
			continue
		}
		l.f.shown[name] = now
		l.say("The stop waits for %s. skip stops waiting for it.", lines.Blocker(s, b))
		return true
	}
	return false
}
