package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/conversation"
	"gatewaytui/core/limit"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
)

func turnsAtOnce(n int) func(*setup) { return func(s *setup) { s.cfg.Limits.Turns = n } }

// limitRow is the row of a bound in the status.
func (l *lab) limitRow(name string) ops.Limit {
	l.t.Helper()
	st, err := l.g.Status(context.Background())
	if err != nil {
		l.t.Fatal(err)
	}
	for _, row := range st.Limits {
		if row.Name == name {
			return row
		}
	}
	l.t.Fatalf("status has no bound %s: %+v", name, st.Limits)
	return ops.Limit{}
}

// warned reports whether the status warns of a bound.
func (l *lab) warned(name string) bool {
	l.t.Helper()
	st, err := l.g.Status(context.Background())
	if err != nil {
		l.t.Fatal(err)
	}
	return slices.ContainsFunc(st.Warnings, func(w ops.Warning) bool { return w.Code == name && strings.Contains(w.Message, name) })
}

// waitsForTurn waits until the session's message waits for a slot.
func (l *lab) waitsForTurn(key string) {
	l.t.Helper()
	l.wait(key+" waits for a turn slot", func() bool {
		row := l.session(key)
		return row.State == ops.SessionWaiting && row.WaitingFor == limit.Turns && !row.DoingSince.IsZero()
	})
}

func TestHF9_ATurnBeyondTheBoundWaitsWithARowAndIsAnsweredWhenASlotIsFree(t *testing.T) {
	l := start(t, turnsAtOnce(1))
	l.send("api:user:a", "hang")
	l.running("api:user:a")
	second := l.send("api:user:b", "second")
	l.waitsForTurn("api:user:b")
	if row := l.limitRow(limit.Turns); row.Used != 1 || row.Bound != 1 || row.Waiting != 1 || row.Reached != 1 {
		t.Errorf("the row of the bound is %+v", row)
	}
	if !l.warned(limit.Turns) {
		t.Error("status does not warn of the bound")
	}
	if got := l.await(l.send("api:user:b", "/status")); !strings.Contains(got.text, "waits for a turn slot (limits.turns)") {
		t.Errorf("/status says %q", got.text)
	}
	l.do(ops.Command{Verb: ops.VerbInterrupt, Target: "api:user:a"})
	if got := l.await(second); got.text != "you said second" || got.err != nil {
		t.Errorf("the message that waited is answered with %+v", got)
	}
	if row := l.session("api:user:b"); row.State != ops.SessionIdle || row.WaitingFor != "" {
		t.Errorf("afterwards the row is %+v", row)
	}
}

func TestAResetOfARunningTurnGivesItsSlotToTheNext(t *testing.T) {
	l := start(t, turnsAtOnce(1))
	l.send("api:user:a", "hang")
	l.running("api:user:a")
	second := l.send("api:user:b", "second")
	l.waitsForTurn("api:user:b")
	l.do(ops.Command{Verb: ops.VerbReset, Target: "api:user:a"})
	if got := l.await(second); got.text != "you said second" || got.err != nil {
		t.Errorf("the message that waited is answered with %+v", got)
	}
}

func TestAnInterruptWithdrawsAMessageWhoseTurnHasNotBegun(t *testing.T) {
	l := start(t, turnsAtOnce(1))
	l.send("api:user:a", "hang")
	l.running("api:user:a")
	for name, withdraw := range map[string]func(key string){
		"by an operator": func(key string) {
			if req := l.do(ops.Command{Verb: ops.VerbInterrupt, Target: key}); req.Detail != "Withdrew the message that was waiting; its turn had not begun." {
				t.Errorf("the interrupt says %q", req.Detail)
			}
		},
		"by its user": func(key string) {
			if got := l.await(l.send(key, "/stop")); !strings.HasPrefix(got.text, "Withdrew the message that was waiting; its turn had not begun.") {
				t.Errorf("/stop says %q", got.text)
			}
		},
	} {
		key := "api:user:" + strings.ReplaceAll(name, " ", "-")
		waiting := l.send(key, "second")
		l.waitsForTurn(key)
		withdraw(key)
		if got := l.await(waiting); !ops.HasCode(got.err, ops.CodeConflict) {
			t.Errorf("%s: the withdrawn message is answered with %+v", name, got)
		}
		if row := l.session(key); row.Key != "" {
			t.Errorf("%s: a session that never had a turn is left: %+v", name, row)
		}
	}
	if n := l.limitRow(limit.Turns).Waiting; n != 0 {
		t.Errorf("%d still wait", n)
	}
}

