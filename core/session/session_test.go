package session

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/soak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func counter() func() string {
	var n atomic.Int64
	return func() string { return fmt.Sprintf("id-%06d", n.Add(1)) }
}

func message(text string) Message { return Message{Text: text, At: time.Now()} }

func start(t *testing.T, tb *Table, key, text string) *Turn {
	t.Helper()
	turn, _, _, err := tb.Enqueue(context.Background(), key, message(text))
	if err != nil || turn == nil {
		t.Fatalf("no turn began in %s: %v", key, err)
	}
	return turn
}

func TestKeys(t *testing.T) {
	for _, tc := range []struct {
		name string
		key  string
		ok   bool
	}{
		{"a direct chat", "telegram:dm:4711", true},
		{"a topic of a group", "telegram:group:-100:topic:7", true},
		{"two parts are enough", "cli:local", true},
		{"other scripts are welcome", "api:user:მარიამი", true},
		{"the empty key names nothing", "", false},
		{"a key needs a chat", "api:", false},
		{"a key needs a platform", ":dm:1", false},
		{"a key needs a colon", "local", false},
		{"an escape is refused", "api:user:\x1b[2J", false},
		{"a newline is refused", "api:user:a\nb", false},
		{"a right-to-left override is refused", "api:user:\u202e", false},
		{"broken UTF-8 is refused", "api:user:\xff", false},
		{"a long key is refused", "api:user:" + strings.Repeat("x", maxKey), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := CheckKey(tc.key)
			if (err == nil) != tc.ok {
				t.Fatalf("CheckKey(%q) = %v, want ok %v", tc.key, err, tc.ok)
			}
			if err != nil && !ops.HasCode(err, ops.CodeInvalid) {
				t.Fatalf("%v has no code for scripts", err)
			}
			if err != nil && strings.ContainsAny(err.Error(), "\x1b\n\u202e") {
				t.Fatalf("the error carries the key raw: %q", err)
			}
		})
	}
}

func TestPolicies(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(d, h, m int) time.Time { return time.Date(2026, 10, d, h, m, 0, 0, berlin) }
	four, _ := ParseDaily("04:00")
	for _, tc := range []struct {
		name      string
		p         Policy
		last, now time.Time
		want      bool
	}{
		{"the zero policy with no daily reset never ends", Policy{Daily: -1}, at(1, 0, 0), at(30, 0, 0), false},
		{"idle for less than the limit goes on", Policy{Idle: time.Hour, Daily: -1}, at(1, 0, 0), at(1, 0, 59), false},
		{"idle for the limit ends", Policy{Idle: time.Hour, Daily: -1}, at(1, 0, 0), at(1, 1, 0), true},
		{"yesterday evening ends at four", Policy{Daily: four}, at(1, 23, 0), at(2, 4, 0), true},
		{"yesterday evening goes on before four", Policy{Daily: four}, at(1, 23, 0), at(2, 3, 59), false},
		{"after four goes on all day", Policy{Daily: four}, at(2, 4, 1), at(2, 23, 59), false},
		{"the boundary is wall-clock time when summer time ends", Policy{Daily: four}, at(25, 3, 30), at(25, 4, 0), true},
		{"a clock set back ends nothing", Policy{Idle: time.Hour, Daily: four}, at(2, 5, 0), at(2, 4, 30), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if why, got := tc.p.Expired(tc.last, tc.now); got != tc.want {
				t.Fatalf("expired is %v (%s), want %v", got, why, tc.want)
			}
		})
	}
	if _, err := ParseDaily("25:00"); err == nil {
		t.Fatal("25:00 was taken for a time of day")
	}
}

