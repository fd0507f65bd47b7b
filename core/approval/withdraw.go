package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// withdrawn is why a request of an earlier life, or of one that ends, is over.
const withdrawn = "the gateway was restarted"

// maxUnread is how many withdrawn requests the model of a session reads of.
const maxUnread = 8

// Open gives the book its store and the turns that wait. It withdraws what an earlier life left waiting, so that nothing that was asked
// before a restart runs after it (TR5), and returns before any message is taken. It is called once.
func (b *Book) Open(ctx context.Context, s Store, turns Turns) error {
	b.store, b.turns = s, turns
	rules, err := s.ApprovalRules(ctx)
	if err != nil {
		return fmt.Errorf("read the rules of approvals: %w", err)
	}
	left, err := s.WithdrawApprovals(ctx, withdrawn, time.Now())
	if err != nil && !errors.Is(err, store.ErrReadOnly) {
		return fmt.Errorf("withdraw the approvals of earlier lives: %w", err)
	}
	recent, err := s.Approvals(ctx, maxRecent)
	if err != nil {
		return fmt.Errorf("read the last approvals: %w", err)
	}
	recent = slices.DeleteFunc(recent, func(row store.Approval) bool { return row.State == store.ApprovalWaiting })
	slices.Reverse(recent)
	b.mu.Lock()
	b.rules, b.recent = rules, recent
	for _, row := range left {
		b.unread[row.Session] = append(b.unread[row.Session], unreadOf(row))
	}
	b.mu.Unlock()
	for _, row := range left {
		b.o.Meter.Approval(string(row.State))
		b.emit(ops.EventApprovalExpired, row)
		if row.CardChat != "" {
			b.o.Chats.Replace(row.CardChat, row.CardTarget, row.Card, endText(row)+"\nAsk again if it is still needed.")
		}
	}
	if len(left) > 0 {
		b.o.Log.Warn("approvals of the last life withdrawn", "event", ops.LogApproval, "count", len(left))
	}
	return nil
}

// unreadOf names a withdrawn request for its model.
func unreadOf(row store.Approval) string {
	if row.Kind == question {
		return "the question: " + row.Command
	}
	return row.Command
}

// Stop withdraws what waits, because the gateway stops, and asks no person any more. The turns that wait stay parked until they are
// interrupted. Tell informs their chats.
func (b *Book) Stop(ctx context.Context) error {
	b.mu.Lock()
	b.stopping = true
	left := b.waiting
	b.waiting = map[string]*request{}
	b.mu.Unlock()
	if b.store == nil {
		return nil
	}
	rows, err := b.store.WithdrawApprovals(ctx, withdrawn, time.Now())
	for _, row := range rows {
		b.over(row)
		b.mu.Lock()
		if r := left[row.ID]; r != nil {
			r.row, r.ended = row, true
			b.told = append(b.told, r)
		}
		b.mu.Unlock()
	}
	return err
}

// Tell makes the cards of the requests that Stop withdrew say so. It is durable when it returns.
func (b *Book) Tell(ctx context.Context) error {
	b.mu.Lock()
	told := b.told
	b.told = nil
	b.mu.Unlock()
	for i, r := range told {
		if ctx.Err() != nil {
			return fmt.Errorf("%d chats were not informed: %w", len(told)-i, context.Cause(ctx))
		}
		b.mu.Lock()
		at, row := r.card, r.row
		b.mu.Unlock()
		if at.message != "" { // else the card says so when it arrives, and every answer is refused
			b.o.Chats.Replace(at.chat, at.target, at.message, endText(row)+"\nAsk again if it is still needed.")
		}
	}
	return nil
}

// Withdrew reports how many requests Stop withdrew whose chats are not informed yet.
func (b *Book) Withdrew() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.told)
}

// Take returns what the model of a session should know of requests that an earlier life left, once; empty: nothing. giveBack undoes it.
func (b *Book) Take(key string) (note string, giveBack func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.unread[key]
	delete(b.unread, key)
	if len(taken) == 0 {
		return "", func() {}
	}
	var lines []string
	for _, command := range taken[max(len(taken)-maxUnread, 0):] {
		lines = append(lines, "- "+term.Clean(command, 300))
	}
	note = "Your requests of people, for an approval of these steps or an answer, were withdrawn because of a restart. They were not run, and there is no answer. Ask again for what is still needed:\n" + strings.Join(lines, "\n")
	return note, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.unread[key] = taken
	}
}

// Drop forgets what Take would return: the conversation has ended.
func (b *Book) Drop(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.unread, key)
}
