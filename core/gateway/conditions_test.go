package gateway

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
)

// waiting is the rows of the inbox of a kind.
func (l *lab) waiting(kind ops.InboxKind) []ops.InboxItem {
	l.t.Helper()
	page, err := l.g.Inbox(l.t.Context(), ops.Query{Limit: ops.MaxLimit})
	if err != nil {
		l.t.Fatal(err)
	}
	return slices.DeleteFunc(page.Items, func(i ops.InboxItem) bool { return i.Kind != kind })
}

// answers gives one of the options of a row of the inbox, and waits until that is done.
func (l *lab) answers(id, option string) ops.Request {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), 5*time.Second)
	defer cancel()
	req, err := l.g.Do(ctx, ops.Command{Verb: ops.VerbAnswer, Target: id, Text: option})
	if err == nil {
		req, err = l.g.Request(ctx, req.ID, true)
	}
	if err != nil {
		l.t.Fatalf("answer %s %s: %v", id, option, err)
	}
	return req
}

func TestOP1_ASuspendedSessionIsInTheInboxUntilItIsResumedOrReset(t *testing.T) {
	l := start(t)
	for _, option := range []string{"resume", "reset"} {
		key := "api:user:" + option
		l.g.table.Load(session.Session{Key: key, ID: option, State: ops.SessionSuspended, LastActivity: time.Now(), Stored: true})
		rows := l.waiting(ops.InboxSuspended)
		if len(rows) != 1 || rows[0].Session != key || !slices.Equal(rows[0].Options, []string{"resume", "reset"}) {
			t.Fatalf("the inbox has %+v", rows)
		}
		if st, _ := l.g.Status(t.Context()); st.Counts.Inbox != 1 {
			t.Errorf("%d requests are counted, want 1", st.Counts.Inbox)
		}
		if _, err := l.g.Do(t.Context(), ops.Command{Verb: ops.VerbAnswer, Target: rows[0].ID, Text: "delete"}); !ops.HasCode(err, ops.CodeInvalid) {
			t.Errorf("an answer that is no option: %v", err)
		}
		if _, err := l.g.Do(t.Context(), ops.Command{Verb: ops.VerbApprove, Target: rows[0].ID}); !ops.HasCode(err, ops.CodeInvalid) {
			t.Errorf("an approval: %v", err)
		}
		if req := l.answers(rows[0].ID, option); req.State != ops.RequestDone {
			t.Fatalf("%s: %+v", option, req)
		}
		if rows := l.waiting(ops.InboxSuspended); len(rows) != 0 {
			t.Errorf("after %s the inbox has %+v", option, rows)
		}
		if _, err := l.g.Do(t.Context(), ops.Command{Verb: ops.VerbAnswer, Target: rows[0].ID, Text: option}); !ops.HasCode(err, ops.CodeNotFound) {
			t.Errorf("a second answer: %v", err)
		}
	}
}

func TestOP1_ALoopingSessionIsInTheInboxUntilItIsReset(t *testing.T) {
	l := start(t)
	for range 21 {
		l.ask("cli:local", "hello")
	}
	rows := l.waiting(ops.InboxLooping)
	if len(rows) != 1 || rows[0].Session != "cli:local" || rows[0].Text != "21 turns in a minute" {
		t.Fatalf("the inbox has %+v", rows)
	}
	if req := l.answers(rows[0].ID, "reset"); req.State != ops.RequestDone {
		t.Fatalf("the reset: %+v", req)
	}
	if rows := l.waiting(ops.InboxLooping); len(rows) != 0 {
		t.Errorf("after the reset the inbox has %+v", rows)
	}
}

func TestOP1_MessagesThatAPlatformRefusesAreInTheInboxUntilOneArrives(t *testing.T) {
	var refuses atomic.Bool
	refuses.Store(true)
	l := start(t, func(s *setup) {
		s.chat.send = func(context.Context, adapter.Outgoing) error {
			if refuses.Load() {
				return &adapter.RefusedError{Why: "the bot was blocked by the user"}
			}
			return nil
		}
	})
	for range 2 {
		l.say("chat:dm:1", "1", "hello")
	}
	l.wait("both refusals are one row", func() bool {
		rows := l.waiting(ops.InboxUndelivered)
		return len(rows) == 1 && rows[0].Session == "chat:dm:1" && rows[0].Text == "2 messages could not be delivered: the bot was blocked by the user"
	})
	refuses.Store(false)
	l.say("chat:dm:1", "1", "hello")
	l.wait("the row ends with a message that arrives", func() bool { return len(l.waiting(ops.InboxUndelivered)) == 0 })
	refuses.Store(true)
	l.say("chat:dm:1", "1", "hello")
	l.wait("the row is back", func() bool { return len(l.waiting(ops.InboxUndelivered)) == 1 })
	l.answers(l.waiting(ops.InboxUndelivered)[0].ID, "dismiss")
	if rows := l.waiting(ops.InboxUndelivered); len(rows) != 0 {
		t.Errorf("after it was dismissed the inbox has %+v", rows)
	}
}

func TestOP1_AnAdapterWithoutACredentialAndAWarningAreInTheInbox(t *testing.T) {
	l := start(t, func(s *setup) {
		s.opts = func(o *Options) {
			o.Broken = map[string]error{"telegram": &adapter.CredentialsError{Variable: "TELEGRAM_TOKEN"}}
			o.Warnings = []ops.Warning{{Code: "config.test", Message: "a key is odd", Since: ops.At(time.Now())}}
		}
	})
	rows := l.waiting(ops.InboxAdapter)
	if len(rows) != 1 || rows[0].State != ops.InboxWaiting || !slices.Equal(rows[0].Options, []string{"reconnect"}) {
		t.Errorf("the adapter is %+v", rows)
	}
	rows = l.waiting(ops.InboxWarning)
	if len(rows) == 0 || !slices.ContainsFunc(rows, func(i ops.InboxItem) bool { return i.Text == "a key is odd" && i.State == ops.InboxNoted }) {
		t.Errorf("the warnings are %+v", rows)
	}
	if st, _ := l.g.Status(t.Context()); st.Counts.Inbox != 1 {
		t.Errorf("%d requests are counted, want the adapter alone", st.Counts.Inbox)
	}
}
