package delivery

import (
	"context"
	"slices"
	"sync"

	"gatewaytui/core/adapter"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
)

// maxTaken is how many of the last messages are remembered, for changes of them.
const maxTaken = 512

// taken remembers the last messages that were taken, by their names on their platforms.
type taken struct {
	mu    sync.Mutex
	by    map[string]one
	order []string
}

// one is a message that was taken: its id in the inbox, its session and what it said.
type one struct{ id, session, text string }

func nameOf(in adapter.Inbound) string {
	return in.Adapter + " " + adapter.ChatOf(in.Target) + " " + in.ID
}

func (t *taken) put(in adapter.Inbound, id string) {
	if in.ID == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = map[string]one{}
	}
	name := nameOf(in)
	if _, known := t.by[name]; !known {
		t.order = append(t.order, name)
	}
	t.by[name] = one{id, in.Session, in.Text}
	if len(t.order) > maxTaken {
		delete(t.by, t.order[0])
		t.order = slices.Delete(t.order, 0, 1)
	}
}

func (t *taken) get(in adapter.Inbound) (one, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, known := t.by[nameOf(in)]
	return m, known
}

// replaced is what the change of a message is about. take is false for one that changes no text, or a message that is not
// remembered: it is nothing new. A message that still waits leaves its mailbox and is returned: the changed one takes its place.
func (i *Intake) replaced(in adapter.Inbound) (waited *session.Message, take bool) {
	before, known := i.taken.get(in)
	if !known || before.text == in.Text {
		return nil, false
	}
	if m, turn, found := i.o.Table.Withdraw(before.session, before.id); found && turn == "" {
		return &m, true
	}
	return nil, true
}

// replace ends a message of the inbox whose place a changed one took. err is why that one was not saved.
func (i *Intake) replace(ctx context.Context, key string, waited *session.Message, err error) {
	if waited == nil {
		return
	}
	if err == nil {
		err = i.journal.Answer(ctx, waited.ID, nil)
	}
	if err != nil {
		i.o.Log.Warn("edited message not replaced in the inbox", "session", key, "message", waited.ID, "error", term.Clean(err.Error(), 300))
	}
}
