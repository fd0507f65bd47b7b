package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

const (
	// maxRefusing bounds the chats whose last refusal is remembered.
	maxRefusing = 1024
	// maxUnknown bounds the notices to unknown users that wait. Users beyond it get no answer.
	maxUnknown = 16
	// unknownPace is the time between two notices to unknown users.
	unknownPace = time.Second
	// quiet is how long the merely polite notices stop after one that failed.
	quiet = time.Minute
)

// Chat is a platform's address of a chat; String is the form of adapter.Outgoing.Target.
type Chat interface {
	comparable
	fmt.Stringer
}

// NoticeOptions are what NewNotices needs.
type NoticeOptions struct {
	Life *Life
	// Limit bounds one notice, since the messages behind it wait for it.
	Limit time.Duration
	Send  func(ctx context.Context, m adapter.Outgoing) (adapter.Sent, error)
	// Door says what unknown users hear.
	Door adapter.Door
	Log  *slog.Logger
	// Unanswered counts the unknown users who got no answer, because too many came at once or the notice failed.
	Unanswered *atomic.Uint64
	// Refused, Failed and Panicked are the events for a message that was refused, a notice that failed, and a panic of the Receiver.
	Refused, Failed, Panicked string
}

// Notices are what a connection says to chats on its own, K being what names a chat. All methods but Usher and Await are for the one
// goroutine that takes the messages.
type Notices[K Chat] struct {
	o NoticeOptions
	// refusing is the last notice to a chat, while it covers the next messages as well.
	refusing map[K]refused
	// quietUntil is when the merely polite notices begin again.
	quietUntil time.Time
	// unknown are the users who wait for an answer; ushered is closed when Usher, which sends it, has returned.
	unknown chan unknown[K]
	ushered chan struct{}
	// waits are the ids of the users in unknown, so that none takes two places.
	waits sync.Map
}

// refused is a notice of a refusal that lasts. open means that no message was accepted since; it covers the refusals of its code until
// the time until in any case.
type refused struct {
	text  string
	code  ops.Code
	until time.Time
	open  bool
}

// covers reports whether the notice stands for a refusal that is said as text.
func (r refused) covers(code ops.Code, text string) bool {
	return r.open && r.text == text || r.code == code && time.Now().Before(r.until)
}

type unknown[K Chat] struct {
	chat K
	user adapter.User
}

// NewNotices returns the notices of a connection. It does no I/O.
func NewNotices[K Chat](o NoticeOptions) *Notices[K] {
	return &Notices[K]{o: o, refusing: map[K]refused{}, unknown: make(chan unknown[K], maxUnknown), ushered: make(chan struct{})}
}

// Hand gives a message to the Receiver. A panic there is that message's failure and not the end of the process (E7).
func (n *Notices[K]) Hand(r adapter.Receiver, m adapter.Inbound) (err error) {
	defer func() {
		if p := recover(); p != nil {
			n.o.Log.Error(n.o.Panicked, "session", m.Session, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	_, err = r.Receive(n.o.Life.Tasks, m)
	return err
}

// Accepted notes that a message of the chat was accepted: the next refusal is said again, where the last one has a pace after that.
func (n *Notices[K]) Accepted(chat K) {
	last, is := n.refusing[chat]
	switch {
	case !is:
	case time.Now().Before(last.until):
		last.open = false
		n.refusing[chat] = last
	default:
		delete(n.refusing, chat)
	}
}

// Refuse tells the chat why its message was not taken. Its error is a notice that may not have arrived, so that the message is
// not handled.
func (n *Notices[K]) Refuse(chat K, session string, why *ops.Error) error {
	n.o.Log.Info(n.o.Refused, "session", session, "code", string(why.Code))
	text, lasts, pace := adapter.Refusal(why)
	if lasts && n.refusing[chat].covers(why.Code, text) {
		return nil
	}
	if err := n.Tell(chat, text); err != nil {
		return fmt.Errorf("tell a chat that its message was refused: %w", err)
	}
	if lasts {
		if len(n.refusing) >= maxRefusing {
			clear(n.refusing)
		}
		n.refusing[chat] = refused{text, why.Code, time.Now().Add(pace), true}
	}
	return nil
}

// Tell sends a notice that matters. A chat that refuses all messages cannot get it, which is not an error.
func (n *Notices[K]) Tell(chat K, text string) error {
	ctx, cancel := context.WithTimeout(n.o.Life.Tasks, n.o.Limit)
	defer cancel()
	_, err := n.o.Send(ctx, adapter.Outgoing{Target: chat.String(), Text: text})
	if _, is := errors.AsType[*adapter.RefusedError](err); is {
		return nil
	}
	return err
}

// Quiet reports whether the merely polite calls are off, because one failed a moment ago.
func (n *Notices[K]) Quiet() bool { return time.Now().Before(n.quietUntil) }

// Failed notes that a merely polite call failed: the next minute goes without. Neither the platform nor the messages behind it are
// made to wait.
func (n *Notices[K]) Failed(err error) { n.quietUntil = n.pause(err) }

func (n *Notices[K]) pause(err error) (until time.Time) {
	n.o.Log.Debug(n.o.Failed, "error", err.Error())
	return time.Now().Add(adapter.Pause(err, quiet))
}

// Mention sends a notice that is merely polite.
func (n *Notices[K]) Mention(chat K, text string) {
	if n.Quiet() {
		return
	}
	if err := n.Tell(chat, text); err != nil {
		n.Failed(err)
	}
}

// Unknown has Usher answer an unknown user in a chat with the bot alone, if the Door has an answer. No message waits for it (HF16).
func (n *Notices[K]) Unknown(chat K, user adapter.User) {
	if !n.o.Door.Greets(user) {
		return
	}
	if _, waits := n.waits.LoadOrStore(user.ID, nil); waits {
		return
	}
	select {
	case n.unknown <- unknown[K]{chat, user}:
	default:
		n.waits.Delete(user.ID)
		n.o.Unanswered.Add(1)
	}
}

// Usher sends the notices to unknown users, one each unknownPace, until Life.Tasks ends. Where one fails, the unknown users of the
// next minute get no answer; those that still wait are dropped by then, because a late answer is of no use. It is called once.
func (n *Notices[K]) Usher() {
	defer close(n.ushered)
	var quietUntil time.Time
	for {
		var u unknown[K]
		select {
		case u = <-n.unknown:
		case <-n.o.Life.Tasks.Done():
			return
		}
		if time.Now().Before(quietUntil) {
			n.waits.Delete(u.user.ID)
			n.o.Unanswered.Add(1)
			continue
		}
		said, err := n.greet(u)
		n.waits.Delete(u.user.ID)
		if err != nil {
			quietUntil = n.pause(err)
			n.o.Unanswered.Add(1)
		}
		if !said {
			continue
		}
		if !n.o.Life.Sleep(unknownPace) {
			return
		}
	}
}

// greet answers an unknown user, and reports whether the platform was called.
func (n *Notices[K]) greet(u unknown[K]) (said bool, err error) {
	ctx, cancel := context.WithTimeout(n.o.Life.Tasks, n.o.Limit)
	defer cancel()
	text, err := n.o.Door.Greet(ctx, u.user)
	if err != nil || text == "" {
		return false, err
	}
	return true, n.Tell(u.chat, text)
}

// Await waits until Usher has returned.
func (n *Notices[K]) Await(ctx context.Context) error {
	return adapter.Await(ctx, n.ushered, "a notice to an unknown user")
}
