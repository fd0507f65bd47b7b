package telegram

import (
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/telegram/botapitest"
)

func TestAMessageIsEditedAndRemoved(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			sent, err := c.Send(w.Context(), adapter.Outgoing{Target: "-100/7", Text: "draft", Passing: true})
			if err != nil || len(sent.IDs) != 1 {
				w.Fatalf("sent %v: %v", sent, err)
			}
			id := sent.IDs[0]
			for range 2 { // a message that is so already is not an error
				if again, err := c.Edit(w.Context(), id, adapter.Outgoing{Target: "-100/7", Text: "answer"}); err != nil || again.IDs[0] != id {
					w.Errorf("the edit returned %v, %v", again, err)
				}
			}
			w.wantSent("answer")
			long := adapter.Outgoing{Target: "-100/7", Text: long(3)}
			if all, err := c.Edit(w.Context(), id, long); err != nil || len(all.IDs) != 3 || all.IDs[0] != id {
				w.Errorf("the edit with a long text returned %v, %v", all, err)
			}
			w.wantSent("a", "b", "c")
			for range 2 {
				if err := c.Remove(w.Context(), "-100/7", id); err != nil {
					w.Error(err)
				}
			}
			w.wantSent("b", "c")
			_, err = c.Edit(w.Context(), id, adapter.Outgoing{Target: "-100/7", Text: "answer"})
			if !is[*adapter.RefusedError](err) {
				w.Errorf("the edit of a message that is gone returned %v", err)
			}
		})
	})
}

func TestCV6_TypingIsShownInTheTopic(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			for _, target := range []string{"4711", "-100/7"} {
				if err := c.Typing(w.Context(), target); err != nil {
					w.Error(err)
				}
			}
			got := w.api.Actions()
			want := []botapitest.Action{{ChatID: 4711, Action: "typing"}, {ChatID: -100, ThreadID: 7, Action: "typing"}}
			for i := range got {
				got[i].At = time.Time{}
			}
			if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
				w.Errorf("shown %+v, want %+v", got, want)
			}
			w.api.Fail("sendChatAction", botapitest.Fault{Code: 429, RetryAfter: 30})
			if err := c.Typing(w.Context(), "4711"); !is[*adapter.RateLimitError](err) {
				w.Errorf("a flood returned %v", err)
			}
		})
	})
}

func TestADraftThatHangsHoldsUpNoAnswerInItsChat(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			sent, err := c.Send(w.Context(), adapter.Outgoing{Target: "1", Text: "draft", Passing: true})
			if err != nil {
				w.Fatal(err)
			}
			w.api.Fail("editMessageText", botapitest.Fault{Hang: true})
			ended := make(chan error)
			go func() {
				_, err := c.Edit(w.Context(), sent.IDs[0], adapter.Outgoing{Target: "1", Text: "more", Passing: true})
				ended <- err
			}()
			w.after(time.Second)
			if err := w.send(c, "1", "answer"); err != nil {
				w.Error(err)
			}
			w.wantSent("draft", "answer")
			w.api.Heal()
			if err := <-ended; err != nil {
				w.Error(err)
			}
		})
	})
}

func TestTheBoundsOfAGroupAreNarrower(t *testing.T) {
	p := New(Options{})
	if dm, group := p.Bounds("4711"), p.Bounds("-100/7"); dm.Messages != 60 || group.Messages != 20 || dm.Message != maxUnits {
		t.Errorf("a chat with one person has %+v, a group %+v", dm, group)
	}
	if n := len(messagesOf(strings.Repeat("x", maxUnits)+" \n", false)); n != 1 {
		t.Errorf("a text with a blank part is %d messages", n)
	}
}
