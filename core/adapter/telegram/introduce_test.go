package telegram

import (
	"context"
	"errors"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/telegram/botapitest"
)

func TestOP5_TheSenderOfATextIsFoundAndTheUpdateIsKept(t *testing.T) {
	simulate(t, func(w *world) {
		name, err := w.Identify(w.Context())
		if err != nil || name != botapitest.BotName {
			t.Fatalf("%q %v", name, err)
		}
		w.api.Inject(botapitest.Update{User: other, Chat: other, Text: "hello"})
		found := make(chan Sender, 1)
		ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
		defer cancel()
		go func() {
			s, err := w.AwaitSender(ctx, "hello 1234")
			if err != nil {
				t.Error(err)
			}
			found <- s
		}()
		time.Sleep(5 * time.Second) // of virtual time: it looks at the wrong text meanwhile
		w.api.Inject(botapitest.Update{User: other, Chat: -100, Text: "hello 1234"})
		w.api.Inject(botapitest.Update{User: owner, Chat: owner, Text: " Hello 1234"})
		if s := <-found; s.ID != owner {
			t.Errorf("the sender is %+v", s)
		}
		if n := w.api.Unconfirmed(); n != 3 {
			t.Errorf("%d updates wait for the gateway, want 3", n)
		}
	})
}

func TestOP5_TheWaitForASenderEnds(t *testing.T) {
	simulate(t, func(w *world) {
		ctx, cancel := context.WithTimeout(w.Context(), 40*time.Second)
		defer cancel()
		if _, err := w.AwaitSender(ctx, "hello 1234"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it ended with %v", err)
		}
		w.o.Token = "4242:wrong"
		if _, err := w.Identify(w.Context()); !isCredentials(err) {
			t.Errorf("a wrong token returned %v", err)
		}
		if _, err := w.AwaitSender(w.Context(), "hello 1234"); !isCredentials(err) {
			t.Errorf("a wrong token returned %v", err)
		}
	})
}

func isCredentials(err error) bool {
	_, is := errors.AsType[*adapter.CredentialsError](err)
	return is
}
