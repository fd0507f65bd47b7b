package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

const (
	// partMessages and partBytes bound the part of a conversation that one call of the provider gets.
	partMessages = 200
	partBytes    = 128 << 10
	// recordBound is how long the record of a flush that failed may take.
	recordBound = 2 * time.Second
)

// Missed is a conversation whose flush failed. It is there until the provider has had the conversation.
type Missed struct {
	// Session is the key of the conversation, Since when its first message came that the provider has not had.
	Session string
	Since   time.Time
	Tries   int
	Reason  string
	// tries are those of this life.
	tries int
}

// Flush gives the provider what it has not had of a conversation. It is bounded by ctx, even if the provider hangs. After an error the
// conversation stays recorded, the error is in the log, and the flush is tried again. Without anything to flush it does nothing.
func (m *Memory) Flush(ctx context.Context, conversation string) error {
	p, st := m.now()
	if p == nil {
		return nil
	}
	release, err := m.alone(ctx, conversation)
	if err != nil {
		return err
	}
	defer release()
	row, found, err := st.Unflushed(ctx, conversation)
	if err == nil && found {
		err = m.flush(ctx, st, row)
	}
	if errors.Is(err, ErrLater) {
		m.o.Log.Info("conversation is given to the memory later", "event", ops.LogMemory, "session", row.Key, "conversation", conversation)
		return nil
	}
	if err != nil {
		m.miss(ctx, st, conversation, row, err)
		return fmt.Errorf("give the conversation to the memory: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.missed, conversation)
	return nil
}

// alone waits until no other flush of a conversation is under way.
func (m *Memory) alone(ctx context.Context, conversation string) (release func(), err error) {
	mine := make(chan struct{})
	for {
		m.mu.Lock()
		other := m.flushing[conversation]
		if other == nil {
			m.flushing[conversation] = mine
		}
		m.mu.Unlock()
		if other == nil {
			return func() {
				m.mu.Lock()
				defer m.mu.Unlock()
				delete(m.flushing, conversation)
				close(mine)
			}, nil
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the flush under way: %w", context.Cause(ctx))
		}
	}
}

// flush gives the provider a conversation part by part.
func (m *Memory) flush(ctx context.Context, st Store, row store.Unflushed) error {
	for {
		page, more, err := st.Entries(ctx, row.Session, row.After, partMessages, partBytes)
		if err != nil {
			return err
		}
		if len(page) > 0 {
			row.After = page[len(page)-1].Seq
		}
		if part := m.material(row, page); len(part.Said) > 0 {
			_, err := call(ctx, m, 0, "flush", func(ctx context.Context, p Provider) (struct{}, error) { return struct{}{}, p.Flush(ctx, part) })
			if err != nil {
				return err
			}
		}
		if err := st.Flushed(ctx, row.Session, row.After); err != nil || !more {
			return err
		}
	}
}

// material is what a provider gets of messages: what was said, without what tools returned, what was undone, and what guests said.
func (m *Memory) material(row store.Unflushed, page []store.Entry) Material {
	platform := session.Platform(row.Key)
	part := Material{Conversation: row.Session, Key: row.Key}
	users := map[string]bool{}
	heard := true // an answer belongs to the message before it
	for _, e := range page {
		agent := e.Role == "assistant"
		if e.Undone || e.Content == "" || !agent && e.Role != "user" {
			continue
		}
		if !agent {
			heard = m.o.Role == nil || e.Who == "" || m.o.Role(platform, session.PersonOf(e.Who)).AtLeast(ops.RoleMember)
		}
		if !heard {
			continue
		}
		if who := speaker(platform, e.Who); who != "" && !agent {
			users[who] = true
		}
		part.Said = append(part.Said, Said{Agent: agent, User: e.Who, Text: e.Content, At: e.At})
	}
	part.People = slices.Sorted(maps.Keys(users))
	user := ""
	if len(part.People) == 1 {
		user = session.PersonOf(part.Said[slices.IndexFunc(part.Said, func(s Said) bool { return speaker(platform, s.User) != "" })].User)
	}
	part.Owner = ReachOf(Who{Key: row.Key, User: user, Role: ops.RoleMember}).Own
	if part.Owner == "" { // the session of a request keeps nothing
		part.Said = nil
	}
	return part
}

// miss records and logs that a flush failed.
func (m *Memory) miss(ctx context.Context, st Store, conversation string, row store.Unflushed, why error) {
	reason := term.Clean(term.Redact(why.Error()), 300)
	m.mu.Lock()
	was := m.missed[conversation]
	now := Missed{Session: cmp.Or(row.Key, was.Session), Since: row.Since, Tries: max(row.Tries, was.Tries) + 1, Reason: reason, tries: was.tries + 1}
	if now.Since.IsZero() {
		now.Since = time.Now()
	}
	m.missed[conversation] = now
	m.mu.Unlock()
	m.o.Log.Warn("conversation not given to the memory; it is tried again", "event", ops.LogMemory, "session", now.Session, "conversation", conversation, "tries", now.Tries, "error", reason)
	ctx, cancel := st.Patience(ctx, recordBound)
	defer cancel()
	if err := st.FlushFailed(ctx, conversation, reason, time.Now()); err != nil {
		m.o.Log.Warn("failed flush not recorded; the next life tries it again", "event", ops.LogMemory, "session", now.Session, "error", term.Clean(err.Error(), 300))
	}
}

// Missed are the conversations whose flush failed, oldest first. It does no I/O.
func (m *Memory) Missed() []Missed {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Values(m.missed), func(a, b Missed) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Session, b.Session))
	})
}

