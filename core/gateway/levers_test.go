package gateway

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

// loop is a client of key that sends its next message as soon as the last one is answered, with any answer, until the
// test ends. It returns how many answers it has had.
func (l *lab) loop(key, text string) (answers *atomic.Int64) {
	answers = new(atomic.Int64)
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		for ctx.Err() == nil {
			r := make(responder, 1)
			if _, err := l.g.intake.Receive(ctx, adapter.Inbound{Adapter: "chat", Session: key, User: "maria", Text: text, Responder: r}); err != nil {
				return // the gateway stops
			}
			select {
			case <-r:
				answers.Add(1)
			case <-ctx.Done():
			}
		}
	}()
	l.t.Cleanup(func() { cancel(); <-over })
	return answers
}

// A command names an object: the conversation, its current turn, the life. Turns that begin and end in it do not conflict.
func TestACommandNamesItsObjectAndNotTheWorkInIt(t *testing.T) {
	const key = "api:user:a"
	for _, tc := range []struct {
		name string
		verb ops.Verb
		// change is done between the look and the command; seen is what the operator saw.
		change func(l *lab, seen ops.Session)
		expect func(l *lab, seen ops.Session) string
		code   ops.Code // empty: it is done
	}{
		{"a reset of a conversation whose turn has changed", ops.VerbReset, nextTurn, conversationID, ""},
		{"a reset of a conversation whose turn has ended", ops.VerbReset, endTurn, conversationID, ""},
		{"a reset of a turn that has ended", ops.VerbReset, endTurn, thatTurn, ops.CodeConflict},
		{"a reset of a conversation that was reset", ops.VerbReset, resetIt, conversationID, ops.CodeConflict},
		{"an interrupt of the current turn, a newer one", ops.VerbInterrupt, nextTurn, conversationID, ""},
		{"an interrupt of that turn, which has ended", ops.VerbInterrupt, nextTurn, thatTurn, ops.CodeConflict},
		{"an interrupt of the current turn, just ended", ops.VerbInterrupt, endTurn, conversationID, ""},
		{"an interrupt in a conversation that was reset", ops.VerbInterrupt, resetIt, conversationID, ops.CodeConflict},
		{"an eviction with an interrupt of a newer turn", ops.VerbEvict, nextTurn, conversationID, ""},
		{"a drain of this life", ops.VerbDrain, nextTurn, thisLife, ""},
		{"a drain of another life", ops.VerbDrain, nextTurn, otherLife, ops.CodeConflict},
		{"a stop of another life", ops.VerbStop, nextTurn, otherLife, ops.CodeConflict},
		{"a stop of this life", ops.VerbStop, nextTurn, thisLife, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := start(t)
			l.send(key, "hang")
			l.running(key)
			seen := l.session(key)
			tc.change(l, seen)
			cmd := ops.Command{Verb: tc.verb, Expect: tc.expect(l, seen), Interrupt: tc.verb == ops.VerbEvict}
			if spec, _ := tc.verb.Spec(); spec.TakesTarget() {
				cmd.Target = key
			}
			req, err := l.g.Do(context.Background(), cmd)
			if tc.code != "" {
				if !ops.HasCode(err, tc.code) {
					t.Fatalf("got %+v, %v, promised %s", req, err, tc.code)
				}
				if l.g.lifecycle.Run() != nil {
					t.Fatal("the gateway stops all the same")
				}
				return
			}
			if err != nil {
				t.Fatalf("it was refused: %v", err)
			}
			if tc.verb == ops.VerbStop {
				return
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if req, err = l.g.Request(ctx, req.ID, true); err != nil || req.State != ops.RequestDone {
				t.Fatalf("it became %+v, %v", req, err)
			}
		})
	}
}

func conversationID(_ *lab, seen ops.Session) string { return seen.ID }
func thatTurn(_ *lab, seen ops.Session) string       { return seen.Turn }
func thisLife(l *lab, _ ops.Session) string          { return l.g.opts.Life }
func otherLife(*lab, ops.Session) string             { return "another" }

func endTurn(l *lab, seen ops.Session) {
	l.do(ops.Command{Verb: ops.VerbInterrupt, Target: seen.Key})
	l.wait("the turn has ended", func() bool { return l.session(seen.Key).Turn == "" })
}

func nextTurn(l *lab, seen ops.Session) {
	endTurn(l, seen)
	l.send(seen.Key, "hang")
	l.running(seen.Key)
}

