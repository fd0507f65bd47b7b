package gateway

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
)

// H6: the row of a session has the tokens of all its turns.
func TestAMessageIsAnsweredAndItsSessionGoesOn(t *testing.T) {
	l := start(t)
	if got := l.ask("api:user:alice", "hello"); got != "you said hello" {
		t.Fatalf("got %q", got)
	}
	l.ask("api:user:alice", "again")
	row := l.session("api:user:alice")
	if row.State != ops.SessionIdle || row.TokensIn != 6 || row.TokensOut != 4 || !row.Cached {
		t.Fatalf("after two turns the session is %+v, want it idle, cached, with both turns' tokens", row)
	}
}

func TestAChatIsAnsweredThroughItsPlatform(t *testing.T) {
	l := start(t)
	l.say("chat:dm:1", "1", "hello")
	l.wait("the reply arrives", func() bool { return len(l.chat.messages()) == 1 })
	if got := l.chat.messages()[0]; got != "1: you said hello" {
		t.Fatalf("sent %q", got)
	}
}

func TestASessionHasOneTurnAtATime(t *testing.T) {
	var mu sync.Mutex
	inside, most := 0, 0
	l := start(t, func(s *setup) {
		s.model = script(func(_ context.Context, req model.Request) (model.Response, error) {
			mu.Lock()
			inside++
			most = max(most, inside)
			mu.Unlock()
			defer func() { mu.Lock(); inside--; mu.Unlock() }()
			text, _ := lastUser(req)
			return says(text), nil
		})
	})
	var waiting []responder
	for range 20 {
		waiting = append(waiting, l.send("api:user:a", "x"))
	}
	for _, r := range waiting {
		l.await(r)
	}
	if most != 1 {
		t.Fatalf("%d turns of one session ran at once", most)
	}
}

func TestAnErrorOfTheModelIsTheTurnsAndTheSessionGoesOn(t *testing.T) {
	fail := true
	l := start(t, func(s *setup) {
		s.model = script(func(context.Context, model.Request) (model.Response, error) {
			if fail {
				fail = false
				return model.Response{}, errors.New("status 500: \x1b[31mboom")
			}
			return says("fine"), nil
		})
	})
	got := l.await(l.send("api:user:a", "x"))
	if got.err == nil || strings.Contains(got.err.Error(), "\x1b") {
		t.Fatalf("the model's error came back as %q", got.err)
	}
	if text := l.ask("api:user:a", "y"); text != "fine" {
		t.Fatalf("the next turn said %q", text)
	}
}

func TestAPanicIsTheTurnsAlone(t *testing.T) {
	l := start(t, func(s *setup) {
		s.model = script(func(_ context.Context, req model.Request) (model.Response, error) {
			if text, _ := lastUser(req); text == "panic" {
				panic("model client bug")
			}
			return says("fine"), nil
		})
	})
	if got := l.await(l.send("api:user:a", "panic")); got.err == nil {
		t.Fatalf("a panic was answered with %q", got.text)
	}
	if text := l.ask("api:user:a", "x"); text != "fine" {
		t.Fatalf("the next turn said %q", text)
	}
}

// D11, J9: stop answers within a second even if the worker ignores it, says exactly what it did, and the session goes on.
func TestStopIsTruthfulAndFreesTheSession(t *testing.T) {
	l := start(t)
	for _, tc := range []struct{ name, doing, want string }{
		{"a turn that takes its cancellation was interrupted", "hang", "Stopped. Nothing else is running here."},
		{"a turn that ignores it was released and its worker still runs", "wedge", "still runs"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			key := "api:user:" + tc.doing
			turn := l.send(key, tc.doing)
			l.running(key)
			asked := time.Now()
			if got := l.ask(key, "/stop"); !strings.Contains(got, tc.want) {
				t.Fatalf("/stop said %q, want %q in it", got, tc.want)
			}
			if took := time.Since(asked); took > patience/2 {
				t.Fatalf("/stop took %v", took)
			}
			if got := l.await(turn); got.err == nil {
				t.Fatalf("the stopped turn was answered with %q", got.text)
			}
			if got := l.ask(key, "hello"); got != "you said hello" {
				t.Fatalf("after /stop the session said %q", got)
			}
			if got := l.ask(key, "/stop"); !strings.Contains(got, "Nothing is running") {
				t.Fatalf("/stop on an idle session said %q", got)
			}
		})
	}
}

