package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"gatewaytui/core/limit"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// chatCommand is one chat command (CONTRACT.md, 6). Its answer goes back as the reply to its message.
type chatCommand struct {
	name string
	args string
	help string
	// work says that it starts a turn, so that it is refused like a message while no turns begin, and that a chat is told
	// what became of it whatever happens to this life.
	work bool
	run  func(g *Gateway, ctx context.Context, c call) (string, error)
}

// call is one use of a chat command.
type call struct {
	key string
	arg string
	msg session.Message
}

// chatCommands is the list that the parser, /help and the hint for an unknown command read. It is filled by init because
// /help itself reads it.
var chatCommands []chatCommand

func init() {
	chatCommands = []chatCommand{
		{"new", "", "end this conversation, with its agent and processes, and start a fresh one", false, (*Gateway).commandReset},
		{"reset", "", "the same as /new", false, (*Gateway).commandReset},
		{"stop", "", "interrupt the running turn", false, (*Gateway).commandStop},
		{"status", "", "what this session and the gateway are doing", false, (*Gateway).commandStatus},
		{"background", "TEXT", "work on TEXT beside this conversation and reply when done", true, (*Gateway).commandBackground},
		{"queue", "TEXT", "let TEXT wait behind the running turn; without TEXT: show what waits", false, (*Gateway).commandQueue},
		{"sessions", "", "this chat's earlier conversations", false, (*Gateway).commandSessions},
		{"resume", "[ID]", "take up an earlier conversation of this chat, or a suspended one", false, (*Gateway).commandResume},
		{"help", "", "this list", false, (*Gateway).commandHelp},
	}
}

// isWork says whether the command of this name starts a turn.
func isWork(name string) bool {
	return slices.ContainsFunc(chatCommands, func(c chatCommand) bool { return c.name == name && c.work })
}

// command runs a chat command on a tracked task, so that a platform never waits for one.
func (g *Gateway) command(ctx context.Context, name, arg, key string, m session.Message) {
	run := func(ctx context.Context) {
		text, err := g.runCommand(ctx, name, call{key: key, arg: arg, msg: m})
		if !errors.Is(err, errAnsweredElsewhere) {
			m.Deliver(text, answer(err))
		}
	}
	if !g.background.Start(ctx, "command /"+name, key, run) {
		m.Deliver("", answer(session.ErrStopping))
	}
}

func (g *Gateway) runCommand(ctx context.Context, name string, c call) (string, error) {
	for _, cmd := range chatCommands {
		if cmd.name != name {
			continue
		}
		if cmd.work {
			if err := g.admit(); err != nil {
				return "", err
			}
		}
		return cmd.run(g, ctx, c)
	}
	return fmt.Sprintf("There is no command /%s. %s/help lists them all.", term.Clean(name, 40), nearestCommand(name)), nil
}

// nearestCommand offers the command that shares the longest beginning with name, if any does.
func nearestCommand(name string) string {
	best, at := "", 1
	for _, c := range chatCommands {
		n := 0
		for n < len(name) && n < len(c.name) && name[n] == c.name[n] {
			n++
		}
		if n > at {
			best, at = c.name, n
		}
	}
	if best == "" {
		return ""
	}
	return "Did you mean /" + best + "? "
}

