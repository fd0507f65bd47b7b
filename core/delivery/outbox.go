package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

const (
	// SendTimeout bounds one send to a chat outside of a stop.
	SendTimeout = 30 * time.Second
	// minRetry and maxRetry bound the wait before the next attempt for a chat; each failure doubles it.
	minRetry = 2 * time.Second
	maxRetry = 5 * time.Minute
)

// OutboxOptions are what an Outbox needs. Every field is required.
type OutboxOptions struct {
	Tasks Tasks
	Meter Meter
	Log   *slog.Logger
	// NewID makes unique ids that sort by time.
	NewID func() string
	// Manner is how the chat of a session is treated. It must not wait.
	Manner func(key string) Manner
	// Knows reports whether there is a chat command of this name.
	Knows func(name string) bool
	Files Files
}

// Outbox sends messages to chats, in order for each chat, until their platform took or refused them. The journal has each of
// them too, so that the next life goes on where this one ends (E12). Its methods may be called from any goroutine.
type Outbox struct {
	o OutboxOptions
	// journal and sender are set by Open, before the first message.
	journal Journal
	sender  Sender

	// repeated counts the attempts to send what may have arrived before.
	repeated atomic.Uint64

	mu        sync.Mutex                     // guards what follows. Tasks.Start may be called with it held.
	chats     map[string]*chat               // by adapter and target
	paces     map[string]*pace               // by adapter and target, of chats that show a turn
	shows     map[string]*Show               // by the id of the message that the turn works on
	uploads   map[string]*semaphore.Weighted // by adapter: its files that are in memory
	leftovers map[string]*leftover           // drafts that have to leave their chats, by their ids
	owing     owing
	// undelivered are at most maxUndelivered.
	undelivered []Undelivered
}

// chat is the queue of one chat. Outbox.mu guards it.
type chat struct {
	queue   []delivery
	sending bool // a task sends them
	fails   int
	after   time.Time // the next attempt is not before this
}

// delivery is one message to a chat. Its Tried says that an earlier attempt may have succeeded.
type delivery struct {
	store.Outbox
	// tried is closed after the first attempt, successful or not.
	tried chan struct{}
	// marked means that the journal has the message as tried.
	marked bool
	// tries is how often a file broke off, and name its name once it was read.
	tries int
	name  string
	// arrived gets the platform's name of the message; nil: it is not needed.
	arrived func(message string)
}

// NewOutbox returns an empty outbox. It does no I/O.
func NewOutbox(o OutboxOptions) *Outbox {
	return &Outbox{o: o, uploads: map[string]*semaphore.Weighted{}, chats: map[string]*chat{}, paces: map[string]*pace{}, shows: map[string]*Show{}, leftovers: map[string]*leftover{}, owing: owing{records: map[string]*owed{}}}
}

// Open gives the outbox its journal and the way to the platforms. It is called once, before any message.
func (o *Outbox) Open(j Journal, s Sender) { o.journal, o.sender = j, s }

// Send sends a message once, without the journal, and counts it. key is the session that it belongs to.
func (o *Outbox) Send(ctx context.Context, key, adapterName string, m adapter.Outgoing) error {
	_, err := o.send(ctx, key, adapterName, m)
	return err
}

func (o *Outbox) send(ctx context.Context, key, adapterName string, m adapter.Outgoing) (adapter.Sent, error) {
	sent, err := o.sender.Send(ctx, adapterName, m)
	o.o.Meter.Sent(key, err)
	return sent, err
}

// Notice sends a notice that is worthless later to a session's chat, on a task and without the journal. A failure is
// logged. A session without a chat (api, cli) has an empty target and gets none.
func (o *Outbox) Notice(key, target, text string) {
	if target == "" {
		return
	}
	o.o.Tasks.Start(context.Background(), "notice", key, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), SendTimeout)
		defer cancel()
		name := session.Platform(key)
		if err := o.Send(ctx, key, name, adapter.Outgoing{Target: target, Text: o.Own(key, text)}); err != nil {
			o.o.Log.Warn("notice not delivered", "session", key, "adapter", name, "error", term.Clean(err.Error(), 300))
		}
	})
}

// Post writes a message that answers none into the journal and begins to send it. It does not wait for that.
func (o *Outbox) Post(key, target, text string) {
	o.PostAs(o.o.NewID(), key, target, text)
}

