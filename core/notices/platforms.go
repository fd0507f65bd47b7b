package notices

import (
	"context"
	"fmt"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// downFor is how long a platform is down before anyone hears of it: a shorter time is a flap.
const downFor = 2 * time.Minute

// platform is what is known of a platform. Notices.mu guards it.
type platform struct {
	up    bool
	since time.Time // it is down since then; zero: it is not
	why   string
	// told is the platform in whose home chat it was said, at the time at; empty: nowhere.
	told string
	at   time.Time
}

// AdapterChanged hears each state of a platform. One that a person paused, or that the gateway stops, is not down.
func (n *Notices) AdapterChanged(a ops.Adapter) {
	if len(n.chats()) == 0 {
		return
	}
	now := time.Now()
	n.mu.Lock()
	p := n.platforms[a.Name]
	if p == nil {
		p = &platform{}
		n.platforms[a.Name] = p
	}
	before := *p
	p.up = a.State == ops.AdapterConnected
	switch a.State {
	case ops.AdapterConnected, ops.AdapterPaused, ops.AdapterStopped:
		p.since, p.why, p.told = time.Time{}, "", ""
	default:
		if p.since.IsZero() {
			p.since = now
		}
		if a.LastError != "" {
			p.why = term.Redact(term.Clean(a.LastError, 200))
		}
	}
	n.mu.Unlock()
	if p.up && before.told != "" {
		n.say(before.told, fmt.Sprintf("%s is connected again. It was down for %s.", a.Name, text.Duration(now.Sub(before.since))))
	}
}

// tellOfPlatforms says which platforms are down, through another one that is connected.
func (n *Notices) tellOfPlatforms(now time.Time) {
	if len(n.chats()) == 0 || n.stopping() {
		return
	}
	type news struct{ through, words string }
	var all []news
	n.mu.Lock()
	for name, p := range n.platforms {
		if p.since.IsZero() || p.told != "" || now.Sub(p.since) < downFor || !p.at.IsZero() && now.Sub(p.at) < Cooldown {
			continue
		}
		for _, other := range n.homes() {
			if q := n.platforms[other]; other != name && q != nil && q.up {
				p.told, p.at = other, now
				words := fmt.Sprintf("%s has not been connected for %s.", name, text.Duration(now.Sub(p.since)))
				if p.why != "" {
					words += " The reason: " + p.why
				}
				all = append(all, news{other, words})
				break
			}
		}
	}
	n.mu.Unlock()
	for _, one := range all {
		n.say(one.through, one.words)
	}
}

// say posts words into the home chat of a platform, on a task.
func (n *Notices) say(name, words string) {
	n.o.Tasks.Start(context.Background(), "notice", "", func(ctx context.Context) {
		if h := n.home(ctx, name); h.Target != "" && !n.stopping() {
			n.o.Outbox.Post(h.Session, h.Target, words)
		}
	})
}
