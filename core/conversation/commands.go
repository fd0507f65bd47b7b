package conversation

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

// chatCommand is one chat command. The parser, /help and the hint for an unknown command read the list of them.
type chatCommand struct {
	name, args, help string
	// work says that the command starts a turn. It is refused like a message while no turns begin, and its chat always gets
	// an answer, if not in this life then in the next one.
	work bool
	run  func(ctx context.Context, u use) (string, error)
}

// use is one use of a chat command.
type use struct {
	key string
	arg string
	msg session.Message
	// choices are what the answer offers besides its text.
	choices *[]session.Choice
}

// chatCommands are the chat commands (CONTRACT.md, 6). The answer of a command goes back as the reply to its message.
func (c *Conversations) chatCommands() []chatCommand {
	return []chatCommand{
		{name: "new", help: "end this conversation, with its agent and processes, and start a fresh one", run: c.reset},
		{name: "reset", help: "the same as /new", run: c.reset},
		{name: "stop", help: "interrupt the running turn", run: c.stop},
		{name: "status", help: "what this session and the gateway are doing", run: c.status},
		{name: "background", args: "TEXT", help: "work on TEXT in the background and reply when done", work: true, run: c.background},
		{name: "queue", args: "TEXT", help: "let TEXT wait behind the running turn; without TEXT: show what waits", run: c.queue},
		{name: "steer", args: "TEXT", help: "let the running turn read TEXT after its next step", run: c.steerCommand},
		{name: "busy", args: "[queue|steer|interrupt]", help: "what becomes of a message while a turn runs: it waits, the turn reads it, or it interrupts the turn", run: c.busy},
		{name: "model", args: "[NAME]", help: "the model of this conversation and what it costs; with NAME: use that one, with auto: the agent's own again", run: c.model},
		{name: "compact", args: "[WHAT TO KEEP]", help: "replace the older part of this conversation by a summary, so that more fits", work: true, run: c.compact},
		{name: "retry", help: "ask your last message again; the answer that it got leaves the conversation", work: true, run: c.retry},
		{name: "undo", help: "take back your last message and its answer; again: the one before", run: c.undo},
		{name: "pin", args: "[TEXT]", help: "keep TEXT in every model call of this conversation; without TEXT: list what is pinned", run: c.pin},
		{name: "unpin", args: "NUMBER", help: "drop what is pinned under this number", run: c.unpin},
		{name: "memory", args: "[search TEXT|delete ID]", help: "what I keep beyond this conversation: list it, find in it, delete a note", run: c.memory},
		{name: "sessions", help: "this chat's earlier conversations", run: c.sessions},
		{name: "search", args: "TEXT", help: "find what was said in your chats", run: c.search},
		{name: "title", args: "[TEXT]", help: "name this conversation; without TEXT: show its name", run: c.title},
		{name: "resume", args: "[NUMBER]", help: "continue an earlier conversation of this chat by its number or id, or a suspended one", run: c.resume},
		{name: "approve", args: "ID [turn|session|always]", help: "allow what an agent asked for; for owners", run: c.approve},
		{name: "deny", args: "ID [REASON]", help: "refuse what an agent asked for; for owners", run: c.deny},
		{name: "answer", args: "ID TEXT", help: "answer what an agent asked you; your next message does too", run: c.answerQuestion},
		{name: "jobs", args: "[add SCHEDULE: PROMPT|show NAME|run NAME|pause NAME|resume NAME|delete NAME]", help: "what runs at a time for you; add: a job whose answers come to this chat", run: c.jobs},
		{name: "usage", help: "what the last turn, this conversation and your day used and cost", run: c.usage},
		{name: "whoami", help: "who you are to the gateway, and what it does with this chat", run: c.whoami},
		{name: "people", args: "[approve CODE|add ID|remove ID|role ID ROLE]", help: "who may speak to this gateway; let someone in, or not any more", run: c.people},
		{name: "start", help: "what this is, and what to try first", run: c.start},
		{name: "help", help: "this list", run: c.help},
	}
}

// Command is a chat command for a menu: its name without the slash, and what it does.
type Command struct{ Name, About string }

// Menu is the chat commands.
func (c *Conversations) Menu() (menu []Command) {
	for _, cmd := range c.commands {
		menu = append(menu, Command{Name: cmd.name, About: cmd.help})
	}
	return menu
}

// Knows reports whether there is a chat command of this name.
func (c *Conversations) Knows(name string) bool {
	return slices.ContainsFunc(c.commands, func(cmd chatCommand) bool { return cmd.name == name })
}

// IsWork reports whether the command of this name starts a turn.
func (c *Conversations) IsWork(name string) bool {
	return slices.ContainsFunc(c.commands, func(cmd chatCommand) bool { return cmd.name == name && cmd.work })
}