// PostAs is Post with the id of the message, which is unique for ever.
func (o *Outbox) PostAs(id, key, target, text string) {
	row := o.posted(id, key, target, o.Own(key, text))
	o.persist(row)
	o.enqueue(row)
}

// Repeated is how often a message was sent that may have arrived before.
func (o *Outbox) Repeated() uint64 { return o.repeated.Load() }

// Reply writes the answer to a message of the inbox into the journal, and sends it. It returns after the first attempt.
func (o *Outbox) Reply(in store.Inbox, text string) { o.reply(in, text, nil) }

// reply is Reply with buttons.
func (o *Outbox) reply(in store.Inbox, text string, choices []session.Choice) {
	o.settle(in.ID)
	row := Answer(in, text)
	row.Tried, row.Buttons = true, buttonsOf(choices)
	ctx, cancel := o.journal.Patient(context.Background())
	defer cancel()
	o.owe("reply not persisted", owed{row: row, inbox: in.ID, missing: true}, o.journal.Answer(ctx, in.ID, &row))
	o.Deliver(row)
}

// Pass makes text, to which no turn answers, the answer to a message of the inbox, and begins to send it. It returns when the
// journal has it.
func (o *Outbox) Pass(ctx context.Context, in store.Inbox, text string) error {
	row := Answer(in, text)
	if err := o.journal.Answer(ctx, in.ID, &row); err != nil {
		return fmt.Errorf("write the message for its chat: %w", err)
	}
	o.enqueue(row)
	return nil
}

// Deliver sends a message that the journal has already, as tried. It returns after the first attempt, which is bounded by SendTimeout
// and by those before it in the same chat. A turn of the message that it answers is not shown any more.
func (o *Outbox) Deliver(row store.Outbox) { <-o.enqueue(o.placed(row)) }

// Answer is the answer to a message of the inbox. Its id is the message's: one message has one answer. A journal that gets it
// right before the first attempt gets it as tried, and needs no other write before it.
func Answer(in store.Inbox, text string) store.Outbox {
	return store.Outbox{ID: in.ID, Session: in.Session, Adapter: in.Adapter, Target: in.Target, Text: text, At: time.Now()}
}

// Restore adds a message that an earlier life left in the journal. It is sent when its platform has a connection.
func (o *Outbox) Restore(row store.Outbox) {
	if strings.HasSuffix(row.ID, Momentary) {
		o.end(context.Background(), row, "the life that it is about has ended")
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.chat(chatName(row))
	if len(c.queue) == 0 {
		c.after = time.Now().Add(minRetry)
	}
	c.queue = append(c.queue, delivery{Outbox: row, marked: row.Tried})
}

// chat is the chat of this name, made if there is none. The caller holds mu.
func (o *Outbox) chat(name string) *chat {
	if o.chats[name] == nil {
		o.chats[name] = &chat{}
	}
	return o.chats[name]
}

// Connected retries the messages of an adapter at once if a is connected. It may be called for every state of an adapter.
func (o *Outbox) Connected(a ops.Adapter) {
	if a.State == ops.AdapterConnected {
		o.retry(time.Now(), a.Name)
	}
}

// RetryDue retries the chats whose wait is over at now, and the records that the journal refused.
func (o *Outbox) RetryDue(now time.Time) {
	o.retry(now, "")
	o.mu.Lock()
	defer o.mu.Unlock()
	o.recordDue(now)
}

func (o *Outbox) retry(now time.Time, adapterName string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, c := range o.chats {
		if len(c.queue) > 0 && (!now.Before(c.after) || c.queue[0].Adapter == adapterName) {
			c.after = time.Time{}
			o.begin(name, c)
		}
	}
	for _, l := range o.leftovers {
		if !now.Before(l.after) || l.Adapter == adapterName {
			o.remove(l)
		}
	}
}

// Waiting is how many messages are on their way.
func (o *Outbox) Waiting() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range o.chats {
		n += len(c.queue)
	}
	return n
}

func chatName(row store.Outbox) string { return row.Adapter + " " + adapter.ChatOf(row.Target) }

// enqueue adds a message that the journal has. The channel is closed after the first attempt, or when this life will make
// none.
func (o *Outbox) enqueue(row store.Outbox) (tried <-chan struct{}) { return o.enqueueFor(row, nil) }

