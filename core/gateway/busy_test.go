package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/config"
	"gatewaytui/core/model"
	"gatewaytui/core/store"
)

// steps is a model that calls a tool once for each token of next, and then answers with what its users said.
func steps(next <-chan struct{}, waits chan<- string) script {
	return func(ctx context.Context, req model.Request) (model.Response, error) {
		said := userTexts(req)
		if !slices.Contains(said, "work") {
			return says("heard " + strings.Join(said, ", ")), nil
		}
		select {
		case waits <- strings.Join(said, ", "):
		case <-ctx.Done():
			return model.Response{}, ctx.Err()
		}
		select {
		case _, more := <-next:
			if more {
				return callsTool("terminal", arguments(map[string]any{"command": "true"})), nil
			}
		case <-ctx.Done():
			return model.Response{}, ctx.Err()
		}
		return says("heard " + strings.Join(said, ", ")), nil
	}
}

func userTexts(req model.Request) (said []string) {
	for _, m := range req.Messages {
		if m.Role == model.RoleUser {
			said = append(said, m.Content)
		}
	}
	return said
}

// inbox are the states of the messages in the inbox, by text.
func (l *lab) inbox() map[string]store.InboxState {
	l.t.Helper()
	db := second(l.t, l.dir)
	defer db.Close()
	rows, err := db.Query(`SELECT text, state FROM inbox`)
	if err != nil {
		l.t.Fatal(err)
	}
	defer rows.Close()
	out := map[string]store.InboxState{}
	for rows.Next() {
		var text string
		var state store.InboxState
		if err := rows.Scan(&text, &state); err != nil {
			l.t.Fatal(err)
		}
		out[text] = state
	}
	return out
}

// CV11: the model reads it before its next call, and the turn's answer is the one answer.
func TestCV11_ARunningTurnReadsWhatItsSenderWritesInADirectMessage(t *testing.T) {
	next, waits := make(chan struct{}), make(chan string)
	l := start(t, func(s *setup) { s.model = steps(next, waits) })
	l.say("chat:dm:1", "1", "work")
	<-waits
	l.say("chat:dm:1", "1", "in French")
	l.say("chat:dm:1", "1", "and short")
	l.wait("the notice arrives", func() bool { return len(l.chat.messages()) == 1 })
	next <- struct{}{}
	if got := <-waits; got != "work, in French, and short" {
		t.Fatalf("after the step the model reads %q", got)
	}
	if got := l.inbox(); got["in French"] != store.InboxRunning || got["and short"] != store.InboxRunning {
		t.Errorf("the inbox is %v, want both as running", got)
	}
	if row := l.session("chat:dm:1"); row.Queued != 0 {
		t.Errorf("%d wait, want none", row.Queued)
	}
	close(next)
	l.wait("the answer arrives", func() bool { return slices.Contains(l.chat.messages(), "1: heard work, in French, and short") })
	l.wait("all are answered", func() bool {
		got := l.inbox()
		return got["work"] == store.InboxAnswered && got["in French"] == store.InboxAnswered && got["and short"] == store.InboxAnswered
	})
	want := []string{"1: Still working on your last message; I read this one after the running step. /stop interrupts.", "1: heard work, in French, and short"}
	if got := l.chat.messages(); !slices.Equal(got, want) {
		t.Errorf("the chat got %q, want %q", got, want)
	}
}

// CV11: what no tool step followed is the next turn, as one.
func TestCV11_WithoutAStepWhatWasWrittenIsTheNextTurn(t *testing.T) {
	next, waits := make(chan struct{}), make(chan string)
	l := start(t, func(s *setup) { s.model = steps(next, waits) })
	l.say("chat:dm:1", "1", "work")
	<-waits
	for i := range 3 {
		l.say("chat:dm:1", "1", fmt.Sprintf("more %d", i))
	}
	close(next)
	if got := <-waits; got != "work, more 0\n\nmore 1\n\nmore 2" {
		t.Fatalf("the next turn reads %q", got)
	}
	l.wait("both answers arrive", func() bool { return len(l.chat.messages()) == 3 })
	if st, err := l.g.recovery.Store().OpenInbox(t.Context()); err != nil || len(st) != 0 {
		t.Errorf("without an answer are %v (%v)", st, err)
	}
}

