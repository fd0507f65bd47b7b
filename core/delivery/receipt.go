package delivery

import (
	"context"
	"sync"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
)

// seen is the sign on a message that waits.
const seen = "👀"

const (
	// reactionCost is what a sign costs of a chat's bucket.
	reactionCost = 0.25
	// reactionWait bounds how long a sign waits for its chat's bucket before it stays where it is.
	reactionWait = 10 * time.Second
)

// receipt is the sign on one message that it waits (session.Receipt). A call about it is made on a task, one at a time.
type receipt struct {
	o                                  *Outbox
	adapter, chat, target, id, session string

	mu sync.Mutex // guards what follows; never held over I/O
	// shown means that the message has the sign, or may have it; taken that it is to leave. calling means that a task runs.
	shown, taken, calling bool
}

var _ session.Receipt = (*receipt)(nil)

// receipt is the sign on a message, nil where its platform has no such signs.
func (o *Outbox) receipt(in adapter.Inbound) session.Receipt {
	if in.ID == "" || o.sender == nil || !o.sender.Can(in.Adapter, adapter.AbilityReactions) {
		return nil
	}
	return &receipt{o: o, adapter: in.Adapter, chat: in.Adapter + " " + adapter.ChatOf(in.Target), target: in.Target, id: in.ID, session: in.Session}
}

// Waits implements session.Receipt.
func (r *receipt) Waits(failed func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken || r.calling || r.shown {
		return
	}
	r.calling = r.o.o.Tasks.Start(context.Background(), "receipt", r.session, func(ctx context.Context) {
		err := r.react(ctx, seen, 0)
		r.mu.Lock()
		r.shown, r.calling = err == nil || adapter.MayHaveArrived(err), false
		taken := r.taken
		r.leave()
		r.mu.Unlock()
		if err != nil && !taken {
			failed()
		}
	})
}

// Taken implements session.Receipt.
func (r *receipt) Taken() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = true
	r.leave()
}

// leave starts a task that takes the sign away, if it is to leave and no other runs. The caller holds mu.
func (r *receipt) leave() {
	if !r.taken || !r.shown || r.calling {
		return
	}
	r.shown = false
	r.calling = r.o.o.Tasks.Start(context.Background(), "receipt", r.session, func(ctx context.Context) {
		if err := r.react(ctx, "", reactionWait); err != nil {
			r.o.o.Log.Debug("reaction not taken back", "session", r.session, "adapter", r.adapter, "error", term.Clean(err.Error(), 300))
		}
	})
}

// react makes emoji the sign, within the bucket of the chat, for which it waits at most wait.
func (r *receipt) react(ctx context.Context, emoji string, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, SendTimeout)
	defer cancel()
	for end := time.Now().Add(wait); ; {
		left := r.o.cost(r.chat, reactionCost)
		if left == 0 {
			return r.o.sender.React(ctx, r.adapter, r.target, r.id, emoji)
		}
		if time.Now().Add(left).After(end) {
			return &adapter.RateLimitError{RetryAfter: left}
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}
