package adapter

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestAChatTakesOneTextAtATimeAndIsForgottenAfterTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Chats[string]
		leave, err := s.Enter(t.Context(), "a", Outgoing{})
		if err != nil {
			t.Fatal(err)
		}
		other, err := s.Enter(t.Context(), "b", Outgoing{})
		if err != nil {
			t.Fatalf("another chat waits: %v", err)
		}
		other()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { _, err := s.Enter(ctx, "a", Outgoing{}); ended <- err }()
		synctest.Wait()
		cancel()
		if <-ended == nil {
			t.Error("a chat took a second text before the first had left")
		}
		leave()
		if len(s.busy) != 0 {
			t.Errorf("%d chats are kept, want none", len(s.busy))
		}
	})
}
