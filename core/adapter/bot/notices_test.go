package bot

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

type chat string

func (c chat) String() string { return string(c) }

// noticing calls do with the notices of a connection, in virtual time, and returns what chats received.
func noticing(t *testing.T, do func(n *Notices[chat])) (heard []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		life := NewLife()
		defer life.EndTasks()
		do(NewNotices[chat](NoticeOptions{
			Life: life, Limit: time.Second, Log: slog.New(slog.DiscardHandler), Refused: "refused",
			Send: func(_ context.Context, m adapter.Outgoing) (adapter.Sent, error) {
				heard = append(heard, m.Target+": "+m.Text)
				return adapter.Sent{}, nil
			},
		}))
	})
	return heard
}

const atMost = " The same goes for what you send until then. I say so at most once in 30 seconds."

func TestE13_AFloodHearsAtMostOnceIn30SecondsThatItsQueueIsFull(t *testing.T) {
	full := func(message string) *ops.Error { return &ops.Error{Code: ops.CodeQueueFull, Message: message} }
	heard := noticing(t, func(n *Notices[chat]) {
		for i := range 120 { // a place becomes free, and is taken, each second
			n.Accepted("1")
			if err := n.Refuse("1", "chat:dm:1", full([]string{"32 wait", "33 wait"}[i%2])); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second) // virtual
		}
		if err := n.Refuse("2", "chat:dm:2", full("32 wait")); err != nil {
			t.Error(err)
		}
	})
	first := "1: 32 wait." + atMost
	if want := []string{first, first, first, first, "2: 32 wait." + atMost}; !slices.Equal(heard, want) {
		t.Errorf("in two minutes the chats received %q, want %q", heard, want)
	}
}

func TestE13_ARefusalOfAnotherKindIsSaidAtOnce(t *testing.T) {
	heard := noticing(t, func(n *Notices[chat]) {
		for _, why := range []*ops.Error{
			{Code: ops.CodeQueueFull, Message: "full"},
			{Code: ops.CodeDraining, Message: "draining"},
			{Code: ops.CodeDraining, Message: "draining"},
			nil,
			{Code: ops.CodeDraining, Message: "draining"},
			{Code: ops.CodeInvalid, Message: "empty"},
			{Code: ops.CodeInvalid, Message: "empty"},
		} {
			if why == nil {
				n.Accepted("1")
			} else if err := n.Refuse("1", "chat:dm:1", why); err != nil {
				t.Error(err)
			}
		}
	})
	const draining = "1: Draining. The same goes for what you send until then."
	if want := []string{"1: Full." + atMost, draining, draining, "1: Empty. ", "1: Empty. "}; !slices.Equal(heard, want) {
		t.Errorf("the chat received %q, want %q", heard, want)
	}
}
