package notices

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gatewaytui/core/delivery"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/shutdown"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// The ids of notices about lives sort by time: prefix, life, and what happened to it.
const (
	backNotice = ":back"
	stopNotice = ":stop" + delivery.Momentary
)

// readBound is what it may take to read what earlier lives told.
const readBound = 2 * time.Second

func (n *Notices) prefix(platform string) string { return "notice:" + platform + ":life:" }

// StopItems are what the stop tells: each chat with a running turn, and the home chats, each once. A notice that fails or hangs
// counts as sent: no chat gets two, and nothing waits for it (S6, A2). send sends a message once, to the chat of a session.
func (n *Notices) StopItems(turns []session.TurnView, restart bool, send func(ctx context.Context, key, target, text string) error) []shutdown.Item {
	what := "The gateway is stopping."
	if restart {
		what = "The gateway is restarting."
	}
	var items []shutdown.Item
	told := map[string]bool{}
	for _, v := range turns {
		key, target := v.Session.Key, v.Message.Target
		at := session.Platform(key) + " " + target
		if v.Message.Instant || told[at] { // who waits for an answer gets that
			continue
		}
		told[at] = true
		items = append(items, shutdown.Item{Kind: "notice", ID: key, Run: func(ctx context.Context) error {
			return send(ctx, key, target, what+" Your running turn may still finish; new messages are not taken until it is back.")
		}})
	}
	for _, name := range n.homes() {
		items = append(items, shutdown.Item{Kind: "notice", ID: "home chat of " + name, Run: func(ctx context.Context) error {
			h := n.home(ctx, name)
			if h.Target == "" || told[name+" "+h.Target] || n.recent(ctx, name) {
				return nil
			}
			return n.o.Outbox.Announce(ctx, n.prefix(name)+n.o.Life+stopNotice, h.Session, h.Target, what+running(len(turns)))
		}})
	}
	return items
}

// HasHomes reports whether a stop tells anyone but the chats with running turns.
func (n *Notices) HasHomes() bool { return len(n.chats()) > 0 }

// running says how many turns run as a stop begins.
func running(turns int) string {
	if turns == 0 {
		return ""
	}
	return fmt.Sprintf(" %s may still finish.", text.Count(turns, "running turn"))
}

// recent reports whether a platform heard of a stop or a start within Cooldown. Where that cannot be read it did not.
func (n *Notices) recent(ctx context.Context, name string) bool {
	last, found := n.last(ctx, name)
	return found && time.Since(last.At) < Cooldown
}

func (n *Notices) last(ctx context.Context, name string) (last store.Outbox, found bool) {
	ctx, cancel := context.WithTimeout(ctx, readBound)
	defer cancel()
	last, found, err := n.journal.LastOutbox(ctx, n.prefix(name))
	if err != nil {
		n.o.Log.Warn(ops.LogNoticeUnread, "adapter", name, "error", term.Clean(err.Error(), 300))
	}
	return last, found
}

// Back tells the home chats that the gateway is back, on a task: at once where they heard of the stop or of nothing for a
// while, else when Cooldown is over. last is how the life before ended, nil for none; cutOff is how many turns it left running.
func (n *Notices) Back(last *ops.LastEnd, cutOff int, started time.Time) {
	if last == nil || len(n.chats()) == 0 {
		return
	}
	words := back(last, cutOff, started)
	n.o.Tasks.Start(context.Background(), "notice", "", func(ctx context.Context) {
		for _, name := range n.homes() {
			before, found := n.last(ctx, name)
			wait := Cooldown - time.Since(before.At)
			if !found || wait <= 0 || strings.HasSuffix(before.ID, stopNotice) {
				n.tellBack(ctx, name, words)
				continue
			}
			n.postpone(time.Now().Add(wait), func() {
				n.o.Tasks.Start(context.Background(), "notice", "", func(ctx context.Context) { n.tellBack(ctx, name, n.joined(ctx, before.At, words)) })
			})
		}
	})
}

// postpone has tell called at the time due, after what is postponed already.
func (n *Notices) postpone(due time.Time, tell func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if before := n.later; before != nil {
		n.later = func() { before(); tell() }
	} else {
		n.later = tell
	}
	if due.After(n.due) {
		n.due = due
	}
}

// joined is words with the restarts since the last notice.
func (n *Notices) joined(ctx context.Context, since time.Time, words string) string {
	ctx, cancel := context.WithTimeout(ctx, readBound)
	defer cancel()
	lives, err := n.journal.LivesSince(ctx, since)
	if err != nil || lives < 2 {
		return words
	}
	return fmt.Sprintf("%s It started %d times since the last notice.", words, lives)
}

func (n *Notices) tellBack(ctx context.Context, name, words string) {
	if h := n.home(ctx, name); h.Target != "" && !n.stopping() {
		n.o.Outbox.PostAs(n.prefix(name)+n.o.Life+backNotice, h.Session, h.Target, words)
	}
}

// back says that the gateway is back, and how the life before ended.
func back(last *ops.LastEnd, cutOff int, started time.Time) string {
	words := "The gateway is back."
	switch last.Outcome {
	case ops.OutcomeCrashed:
		words += fmt.Sprintf(" Its last life was killed, or crashed, about %s.", last.At.UTC().Format("2006-01-02 15:04 MST"))
	case ops.OutcomeCutShort:
		words += " Its last stop was cut short."
	default:
		if down := started.Sub(last.At.Time); down >= time.Second {
			words += fmt.Sprintf(" It was down for %s.", text.Duration(down))
		}
		return words
	}
	switch cutOff {
	case 0:
		return words + " No turn was running."
	case 1:
		return words + " 1 running turn was interrupted; its chat hears of it."
	default:
		return words + fmt.Sprintf(" %d running turns were interrupted; their chats hear of it.", cutOff)
	}
}