func resetIt(l *lab, seen ops.Session) {
	l.do(ops.Command{Verb: ops.VerbReset, Target: seen.Key})
	l.send(seen.Key, "hang")
	l.running(seen.Key)
}

// A session that loops runs no turn for moments at a time. The levers on it take one command all the same.
func TestTheLeversOnASessionThatLoopsTakeOneCommand(t *testing.T) {
	const key = "api:user:loop"
	l := start(t)
	answers := l.loop(key, "hello")
	l.wait("the session loops", func() bool { return answers.Load() > 10 })
	for i := range 20 {
		seen := l.session(key)
		if got := l.do(ops.Command{Verb: ops.VerbInterrupt, Target: key, Expect: seen.ID}); got.State != ops.RequestDone {
			t.Fatalf("interrupt %d: %+v", i, got)
		}
		if got := l.do(ops.Command{Verb: ops.VerbEvict, Target: key, Expect: seen.ID, Interrupt: true}); got.State != ops.RequestDone {
			t.Fatalf("eviction %d: %+v", i, got)
		}
		got := l.do(ops.Command{Verb: ops.VerbReset, Target: key, Expect: seen.ID})
		if got.State != ops.RequestDone {
			t.Fatalf("reset %d: %+v", i, got)
		}
		if now := l.session(key).ID; now == seen.ID {
			t.Fatalf("reset %d: the conversation is still %s", i, now)
		}
	}
}

func TestAnInterruptOfASessionThatIsIdleForLongFindsNoTurn(t *testing.T) {
	l := start(t)
	const key = "api:user:a"
	l.ask(key, "hello")
	s, _ := l.g.table.Get(key)
	s.LastActivity = time.Now().Add(-time.Minute)
	l.replace(s)
	if got := l.do(ops.Command{Verb: ops.VerbInterrupt, Target: key}); got.State != ops.RequestFailed || got.Error.Code != ops.CodeNotFound {
		t.Fatalf("got %+v, promised not found", got)
	}
}

// The agent that an eviction drops is the one of the interrupted turn: the session's next turn has a new one.
func TestAnEvictionInterruptsFirstOnRequest(t *testing.T) {
	const key = "api:user:a"
	l := start(t)
	turn := l.send(key, "hang")
	l.running(key)
	p, err := l.g.Preview(context.Background(), ops.Command{Verb: ops.VerbEvict, Target: key, Interrupt: true})
	if err != nil || !p.EndsWork || len(p.Interrupt) != 1 {
		t.Fatalf("the preview is %+v, %v", p, err)
	}
	before, _ := l.g.cache.Peek(key)
	waiting := l.send(key, "hang") // it begins as soon as the first has ended
	got := l.do(ops.Command{Verb: ops.VerbEvict, Target: key, Interrupt: true})
	if got.State != ops.RequestDone || !strings.Contains(got.Detail, "nterrupted the running turn; agent dropped") {
		t.Fatalf("got %+v", got)
	}
	if r := l.await(turn); r.err == nil {
		t.Fatalf("the turn was not interrupted: %q", r.text)
	}
	l.running(key)
	if after, ok := l.g.cache.Peek(key); !ok || after == before {
		t.Fatal("the next turn has the agent that was evicted")
	}
	l.ask(key, "/stop")
	l.await(waiting)
}

// A turn whose worker does not return is released, and its agent goes with it.
func TestAnEvictionOfAWedgedTurnDropsItsAgent(t *testing.T) {
	const key = "api:user:a"
	l := start(t)
	turn := l.send(key, "wedge")
	l.running(key)
	if got := l.do(ops.Command{Verb: ops.VerbEvict, Target: key, Interrupt: true}); got.State != ops.RequestDone {
		t.Fatalf("got %+v", got)
	}
	l.await(turn)
	if _, ok := l.g.cache.Peek(key); ok {
		t.Fatal("the agent is still cached")
	}
}

// TF24: a drain lists what it would wait for.
func TestTheDryRunOfADrainListsWhatItWaitsFor(t *testing.T) {
	l := start(t)
	l.send("api:user:a", "hang")
	l.running("api:user:a")
	l.say("chat:dm:1", "1", "hang")
	l.running("chat:dm:1")
	l.say("chat:dm:1", "1", "later")
	p, err := l.g.Preview(context.Background(), ops.Command{Verb: ops.VerbDrain})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(p.WaitsFor)
	if len(p.WaitsFor) != 2 || !strings.HasPrefix(p.WaitsFor[0], "api:user:a (") || !strings.HasPrefix(p.WaitsFor[1], "chat:dm:1 (") {
		t.Errorf("it would wait for %q", p.WaitsFor)
	}
	if !slices.Contains(p.Keeps, "1 waiting message of chat:dm:1, until undrain") {
		t.Errorf("it would keep %q", p.Keeps)
	}
	if p.EndsWork || len(p.Interrupt)+len(p.Kills)+len(p.Loses) > 0 {
		t.Errorf("a drain ends nothing: %+v", p)
	}
	if st, _ := l.g.Status(context.Background()); st.State != ops.StateRunning {
		t.Errorf("the preview made the gateway %s", st.State)
	}
}