func TestMessagesWaitInOrderForTheRunningTurn(t *testing.T) {
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 2}, NewID: counter()})
	turn := start(t, tb, "cli:a", "first")
	for i, text := range []string{"second", "third"} {
		next, pos, notice, err := tb.Enqueue(context.Background(), "cli:a", message(text))
		if next != nil || pos != i+1 || err != nil {
			t.Fatalf("%s: turn %v, position %d, %v; want it to wait as number %d", text, next, pos, err, i+1)
		}
		if notice != (i == 0) {
			t.Fatalf("%s: got the notice %v; the sender gets one for the first message that waits", text, notice)
		}
	}
	if _, _, _, err := tb.Enqueue(context.Background(), "cli:a", message("fourth")); !ops.HasCode(err, ops.CodeQueueFull) {
		t.Fatalf("a message over the limit got %v, want queue_full", err)
	}
	for _, want := range []string{"second", "third"} {
		next, owned := tb.Release(context.Background(), turn, End{State: ops.SessionIdle})
		if !owned || next == nil || next.Message.Text != want {
			t.Fatalf("after a turn came %+v, want %s", next, want)
		}
		turn = next
	}
	if next, _ := tb.Release(context.Background(), turn, End{State: ops.SessionIdle}); next != nil {
		t.Fatalf("a turn came out of an empty mailbox: %+v", next)
	}
}

func TestHeldMessagesWaitUntilTurnsAreTakenAgain(t *testing.T) {
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 2}, NewID: counter()})
	turn := start(t, tb, "cli:a", "first")
	tb.Enqueue(context.Background(), "cli:a", message("second"))
	if next, _ := tb.Release(context.Background(), turn, End{State: ops.SessionIdle, Hold: true}); next != nil {
		t.Fatal("a turn began while none are taken")
	}
	if got := rowsOf(tb)[0].State; got != ops.SessionQueued {
		t.Fatalf("the session is shown as %s, want queued", got)
	}
	resumed := tb.Resume(context.Background())
	if len(resumed) != 1 || resumed[0].Message.Text != "second" {
		t.Fatalf("resumed %+v, want the message that waited", resumed)
	}
}

// S16: hermes#11800 had eight places that deleted per-turn state, and one of them cleaned all three maps.
func TestS16_OneHelperReleasesAllOfARunningTurn(t *testing.T) {
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 2}, NewID: counter()})
	turn, other := start(t, tb, "cli:a", "x"), start(t, tb, "cli:b", "y")
	tb.Attach(turn, nil)
	tb.Enqueue(context.Background(), "cli:a", message("waits")) // a busy notice
	tb.Progress(turn, "model call")

	var wg sync.WaitGroup
	var owners atomic.Int32
	for range 8 {
		wg.Go(func() {
			if _, owned := tb.Release(context.Background(), turn, End{State: ops.SessionIdle, Hold: true}); owned {
				owners.Add(1)
			}
		})
	}
	wg.Wait()
	if owners.Load() != 1 {
		t.Fatalf("%d of 8 concurrent releases took the slot, want one", owners.Load())
	}
	if _, still := tb.Running("cli:a"); still || turn.now.Attached || turn.Context().Err() == nil {
		t.Fatal("something of the turn is left")
	}
	if !tb.Owns(other) {
		t.Fatal("another session lost its turn")
	}
	if tb.Attach(turn, nil) || turn.now.Attached {
		t.Fatal("a released turn took an agent")
	}
}

func TestS16_NoOtherPlaceDeletesARunningTurn(t *testing.T) {
	fset := token.NewFileSet()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	deletes := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) == 0 {
					return true
				}
				name, isIdent := call.Fun.(*ast.Ident)
				arg, isField := call.Args[0].(*ast.SelectorExpr)
				if !isIdent || !isField || arg.Sel.Name != "turns" || name.Name != "delete" && name.Name != "clear" {
					return true
				}
				deletes++
				if fn.Name.Name != "release" {
					t.Errorf("%s: %s removes from turns; only release may", fset.Position(call.Pos()), fn.Name.Name)
				}
				return true
			})
		}
	}
	if deletes != 1 {
		t.Errorf("found %d places that remove a running turn, want exactly one", deletes)
	}
}

func TestS16_ManySessionsLeaveNothing(t *testing.T) {
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 2}, NewID: counter()})
	for i := range soak.Count(t, 10_000, 100_000) {
		key := fmt.Sprintf("api:user:%d", i)
		turn, _, _, _ := tb.Enqueue(context.Background(), key, Message{Text: "x"})
		tb.Release(context.Background(), turn, End{State: ops.SessionIdle})
		if _, _, _, ok := tb.BeginReset(key); !ok {
			t.Fatalf("%s could not be closed", key)
		}
		tb.EndReset(context.Background(), key, true, false)
	}
	if n := tb.Counts(); n.Sessions != 0 || n.Turns != 0 {
		t.Fatalf("%d sessions and %d turns are left, want none", n.Sessions, n.Turns)
	}
}