// D8, D10: a late worker writes nothing and harms no successor.
func TestALateWorkerWritesNothing(t *testing.T) {
	release := make(chan struct{})
	l := start(t, func(s *setup) {
		s.model = script(func(_ context.Context, req model.Request) (model.Response, error) {
			if text, _ := lastUser(req); text == "wedge" {
				<-release
				return says("a late answer"), nil
			}
			return says("fine"), nil
		})
	})
	l.send("api:user:a", "wedge")
	l.running("api:user:a")
	l.ask("api:user:a", "/stop")
	l.ask("api:user:a", "next")
	id := l.session("api:user:a").ID
	close(release)
	l.g.conversations.Wait()
	rows, err := l.g.recovery.Store().Since(context.Background(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range rows {
		if strings.Contains(m.Content, "late") {
			t.Fatalf("the released worker wrote %q", m.Content)
		}
	}
	if got := l.ask("api:user:a", "and on"); got != "fine" {
		t.Fatalf("got %q", got)
	}
}

func TestMessagesOverTheLimitAreRefused(t *testing.T) {
	l := start(t, func(s *setup) { s.cfg.Session.QueueLimit = 1 })
	l.send("api:user:a", "hang")
	l.running("api:user:a")
	l.send("api:user:a", "waits")
	_, err := l.g.intake.Receive(context.Background(), adapter.Inbound{Adapter: "chat", Session: "api:user:a", Text: "too many", Responder: make(responder, 1)})
	if !ops.HasCode(err, ops.CodeQueueFull) {
		t.Fatalf("got %v, want queue_full", err)
	}
}

func TestADrainTakesNoTurnsUntilItEnds(t *testing.T) {
	l := start(t)
	first := l.send("api:user:a", "hang")
	l.running("api:user:a")
	waits := l.send("api:user:a", "waits")
	if got := l.do(ops.Command{Verb: ops.VerbDrain, Reason: "maintenance"}); got.State != ops.RequestDone {
		t.Fatalf("drain: %+v", got)
	}
	_, err := l.g.intake.Receive(context.Background(), adapter.Inbound{Adapter: "chat", Session: "api:user:b", Text: "x", Responder: make(responder, 1)})
	if !ops.HasCode(err, ops.CodeDraining) || !strings.Contains(err.Error(), "maintenance") {
		t.Fatalf("while draining a message got %v, want the reason", err)
	}
	if got := l.ask("api:user:a", "/status"); !strings.Contains(got, "draining") {
		t.Fatalf("/status said %q", got)
	}
	l.ask("api:user:a", "/stop")
	l.await(first)
	if row := l.session("api:user:a"); row.State != ops.SessionQueued {
		t.Fatalf("the session is %s, want queued: what waits goes on waiting", row.State)
	}
	l.do(ops.Command{Verb: ops.VerbUndrain})
	if got := l.await(waits); got.text != "you said waits" {
		t.Fatalf("what waited was answered with %+v", got)
	}
}

// D12: warn, interrupt, release; H7: what a turn does is on its row.
func TestAStalledTurnIsWarnedInterruptedAndReleased(t *testing.T) {
	l := start(t, func(s *setup) {
		s.cfg.Agent.StallWarn.Duration = 150 * time.Millisecond
		s.cfg.Agent.StallAfter.Duration = 400 * time.Millisecond
	})
	turn := l.send("api:user:a", "wedge")
	l.wait("the row says stalled", func() bool { return l.session("api:user:a").State == ops.SessionStalled })
	if doing := l.session("api:user:a").Doing; doing != "model call" {
		t.Fatalf("the stalled turn does %q, want its model call named", doing)
	}
	if got := l.await(turn); got.err == nil || !strings.Contains(got.err.Error(), "no progress") {
		t.Fatalf("the stalled turn was answered with %+v", got)
	}
	if got := l.ask("api:user:a", "hello"); got != "you said hello" {
		t.Fatalf("after the stall the session said %q", got)
	}
}

// E15: a platform that delivers a message again has it worked on once; one that was refused may come again.
func TestE15_AMessageDeliveredAgainIsWorkedOnOnce(t *testing.T) {
	l := start(t)
	in := adapter.Inbound{Adapter: "chat", Session: "chat:dm:1", User: "maria", Target: "1", Text: "hello", Dedupe: "chat:1:77"}
	l.do(ops.Command{Verb: ops.VerbDrain})
	if _, err := l.g.intake.Receive(context.Background(), in); !ops.HasCode(err, ops.CodeDraining) {
		t.Fatalf("while draining: %v", err)
	}
	l.do(ops.Command{Verb: ops.VerbUndrain})
	first, err := l.g.intake.Receive(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	again, err := l.g.intake.Receive(context.Background(), in)
	if err != nil || again != first {
		t.Fatalf("delivered again it is message %q, %v; want %q", again, err, first)
	}
	in.Dedupe, in.Text = "chat:1:78", "and on"
	if _, err := l.g.intake.Receive(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	l.wait("both are answered", func() bool { return len(l.chat.messages()) >= 2 })
	if got := strings.Join(l.chat.messages(), "\n"); strings.Count(got, "you said hello") != 1 {
		t.Fatalf("sent:\n%s", got)
	}
}

// C1: what a turn's foreground command left ends with the turn, also when its worker is wedged and the slot is
// taken from it; a background job belongs to the session and goes on.
func TestC1_ReleasingATurnEndsTheProcessesThatItLeft(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	l := start(t, func(s *setup) {
		s.model = script(func(_ context.Context, req model.Request) (model.Response, error) {
			text, answered := lastUser(req)
			switch {
			case text == "job":
				if answered {
					return says("begun"), nil
				}
				return callsTool("terminal", arguments(map[string]any{"command": "sleep 300", "background": true})), nil
			case answered:
				<-release
				return says("late"), nil
			}
			return callsTool("terminal", arguments(map[string]any{"command": "sleep 300 >/dev/null 2>&1 & echo begun"})), nil
		})
	})
	const key = "api:user:a"
	l.ask(key, "job")
	job := l.g.procs.SessionRows(key)[0].PID
	for _, cause := range []error{session.ErrInterrupted, session.ErrStalled} {
		l.send(key, "build")
		l.wait("the command has left a child and the model is called again", func() bool {
			v, running := l.g.table.Running(key)
			return running && v.Doing == "model call" && l.g.procs.CountSession(key) == 2
		})
		if text, err := l.g.conversations.Interrupt(context.Background(), key, "", cause); err != nil || !strings.Contains(text, "Released") {
			t.Fatalf("%v: the interrupt said %q, %v", cause, text, err)
		}
		l.wait("the child is gone after: "+cause.Error(), func() bool { return l.g.procs.CountSession(key) == 1 })
		if rows := l.g.procs.SessionRows(key); rows[0].PID != job || rows[0].State != "running" {
			t.Errorf("%v: the rows are %+v, not the job's alone", cause, rows)
		}
	}
}