// enqueueFor is enqueue of a message whose name on its platform arrived gets.
func (o *Outbox) enqueueFor(row store.Outbox, arrived func(message string)) (tried <-chan struct{}) {
	row.Tried = false
	d := delivery{Outbox: row, tried: make(chan struct{}), marked: true, arrived: arrived}
	o.mu.Lock()
	name := chatName(row)
	c := o.chat(name)
	later := time.Now().Before(c.after) // it is tried together with those before it
	if later {
		close(d.tried)
		c.queue = append(c.queue, delivery{Outbox: row, arrived: arrived})
	} else {
		c.queue = append(c.queue, d)
		o.begin(name, c)
		later = !c.sending
	}
	o.mu.Unlock()
	if later {
		o.note(context.Background(), row)
	}
	return d.tried
}

// begin starts the task that sends the queue of a chat, unless one runs. The caller holds mu.
func (o *Outbox) begin(name string, c *chat) {
	if c.sending || len(c.queue) == 0 {
		return
	}
	key := c.queue[0].Session
	c.sending = o.o.Tasks.Start(context.Background(), "deliver", key, func(ctx context.Context) { o.sendQueue(ctx, name, c) })
	if !c.sending {
		c.unblock()
	}
}

// unblock lets those return who wait for a first attempt. The caller holds Outbox.mu.
func (c *chat) unblock() {
	for i := range c.queue {
		if c.queue[i].tried != nil {
			close(c.queue[i].tried)
			c.queue[i].tried = nil
		}
	}
}

// sendQueue sends the queue of a chat in its order, until a send fails that may succeed later.
func (o *Outbox) sendQueue(ctx context.Context, name string, c *chat) {
	for {
		o.mu.Lock()
		if len(c.queue) == 0 {
			delete(o.chats, name)
			o.mu.Unlock()
			return
		}
		d := c.queue[0]
		o.mu.Unlock()

		sent, err := o.attempt(ctx, name, &d)
		refused, final := errors.AsType[*adapter.RefusedError](err)
		switch {
		case err == nil:
			o.end(ctx, d.Outbox, "")
			o.Dismiss(d.Session)
			if n := len(sent.IDs); d.arrived != nil && n > 0 {
				d.arrived(sent.IDs[n-1])
			}
		case final:
			o.refused(ctx, d, refused)
		default:
			o.postpone(ctx, c, d, len(sent.IDs), err)
			return
		}
		o.mu.Lock()
		c.fails, c.queue = 0, c.queue[1:]
		if d.tried != nil {
			close(d.tried)
		}
		o.mu.Unlock()
	}
}

// attempt sends what has not arrived of a message. An answer with a placeholder takes its place, or goes out as a message of its
// own where that is gone. To take a place twice changes nothing, so that nothing of it is repeated.
func (o *Outbox) attempt(ctx context.Context, chat string, d *delivery) (sent adapter.Sent, err error) {
	row := &d.Outbox
	if row.File != "" {
		return o.attemptFile(ctx, chat, d)
	}
	ctx, cancel := context.WithTimeout(ctx, SendTimeout)
	defer cancel()
	m := adapter.Outgoing{Target: row.Target, Text: row.Text, Markdown: true, Key: row.ID, Skip: row.Parts, Repeated: row.Tried}
	if row.Buttons != "" && o.sender.Can(row.Adapter, adapter.AbilityButtons) {
		m.Buttons = o.buttons(row)
	}
	defer func() { o.spend(chat, max(len(sent.IDs), 1)) }()
	if row.Placeholder != "" && row.Parts == 0 {
		sent, err = o.sender.Edit(ctx, row.Adapter, row.Placeholder, m)
		_, refused := errors.AsType[*adapter.RefusedError](err)
		if !refused && !errors.Is(err, adapter.ErrUnable) || len(sent.IDs) > 0 {
			o.o.Meter.Sent(row.Session, err)
			return sent, err
		}
		row.Placeholder, row.Tried, m.Repeated, d.marked = "", false, false, false
	}
	o.begins(ctx, d)
	return o.send(ctx, row.Session, row.Adapter, m)
}

