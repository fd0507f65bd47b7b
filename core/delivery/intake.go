package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"gatewaytui/core/access"
	"gatewaytui/core/adapter"
	"gatewaytui/core/limit"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// Gateway is the gateway, as far as messages depend on it.
type Gateway interface {
	// Admit is why no turn may begin now, in the words for the sender of a message; nil: turns may begin.
	Admit() error
	// Damaged reports whether the database takes no writes for the rest of this life.
	Damaged() bool
	// Load brings the session of key into the table if only the store has it yet.
	Load(ctx context.Context, key string) error
}

// Conversations is what the intake needs of the conversations behind it.
type Conversations interface {
	// Context is the context that the contexts of turns hang on.
	Context() context.Context
	// ExpireFirst ends the conversation of key if its time is over. It does not wait for that end.
	ExpireFirst(ctx context.Context, key string) error
	// Begin runs a turn. It does not wait for it.
	Begin(t *session.Turn)
	// Interrupt ends a running turn with cause. It returns when the turn has ended or was released.
	Interrupt(ctx context.Context, key, turn string, cause error) (string, error)
	// Steerable reports whether the turn that runs in the session of key, if one does, reads messages after its steps.
	Steerable(key string) bool
	// Gathered ends the wait of a message for more of it.
	Gathered(key string)
	// Knows reports whether there is a chat command of this name.
	Knows(name string) bool
	// IsWork reports whether the chat command of this name starts a turn.
	IsWork(name string) bool
	// TakeAnswer takes m as the answer to a question that its sender was asked in the session of key; false: there is none. The error says
	// why it is not an answer.
	TakeAnswer(ctx context.Context, key string, m session.Message) (taken bool, err error)
	// RunCommand begins a chat command, which answers m. It does not wait for it.
	RunCommand(ctx context.Context, name, arg, key string, m session.Message)
}

// IntakeOptions are what an Intake needs. Every field is required.
type IntakeOptions struct {
	Table         *session.Table
	Gateway       Gateway
	Conversations Conversations
	People        People
	Outbox        *Outbox
	Events        Emitter
	Tasks         Tasks
	Meter         Meter
	Log           *slog.Logger
	NewID         func() string
}

// Intake takes every message: of chats, of the API, of operators and of /background (J11). A message is read and checked,
// written into the inbox if it comes from a chat, and then dispatched: to its session's mailbox, or to the chat commands.
// Its methods may be called from any goroutine.
type Intake struct {
	o IntakeOptions
	// journal is set by Open, before the first message.
	journal Inbox
	groups  groups
	taken   taken
}

// NewIntake returns an intake. It does no I/O.
func NewIntake(o IntakeOptions) *Intake { return &Intake{o: o} }

// Open gives the intake its journal. It is called once, before any message.
func (i *Intake) Open(j Inbox) { i.journal = j }

// Receive implements adapter.Receiver. A chat command is answered at once, also while a turn runs (D11); anything else goes
// into its session's mailbox. Receive does not wait for the turn.
//
// A message of a group that is not for the bot is only heard: its id is empty.
func (i *Intake) Receive(ctx context.Context, in adapter.Inbound) (id string, err error) {
	r, role := readRequest(in.Text), i.role(in.Adapter, in.User)
	if !access.Decide(role, access.Talk, in.Adapter) { // it lost its role since its platform asked
		i.o.Log.Warn("message of a person without a role ignored", "adapter", in.Adapter, "user", term.Clean(in.User, 80))
		if in.Responder == nil {
			return "", nil
		}
		return "", errNoRole
	}
	if in.Responder == nil && inGroup(in) {
		rules := i.o.Outbox.o.Manner(in.Session)
		in.Session = keyOf(in, rules.Sessions, role)
		if !i.addressed(in, rules.Mention, r) {
			i.groups.hear(in, false, role)
			return "", nil
		}
	}
	defer func() {
		i.o.Meter.Received(in.Session, err)
		err = i.o.Outbox.refusal(in.Session, err)
	}()
	if err := session.CheckKey(in.Session); err != nil {
		return "", err
	}
	if session.IsBackground(in.Session) { // such a session ends with its task, and the next start would forget it (HF33)
		return "", &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("session key %.80q is of a background task", in.Session), Hint: "choose another name for the conversation"}
	}
	switch {
	case in.Passed:
		return i.pass(ctx, in)
	case in.Responder == nil:
		return i.ingest(ctx, in, r, role)
	}
	m := i.instant(in, role)
	return m.ID, i.Submit(ctx, in.Session, m)
}

