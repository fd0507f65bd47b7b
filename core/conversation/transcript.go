package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"gatewaytui/core/agent"
	"gatewaytui/core/budget"
	"gatewaytui/core/model"
	"gatewaytui/core/store"
	"gatewaytui/core/window"
)

// transcript is the transcript of a conversation in the store, for the agent that works on it. What could not be written (a full
// disk) is kept, and written by the next Flush: an agent with something unsaved is never evicted (D5).
type transcript struct {
	store   Store
	session string // the conversation's id
	// key is that of its session, and notes get the conversation when it ends; nil: there are none.
	key   string
	notes Notes

	pending atomic.Int64
	mu      sync.Mutex // guards unsaved. It is held over the writes, so that steps reach the store in their order.
	unsaved []write
}

var _ agent.Memory = (*transcript)(nil)

// write is something that the store still has to take.
type write func(ctx context.Context) error

func (m *transcript) Load(ctx context.Context, first bool) (agent.Past, error) {
	if err := m.Flush(ctx); err != nil {
		return agent.Past{}, err
	}
	pins, err := m.store.Pins(ctx, m.session)
	if err != nil {
		return agent.Past{}, fmt.Errorf("load the pins of session %s: %w", m.session, err)
	}
	if first {
		return agent.Past{Pins: pinTexts(pins)}, nil
	}
	done, err := m.store.Compaction(ctx, m.session)
	if err != nil {
		return agent.Past{}, fmt.Errorf("load the transcript of session %s: %w", m.session, err)
	}
	rows, err := m.store.Since(ctx, m.session, done.Upto)
	if err != nil {
		return agent.Past{}, fmt.Errorf("load the transcript of session %s: %w", m.session, err)
	}
	past := agent.Past{
		Compaction: agent.Compaction{Upto: done.Upto, Pruned: done.Pruned, Digest: window.Digest{Summary: done.Summary, Said: done.Said}},
		Pins:       pinTexts(pins), Messages: make([]model.Message, 0, len(rows)),
	}
	for _, r := range rows {
		msg := model.Message{Role: model.Role(r.Role), Content: r.Content, ToolCallID: r.ToolCallID, Seq: r.Seq}
		if len(r.ToolCalls) > 0 {
			if err := json.Unmarshal([]byte(r.ToolCalls), &msg.ToolCalls); err != nil {
				return agent.Past{}, fmt.Errorf("read a tool call of session %s: %w", m.session, err)
			}
		}
		past.Messages = append(past.Messages, msg)
	}
	return past, nil
}

func (m *transcript) Compact(ctx context.Context, turn string, c agent.Compaction) error {
	row := store.Compaction{Upto: c.Upto, Pruned: c.Pruned, Summary: c.Digest.Summary, Said: c.Digest.Said, At: time.Now()}
	ctx, cancel := m.store.Patient(ctx)
	defer cancel()
	return m.Write(ctx, func(ctx context.Context) error { return m.store.Compact(ctx, m.session, turn, row) })
}

func (m *transcript) Append(ctx context.Context, turn string, messages []model.Message, c *budget.Charge) error {
	rows := stored(messages)
	// An interrupt during the commit would leave it unknown whether the step was written, and it might be written twice.
	ctx, cancel := m.store.Patient(ctx)
	defer cancel()
	return m.Write(ctx, func(ctx context.Context) error { return m.store.AppendMessages(ctx, m.session, turn, rows, c) })
}

// Write does w after everything that is unsaved, or keeps it. A turn that is over writes nothing, now or later.
func (m *transcript) Write(ctx context.Context, w func(context.Context) error) error {
	m.mu.Lock() // over I/O on purpose: only this conversation's turn, its end and its flush take this lock
	defer m.mu.Unlock()
	err := m.flush(ctx)
	if err == nil {
		err = w(ctx)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrStaleTurn):
		return agent.ErrStale
	}
	m.unsaved = append(m.unsaved, w)
	m.pending.Store(int64(len(m.unsaved)))
	return err
}

func (m *transcript) Unsaved() bool { return m.pending.Load() > 0 }

func (m *transcript) Flush(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.flush(ctx)
}

// flush writes what is unsaved in its order. It drops what turns out to be stale: someone else ended that turn.
func (m *transcript) flush(ctx context.Context) error {
	for len(m.unsaved) > 0 {
		if err := m.unsaved[0](ctx); err != nil && !errors.Is(err, store.ErrStaleTurn) {
			return fmt.Errorf("write what is unsaved of session %s: %w", m.session, err)
		}
		m.unsaved = m.unsaved[1:]
		m.pending.Store(int64(len(m.unsaved)))
	}
	return nil
}

// Remember gives the conversation to the provider of notes.
func (m *transcript) Remember(ctx context.Context) error {
	if m.notes == nil {
		return nil
	}
	return m.notes.Flush(ctx, m.session)
}

// Shutdown ends what the provider of notes holds for the session: the store outlives every memory.
func (m *transcript) Shutdown(ctx context.Context) error {
	if m.notes == nil {
		return nil
	}
	return m.notes.Shutdown(ctx, m.key)
}

// stored is messages as the store keeps them.
func stored(messages []model.Message) []store.Message {
	out, now := make([]store.Message, len(messages)), time.Now()
	for i, m := range messages {
		out[i] = store.Message{Role: string(m.Role), Content: m.Content, ToolCallID: m.ToolCallID, At: now}
		if len(m.ToolCalls) > 0 {
			calls, _ := json.Marshal(m.ToolCalls) // strings only: it always marshals
			out[i].ToolCalls = string(calls)
		}
	}
	return out
}

// ExternalSession implements acp.Recall.
func (m *transcript) ExternalSession(ctx context.Context, agent string) (string, error) {
	return m.store.ExternalSession(ctx, m.session, agent)
}

// KeepExternalSession implements acp.Recall.
func (m *transcript) KeepExternalSession(ctx context.Context, agent, id string) error {
	ctx, cancel := m.store.Patient(ctx)
	defer cancel()
	return m.store.KeepExternalSession(ctx, m.session, agent, id, time.Now())
}
