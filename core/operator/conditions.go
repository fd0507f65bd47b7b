package operator

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/conversation"
	"gatewaytui/core/delivery"
	"gatewaytui/core/health"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// Conditions are the part of the inbox for states that need a person without a request (OP1). A row
// is there as long as its condition, and its id is that of this occurrence: when the condition comes back, it has another id.
type Conditions struct {
	Table         *session.Table
	Conversations *conversation.Conversations
	Adapters      *adapter.Supervisor
	Outbox        *delivery.Outbox
	Health        *health.Health
	// Servers are as in Options; nil: there are none.
	Servers Servers
}

var _ InboxSource = Conditions{}

// maxConditions bounds the rows of sessions.
const maxConditions = 100

// condition is a row and what each of its options does.
type condition struct {
	ops.InboxItem
	remedies map[string]func(ctx context.Context) (string, error)
}

// Inbox implements InboxSource.
func (c Conditions) Inbox() []ops.InboxItem {
	var items []ops.InboxItem
	for _, found := range c.all() {
		items = append(items, found.InboxItem)
	}
	return items
}

// Answer implements InboxSource.
func (c Conditions) Answer(ctx context.Context, cmd ops.Command) (string, error) {
	for _, found := range c.all() {
		if found.ID != cmd.Target {
			continue
		}
		if do := found.remedies[cmd.Text]; do != nil {
			return do(ctx)
		}
		return "", &ops.Error{Code: ops.CodeInvalid, Message: "request " + found.ID + " takes no such answer", Hint: "it takes: " + strings.Join(found.Options, ", ")}
	}
	return "", &ops.Error{Code: ops.CodeConflict, Message: "request " + term.Quote(cmd.Target) + " has just ended", Hint: "nothing was done"}
}

// all are the conditions that there are now. It reads memory alone.
func (c Conditions) all() []condition {
	found := c.sessions()
	for _, a := range c.Adapters.Rows() {
		if text := needsPerson(a); text != "" {
			found = append(found, c.adapter(a, text))
		}
	}
	for _, u := range c.Outbox.Undelivered() {
		found = append(found, c.undelivered(u))
	}
	found = append(found, c.servers()...)
	for _, w := range c.Health.Warnings(time.Now()) {
		if w.Code == health.WarnConfigChanged { // that is a request of its own
			continue
		}
		item := waits(ops.InboxWarning, "", w.Message, w.Since, w.Code)
		item.State, item.AnsweredAt, item.Reasons = ops.InboxNoted, w.Since, []string{w.Code}
		found = append(found, condition{InboxItem: item})
	}
	return found
}

// sessions are the conditions of sessions.
func (c Conditions) sessions() (found []condition) {
	rows, _, _ := c.Table.Page(session.Selection{
		Limit: maxConditions, Groups: func(g ops.SessionGroup) bool { return g == ops.GroupAttention },
		Match: func(r *ops.Session) bool { return r.State == ops.SessionSuspended || r.Attention != "" },
	})
	for _, r := range rows {
		reset := func(ctx context.Context) (string, error) {
			return c.Conversations.End(ctx, r.Key, conversation.Reset("reset by an operator"))
		}
		if r.State == ops.SessionSuspended {
			item := waits(ops.InboxSuspended, r.Key, "was cut off in three lives in a row; its messages are refused until it is resumed or reset", r.LastActivityAt, r.Key, r.ID)
			found = append(found, condition{item, nil}.with("resume", func(context.Context) (string, error) {
				if !c.Table.Unsuspend(r.Key) {
					return "", &ops.Error{Code: ops.CodeConflict, Message: "the session is not suspended any more", Hint: "nothing was done"}
				}
				return "the conversation continues with its next message", nil
			}).with("reset", reset))
			continue
		}
		loop := condition{waits(ops.InboxLooping, r.Key, r.AttentionReason, r.AttentionSince, r.Key, r.ID, fmt.Sprint(r.AttentionSince.UnixMilli())), nil}
		if r.Turn != "" {
			loop = loop.with("interrupt", func(ctx context.Context) (string, error) { return c.Conversations.InterruptCurrent(ctx, r.Key, "") })
		}
		found = append(found, loop.with("reset", reset))
	}
	return found
}

// conflictsWait is from how many conflicts on another program has the credential of an adapter, and does not just let go of it.
const conflictsWait = 3

// needsPerson is what of an adapter waits for a person; empty: nothing, it may come up by itself.
func needsPerson(a ops.Adapter) string {
	switch {
	case a.State == ops.AdapterNeedsCredentials:
		return a.Name + ": " + cmp.Or(a.LastError, "its credential is missing or refused")
	case a.State == ops.AdapterConnected && a.LastError != "": // a part of it does not work
		return a.Name + ": " + a.LastError
	case a.State == ops.AdapterConnected && a.Conflicts >= conflictsWait:
		return fmt.Sprintf("%s: another program uses the same credential (%d conflicts)", a.Name, a.Conflicts)
	}
	return ""
}

func (c Conditions) adapter(a ops.Adapter, why string) condition {
	found := condition{waits(ops.InboxAdapter, "", why, a.Since, a.Name, string(a.State), fmt.Sprint(a.Since.UnixMilli())), nil}
	return found.with("reconnect", func(context.Context) (string, error) {
		return "a new connection is being made", c.Adapters.Reconnect(a.Name)
	})
}

// servers are the servers that do not start again by themselves, one row for each name.
func (c Conditions) servers() (found []condition) {
	if c.Servers == nil {
		return nil
	}
	rows := c.Servers.Rows()
	slices.SortStableFunc(rows, ops.CompareServers)
	last := ""
	for _, r := range rows {
		if r.State != ops.ServerFailed || r.Name == last {
			continue
		}
		last = r.Name
		why := "server " + r.Name + ": " + cmp.Or(r.LastError, "it does not start")
		found = append(found, condition{waits(ops.InboxServer, r.Session, why, r.Since, r.Name, fmt.Sprint(r.Since.UnixMilli())), nil}.with("restart", func(ctx context.Context) (string, error) {
			return "the next call starts it again", c.Servers.Restart(ctx, r.Name)
		}))
	}
	return found
}

// undelivered is a chat whose platform takes no messages.
func (c Conditions) undelivered(u delivery.Undelivered) condition {
	why := fmt.Sprintf("%d %s could not be delivered: %s", u.Count, text.Plural(u.Count, "message", "messages"), u.Why)
	found := condition{waits(ops.InboxUndelivered, u.Session, why, ops.At(u.Since), u.Session, fmt.Sprint(u.Since.UnixMilli())), nil}
	return found.with("dismiss", func(context.Context) (string, error) {
		c.Outbox.Dismiss(u.Session)
		return "dismissed", nil
	})
}

// with adds an option.
func (c condition) with(option string, do func(context.Context) (string, error)) condition {
	c.Options = append(c.Options, option)
	if c.remedies == nil {
		c.remedies = map[string]func(context.Context) (string, error){}
	}
	c.remedies[option] = do
	return c
}

// waits is a row of a condition since a moment, which parts tell from others of its kind.
func waits(kind ops.InboxKind, key, what string, since ops.Time, parts ...string) ops.InboxItem {
	sum := sha256.Sum256([]byte(strings.Join(append(slices.Clone(parts), string(kind)), "\x00")))
	return ops.InboxItem{
		ID: base32.StdEncoding.EncodeToString(sum[:])[:7], Kind: kind, Session: key, AskedAt: since, State: ops.InboxWaiting,
		Who: "an operator", Text: what, Reasons: []string{}, Options: []string{},
	}
}