func TestCV11_AMessageTakesThePlaceOfTheTurnInModeInterrupt(t *testing.T) {
	next, waits := make(chan struct{}), make(chan string)
	l := start(t, func(s *setup) {
		s.model = steps(next, waits)
		s.cfg.Routes = []*config.Route{{Match: "*", Agent: "default", Chat: config.Chat{Busy: config.BusyInterrupt}}}
	})
	l.say("chat:dm:1", "1", "work")
	<-waits
	asked := time.Now()
	l.say("chat:dm:1", "1", "rather this")
	if got := <-waits; got != "work, rather this" {
		t.Fatalf("the next turn reads %q", got)
	}
	if took := time.Since(asked); took > patience/2 {
		t.Errorf("it began after %v", took)
	}
	close(next)
	l.wait("the answer arrives", func() bool { return len(l.chat.messages()) > 0 })
	if got := l.chat.messages(); !slices.Equal(got, []string{"1: heard work, rather this"}) {
		t.Errorf("the chat got %q, want the one answer", got)
	}
	if got := l.inbox(); got["work"] != store.InboxAnswered {
		t.Errorf("the interrupted message is %s", got["work"])
	}
}

func TestCV11_TheTurnOfAnotherIsNotInterrupted(t *testing.T) {
	next, waits := make(chan struct{}), make(chan string)
	l := start(t, func(s *setup) {
		s.model = steps(next, waits)
		s.cfg.Routes = []*config.Route{{Match: "*", Agent: "default", Chat: config.Chat{Busy: config.BusyInterrupt}}}
	})
	l.say("chat:group:1:topic:2", "1", "work")
	<-waits
	in := adapter.Inbound{Adapter: "chat", Session: "chat:group:1:topic:2", User: "bob", Target: "1", Text: "me too"}
	if _, err := l.g.intake.Receive(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	close(next)
	<-waits // the turn of the second
	l.wait("both answers arrive", func() bool { return slices.Contains(l.chat.messages(), "1: heard work, me too") })
	if got := l.chat.messages(); !slices.Contains(got, "1: heard work") {
		t.Errorf("the chat got %q, want the answer of the first turn as well", got)
	}
}

// CV11, S19: the choice outlives a restart and ends with the conversation.
func TestCV11_BusyIsChosenForTheConversation(t *testing.T) {
	dir := t.TempDir()
	here := func(s *setup) { s.dir = dir }
	l := start(t, here)
	key := "chat:dm:1"
	if got := l.ask(key, "/busy"); !strings.HasPrefix(got, "A message during a turn: steer") {
		t.Errorf("at first it is %q", got)
	}
	if got := l.await(l.send(key, "/busy wait")); got.err == nil || !strings.Contains(got.err.Error(), "no mode") {
		t.Errorf("an unknown mode: %+v", got)
	}
	l.ask(key, "/busy interrupt")
	l.stop("graceful")
	l = start(t, here)
	if got := l.ask(key, "/busy"); !strings.HasPrefix(got, "A message during a turn: interrupt") || !strings.Contains(got, "chosen with /busy") {
		t.Errorf("after a restart it is %q", got)
	}
	l.ask(key, "hello")
	l.ask(key, "/new")
	if got := l.ask(key, "/busy"); !strings.HasPrefix(got, "A message during a turn: steer") {
		t.Errorf("in the next conversation it is %q", got)
	}
}

// CV11: a text that its platform cut is one message.
func TestCV11_ALongMessageWaitsForTheRestOfIt(t *testing.T) {
	long := strings.Repeat("x", 4000)
	l := start(t, func(s *setup) { // the rest is to come first also on a slow machine
		s.cfg.Routes = []*config.Route{{Match: "chat:dm:1", Agent: "default", Chat: config.Chat{Join: config.Duration{Duration: time.Hour}}}}
	})
	l.say("chat:dm:1", "1", long)
	l.wait("the row says what it waits for", func() bool { return l.session("chat:dm:1").Doing == "waiting for more of the message" })
	l.say("chat:dm:1", "1", "the rest")
	l.wait("the answer arrives", func() bool { return len(l.chat.messages()) == 1 })
	if got := l.chat.messages()[0]; got != "1: you said "+long+"\nthe rest" {
		t.Errorf("it was read as %d bytes, ending in %q", len(got), got[len(got)-20:])
	}
	l.say("chat:dm:2", "2", long) // nothing follows
	l.wait("the answer arrives", func() bool { return len(l.chat.messages()) == 2 })
}