// HF9: 1,000 clients that send and close, twice: 2,000 turns ran.
func TestHF9_ClientsThatSendAndLeavePileUpNothing(t *testing.T) {
	const clients = 300
	l := start(t, turnsAtOnce(4))
	for i := range clients {
		key := fmt.Sprintf("api:request:%s", newID())
		if i%2 == 0 {
			key = fmt.Sprintf("api:user:u%d", i)
		}
		id, _ := l.post(key, "hang")
		l.g.intake.Withdraw(key, id)
	}
	l.wait("nothing is left of them", func() bool {
		st, err := l.g.Status(context.Background())
		return err == nil && st.Counts.RunningTurns == 0 && st.Counts.QueuedMessages == 0 && len(l.g.background.Rows(time.Now())) == 0
	})
	if got := l.ask("api:user:u", "hello"); got != "you said hello" {
		t.Errorf("afterwards a message is answered with %q", got)
	}
	s, err := l.g.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range s.Sessions {
		if session.IsRequest(row.Key) {
			t.Errorf("a request's session is left: %+v", row)
		}
	}
}

// A drain begins no turn, and what waits for a slot goes on waiting; it is served when turns are taken again.
func TestADrainHoldsWhatWaitsForASlotUntilTurnsAreTakenAgain(t *testing.T) {
	l := start(t, turnsAtOnce(1))
	l.send("api:user:a", "hang")
	l.running("api:user:a")
	second, third := l.send("api:user:b", "second"), l.send("api:user:c", "third")
	l.waitsForTurn("api:user:c")
	l.do(ops.Command{Verb: ops.VerbDrain})
	l.do(ops.Command{Verb: ops.VerbInterrupt, Target: "api:user:a"})
	l.wait("the turn has ended", func() bool { turns := l.g.table.Counts().Turns; return turns == 0 })
	if row := l.session("api:user:b"); row.State != ops.SessionQueued || row.Queued != 1 {
		t.Errorf("during the drain the row is %+v", row)
	}
	l.do(ops.Command{Verb: ops.VerbUndrain})
	for _, c := range []struct {
		answer responder
		want   string
	}{{second, "you said second"}, {third, "you said third"}} {
		if got := l.await(c.answer); got.text != c.want || got.err != nil {
			t.Errorf("after the drain: answered with %+v, want %q", got, c.want)
		}
	}
}

// A stop waits for no turn that has not begun: a caller that waits for its answer gets an error, and a chat's message is kept.
func TestAStopWithdrawsWhatWaitsForASlot(t *testing.T) {
	l := start(t, turnsAtOnce(1))
	l.send("api:user:a", "hang")
	l.running("api:user:a")
	asked := l.send("api:user:b", "second")
	l.say("chat:dm:1", "1", "from a chat")
	l.waitsForTurn("api:user:b")
	l.waitsForTurn("chat:dm:1")
	p, err := l.g.Preview(context.Background(), ops.Command{Verb: ops.VerbStop})
	if err != nil || len(p.WaitsFor) != 1 || !slices.ContainsFunc(p.Keeps, func(s string) bool { return strings.Contains(s, "chat:dm:1") }) ||
		!slices.ContainsFunc(p.Loses, func(s string) bool { return strings.Contains(s, "api:user:b") }) {
		t.Errorf("the preview of the stop is %+v, %v", p, err)
	}
	report := l.stop(ops.ModeGraceful)
	if got := l.await(asked); !ops.HasCode(got.err, ops.CodeStopping) {
		t.Errorf("who waits for an answer gets %+v", got)
	}
	for _, ph := range report.Phases {
		for _, it := range ph.Items {
			if it.Kind == "turn" && it.ID != "api:user:a" {
				t.Errorf("phase %s has an item for %s, whose turn never began", ph.Name, it.ID)
			}
		}
	}
	st := open(t, l.dir)
	defer st.Close(context.Background())
	left, err := st.OpenInbox(context.Background())
	if err != nil || len(left) != 1 || left[0].Text != "from a chat" || left[0].State != store.InboxWaiting {
		t.Errorf("the inbox has %+v (%v), want the chat's message waiting", left, err)
	}
}

