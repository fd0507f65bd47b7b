package gateway

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/fixtures/soak"
)

// S12, C9: a reset ends the agent and the processes before it leaves the cache; an eviction ends neither.
func TestS12_AResetClosesAndAnEvictionDoesNot(t *testing.T) {
	l := start(t)
	const key = "api:user:a"
	pid := l.job(key, "sleep 300")
	old := l.session(key).ID

	if got := l.do(ops.Command{Verb: ops.VerbEvict, Target: key}); got.State != ops.RequestDone {
		t.Fatalf("evict: %+v", got)
	}
	if row := l.session(key); row.Cached || row.ID != old || row.Processes != 1 || !alive(pid) {
		t.Fatalf("after the eviction: %+v, process alive %v; want the session and its process to go on", row, alive(pid))
	}
	if got := l.ask(key, "hello"); got != "you said hello" {
		t.Fatalf("after the eviction the session said %q", got)
	}

	got := l.ask(key, "/new")
	if !strings.Contains(got, "Ended 1 process") {
		t.Fatalf("/new said %q, want it to say that a process was ended", got)
	}
	if alive(pid) {
		t.Fatalf("process %d outlives the reset", pid)
	}
	row := l.session(key)
	if row.ID == old || row.Cached || row.Processes != 0 {
		t.Fatalf("after the reset: %+v, want a fresh conversation without an agent", row)
	}
	if got := l.ask(key, "/new"); got != "Fresh conversation." {
		t.Fatalf("a second /new said %q", got)
	}
}

// D7: a busy agent is never evicted under its turn.
func TestD7_ABusyAgentIsNotEvicted(t *testing.T) {
	l := start(t)
	turn := l.send("api:user:a", "hang")
	l.running("api:user:a")
	got := l.do(ops.Command{Verb: ops.VerbEvict, Target: "api:user:a"})
	if got.State != ops.RequestFailed || got.Error == nil || got.Error.Code != ops.CodeBusy {
		t.Fatalf("evict of a busy agent: %+v", got)
	}
	l.ask("api:user:a", "/stop")
	l.await(turn)
}

// S12, S15: what was said before the reset is kept, and can be resumed.
func TestAResetConversationCanBeResumed(t *testing.T) {
	l := start(t)
	const key = "api:user:a"
	l.ask(key, "remember this")
	old := l.session(key).ID
	l.ask(key, "/new")
	l.ask(key, "something else")
	if got := l.ask(key, "/sessions"); !strings.Contains(got, "1. remember this") || strings.Contains(got, old) {
		t.Fatalf("/sessions said %q, want the title under number 1 and no id", got)
	}
	if got := l.ask(key, "/resume "+old); !strings.Contains(got, "Back in the conversation from") {
		t.Fatalf("/resume said %q", got)
	}
	if row := l.session(key); row.ID != old {
		t.Fatalf("after /resume the session is %+v, want id %s", row, old)
	}
	l.ask(key, "and on")
	rows, err := l.g.recovery.Store().Since(context.Background(), old, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 4 || rows[0].Content != "remember this" || rows[2].Content != "and on" {
		t.Fatalf("the resumed transcript is %+v", rows)
	}
	if got := l.ask(key, "/sessions"); !strings.Contains(got, "1. something else") {
		t.Fatalf("/sessions said %q after the resume", got)
	}
	if got := l.ask(key, "/resume 1"); !strings.HasSuffix(got, ": something else") {
		t.Fatalf("/resume 1 said %q", got)
	}
	for _, unknown := range []string{"nonsense", "0", "-1", "2 3", "99"} {
		if got := l.await(l.send(key, "/resume "+unknown)); !ops.HasCode(got.err, ops.CodeNotFound) {
			t.Errorf("/resume %s: %+v", unknown, got)
		}
	}
}

// S11: expiry closes the agent and its processes wherever the agent lives, and marks the end in the store.
func TestS11_ExpiryClosesTheAgentAndItsProcesses(t *testing.T) {
	l := start(t, func(s *setup) { s.cfg.Session.IdleReset.Duration = 700 * time.Millisecond })
	const key = "api:user:a"
	pid := l.job(key, "sleep 300")
	l.wait("the session expires", func() bool { return l.session(key).Key == "" })
	if alive(pid) {
		t.Fatalf("process %d outlives its session", pid)
	}
	if n := l.g.cache.Len(); n != 0 {
		t.Fatalf("%d agents are cached after the expiry", n)
	}
	ended, err := l.g.recovery.Store().EndedSessions(context.Background(), key, 5)
	if err != nil || len(ended) != 1 || !strings.Contains(ended[0].EndReason, "idle") {
		t.Fatalf("the store says of the expired session: %+v, %v", ended, err)
	}
}

// D10: a reset at any moment of a turn never strands the slot and never harms the successor. Every message is answered
// exactly once.
func TestD10_AResetAtAnyMomentStrandsNothing(t *testing.T) {
	soak.Checks(t, 30, 200)
	l := start(t, func(s *setup) { s.cfg.Session.QueueLimit = 1000 })
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		key := fmt.Sprintf("api:user:%d", n)
		var answers []responder
		var wg sync.WaitGroup
		for range rapid.IntRange(2, 6).Draw(r, "steps") {
			switch rapid.SampledFrom([]string{"message", "message", "tool", "reset", "stop", "evict"}).Draw(r, "step") {
			case "message":
				answers = append(answers, l.send(key, "hello"))
			case "tool":
				answers = append(answers, l.send(key, "sh: echo x"))
			case "reset":
				answers = append(answers, l.send(key, "/new"))
			case "stop":
				answers = append(answers, l.send(key, "/stop"))
			case "evict":
				wg.Go(func() { _, _ = l.g.Do(context.Background(), ops.Command{Verb: ops.VerbEvict, Target: key}) })
			}
		}
		wg.Wait()
		for _, a := range answers {
			l.await(a)
		}
		if got := l.ask(key, "last"); got != "you said last" {
			r.Fatalf("after it all the session said %q", got)
		}
		for _, a := range answers {
			select {
			case again := <-a:
				r.Fatalf("a message was answered twice: %+v", again)
			default:
			}
		}
	})
	if turns := l.g.table.Counts().Turns; turns != 0 {
		t.Fatalf("%d slots are stranded", turns)
	}
}