// The words of a preview are what a person decides by, on the command line and in the console.
func TestThePreviewOfAStopAndOfADrainInWords(t *testing.T) {
	l := start(t)
	l.job("api:user:a", "sleep 300")
	asked := l.send("api:user:a", "hang")
	l.running("api:user:a")
	waits := l.send("api:user:a", "waits")
	l.say("chat:dm:1", "1", "hang")
	l.running("chat:dm:1")
	l.say("chat:dm:1", "1", "first")
	l.say("chat:dm:1", "1", "second")
	l.wait("all of them wait", func() bool { return l.g.table.Counts().Queued == 3 })
	passing := regexp.MustCompile(`\((\d+[hms])+, |pid \d+`)
	preview := func(verb ops.Verb, mode ops.Mode) ops.Preview {
		t.Helper()
		p, err := l.g.Preview(context.Background(), ops.Command{Verb: verb, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		for _, lines := range [][]string{p.WaitsFor, p.Interrupt, p.Closes, p.Kills, p.Keeps, p.Loses} {
			for i, line := range lines {
				lines[i] = passing.ReplaceAllStringFunc(line, func(found string) string {
					if strings.HasPrefix(found, "pid") {
						return "pid N"
					}
					return "(AGE, "
				})
			}
			slices.Sort(lines)
		}
		p.WorstCaseMS = 0
		return p
	}
	turns := []string{"api:user:a (AGE, waiting for the model)", "chat:dm:1 (AGE, waiting for the model)"}
	none := []string{}
	stop := ops.Preview{
		Verb: ops.VerbStop, EndsWork: true, WaitsFor: turns, Interrupt: none,
		Closes: []string{"2 agents", "adapter chat"},
		Kills:  []string{"pid N sleep 300 (1 in its tree, api:user:a)"},
		Loses:  []string{"1 waiting message of api:user:a, each sender told"},
		Keeps:  []string{"2 waiting messages of chat:dm:1, for the next life", "every session with its history"},
	}
	fast := stop
	fast.WaitsFor, fast.Interrupt = none, turns
	drain := ops.Preview{
		Verb: ops.VerbDrain, WaitsFor: turns, Interrupt: none, Closes: none, Kills: none, Loses: none,
		Keeps: []string{"1 waiting message of api:user:a, until undrain", "2 waiting messages of chat:dm:1, until undrain", "every connection, session and process"},
	}
	for name, tc := range map[string]struct{ want, got ops.Preview }{
		"a graceful stop waits for the turns": {stop, preview(ops.VerbStop, ops.ModeGraceful)},
		"a fast stop interrupts them":         {fast, preview(ops.VerbStop, ops.ModeFast)},
		"a drain waits and ends nothing":      {drain, preview(ops.VerbDrain, "")},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	l.stop(ops.ModeFast)
	l.await(asked)
	l.await(waits)
}

// A fast stop does not drain, so its worst case has no time for that.
func TestTheWorstCaseOfAPreviewIsThatOfItsMode(t *testing.T) {
	l := start(t)
	worst := func(mode ops.Mode) int64 {
		p, err := l.g.Preview(context.Background(), ops.Command{Verb: ops.VerbStop, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		return p.WorstCaseMS
	}
	plan, err := l.g.Plan(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if graceful, unnamed := worst(ops.ModeGraceful), worst(""); graceful != plan.WorstCaseMS || unnamed != graceful {
		t.Errorf("a graceful stop takes at most %d ms, one without a mode %d, and the plan %d", graceful, unnamed, plan.WorstCaseMS)
	}
	if fast := worst(ops.ModeFast); plan.DrainMS == 0 || fast != plan.WorstCaseMS-plan.DrainMS {
		t.Errorf("a fast stop takes at most %d ms; the plan has %d, %d of it for the drain", fast, plan.WorstCaseMS, plan.DrainMS)
	}
}