// instant is a message whose sender waits for the answer.
func (i *Intake) instant(in adapter.Inbound, role ops.Role) session.Message {
	m := session.Message{
		ID: i.o.NewID(), User: in.User, Role: role, Target: in.Target, Text: in.Text, Agent: in.Agent, At: time.Now(), Caller: in.Caller, Instant: true, Input: in.Input, Unattended: in.Unattended,
		Delta: in.Responder.Delta, Ended: in.Responder.Ended,
	}
	if w, watches := in.Responder.(adapter.Watcher); watches {
		m.Watch = w.Watch
	}
	if a, asks := in.Responder.(adapter.Asker); asks {
		m.Asked = a.Asked
	}
	var once sync.Once
	m.Deliver = func(text string, err error) {
		once.Do(func() {
			i.o.Meter.Sent(in.Session, err)
			in.Responder.Done(text, err)
		})
	}
	return m
}

// ingest takes a message from a chat, whose sender does not wait for the answer. The message is in the inbox before its
// platform hears that it was taken, so that it is answered, or its sender learns why not, also if this life ends
// (E12). A message that was taken before, in this life or an earlier one, is not taken again (E15).
func (i *Intake) ingest(ctx context.Context, in adapter.Inbound, r request, role ops.Role) (string, error) {
	if r.command == "" && bareStop(r.text) {
		r = request{text: "/stop", command: "stop"}
	}
	if err := i.checkIntake(in.Session, r); err != nil {
		return "", err
	}
	var waited *session.Message // that a changed one replaces
	if in.Edited {
		var take bool
		if waited, take = i.replaced(in); !take {
			return "", nil
		}
		in.Edited = waited == nil
	}
	if r.command == "" {
		r.text = i.words(in, r.text, role)
	}
	row := store.Inbox{
		ID: i.o.NewID(), Dedupe: in.Dedupe, Session: in.Session, Adapter: in.Adapter, Target: in.Target, User: in.User, Text: r.text,
		Files: adapter.EncodeFiles(in.Files), At: time.Now(), State: store.InboxWaiting,
	}
	switch {
	case i.o.Conversations.IsWork(r.command): // its task answers it, or the next life says that it was cut off
		row.State = store.InboxRunning
	case r.command != "": // it is done once or not at all: the next life does not repeat a /new
		row.State = store.InboxAnswered
	}
	if r.command != "" && i.o.Gateway.Damaged() { // it is answered, and cannot be written
		return row.ID, i.dispatch(ctx, in.Session, r, i.o.Outbox.message(row, role))
	}
	// The caller's end must not leave it unknown whether the message was taken.
	wctx, cancel := i.journal.Patient(ctx)
	defer cancel()
	id, fresh, err := i.journal.PutInbox(wctx, row)
	i.replace(wctx, in.Session, waited, err)
	switch {
	case err != nil:
		return "", NotSaved(i.o.Log, in.Session, "your message", err)
	case !fresh:
		i.o.Log.Info("message delivered again", "session", in.Session, "message", id)
		return id, nil
	}
	i.taken.put(in, id)
	if err := i.dispatch(ctx, in.Session, r, i.mannered(in, r, i.o.Outbox.message(row, role))); err != nil {
		if dropErr := i.journal.DropInbox(wctx, id); dropErr != nil {
			i.o.Log.Warn("could not delete rejected message", "session", in.Session, "error", term.Clean(dropErr.Error(), 300))
		}
		return "", err
	}
	return id, nil
}

// pass takes a message that goes to its chat as it is. Like every message of a chat it is durable before its platform hears
// that it was taken, and one that was taken before is not taken again.
func (i *Intake) pass(ctx context.Context, in adapter.Inbound) (string, error) {
	if err := i.checkIntake(in.Session, request{}); err != nil {
		return "", err
	}
	row := store.Inbox{
		ID: i.o.NewID(), Dedupe: in.Dedupe, Session: in.Session, Adapter: in.Adapter, Target: in.Target, User: in.User, Text: in.Text, At: time.Now(),
		State: store.InboxRunning, // the next life reports one that is cut off here, and does not work on it
	}
	wctx, cancel := i.journal.Patient(ctx) // as in ingest
	defer cancel()
	id, fresh, err := i.journal.PutInbox(wctx, row)
	if err == nil && fresh {
		err = i.o.Outbox.Pass(wctx, row, in.Text)
	}
	if err != nil {
		return "", NotSaved(i.o.Log, in.Session, "the message", err)
	}
	return id, nil
}