// Shutdown releases what the provider holds for a session, after its last flush. It is bounded by ctx.
func (m *Memory) Shutdown(ctx context.Context, key string) error {
	if !m.On() {
		return nil
	}
	_, err := call(ctx, m, 0, "shut down the memory of "+term.Clean(key, 80), func(ctx context.Context, p Provider) (struct{}, error) { return struct{}{}, p.Shutdown(ctx, key) })
	return err
}

// Retrying names the task that tries flushes again.
const Retrying = "memory flush"

const (
	// retryFirst is when the first retry of a life is due, retryEvery the time between two.
	retryFirst = 10 * time.Second
	retryEvery = 5 * time.Minute
	// retryBound is how long the flush of one conversation may take there, retryBatch how many there are in one round.
	retryBound = time.Minute
	retryBatch = 100
	// mostTries is how often this life tries a conversation; the next one begins to count again.
	mostTries = 5
)

// Retry begins to flush, on one task, what earlier lives left and what failed in this one, if that is due.
func (m *Memory) Retry(ctx context.Context, now time.Time) {
	p, st := m.now()
	m.mu.Lock()
	if m.next.IsZero() {
		m.next = now.Add(retryFirst)
	}
	due := p != nil && !now.Before(m.next)
	if due {
		m.next = now.Add(retryEvery)
	}
	m.mu.Unlock()
	if !due || m.o.Tasks.Count("", Retrying) > 0 {
		return
	}
	m.o.Tasks.Start(ctx, Retrying, "", func(ctx context.Context) {
		rows, err := st.UnflushedOlder(ctx, m.o.Life, retryBatch)
		if err != nil {
			m.o.Log.Warn("what is not flushed cannot be read", "event", ops.LogMemory, "error", term.Clean(err.Error(), 300))
		}
		for _, id := range m.missedIDs() { // its row may have gone with its conversation
			if !slices.ContainsFunc(rows, func(r store.Unflushed) bool { return r.Session == id }) {
				rows = append(rows, store.Unflushed{Session: id})
			}
		}
		m.retry(ctx, rows)
	})
}

func (m *Memory) missedIDs() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.missed))
}

// retry flushes conversations one after the other, so that they do not take the models from turns.
func (m *Memory) retry(ctx context.Context, rows []store.Unflushed) {
	for i, row := range rows {
		m.mu.Lock()
		enough := m.missed[row.Session].tries >= mostTries
		m.mu.Unlock()
		if enough || ctx.Err() != nil {
			continue
		}
		m.o.Tasks.Progress(ctx, int64(i), int64(len(rows)), fmt.Sprintf("%d of %d conversations", i, len(rows)))
		flush, cancel := context.WithTimeout(ctx, retryBound)
		_ = m.Flush(flush, row.Session) // it is logged, and a row
		cancel()
	}
}
