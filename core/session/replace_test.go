package session

import (
	"context"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

func TestMessagesWaitWhileAnEarlierConversationTakesItsPlace(t *testing.T) {
	ctx := context.Background()
	earlier := Session{Key: "cli:a", ID: "earlier", Platform: "cli", State: ops.SessionIdle, LastActivity: time.Now(), Stored: true}
	for name, tt := range map[string]struct {
		known bool // the key has a conversation already
		fails bool // the earlier conversation cannot be read
	}{
		"of a key with a conversation":    {known: true},
		"of a key without one":            {},
		"that cannot be read":             {known: true, fails: true},
		"that cannot be read, without it": {fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			tb := NewTable(Options{Bounds: Bounds{QueueLimit: 3}, NewID: counter()})
			if tt.known {
				tb.Load(Session{Key: "cli:a", ID: "now", Platform: "cli", State: ops.SessionIdle, LastActivity: time.Now(), Stored: true})
			}
			old, ok := tb.BeginReplace("cli:a")
			if !ok || tt.known != (old.ID == "now") {
				t.Fatalf("begun %v, of the conversation %q", ok, old.ID)
			}
			if _, again := tb.BeginReplace("cli:a"); again {
				t.Error("it is replaced twice at the same time")
			}
			if turn, _, _, err := tb.Enqueue(ctx, "cli:a", Message{ID: "m", At: time.Now()}); turn != nil || err != nil {
				t.Fatalf("a message began the turn %+v meanwhile, %v", turn, err)
			}
			with := &earlier
			if tt.fails {
				with = nil
			}
			next := tb.EndReplace(ctx, "cli:a", with, false)
			if next == nil || next.Message.ID != "m" {
				t.Fatalf("the message is not worked on: %+v", next)
			}
			if got := next.Session.ID; tt.fails == (got == "earlier") || tt.fails && tt.known && got != "now" {
				t.Errorf("the message goes to the conversation %q", got)
			}
			if _, ok := tb.BeginReplace("cli:a"); ok {
				t.Error("the conversation of a running turn is replaced")
			}
		})
	}
}

func TestAReplaceThatFailsLeavesNoSessionThatWasNotThere(t *testing.T) {
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 3}, NewID: counter()})
	tb.BeginReplace("cli:a")
	tb.EndReplace(context.Background(), "cli:a", nil, false)
	if _, known := tb.Get("cli:a"); known {
		t.Error("the session stays")
	}
}