// RunCommand runs a chat command on a task, so that a platform never waits for one.
func (c *Conversations) RunCommand(ctx context.Context, name, arg, key string, m session.Message) {
	run := func(ctx context.Context) {
		var choices []session.Choice
		text, err := c.answer(ctx, name, use{key: key, arg: arg, msg: m, choices: &choices})
		text = c.o.Outbox.Own(key, text)
		switch {
		case errors.Is(err, errAnsweredElsewhere):
		case err == nil && len(choices) > 0 && m.Offer != nil:
			m.Offer(text, choices)
		default:
			m.Deliver(text, userError(err))
		}
	}
	if !c.o.Tasks.Start(ctx, "command /"+name, key, run) {
		m.Deliver("", userError(session.ErrStopping))
	}
}

func (c *Conversations) answer(ctx context.Context, name string, u use) (string, error) {
	for _, cmd := range c.commands {
		if cmd.name != name {
			continue
		}
		if !mayUse(u, name) {
			return notForYou(u, name), nil
		}
		if cmd.work {
			if err := c.o.Gate.Admit(); err != nil {
				return "", err
			}
		}
		return cmd.run(ctx, u)
	}
	return fmt.Sprintf("There is no command %s%s. %s/help lists them all.", c.o.Outbox.Sign(u.key), term.Clean(name, 40), c.nearest(name)), nil
}

// nearest offers the command that shares the longest beginning with name, if any does.
func (c *Conversations) nearest(name string) string {
	best, at := "", 1
	for _, cmd := range c.commands {
		n := 0
		for n < len(name) && n < len(cmd.name) && name[n] == cmd.name[n] {
			n++
		}
		if n > at {
			best, at = cmd.name, n
		}
	}
	if best == "" {
		return ""
	}
	return "Did you mean /" + best + "? "
}