// What an earlier life acknowledged is worked on, also if the bounds are lower now.
func TestMessagesOfAnEarlierLifeWaitForTheirSlots(t *testing.T) {
	dir := t.TempDir()
	l := start(t, turnsAtOnce(1), func(s *setup) { s.dir = dir })
	l.say("chat:dm:0", "0", "hang")
	l.running("chat:dm:0")
	for i := 1; i <= 5; i++ {
		l.say(fmt.Sprintf("chat:dm:%d", i), fmt.Sprint(i), fmt.Sprintf("message %d", i))
	}
	l.waitsForTurn("chat:dm:5")
	l.stop(ops.ModeFast)
	var atOnce, most atomic.Int64
	l = start(t, turnsAtOnce(2), func(s *setup) {
		s.dir, s.cfg.Limits.QueuedBytes = dir, 1
		s.model = script(func(_ context.Context, req model.Request) (model.Response, error) {
			now := atOnce.Add(1)
			defer atOnce.Add(-1)
			for before := most.Load(); now > before && !most.CompareAndSwap(before, now); before = most.Load() {
			}
			text, _ := lastUser(req)
			return says("you said " + text), nil
		})
	})
	for i := 1; i <= 5; i++ {
		l.wait(fmt.Sprintf("message %d is answered", i), func() bool {
			return slices.Contains(l.chat.messages(), fmt.Sprintf("%d: you said message %d", i, i))
		})
	}
	if n := most.Load(); n > 2 {
		t.Errorf("%d turns ran at once, want at most 2", n)
	}
}

// HF5: what a turn may still cost is in its row and in /status, and its end is an answer.
func TestHF5_TheCallsOfATurnAreInItsRowAndTheirEndIsAnAnswer(t *testing.T) {
	proceed := make(chan struct{})
	var calls atomic.Int64
	l := start(t, func(s *setup) {
		s.cfg.Limits.CallsPerTurn, s.cfg.Agent.MaxIterations = 7, 1000
		s.model = script(func(ctx context.Context, req model.Request) (model.Response, error) {
			if calls.Add(1) == 5 {
				select {
				case <-proceed:
				case <-ctx.Done():
					return model.Response{}, ctx.Err()
				}
			}
			return callsTool("delegate", arguments(map[string]any{"goal": "x", "tools": []string{"delegate", "terminal"}})), nil
		})
	})
	answer := l.send("api:user:a", "go")
	l.wait("the fifth call runs", func() bool { return calls.Load() == 5 })
	if row := l.session("api:user:a"); row.Calls != 5 || row.CallsLimit != 7 {
		t.Errorf("the row is %+v, want 5 of 7 calls", row)
	}
	if row := l.limitRow(limit.CallsPerTurn); row.Used != 5 || row.Bound != 7 || row.Per != "turn" {
		t.Errorf("the row of the bound is %+v", row)
	}
	if got := l.ask("api:user:a", "/status"); !strings.Contains(got, "It has made 5 of its 7 model calls (limits.calls_per_turn).") {
		t.Errorf("/status says %q", got)
	}
	close(proceed)
	if got := l.await(answer); got.err != nil || !strings.Contains(got.text, "7 model calls (limits.calls_per_turn)") {
		t.Errorf("the turn is answered with %+v", got)
	}
	if calls.Load() != 7 || l.limitRow(limit.CallsPerTurn).Reached != 1 || !l.warned(limit.CallsPerTurn) {
		t.Errorf("%d calls were made; the bound's row is %+v", calls.Load(), l.limitRow(limit.CallsPerTurn))
	}
}

