package conformance

import (
	"context"
	"errors"
	"slices"
	"sync"

	"gatewaytui/core/adapter"
)

// Receiver keeps what a platform hands on, for a platform's own tests. The zero value is ready.
type Receiver struct {
	adapter.Receiver
	mu  sync.Mutex
	got []adapter.Inbound
	// answer, if not nil, decides about a message.
	answer func(ctx context.Context, m adapter.Inbound) error
	// members are the ids of those who may speak, nil for everyone; greeted those who heard that they may not.
	members, greeted []string
}

// Only lets only the users with these ids speak from now on; nil: everyone.
func (r *Receiver) Only(ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members = ids
}

// Admits implements adapter.Door.
func (r *Receiver) Admits(u adapter.User) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.members == nil || slices.Contains(r.members, u.ID)
}

// Greets implements adapter.Door: each unknown user is greeted once.
func (r *Receiver) Greets(u adapter.User) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !slices.Contains(r.greeted, u.ID)
}

// Greet implements adapter.Door.
func (r *Receiver) Greet(_ context.Context, u adapter.User) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.greeted = append(r.greeted, u.ID)
	return "You are not on this bot's allow list. Your user id is " + u.ID + ".", nil
}

// Receive implements adapter.Receiver.
func (r *Receiver) Receive(ctx context.Context, m adapter.Inbound) (string, error) {
	r.mu.Lock()
	answer := r.answer
	r.mu.Unlock()
	if answer != nil {
		if err := answer(ctx, m); err != nil {
			return "", err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, m)
	return "id", nil
}

// Decide has f decide about the messages from now on; nil: all are taken.
func (r *Receiver) Decide(f func(ctx context.Context, m adapter.Inbound) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = f
}

// Messages are those that were taken, in order.
func (r *Receiver) Messages() []adapter.Inbound {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// Texts are those of Messages.
func (r *Receiver) Texts() (out []string) {
	for _, m := range r.Messages() {
		out = append(out, m.Text)
	}
	return out
}

// WantTexts fails the test unless these messages were taken.
func (r *Receiver) WantTexts(t Test, want ...string) {
	t.Helper()
	if got := r.Texts(); !slices.Equal(got, want) {
		t.Errorf("the gateway got %q, want %q", got, want)
	}
}

// TakeDown takes a connection down as the Supervisor does. Its context is not the test's, which may be over.
func TakeDown(c adapter.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), downLimit)
	defer cancel()
	return errors.Join(c.CancelTasks(ctx), c.Disconnect(ctx))
}
