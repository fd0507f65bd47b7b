package telegram

import (
	"fmt"
	"sync"
	"time"

	"gatewaytui/core/ops"
)

// maxStrangers bounds the users who may not speak and are remembered; the ones after that are turned away in silence.
const maxStrangers = 4096

// unknownUsers are the users who were turned away.
type unknownUsers struct {
	mu   sync.Mutex
	seen map[int64]struct{}
}

// add reports whether this is the user's first time.
func (s *unknownUsers) add(user int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.seen[user]; known || len(s.seen) >= maxStrangers {
		return false
	}
	s.seen[user] = struct{}{}
	return true
}

const (
	// maxNotices bounds the notices to unknown users that wait. Users beyond it get no answer.
	maxNotices = 16
	// noticePace is the time between two notices to unknown users.
	noticePace = time.Second
)

// reject refuses a user who may not speak. Groups get no answer: the bot may hear all that is said there. The notice to a
// private chat is sent by usher, so that the poll loop never waits for it (HF16).
func (c *conn) reject(e event) {
	if !c.p.unknown.add(e.user) {
		return
	}
	c.log.Warn(ops.LogTelegramStranger, "user", e.user, "private", e.private)
	if !e.private {
		return
	}
	select {
	case c.notices <- e:
	default:
		c.p.unanswered.Add(1)
	}
}

// usher sends the notices to unknown users, one each noticePace, until tasks ends. Where one fails, the unknown users of the next
// minute get no answer; those that still wait are dropped by then, because a late answer is of no use.
func (c *conn) usher() {
	defer close(c.ushered)
	var quiet time.Time // none is sent before then
	for {
		var e event
		select {
		case e = <-c.notices:
		case <-c.tasks.Done():
			return
		}
		if time.Now().Before(quiet) {
			c.p.unanswered.Add(1)
			continue
		}
		text := fmt.Sprintf("You are not on this bot's allow list. Your user id is %d; its owner can add you.", e.user)
		if !c.notify(&quiet, e.from, text) {
			c.p.unanswered.Add(1)
		}
		if !c.sleep(noticePace) {
			return
		}
	}
}