// Remembers implements adapter.Historian.
func (i *Intake) Remembers(key string) bool {
	s, known := i.o.Table.Get(key)
	return known && s.Stored
}

// Commands implements adapter.Commander.
func (i *Intake) Commands(text string) bool {
	name, _, is := ParseCommand(text)
	return is && i.o.Conversations.Knows(name)
}

// Submit gives a message to its session, or to the chat commands.
func (i *Intake) Submit(ctx context.Context, key string, m session.Message) error {
	return i.dispatch(ctx, key, readRequest(m.Text), m)
}

// Restore gives a message that an earlier life acknowledged to its session. No bound of the mailbox refuses it. If it is
// refused for another reason, its sender learns why, unless that person may not speak any more.
func (i *Intake) Restore(ctx context.Context, in store.Inbox) {
	m := i.o.Outbox.message(in, i.role(in.Adapter, in.User))
	if m.Kept = true; !access.Decide(m.Role, access.Talk, in.Adapter) {
		i.o.Tasks.Start(ctx, "notice", in.Session, func(context.Context) { m.Merged() })
		return
	}
	if err := i.Submit(ctx, in.Session, m); err != nil {
		i.o.Tasks.Start(ctx, "notice", in.Session, func(context.Context) { i.o.Outbox.Reply(in, i.o.Outbox.ChatText(in.Session, "", err)) })
	}
}

// role is what the sender of a message may do.
func (i *Intake) role(platform, user string) ops.Role {
	return i.o.People.Role(access.Person{Platform: platform, ID: session.PersonOf(user)})
}

// errNoRole refuses a message whose sender may not speak.
var errNoRole = &ops.Error{Code: ops.CodeForbidden, Message: "you may not speak to this gateway", Hint: "its owner can let you in"}

// checkIntake is why a message is not taken now. Chat commands are taken whenever the journal is open.
func (i *Intake) checkIntake(key string, r request) error {
	if r.command != "" && i.journal != nil {
		return nil
	}
	err := i.o.Gateway.Admit()
	if err != nil {
		i.o.Events.Emit(ops.EventMessageRefused, key, ops.AsError(err).Message, nil)
	}
	return err
}

func (i *Intake) dispatch(ctx context.Context, key string, r request, m session.Message) error {
	if m.Role == "" {
		return errNoRole
	}
	if err := i.o.Gateway.Load(ctx, key); err != nil {
		return err
	}
	m.Text = r.text
	if strings.TrimSpace(m.Text) == "" && m.Files == "" && (m.Input == nil || len(m.Input.Results) == 0) {
		return &ops.Error{Code: ops.CodeInvalid, Message: "the message is empty", Hint: "say something, or /help"}
	}
	if r.command != "" && !m.Compact && m.Again[1] == 0 {
		i.o.Conversations.RunCommand(ctx, r.command, r.arg, key, m)
		return nil
	}
	if taken, err := i.answers(ctx, key, r, m); taken {
		return err
	}
	// The write of a chat's message may have taken seconds: a stop or a drain that began meanwhile holds for it too.
	if err := i.checkIntake(key, r); err != nil {
		return err
	}
	if err := i.o.Conversations.ExpireFirst(ctx, key); err != nil {
		return err
	}
	if s, ok := i.o.Table.Get(key); ok && s.State == ops.SessionSuspended {
		return &ops.Error{Code: ops.CodeConflict, Message: "this session is suspended", Hint: "send /resume to take it up again, or /new for a fresh one"}
	}
	turn, position, notice, err := i.o.Table.Enqueue(i.o.Conversations.Context(), key, m)
	if err != nil {
		why := "queue full"
		if ops.HasCode(err, ops.CodeLimit) {
			why = limit.QueuedBytes
		}
		i.o.Log.Warn("message refused", "session", key, "reason", why)
		i.o.Events.Emit(ops.EventMessageRefused, key, why, nil)
		return err
	}
	i.o.Events.Emit(ops.EventMessageAccepted, key, "message accepted", ops.MessageAccepted{Message: m.ID, Position: position})
	if turn != nil {
		i.o.Conversations.Begin(turn)
		return nil
	}
	i.press(key, m)
	i.waits(key, m, position, notice)
	return nil
}