func (c *Conversations) help(_ context.Context, u use) (string, error) {
	var b strings.Builder
	b.WriteString("Anything that does not begin with a slash goes to the agent. The commands:\n")
	for _, cmd := range c.commands {
		if !mayUse(u, cmd.name) {
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n", strings.TrimSpace("/"+cmd.name+" "+cmd.args), cmd.help)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// start greets. Platforms send /start when a person opens the chat with a bot, some with a word that a link had (TF10).
func (c *Conversations) start(context.Context, use) (string, error) {
	return `Hello! I am an AI agent that works on its owner's machine. I remember our conversation until you send /new.

Three things to try:
- Ask me something, for example: what can you do here?
- Give me work on the side: /background summarise the news of today
- See what I am doing with /status, and end it with /stop.

/help lists all commands.`, nil
}

func (c *Conversations) reset(ctx context.Context, u use) (string, error) {
	done, err := c.End(ctx, u.key, Reset("reset by its user"))
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

// stop ends the turn of the one who asks. In a conversation of several people the turn of another is not theirs to end.
func (c *Conversations) stop(ctx context.Context, u use) (string, error) {
	if asked := c.o.Table.AskedBy(u.key); !u.msg.Instant && asked != "" && u.msg.User != "" && session.PersonOf(asked) != session.PersonOf(u.msg.User) {
		return "Only " + term.Clean(asked, 80) + " can stop this turn, who asked for it.", nil
	}
	done, err := c.Interrupt(ctx, u.key, "", session.ErrInterrupted)
	if ops.HasCode(err, ops.CodeNotFound) {
		return strings.TrimSpace("Nothing is running here. " + c.leftRunning(u.key)), nil
	}
	if err != nil {
		return "", err
	}
	if done == turnInterrupted {
		done = "Stopped."
	}
	left := c.leftRunning(u.key)
	if left == "" {
		left = "Nothing else is running here."
	}
	return done + " " + left, nil
}

// leftRunning says what an interrupt does not end (J9); empty for nothing.
func (c *Conversations) leftRunning(key string) string {
	var left []string
	if n := c.o.Processes.CountSession(key); n > 0 {
		left = append(left, fmt.Sprintf("%d background %s", n, text.Plural(n, "process", "processes")))
	}
	if n := c.o.Tasks.Count(key, BackgroundTask); n > 0 {
		left = append(left, fmt.Sprintf("%d /background %s", n, text.Plural(n, "task", "tasks")))
	}
	if len(left) == 0 {
		return ""
	}
	return "Still running: " + strings.Join(left, " and ") + "; /new ends the processes."
}

func (c *Conversations) status(ctx context.Context, u use) (string, error) {
	var b strings.Builder
	st, err := c.o.Status(ctx)
	if err != nil {
		return "", err
	}
	table, processes := c.o.Table, c.o.Processes
	s, known := table.Get(u.key)
	v, running := table.Running(u.key)
	switch {
	case running:
		fmt.Fprintf(&b, "A turn has been running for %s: %s (last progress %s ago).\n", text.Age(v.Started), ops.Step(v.Doing, time.Since(v.Since)), text.Age(v.Progress))
		if row, _ := table.Row(u.key); row.CallsLimit > 0 {
			fmt.Fprintf(&b, "It has made %d of its %d model calls (%s).\n", row.Calls, row.CallsLimit, limit.CallsPerTurn)
		}
	case table.Active(u.key):
		row, _ := table.Row(u.key)
		fmt.Fprintf(&b, "%s; %d in the queue.\n", waitingWords(row), row.Queued)
	case known:
		fmt.Fprintf(&b, "No turn is running; the conversation is %s, last active %s ago.\n", s.State, text.Age(s.LastActivity))
	default:
		b.WriteString("No conversation yet.\n")
	}
	fmt.Fprintf(&b, "Tokens: %s in, %s out.", humanize.Comma(s.TokensIn), humanize.Comma(s.TokensOut))
	if s.Priced {
		fmt.Fprintf(&b, " Cost: %s.", ops.Amount(s.Cost))
	}
	fmt.Fprintf(&b, " Processes of this session: %d.\n", processes.CountSession(u.key))
	if known {
		b.WriteString(c.contextStatus(ctx, s))
	}
	fmt.Fprintf(&b, "Gateway: %s for %s, %d turns running, %d of %d adapters connected.", st.State, text.Age(st.StartedAt.Time), st.Counts.RunningTurns, st.Counts.AdaptersConnected, st.Counts.Adapters)
	return b.String(), nil
}

// waitingWords says why the turn of a waiting message has not begun.
func waitingWords(row ops.Session) string {
	if row.Doing == ops.DoingGather {
		return "Your message is long, and waits a moment for more of it"
	}
	if row.WaitingFor == "" {
		return "Your message waits until the gateway accepts new turns again"
	}
	return "Your message waits for a turn slot (" + row.WaitingFor + ") for " + text.Age(row.DoingSince.Time)
}

// queue is /queue without a text. With a text it is that message: see delivery.
func (c *Conversations) queue(_ context.Context, u use) (string, error) {
	if row, found := c.o.Table.Row(u.key); found && row.Queued > 0 {
		if row.Turn == "" {
			return fmt.Sprintf("%s; %d in the queue.", waitingWords(row), row.Queued), nil
		}
		return fmt.Sprintf("%d %s behind the running turn.", row.Queued, text.Plural(row.Queued, "message waits", "messages wait")), nil
	}
	return "Nothing is waiting.", nil
}

// BackgroundTask is the name under which /background is tracked.
const BackgroundTask = "/background"

// limitRetry is when a caller that was refused for a bound may ask again.
const limitRetry = 5 * time.Second

// errAnsweredElsewhere says that the command's message is, or will be, answered by what the command started.
var errAnsweredElsewhere = errors.New("answered elsewhere")

// background works on a text in a new session, which ends with its answer. That answer is the answer to the command.
func (c *Conversations) background(ctx context.Context, u use) (string, error) {
	if u.arg == "" {
		return "", &ops.Error{Code: ops.CodeInvalid, Message: "tell me what to do, for example: /background summarise the log"}
	}
	m := u.msg
	m.Text, m.Delta, m.Ended = u.arg, nil, nil
	key := u.key + session.BackgroundInfix + c.o.NewID()
	if err := session.CheckKey(key); err != nil {
		return "", err
	}
	run := func(ctx context.Context) {
		if !u.msg.Instant { // before the answer, which comes after it in the chat's outbox
			c.o.Outbox.Post(u.key, u.msg.Target, "Working on it in the background; I will reply here when it is done.")
		}
		text, err := c.relay(ctx, key, m)
		u.msg.Deliver(text, userError(err))
		c.endOver(context.WithoutCancel(ctx), key, "its task ended")
	}
	most := c.now().Bounds.Background
	if started, running := c.o.Tasks.StartUpTo(ctx, most, BackgroundTask, u.key, run); !started && running >= most {
		c.o.Reached(limit.Background)
		return "", &ops.Error{
			Code: ops.CodeLimit, Message: fmt.Sprintf("%d /background tasks of this conversation are running, and no more may (%s)", running, limit.Background),
			Hint: "send it again when one of them has ended", RetryAfter: limitRetry,
		}
	} else if !started {
		return "", session.ErrStopping
	}
	return "", errAnsweredElsewhere
}

// relay gives m to the session of key as a new message and returns its answer, when the turn has ended.
func (c *Conversations) relay(ctx context.Context, key string, m session.Message) (string, error) {
	type result struct {
		text string
		err  error
	}
	answered := make(chan result, 1)
	m.ID, m.Instant = c.o.NewID(), true
	m.Deliver = func(text string, err error) {
		select {
		case answered <- result{text, err}:
		default: // it was answered already
		}
	}
	if err := c.intake.Submit(ctx, key, m); err != nil {
		return "", err
	}
	select { // no deadline: a turn's stall limits end it
	case r := <-answered:
		return r.text, r.err
	case <-ctx.Done():
		return "", session.ErrStopping
	}
}
