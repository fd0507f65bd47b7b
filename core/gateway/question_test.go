package gateway

import (
	"context"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// curious is a gateway with room for one turn, whose agent asks the user what to say.
func curious(s *setup) {
	s.cfg.Limits.Turns = 1
	s.cfg.Tools.Enabled = []string{"ask_user"}
	s.model = script(func(_ context.Context, req model.Request) (model.Response, error) {
		text, answered := lastUser(req)
		switch {
		case answered:
			return says("heard " + req.Messages[len(req.Messages)-1].Content), nil
		case text == "ask":
			return callsTool("ask_user", `{"question":"Which colour?","options":["Blue","Red"]}`), nil
		}
		return says("you said " + text), nil
	})
}

// TR4: the next message of who was asked is the answer. It becomes no turn of its own, and other sessions run meanwhile.
func TestTR4_TheNextMessageAnswersTheQuestion(t *testing.T) {
	l := start(t, curious)
	l.say("chat:dm:1", "room", "ask")
	item := l.asked("chat:dm:1")
	if item.Kind != ops.InboxQuestion || item.Text != "default asks" {
		t.Errorf("the row is %+v", item)
	}
	if row := l.session("chat:dm:1"); row.State != ops.SessionWaitingApproval || row.WaitingFor != "approval "+item.ID || strings.Contains(row.Doing, "colour") {
		t.Errorf("the session is %+v", row)
	}
	if got := l.ask("chat:dm:2", "hello"); got != "you said hello" {
		t.Errorf("another session is answered with %q", got)
	}
	l.wait("the chat has the question", func() bool { return strings.Contains(strings.Join(l.chat.messages(), "\n"), "Which colour?") })
	if _, err := l.g.Do(t.Context(), ops.Command{Verb: ops.VerbApprove, Target: item.ID}); !ops.HasCode(err, ops.CodeInvalid) {
		t.Errorf("an approval of a question: %v", err)
	}
	l.say("chat:dm:1", "room", "2")
	l.wait("the turn goes on with the answer", func() bool { return strings.Contains(strings.Join(l.chat.messages(), "\n"), `heard {"answer":"Red"}`) })
	l.wait("both messages are answered in the inbox of the store", func() bool {
		states := l.inbox()
		for _, state := range states {
			if state != store.InboxAnswered {
				return false
			}
		}
		return len(states) >= 2
	})
	l.wait("afterwards the session is idle and nothing waits in it", func() bool {
		s := l.session("chat:dm:1")
		return s.State == ops.SessionIdle && s.Queued == 0
	})
	for _, text := range l.chat.messages() {
		if strings.Contains(text, "you said 2") {
			t.Errorf("the answer became a turn of its own: %q", l.chat.messages())
		}
	}
}

// TR4: an operator answers in the inbox, with the text of an option, and nothing else is taken.
func TestTR4_AnOperatorAnswersAQuestionInTheInbox(t *testing.T) {
	l := start(t, curious)
	reply := l.send("api:user:a", "ask")
	item := l.asked("api:user:a")
	if r := l.do(ops.Command{Verb: ops.VerbAnswer, Target: item.ID, Text: "Green"}); r.State != ops.RequestFailed || r.Error.Code != ops.CodeInvalid {
		t.Errorf("an answer that is not an option: %+v", r)
	}
	if r := l.do(ops.Command{Verb: ops.VerbAnswer, Target: item.ID, Text: "Blue"}); r.State != ops.RequestDone {
		t.Errorf("the answer: %+v", r)
	}
	if got := l.await(reply); got.text != `heard {"answer":"Blue"}` {
		t.Errorf("the turn is answered with %+v", got)
	}
}

// TR5: a stop does not wait for an answer. The chat learns that the question is withdrawn.
func TestTR5_AStopDoesNotWaitForAnAnswer(t *testing.T) {
	l := start(t, curious, func(s *setup) { s.cfg.Shutdown.DrainTimeout.Duration = time.Minute })
	reply := l.send("api:user:a", "ask")
	item := l.asked("api:user:a")
	began := time.Now()
	l.stop(ops.ModeGraceful)
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("the stop took %v", took)
	}
	if got := l.await(reply); got.err == nil {
		t.Errorf("the turn was answered with %+v", got)
	}
	for _, row := range l.g.approvals.Inbox() {
		if row.ID == item.ID && row.State != ops.InboxWithdrawn {
			t.Errorf("after the stop the question is %+v", row)
		}
	}
}