// HF9: 500 x /background of one user made 500 turns.
func TestHF9_BackgroundTasksOfASessionAreBounded(t *testing.T) {
	const asked, bound = 100, 8
	l := start(t)
	var refused []responder
	for range asked {
		refused = append(refused, l.send("api:user:a", "/background hang"))
	}
	other := l.send("api:user:b", "/background hello")
	if got := l.await(other); got.text != "you said hello" || got.err != nil {
		t.Errorf("another session's task is answered with %+v", got)
	}
	l.wait("the tasks beyond the bound are refused", func() bool { return l.limitRow(limit.Background).Reached == asked-bound })
	n := 0
	for _, r := range refused {
		select {
		case got := <-r:
			n++
			e := ops.AsError(got.err)
			if !ops.HasCode(got.err, ops.CodeLimit) || !strings.Contains(e.Message, "limits.background") || e.RetryAfter == 0 {
				t.Errorf("a task beyond the bound is answered with %+v", got)
			}
		case <-time.After(10 * time.Millisecond): // it runs, or its refusal is on its way
		}
	}
	if row := l.limitRow(limit.Background); row.Used != bound || row.Bound != bound || row.Per != "session" || !l.warned(limit.Background) {
		t.Errorf("the row of the bound is %+v", row)
	}
	if n > asked-bound {
		t.Errorf("%d were answered, want at most %d", n, asked-bound)
	}
	if got := l.g.background.Count("api:user:a", conversation.BackgroundTask); got != bound {
		t.Errorf("%d tasks run, want %d", got, bound)
	}
}

// HF9: `bg:` 2,538 times started all of them.
func TestHF9_AProcessBeyondTheBoundIsRefusedToTheModel(t *testing.T) {
	const bound = 3
	l := start(t, func(s *setup) { s.cfg.Limits.Processes = bound })
	for range bound {
		if got := l.ask("api:user:a", "bg: sleep 300"); !strings.Contains(got, `"pid"`) {
			t.Fatalf("a background command is answered with %q", got)
		}
	}
	for _, kind := range []string{"bg: sleep 300", "sh: true"} { // foreground commands count too
		got := l.ask("api:user:a", kind)
		if !strings.Contains(got, "limits.processes") || !strings.Contains(got, "sleep 300") || !strings.Contains(got, "action kill") {
			t.Errorf("%s beyond the bound is answered with %q", kind, got)
		}
	}
	if got := l.ask("api:user:b", "sh: echo fine"); !strings.Contains(got, "fine") {
		t.Errorf("another session's command is answered with %q", got)
	}
	if row := l.limitRow(limit.Processes); row.Used != bound || row.Reached != 2 || !l.warned(limit.Processes) {
		t.Errorf("the row of the bound is %+v", row)
	}
	l.ask("api:user:a", "/new")
	if got := l.ask("api:user:a", "sh: echo fine"); !strings.Contains(got, "fine") {
		t.Errorf("after the session's processes ended a command is answered with %q", got)
	}
}

func TestAMessageOverTheQueuedBytesIsRefusedWithTheBoundsName(t *testing.T) {
	l := start(t, func(s *setup) { s.cfg.Limits.QueuedBytes = 1 << 20 })
	l.send("api:user:a", "hang")
	l.running("api:user:a")
	text := strings.Repeat("x", 700_000)
	l.send("api:user:a", text)
	_, err := l.g.intake.Receive(context.Background(), adapter.Inbound{Adapter: "chat", Session: "api:user:a", User: "maria", Text: text, Responder: make(responder, 1)})
	if !ops.HasCode(err, ops.CodeLimit) || !strings.Contains(err.Error(), limit.QueuedBytes) {
		t.Errorf("the second message got %v", err)
	}
	if row := l.limitRow(limit.QueuedBytes); row.Used != 700_000 || row.Unit != "bytes" || row.Reached != 1 {
		t.Errorf("the row of the bound is %+v", row)
	}
}