// S19: what belongs to the session survives the turn.
func TestS19_QueueAndCountersSurviveTheTurn(t *testing.T) {
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 4}, NewID: counter()})
	turn := start(t, tb, "cli:a", "one")
	tb.Enqueue(context.Background(), "cli:a", message("two"))
	tb.Release(context.Background(), turn, End{State: ops.SessionIdle, TokensIn: 3, TokensOut: 4, Hold: true})
	row := rowsOf(tb)[0]
	if row.Queued != 1 || row.TokensIn != 3 || row.TokensOut != 4 {
		t.Fatalf("the session is %+v, want its queue and counters", row)
	}
}

// D10: hermes#28686 stranded the slot when a reset raced a turn. D8: the old turn must not harm its successor.
func TestAResetAtAnyMomentNeverStrandsTheSlot(t *testing.T) {
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 4}, NewID: counter()})
	for i := range 1000 {
		turn, _, _, err := tb.Enqueue(context.Background(), "cli:a", message("work"))
		if err != nil || turn == nil {
			t.Fatalf("round %d: the slot is stranded: %v", i, err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { // the worker
			tb.Attach(turn, nil)
			tb.Progress(turn, "model call")
			tb.Release(context.Background(), turn, End{State: ops.SessionIdle})
		})
		wg.Go(func() {
			if _, _, _, ok := tb.BeginReset("cli:a"); ok {
				tb.EndReset(context.Background(), "cli:a", false, false)
			}
		})
		if rand.IntN(2) == 0 {
			wg.Go(func() { tb.Interrupt("cli:a", turn.ID, ErrInterrupted) })
		}
		wg.Wait()
		if _, running := tb.Running("cli:a"); running {
			t.Fatalf("round %d: a turn still holds the slot", i)
		}
	}
}

func TestAResetChangesTheConversationAndTellsWhoWaited(t *testing.T) {
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 4}, NewID: counter()})
	turn := start(t, tb, "cli:a", "one")
	tb.Enqueue(context.Background(), "cli:a", message("two"))
	old, cut, dropped, ok := tb.BeginReset("cli:a")
	if !ok || cut != turn || !errors.Is(context.Cause(turn.Context()), ErrReset) {
		t.Fatalf("the running turn was not cancelled with the reset as cause: %v", context.Cause(turn.Context()))
	}
	if len(dropped) != 1 || dropped[0].Text != "two" {
		t.Fatalf("dropped %+v, want the message that waited", dropped)
	}
	if _, _, _, again := tb.BeginReset("cli:a"); again {
		t.Fatal("a session was reset while it was being reset")
	}
	if early, pos, _, _ := tb.Enqueue(context.Background(), "cli:a", message("three")); early != nil || pos != 1 {
		t.Fatal("a turn began while the old conversation's agent was open")
	}
	next := tb.EndReset(context.Background(), "cli:a", true, false)
	if next == nil || next.Message.Text != "three" || next.Session.ID == old.ID {
		t.Fatalf("after the reset runs %+v, want the message that came meanwhile in a fresh conversation", next)
	}
	if _, _, _, ok := tb.BeginReset("cli:absent"); ok {
		t.Fatal("a session that never was has been reset")
	}
}

func TestAForgottenSessionIsGone(t *testing.T) {
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 4}, NewID: counter()})
	tb.Release(context.Background(), start(t, tb, "cli:a", "one"), End{State: ops.SessionIdle})
	tb.BeginReset("cli:a")
	tb.EndReset(context.Background(), "cli:a", true, false)
	if _, ok := tb.Get("cli:a"); ok {
		t.Fatal("the session is still there")
	}
}

func TestInterruptNamesOneTurnOrNothing(t *testing.T) {
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 4}, NewID: counter()})
	turn := start(t, tb, "cli:a", "one")
	if tb.Interrupt("cli:a", "another-turn", ErrInterrupted) != nil || turn.Context().Err() != nil {
		t.Fatal("a turn that the caller never saw was interrupted")
	}
	if tb.Interrupt("cli:a", turn.ID, ErrInterrupted) != turn || context.Cause(turn.Context()) != ErrInterrupted {
		t.Fatal("the named turn was not interrupted")
	}
	if tb.Interrupt("cli:none", "", ErrInterrupted) != nil {
		t.Fatal("an idle session was interrupted")
	}
}

