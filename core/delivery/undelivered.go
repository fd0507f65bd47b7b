package delivery

import (
	"cmp"
	"slices"
	"time"

	"gatewaytui/core/term"
)

// Undelivered is a session whose chat a platform will not deliver to: how many messages were refused, since when, and why the last one
// was. It is known until a message arrives there, until it is dismissed, or until the gateway ends.
type Undelivered struct {
	Session string
	Count   int
	Since   time.Time
	Why     string
}

// maxUndelivered bounds the sessions that are remembered. The oldest is forgotten first.
const maxUndelivered = 50

// Undelivered are the sessions whose messages were refused for good, oldest first.
func (o *Outbox) Undelivered() []Undelivered {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.undelivered)
}

// Dismiss forgets what could not be delivered to a session.
func (o *Outbox) Dismiss(session string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.undelivered = slices.DeleteFunc(o.undelivered, func(u Undelivered) bool { return u.Session == session })
}

// lost remembers a message to a session that its platform refused.
func (o *Outbox) lost(session, why string) {
	why = term.Clean(cmp.Or(why, "its platform refused it"), 300)
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := slices.IndexFunc(o.undelivered, func(u Undelivered) bool { return u.Session == session }); i >= 0 {
		o.undelivered[i].Count, o.undelivered[i].Why = o.undelivered[i].Count+1, why
		return
	}
	o.undelivered = append(o.undelivered, Undelivered{Session: session, Count: 1, Since: time.Now(), Why: why})
	o.undelivered = o.undelivered[max(len(o.undelivered)-maxUndelivered, 0):]
}