func (g *Gateway) commandHelp(context.Context, call) (string, error) {
	var b strings.Builder
	b.WriteString("Anything that does not begin with a slash goes to the agent. The commands:\n")
	for _, c := range chatCommands {
		fmt.Fprintf(&b, "%s: %s\n", strings.TrimSpace("/"+c.name+" "+c.args), c.help)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func (g *Gateway) commandReset(ctx context.Context, c call) (string, error) {
	done, err := g.reset(ctx, c.key, "reset by its user")
	if ops.HasCode(err, ops.CodeNotFound) {
		return "This conversation is already fresh.", nil
	}
	if err != nil {
		return "", err
	}
	if done == nothingRan {
		return "Fresh conversation.", nil
	}
	return "Fresh conversation. " + strings.ToUpper(done[:1]) + done[1:], nil
}

func (g *Gateway) commandStop(ctx context.Context, c call) (string, error) {
	done, err := g.interrupt(ctx, c.key, "", session.ErrInterrupted)
	if ops.HasCode(err, ops.CodeNotFound) {
		return strings.TrimSpace("Nothing is running here. " + g.leftRunning(c.key)), nil
	}
	if err != nil {
		return "", err
	}
	if done == turnInterrupted {
		done = "Stopped."
	}
	left := g.leftRunning(c.key)
	if left == "" {
		left = "Nothing else is running here."
	}
	return done + " " + left, nil
}

// leftRunning says what an interrupt does not end (J9); empty for nothing.
func (g *Gateway) leftRunning(key string) string {
	var left []string
	if n := g.procs.CountSession(key); n > 0 {
		left = append(left, fmt.Sprintf("%d background %s", n, text.Plural(n, "process", "processes")))
	}
	if n := g.background.Count(key, backgroundTurn); n > 0 {
		left = append(left, fmt.Sprintf("%d /background %s", n, text.Plural(n, "task", "tasks")))
	}
	if len(left) == 0 {
		return ""
	}
	return "Still running: " + strings.Join(left, " and ") + "; /new ends the processes."
}

func (g *Gateway) commandStatus(ctx context.Context, c call) (string, error) {
	var b strings.Builder
	st, err := g.Status(ctx)
	if err != nil {
		return "", err
	}
	s, known := g.table.Get(c.key)
	v, running := g.table.Running(c.key)
	switch {
	case running:
		fmt.Fprintf(&b, "A turn has been running for %s: %s (last progress %s ago).\n", text.Age(v.Started), ops.Step(v.Doing, time.Since(v.Since)), text.Age(v.Progress))
		if row, _ := g.table.Row(c.key); row.CallsLimit > 0 {
			fmt.Fprintf(&b, "It has made %d of its %d model calls (%s).\n", row.Calls, row.CallsLimit, limit.CallsPerTurn)
		}
	case g.table.Active(c.key):
		row, _ := g.table.Row(c.key)
		fmt.Fprintf(&b, "%s; %d in the queue.\n", waitingWords(row), row.Queued)
	case known:
		fmt.Fprintf(&b, "No turn is running; the conversation is %s, last active %s ago.\n", s.State, text.Age(s.LastActivity))
	default:
		b.WriteString("No conversation yet.\n")
	}
	fmt.Fprintf(&b, "Tokens: %s in, %s out. Processes of this session: %d.\n", humanize.Comma(s.TokensIn), humanize.Comma(s.TokensOut), g.procs.CountSession(c.key))
	fmt.Fprintf(&b, "Gateway: %s for %s, %d turns running, %d of %d adapters connected.", st.State, text.Age(st.StartedAt.Time), st.Counts.RunningTurns, st.Counts.AdaptersConnected, st.Counts.Adapters)
	return b.String(), nil
}

// waitingWords says why the turn of a waiting message has not begun.
func waitingWords(row ops.Session) string {
	if row.WaitingFor == "" {
		return "Your message waits until turns are taken again"
	}
	return "Your message waits for a turn slot (" + row.WaitingFor + ") for " + text.Age(row.DoingSince.Time)
}

// commandQueue is /queue without a text; with one it is that message: see delivery.
func (g *Gateway) commandQueue(_ context.Context, c call) (string, error) {
	if row, found := g.table.Row(c.key); found && row.Queued > 0 {
		if row.Turn == "" {
			return fmt.Sprintf("%s; %d in the queue.", waitingWords(row), row.Queued), nil
		}
		return fmt.Sprintf("%d %s behind the running turn.", row.Queued, text.Plural(row.Queued, "message waits", "messages wait")), nil
	}
	return "Nothing is waiting.", nil
}

// errAnsweredElsewhere says that the command's message is, or will be, answered by what the command started.
var errAnsweredElsewhere = errors.New("answered elsewhere")

// relay gives m to the session as a message of its own and returns its answer, when the turn has ended.
func (g *Gateway) relay(ctx context.Context, key string, m session.Message) (string, error) {
	type result struct {
		text string
		err  error
	}
	answered := make(chan result, 1)
	m.ID, m.Instant = g.newID(), true
	m.Deliver = func(text string, err error) {
		select {
		case answered <- result{text, err}:
		default: // it was answered already
		}
	}
	if err := g.intake.Submit(ctx, key, m); err != nil {
		return "", err
	}
	select { // no deadline of its own: a turn's stall limits end it
	case r := <-answered:
		return r.text, r.err
	case <-ctx.Done():
		return "", session.ErrStopping
	}
}

// backgroundTurn is the name under which /background is tracked.
const backgroundTurn = "/background"

// limitRetry is when a caller that was refused for a bound may ask again.
const limitRetry = 5 * time.Second

func (g *Gateway) commandBackground(ctx context.Context, c call) (string, error) {
	if c.arg == "" {
		return "", &ops.Error{Code: ops.CodeInvalid, Message: "tell me what to do, for example: /background summarise the log"}
	}
	m := c.msg
	m.Text, m.Delta, m.Ended = c.arg, nil, nil
	beside := c.key + session.BackgroundInfix + g.newID()
	if err := session.CheckKey(beside); err != nil {
		return "", err
	}
	run := func(ctx context.Context) {
		if !c.msg.Instant { // before the answer, which comes after it in the chat's outbox
			g.outbox.Post(c.key, c.msg.Target, "Working on it in the background; I will reply here when it is done.")
		}
		text, err := g.relay(ctx, beside, m)
		c.msg.Deliver(text, answer(err))
		g.forget(context.WithoutCancel(ctx), beside, "its task ended")
	}
	most := g.cfg.Limits.Background
	if started, running := g.background.StartUpTo(ctx, most, backgroundTurn, c.key, run); !started && running >= most {
		g.limitReached(limit.Background)
		return "", &ops.Error{
			Code: ops.CodeLimit, Message: fmt.Sprintf("%d /background tasks of this conversation are running, and no more may (%s)", running, limit.Background),
			Hint: "send it again when one of them has ended", RetryAfter: limitRetry,
		}
	} else if !started {
		return "", session.ErrStopping
	}
	return "", errAnsweredElsewhere // one message has one answer: the task's own
}

func (g *Gateway) commandSessions(ctx context.Context, c call) (string, error) {
	ended, err := g.store.EndedSessions(ctx, c.key, 10)
	if err != nil {
		return "", fmt.Errorf("list the earlier conversations: %w", err)
	}
	if len(ended) == 0 {
		return "This chat has no earlier conversations.", nil
	}
	var b strings.Builder
	b.WriteString("Earlier conversations of this chat, newest first:\n")
	for _, s := range ended {
		fmt.Fprintf(&b, "%s  ended %s ago (%s), %s tokens\n", s.ID, text.Age(s.EndedAt), term.Clean(s.EndReason, 60), humanize.Comma(s.TokensIn+s.TokensOut))
	}
	b.WriteString("/resume ID takes one up again.")
	return b.String(), nil
}

func (g *Gateway) commandResume(ctx context.Context, c call) (string, error) {
	if s, ok := g.table.Get(c.key); ok && s.State == ops.SessionSuspended && c.arg == "" {
		g.table.SetState(c.key, ops.SessionIdle)
		return "The conversation goes on.", nil
	}
	return g.resume(ctx, c.key, c.arg)
}