// D13: liveness notices never advance the progress clock; D12: news of a stall comes once.
func TestAStallIsNewsOnceAndEndsWithProgress(t *testing.T) {
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 4}, NewID: counter()})
	turn := start(t, tb, "cli:a", "x")
	before, _ := tb.Running("cli:a")
	tb.Enqueue(context.Background(), "cli:a", message("are you there?"))
	if v, _ := tb.Running("cli:a"); v.Progress != before.Progress {
		t.Fatal("a message that waits counted as progress")
	}
	if !tb.MarkStalled(turn, time.Now()) || tb.MarkStalled(turn, time.Now()) {
		t.Fatal("a stall is news once")
	}
	if rowsOf(tb)[0].State != ops.SessionStalled {
		t.Fatal("a stalled turn is not shown as stalled")
	}
	tb.Progress(turn, "model call")
	if rowsOf(tb)[0].State != ops.SessionRunning || !tb.MarkStalled(turn, time.Now()) {
		t.Fatal("progress did not end the stall")
	}
}

// The table against the simplest thing that could be right: a list of waiting texts and at most one running turn a key.
func TestTheTableAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 3
		tb := NewTable(Options{Bounds: Bounds{QueueLimit: limit}, NewID: counter()})
		running := map[string]*Turn{}
		waiting := map[string][]string{}
		known := map[string]bool{}
		var late []*Turn
		keys := rapid.SampledFrom([]string{"cli:a", "cli:b", "cli:c"})
		n := 0
		t.Repeat(map[string]func(*rapid.T){
			"message": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				n++
				text := fmt.Sprint(n)
				turn, _, _, err := tb.Enqueue(context.Background(), key, Message{Text: text})
				known[key] = true
				switch {
				case running[key] == nil:
					if turn == nil {
						t.Fatalf("no turn began in the free %s", key)
					}
					running[key] = turn
				case len(waiting[key]) == limit:
					if !ops.HasCode(err, ops.CodeQueueFull) {
						t.Fatalf("a full mailbox answered %v", err)
					}
				default:
					if turn != nil || err != nil {
						t.Fatalf("a second turn began in %s", key)
					}
					waiting[key] = append(waiting[key], text)
				}
			},
			"release": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				turn := running[key]
				if turn == nil {
					t.Skip("runs while a turn runs")
				}
				next, owned := tb.Release(context.Background(), turn, End{State: ops.SessionIdle})
				late = append(late, turn)
				if !owned {
					t.Fatalf("the running turn of %s did not own its slot", key)
				}
				running[key] = next
				if len(waiting[key]) == 0 {
					if next != nil {
						t.Fatalf("a turn came from nowhere")
					}
					delete(running, key)
					return
				}
				if next == nil || next.Message.Text != waiting[key][0] {
					t.Fatalf("next is %+v, want %s", next, waiting[key][0])
				}
				waiting[key] = waiting[key][1:]
			},
			"late release": func(t *rapid.T) {
				if len(late) == 0 {
					t.Skip("runs once a turn has ended")
				}
				turn := rapid.SampledFrom(late).Draw(t, "turn")
				if next, owned := tb.Release(context.Background(), turn, End{}); owned || next != nil {
					t.Fatal("a late release took a slot")
				}
			},
			"reset": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				_, turn, dropped, ok := tb.BeginReset(key)
				if ok != known[key] || turn != running[key] || len(dropped) != len(waiting[key]) {
					t.Fatalf("reset of %s: %v %v %d", key, ok, turn, len(dropped))
				}
				if next := tb.EndReset(context.Background(), key, false, false); next != nil {
					t.Fatal("a turn came from nowhere")
				}
				if turn != nil {
					late = append(late, turn)
				}
				delete(running, key)
				delete(waiting, key)
			},
			"": func(t *rapid.T) {
				if turns := tb.Counts().Turns; turns != len(running) {
					t.Fatalf("%d turns run, want %d", turns, len(running))
				}
				for _, row := range rowsOf(tb) {
					if row.Queued != len(waiting[row.Key]) {
						t.Fatalf("%s has %d waiting, want %d", row.Key, row.Queued, len(waiting[row.Key]))
					}
				}
			},
		})
	})
}
