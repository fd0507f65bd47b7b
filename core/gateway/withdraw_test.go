package gateway

import (
	"context"
	"testing"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

// post gives the gateway a message whose sender may leave, and returns its id.
func (l *lab) post(key, text string) (id string, r responder) {
	l.t.Helper()
	r = make(responder, 1)
	id, err := l.g.intake.Receive(context.Background(), adapter.Inbound{Adapter: "chat", Session: key, User: "maria", Text: text, Responder: r})
	if err != nil {
		l.t.Fatal(err)
	}
	return id, r
}

// TF7: who leaves takes back his own message, and no other one.
func TestTF7_AClientThatLeavesEndsItsOwnTurnAlone(t *testing.T) {
	const key = "api:user:a"
	l := start(t)
	running, ranFor := l.post(key, "hang")
	l.wait("the turn runs", func() bool { return l.session(key).Doing == ops.DoingModelCall })
	waiting, waitsFor := l.post(key, "second")
	_, third := l.post(key, "third")

	l.g.intake.Withdraw(key, waiting)
	if got := l.await(waitsFor); !ops.HasCode(got.err, ops.CodeConflict) {
		t.Errorf("the waiting message that was withdrawn is answered with %+v", got)
	}
	if row := l.session(key); row.Queued != 1 || row.Turn == "" || row.State != ops.SessionRunning {
		t.Errorf("a waiting message was withdrawn, and the session is %+v, want its turn running and one message waiting", row)
	}
	l.g.intake.Withdraw("api:user:b", running)
	l.g.intake.Withdraw(key, "another message")
	l.g.intake.Withdraw(key, running)
	if got := l.await(ranFor); !ops.HasCode(got.err, ops.CodeConflict) {
		t.Errorf("the running message that was withdrawn is answered with %+v", got)
	}
	if got := l.await(third); got.err != nil || got.text != "you said third" {
		t.Errorf("the message after it is answered with %+v", got)
	}
	l.g.intake.Withdraw(key, running) // it has its answer
	if got := l.ask(key, "fourth"); got != "you said fourth" {
		t.Errorf("the next message is answered with %q", got)
	}
}
