package telegram

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"gatewaytui/core/adapter"
)

// Send implements adapter.Conn. A text that is too long for one message goes out as several, in order and without another
// text of the gateway for the same chat between them. If one of them fails, so does the Send; another try with the same
// text, within ten minutes, goes on with the one that failed and repeats none that arrived.
//
// A *adapter.RefusedError is for ever: the bot was blocked, the chat is gone. A *adapter.RateLimitError is returned and
// never slept on. After any other error the last message may or may not have arrived; nothing is sent twice on our own.
func (c *conn) Send(ctx context.Context, m adapter.Outgoing) error {
	to, err := parseAddress(m.Target)
	if err != nil {
		return &adapter.RefusedError{Why: err.Error()}
	}
	return c.deliver(ctx, to, m.Text)
}

func (c *conn) deliver(ctx context.Context, to address, text string) error {
	if !c.sends.TryAcquire(1) {
		return errDisconnected
	}
	defer c.sends.Release(1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	if c.life.Err() != nil {
		return errDisconnected
	}
	leave, err := c.chats.enter(ctx, to)
	if err != nil {
		return fmt.Errorf("wait for the chat's other messages: %w", err)
	}
	defer leave()
	return c.parts(ctx, to, text)
}

func (c *conn) parts(ctx context.Context, to address, text string) error {
	// Telegram refuses a text that is not UTF-8.
	parts := split(strings.ToValidUTF8(text, "\uFFFD"), maxUnits)
	key := sha256.Sum256([]byte(to.String() + "\n" + text))
	sent := false
	for i := c.p.unfinished.take(key); i < len(parts); i++ {
		// Telegram refuses a blank text, and it would not be visible.
		if strings.TrimSpace(parts[i]) == "" {
			continue
		}
		if err := c.api.send(ctx, to, parts[i]); err != nil {
			if len(parts) == 1 {
				return err
			}
			c.p.unfinished.put(key, i)
			return fmt.Errorf("part %d of %d: %w", i+1, len(parts), err)
		}
		sent = true
	}
	if !sent {
		return &adapter.RefusedError{Why: "the text is blank"}
	}
	return nil
}

// chats lets one text at a time into a chat.
type chats struct {
	mu   sync.Mutex
	busy map[address]*queue
}

// queue is a chat with sends under way.
type queue struct {
	turn  chan struct{} // of one
	users int           // with the one who sends; the last takes the queue off the map
}

// enter waits for the chat, and returns how to leave it.
func (s *chats) enter(ctx context.Context, to address) (leave func(), err error) {
	s.mu.Lock()
	q := s.busy[to]
	if q == nil {
		q = &queue{turn: make(chan struct{}, 1)}
		s.busy[to] = q
	}
	q.users++
	s.mu.Unlock()

	forget := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if q.users--; q.users == 0 {
			delete(s.busy, to)
		}
	}
	select {
	case q.turn <- struct{}{}:
		return func() { <-q.turn; forget() }, nil
	case <-ctx.Done():
		forget()
		return nil, ctx.Err()
	}
}

const (
	// maxUnfinished bounds the texts of which only a part was sent and that are remembered.
	maxUnfinished = 256
	// unfinishedFor is for how long. The same words an hour later are a message of their own.
	unfinishedFor = 10 * time.Minute
)

// unfinished are the texts of which a part was sent. It outlives a connection because the next try does.
type unfinished struct {
	mu    sync.Mutex
	texts map[[sha256.Size]byte]progress
}

type progress struct {
	part int // the first that is not known to have arrived
	at   time.Time
}

func (u *unfinished) take(key [sha256.Size]byte) (part int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	p, known := u.texts[key]
	delete(u.texts, key)
	if !known || time.Since(p.at) > unfinishedFor {
		return 0
	}
	return p.part
}

func (u *unfinished) put(key [sha256.Size]byte, part int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.texts == nil {
		u.texts = map[[sha256.Size]byte]progress{}
	}
	maps.DeleteFunc(u.texts, func(_ [sha256.Size]byte, p progress) bool { return time.Since(p.at) > unfinishedFor })
	if len(u.texts) >= maxUnfinished {
		delete(u.texts, slices.MinFunc(slices.Collect(maps.Keys(u.texts)), func(a, b [sha256.Size]byte) int {
			return u.texts[a].at.Compare(u.texts[b].at)
		}))
	}
	u.texts[key] = progress{part: part, at: time.Now()}
}