// note records how far a message has come. If that write fails, the next life may repeat it, or say that it may.
func (o *Outbox) note(ctx context.Context, row store.Outbox) {
	ctx, cancel := o.journal.Patient(ctx)
	defer cancel()
	if err := o.journal.SetOutbox(ctx, row); err != nil && !errors.Is(err, store.ErrReadOnly) {
		o.o.Log.Warn("attempt not recorded", "session", row.Session, "error", term.Clean(err.Error(), 300))
	}
}

// postpone ends the attempts for a chat until its wait is over. d is the message that failed with err, after so many of its
// messages had arrived in this attempt.
func (o *Outbox) postpone(ctx context.Context, c *chat, d delivery, arrived int, err error) {
	d.Parts += arrived
	d.Tried = adapter.MayHaveArrived(err) || arrived == 0 && d.Tried
	if arrived > 0 || !d.Tried {
		d.marked = d.Tried
		o.note(ctx, d.Outbox)
	}
	o.mu.Lock()
	d.tried = c.queue[0].tried
	c.queue[0] = d
	c.fails++
	wait := backoff(c.fails)
	if limit, is := errors.AsType[*adapter.RateLimitError](err); is {
		wait = max(wait, limit.RetryAfter)
	}
	c.after, c.sending = time.Now().Add(wait), false
	c.unblock()
	waiting := len(c.queue)
	o.mu.Unlock()
	if ctx.Err() == nil {
		o.o.Log.Warn("reply not delivered yet", "session", d.Session, "adapter", d.Adapter, "waiting", waiting, "next_in", wait.Round(time.Second), "error", term.Clean(err.Error(), 300))
	}
}

// end records the result of a delivery. If that write fails it is tried again; until then the next life may send the message again:
// better than never.
func (o *Outbox) end(ctx context.Context, row store.Outbox, refused string) {
	if o.closed(row.ID, refused) {
		return
	}
	ctx, cancel := o.journal.Patient(ctx)
	defer cancel()
	at := time.Now()
	row.Text = ""
	o.owe("delivery not recorded", owed{row: row, over: true, refused: refused, at: at}, o.journal.EndOutbox(ctx, row.ID, refused, at))
}

// message is a message of the inbox as its session gets it, from a person with this role. It is answered once, by Deliver or by
// Send.
func (o *Outbox) message(in store.Inbox, role ops.Role) session.Message {
	var once sync.Once
	return session.Message{
		ID: in.ID, User: in.User, Role: role, Target: in.Target, Text: in.Text, Files: in.Files, At: in.At,
		Unattended: session.IsWebhook(in.Session),
		Merged:     func() { once.Do(func() { o.merged(in) }) },
		Deliver:    func(text string, err error) { once.Do(func() { o.Reply(in, o.ChatText(in.Session, text, err)) }) },
		Offer:      func(text string, choices []session.Choice) { once.Do(func() { o.reply(in, text, choices) }) },
		Send: func(text string, err error) {
			once.Do(func() { o.Deliver(Answer(in, o.ChatText(in.Session, text, err))) })
		},
	}
}

// Withdrawn answers a message that was taken out of its mailbox with the cause.
func (o *Outbox) Withdrawn(key string, m session.Message, cause error) {
	o.o.Log.Info("waiting message withdrawn", "session", key, "message", m.ID, "reason", cause.Error())
	o.Refuse(key, session.Answer(cause), m)
}

// Refuse answers messages that waited in the session of key with why, on a task: a platform may be slow. When no task
// starts any more, it answers before it returns.
func (o *Outbox) Refuse(key string, why error, messages ...session.Message) {
	answer := func(context.Context) {
		for _, m := range messages {
			if m.Receipt != nil {
				m.Receipt.Taken()
			}
			m.Deliver("", why)
		}
	}
	if !o.o.Tasks.Start(context.Background(), "notice", key, answer) {
		answer(context.Background())
	}
}

// ChatText is what the chat of the session of key reads of a turn: its text, or why there is none.
func (o *Outbox) ChatText(key, text string, err error) string {
	if err != nil {
		return o.Own(key, userMessage(err))
	}
	return text
}

// userMessage is what a chat user reads of an error: its message and its hint as sentences.
func userMessage(err error) string {
	e := ops.AsError(err)
	text := sentence(e.Message)
	if e.Hint != "" {
		text += " " + sentence(e.Hint)
	}
	return text
}

func sentence(s string) string {
	n := min(1, len(s))
	return strings.ToUpper(s[:n]) + s[n:] + "."
}