// Commands bypass a running turn, and only a command's sender is answered.
func TestCommandsAnswerWhileATurnRuns(t *testing.T) {
	l := start(t)
	const key = "api:user:a"
	turn := l.send(key, "hang")
	l.running(key)
	for _, tc := range []struct{ name, text, want string }{
		{"status says what runs", "/status", "A turn has been running"},
		{"help lists the commands", "/help", "/background TEXT"},
		{"TF10: the first message of a messenger is greeted", "/start", "Three things to try"},
		{"also with what a link gave it", "/start from_the_website", "Three things to try"},
		{"an unknown command gets a hint and no model call", "/stpo", "There is no command /stpo. Did you mean /st"},
		{"queue without a text shows what waits", "/queue", "Nothing is waiting."},
		{"a fresh chat has no sessions", "/sessions", "no earlier conversations"},
		{"a command may name a bot", "/help@mybot", "The commands:"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := l.ask(key, tc.text); !strings.Contains(got, tc.want) {
				t.Fatalf("%s said %q, want %q in it", tc.text, got, tc.want)
			}
		})
	}
	queued := l.send(key, "/queue later")
	l.wait("it waits", func() bool { return l.session(key).Queued == 1 })
	if got := l.await(l.send(key, "/resume")); !ops.HasCode(got.err, ops.CodeBusy) && got.err == nil && !strings.Contains(got.text, "no earlier") {
		t.Fatalf("/resume while a turn runs: %+v", got)
	}
	l.ask(key, "/stop")
	l.await(turn)
	if got := l.await(queued); got.text != "you said later" {
		t.Fatalf("what was queued was answered with %+v", got)
	}
	if got := l.await(l.send(key, "/background")); !ops.HasCode(got.err, ops.CodeInvalid) {
		t.Fatalf("/background without a text: %+v", got)
	}
	if got := l.ask(key, "/background hello"); got != "you said hello" {
		t.Fatalf("/background over a request was answered with %q", got)
	}
}

// J9: /stop says what it leaves running.
func TestJ9_StopSaysWhatItLeavesRunning(t *testing.T) {
	l := start(t)
	const key = "api:user:a"
	l.job(key, "sleep 300")
	turn := l.send(key, "hang")
	l.running(key)
	if got := l.ask(key, "/stop"); !strings.Contains(got, "1 background process") {
		t.Fatalf("/stop said %q", got)
	}
	l.await(turn)
}

// I4: nothing from a chat comes back raw in what an operator sees.
func TestHostileTextIsCleanInEveryRow(t *testing.T) {
	l := start(t)
	const key = "api:user:a"
	turn := l.send(key, "sh: sleep 5 # \x1b]0;owned\x07 \u202e")
	l.wait("the command runs", func() bool {
		return strings.HasPrefix(l.session(key).Doing, "terminal") && len(l.g.procs.SessionRows(key)) > 0
	})
	s, err := l.g.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{s.Sessions[0].Doing, s.Processes[0].Command} {
		if strings.ContainsAny(text, "\x1b\x07\u202e") {
			t.Errorf("a row holds %q", text)
		}
	}
	_, err = l.g.intake.Receive(context.Background(), adapter.Inbound{Adapter: "chat", Session: "api:user:\x1b[31m", Text: "x", Responder: make(responder, 1)})
	if err == nil || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("a hostile session key was answered with %q", err)
	}
	l.ask(key, "/stop")
	l.await(turn)
}