// answers takes a message as the answer to a question that its sender was asked; false: there is none. It has no answer of its own then.
func (i *Intake) answers(ctx context.Context, key string, r request, m session.Message) (taken bool, err error) {
	if r.once != "" { // /queue and /steer say what it is
		return false, nil
	}
	if taken, err = i.o.Conversations.TakeAnswer(ctx, key, m); !taken || err != nil {
		return taken, err
	}
	i.o.Log.Info("message taken as an answer", "session", key, "message", m.ID)
	i.o.Events.Emit(ops.EventMessageAccepted, key, "message taken as an answer", ops.MessageAccepted{Message: m.ID})
	if m.Merged != nil {
		i.o.Tasks.Start(ctx, "notice", key, func(context.Context) { m.Merged() })
	}
	return true, nil
}

// waits says that a message waits, and why: in the log, and to a chat for its first message behind the running turn.
func (i *Intake) waits(key string, m session.Message, position int, notice bool) {
	args := m.Caller.LogKeys("session", key, "message", m.ID, "position", position)
	row, _ := i.o.Table.Row(key)
	if v, running := i.o.Table.Running(key); running {
		args = append(args, "turn", v.ID, "without_progress", time.Since(v.Progress).Round(time.Millisecond))
	} else if row.WaitingFor != "" {
		args = append(args, "waiting_for", row.WaitingFor)
	}
	i.o.Log.Info("message waits", args...)
	if row.WaitingFor == limit.Turns && position == 1 && !m.Instant {
		i.o.Outbox.Notice(key, m.Target, "As many conversations as may run at once are running; yours is in the queue. /stop withdraws your message.")
	}
	i.receipt(key, m, notice)
}

// Withdraw implements adapter.Receiver, on a tracked task: an interrupt may take a moment. A command and what it started
// go on.
func (i *Intake) Withdraw(key, id string) {
	i.o.Tasks.Start(i.o.Conversations.Context(), "client left", key, func(ctx context.Context) {
		waiting, turn, found := i.o.Table.Withdraw(key, id)
		switch {
		case !found:
		case turn == "":
			i.o.Outbox.Withdrawn(key, waiting, session.ErrLeft)
		default:
			if _, err := i.o.Conversations.Interrupt(ctx, key, turn, session.ErrLeft); err != nil && !ops.HasCode(err, ops.CodeConflict) {
				i.o.Log.Warn("turn not interrupted though its client has left", "session", key, "turn", turn, "error", term.Clean(err.Error(), 300))
			}
		}
	})
}

// NotSaved logs that the store did not take what the sender of a message waits for. It returns the error for the sender: the
// cause, and no path of the home (HF33). what names it: "your message", "the answer".
func NotSaved(log *slog.Logger, key, what string, err error) error {
	log.Error("message or answer not saved", "session", key, "what", what, "error", term.Clean(err.Error(), 600))
	cause, hint := store.Reason(err), "nothing of it is kept; "+store.Advice(err)+", then send it again"
	if errors.Is(err, context.DeadlineExceeded) {
		cause = "the disk did not answer in time"
		hint = "it may still be kept once the disk answers; look at the conversation before you send it again"
	}
	return &ops.Error{Code: ops.CodeUnavailable, Message: fmt.Sprintf("%s could not be saved: %s", what, term.Clean(cause, 200)), Hint: hint}
}

// ParseCommand reads a chat command: a slash and a word at the very start of the text, as in "/new" or "/status@bot".
// A path such as "/etc/hosts is broken" is not a command.
func ParseCommand(text string) (name, arg string, is bool) {
	rest, found := strings.CutPrefix(strings.TrimSpace(text), "/")
	if !found {
		return "", "", false
	}
	name, arg, _ = strings.Cut(rest, " ")
	if line, more, cut := strings.Cut(name, "\n"); cut {
		name, arg = line, more+" "+arg
	}
	name, _, _ = strings.Cut(name, "@")
	name = strings.ToLower(name)
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' && r != '-' }) {
		return "", "", false
	}
	return name, strings.TrimSpace(arg), true
}

// request is the text of a message as it was read, once.
type request struct {
	// text is without /queue or /steer before it: this is what waits, and what the next life works on if this one ends.
	text string
	// once is the mode that such a command asks for; empty: none.
	once session.Busy
	// command and arg are the chat command that the text is; empty: it is none.
	command, arg string
}

func readRequest(text string) request {
	r := request{text: text}
	for {
		name, arg, _ := ParseCommand(r.text)
		once := session.Busy(name)
		if arg == "" || once != session.BusyQueue && once != session.BusySteer {
			r.command, r.arg = name, arg
			return r
		}
		r.text, r.once = arg, once
	}
}
