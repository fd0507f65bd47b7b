package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/limit"
	"gatewaytui/core/ops"
)

func rowOf(t *testing.T, tb *Table, key string) ops.Session {
	t.Helper()
	row, found := tb.Row(key)
	if !found {
		t.Fatalf("no session %s", key)
	}
	return row
}

// HF9: 2,000 turns ran at once.
func TestHF9_AMessageBeyondTheTurnsThatMayRunWaitsWithARowAndAnAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reached []string
		tb := NewTable(Options{Bounds: Bounds{QueueLimit: 4, Turns: 2}, NewID: counter(), Reached: func(bound string) { reached = append(reached, bound) }})
		a, b := start(t, tb, "cli:a", "1"), start(t, tb, "cli:b", "1")
		for _, key := range []string{"cli:c", "cli:d"} {
			if turn, position, notice, err := tb.Enqueue(t.Context(), key, message("1")); turn != nil || position != 1 || notice || err != nil {
				t.Fatalf("%s got turn %v, position %d, notice %v, %v; want it to wait", key, turn, position, notice, err)
			}
		}
		if !slices.Equal(reached, []string{limit.Turns, limit.Turns}) || tb.Counts().InLine != 2 {
			t.Errorf("the bound was reached %q, %d wait; want twice and 2", reached, tb.Counts().InLine)
		}
		time.Sleep(time.Minute)
		row := rowOf(t, tb, "cli:c")
		if row.State != ops.SessionWaiting || row.WaitingFor != limit.Turns || row.Queued != 1 || row.Turn != "" || row.Doing != ops.DoingTurnSlot {
			t.Errorf("the row of a waiting session is %+v", row)
		}
		if text := row.Activity(time.Now()); text != "waiting for limits.turns 1:00" {
			t.Errorf("it does %q", text)
		}
		next, _ := tb.Release(t.Context(), a, End{State: ops.SessionIdle})
		if next == nil || next.Session.Key != "cli:c" {
			t.Fatalf("the free slot went to %+v, want cli:c", next)
		}
		if row := rowOf(t, tb, "cli:c"); row.State != ops.SessionRunning || row.WaitingFor != "" {
			t.Errorf("the row of the turn that began is %+v", row)
		}
		if next, _ := tb.Release(t.Context(), b, End{State: ops.SessionIdle}); next == nil || next.Session.Key != "cli:d" || tb.Counts().InLine != 0 {
			t.Errorf("the next slot went to %+v and %d wait, want cli:d and none", next, tb.Counts().InLine)
		}
	})
}

func TestASessionWithManyMessagesGetsOneSlotInTurn(t *testing.T) {
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 8, Turns: 1}, NewID: counter()})
	turn := start(t, tb, "cli:busy", "0")
	for _, m := range []struct{ key, text string }{{"cli:busy", "1"}, {"cli:busy", "2"}, {"cli:a", "1"}, {"cli:b", "1"}, {"cli:b", "2"}} {
		if began, _, _, err := tb.Enqueue(t.Context(), m.key, message(m.text)); began != nil || err != nil {
			t.Fatalf("%+v: turn %v, %v", m, began, err)
		}
	}
	var got []string
	for turn != nil {
		turn, _ = tb.Release(t.Context(), turn, End{State: ops.SessionIdle})
		if turn != nil {
			got = append(got, turn.Session.Key+" "+turn.Message.Text)
		}
	}
	if want := []string{"cli:a 1", "cli:b 1", "cli:busy 1", "cli:b 2", "cli:busy 2"}; !slices.Equal(got, want) {
		t.Errorf("the slot went to %q, want %q", got, want)
	}
}

func TestAMessageThatWaitsForASlotCanBeWithdrawnAndLeavesNothing(t *testing.T) {
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 8, Turns: 1}, NewID: counter()})
	start(t, tb, "cli:a", "1")
	for i := range 2000 { // clients that send and close
		key := fmt.Sprintf("api:request:%d", i)
		m := message("1")
		m.ID = key
		if _, _, _, err := tb.Enqueue(t.Context(), key, m); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			if got, turn, found := tb.Withdraw(key, key); !found || turn != "" || got.ID != key {
				t.Fatalf("withdrew %+v, %q, %v", got, turn, found)
			}
		} else if got, found := tb.WithdrawWaiting(key); !found || got.ID != key {
			t.Fatalf("withdrew %+v, %v", got, found)
		}
	}
	if n := tb.Counts(); n.Sessions != 1 || n.Turns != 1 || tb.Counts().InLine != 0 || tb.Counts().Queued != 0 || tb.Counts().QueuedBytes != 0 {
		t.Errorf("left are %d sessions, %d turns, %d in the line, %d messages of %d bytes", n.Sessions, n.Turns, tb.Counts().InLine, tb.Counts().Queued, tb.Counts().QueuedBytes)
	}
	if _, found := tb.WithdrawWaiting("cli:a"); found {
		t.Error("a message was withdrawn from a session whose turn runs")
	}
}

func TestAMessageThatWaitsForASlotDoesNotExpireWithItsSession(t *testing.T) {
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 8, Turns: 1}, NewID: counter()})
	start(t, tb, "cli:a", "1")
	tb.Enqueue(t.Context(), "cli:b", message("1"))
	if over := tb.Expired(Policy{Idle: time.Minute, Daily: -1}, time.Now().Add(time.Hour), 10); len(over) != 0 {
		t.Errorf("expired are %+v", over)
	}
}

// 640 queued messages of 1 MB cost 0.6 GB: they were bounded for each session and not in sum.
func TestTheMessagesOfAllMailboxesAreBoundedInBytes(t *testing.T) {
	const bound = 16 << 20
	reached := 0
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 32, QueuedBytes: bound}, NewID: counter(), Reached: func(name string) {
		if name == limit.QueuedBytes {
			reached++
		}
	}})
	text := strings.Repeat("x", 1_000_000)
	taken, refused := 0, 0
	var turns []*Turn
	for s := range 20 {
		key := fmt.Sprintf("cli:%d", s)
		turns = append(turns, start(t, tb, key, text)) // what runs does not wait
		for range 32 {
			switch _, _, _, err := tb.Enqueue(t.Context(), key, message(text)); {
			case err == nil:
				taken++
			case ops.HasCode(err, ops.CodeLimit) && strings.Contains(err.Error(), "limits.queued_bytes"):
				refused++
			default:
				t.Fatal(err)
			}
		}
	}
	if taken != bound/len(text) || refused != 640-taken || reached != refused || tb.Counts().QueuedBytes != int64(taken*len(text)) {
		t.Errorf("%d taken, %d refused, %d counted, %d bytes held", taken, refused, reached, tb.Counts().QueuedBytes)
	}
	kept := message(text)
	kept.Kept = true
	if _, _, _, err := tb.Enqueue(t.Context(), "cli:0", kept); err != nil {
		t.Errorf("a message that an earlier life acknowledged is refused: %v", err)
	}
	if _, _, _, err := tb.Enqueue(t.Context(), "cli:new", message(text)); err != nil {
		t.Errorf("a message whose turn begins at once is refused: %v", err)
	}
	for _, turn := range turns {
		for turn != nil {
			turn, _ = tb.Release(t.Context(), turn, End{State: ops.SessionIdle})
		}
	}
	if tb.Counts().QueuedBytes != 0 || tb.Counts().Queued != 0 {
		t.Errorf("when all are answered %d bytes of %d messages are counted", tb.Counts().QueuedBytes, tb.Counts().Queued)
	}
}

// A refusal leaves no session.
func TestARefusedMessageMakesNoSession(t *testing.T) {
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 32, Turns: 1, QueuedBytes: 1 << 20}, NewID: counter()})
	start(t, tb, "cli:a", "1")
	if _, _, _, err := tb.Enqueue(t.Context(), "cli:b", message(strings.Repeat("x", 1<<20+1))); !ops.HasCode(err, ops.CodeLimit) {
		t.Fatalf("got %v", err)
	}
	if sessions := tb.Counts().Sessions; sessions != 1 {
		t.Errorf("there are %d sessions", sessions)
	}
}

// The table with a bound on its turns, against the simplest thing that could be right: lists, and every waiting session that
// is next found by going through them.
func TestTheLineAgainstAModel(t *testing.T) {
	owner := func(key string) string { name, _, _ := strings.Cut(key, "+"); return name }
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 3).Draw(t, "turns")
		tb := NewTable(Options{Bounds: Bounds{QueueLimit: 3, Turns: most}, NewID: counter(), Owner: owner})
		ctx := context.Background()
		running := map[string]*Turn{}
		waiting := map[string][]string{}
		closing := map[string]bool{}
		var line, owners []string // sessions in the order in which they came, owners in the order of their turns
		held := false
		n := 0
		align := func() { // the line as the state says it must be
			should := func(key string) bool { return len(waiting[key]) > 0 && running[key] == nil && !closing[key] }
			line = slices.DeleteFunc(line, func(key string) bool { return !should(key) })
			for _, key := range []string{"cli:a", "cli:a+1", "cli:b", "cli:c"} {
				if should(key) && !slices.Contains(line, key) {
					line = append(line, key) // one at a time: each step adds one at most
				}
			}
			owners = slices.DeleteFunc(owners, func(o string) bool {
				return !slices.ContainsFunc(line, func(key string) bool { return owner(key) == o })
			})
			for _, key := range line {
				if !slices.Contains(owners, owner(key)) {
					owners = append(owners, owner(key))
				}
			}
		}
		// began checks that a turn is the one that must begin, and notes it.
		began := func(t *rapid.T, turn *Turn) {
			if len(line) == 0 || len(running) >= most {
				if turn != nil {
					t.Fatalf("a turn of %s began with %d running and %d in the line", turn.Session.Key, len(running), len(line))
				}
				return
			}
			who := owners[0]
			key := line[slices.IndexFunc(line, func(key string) bool { return owner(key) == who })]
			if turn == nil || turn.Session.Key != key || turn.Message.Text != waiting[key][0] {
				t.Fatalf("the turn that began is %+v, want %s", turn, key)
			}
			running[key], waiting[key] = turn, waiting[key][1:]
			owners = append(owners[1:], who)
			align()
		}
		resume := func(t *rapid.T) {
			for _, turn := range tb.Resume(ctx) {
				began(t, turn)
			}
			began(t, nil)
		}
		keys := rapid.SampledFrom([]string{"cli:a", "cli:a+1", "cli:b", "cli:c"})
		t.Repeat(map[string]func(*rapid.T){
			"message": func(t *rapid.T) {
				if held {
					t.Skip("runs while messages are taken")
				}
				key := keys.Draw(t, "key")
				n++
				m := Message{ID: fmt.Sprint(n), Text: fmt.Sprint(n)}
				turn, _, _, err := tb.Enqueue(ctx, key, m)
				switch {
				case running[key] == nil && !closing[key] && len(running) < most && len(waiting[key]) == 0:
					if turn == nil || err != nil {
						t.Fatalf("no turn began in the free %s: %v", key, err)
					}
					running[key] = turn
				case len(waiting[key]) == 3:
					if !ops.HasCode(err, ops.CodeQueueFull) {
						t.Fatalf("a full mailbox answered %v", err)
					}
				default:
					if turn != nil || err != nil {
						t.Fatalf("%s: turn %+v, %v", key, turn, err)
					}
					waiting[key] = append(waiting[key], m.Text)
				}
				align()
			},
			"release": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				turn := running[key]
				if turn == nil {
					t.Skip("runs while a turn runs")
				}
				next, owned := tb.Release(ctx, turn, End{State: ops.SessionIdle, Hold: held})
				if !owned {
					t.Fatalf("the turn of %s did not own its slot", key)
				}
				delete(running, key)
				align()
				if held {
					if next != nil {
						t.Fatal("a turn began while none may")
					}
					return
				}
				began(t, next)
			},
			"withdraw": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				if len(waiting[key]) == 0 {
					t.Skip("runs while a message waits")
				}
				i := rapid.IntRange(0, len(waiting[key])-1).Draw(t, "which")
				if m, turn, found := tb.Withdraw(key, waiting[key][i]); !found || turn != "" || m.Text != waiting[key][i] {
					t.Fatalf("withdrew %+v %q %v", m, turn, found)
				}
				waiting[key] = slices.Delete(waiting[key], i, i+1)
				align()
			},
			"reset": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				_, turn, dropped, ok := tb.BeginReset(key)
				if !ok {
					t.Skip("runs for a session that exists and is not being reset")
				}
				if turn != running[key] || len(dropped) != len(waiting[key]) {
					t.Fatalf("reset of %s: %v, %d", key, turn, len(dropped))
				}
				delete(running, key)
				delete(waiting, key)
				closing[key] = true
				align()
				if !held {
					resume(t)
				}
			},
			"end of a reset": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				if !closing[key] {
					t.Skip("runs during a reset")
				}
				next := tb.EndReset(ctx, key, rapid.Bool().Draw(t, "forget"), held)
				closing[key] = false
				align()
				if !held {
					began(t, next)
				} else if next != nil {
					t.Fatal("a turn began while none may")
				}
			},
			"hold": func(*rapid.T) { held = true },
			"resume": func(t *rapid.T) {
				held = false
				resume(t)
			},
			"": func(t *rapid.T) {
				if turns := tb.Counts().Turns; turns != len(running) || turns > most {
					t.Fatalf("%d turns run, want %d and at most %d", turns, len(running), most)
				}
				inLine := 0
				if len(running) == most {
					inLine = len(line)
				}
				if tb.Counts().InLine != inLine {
					t.Fatalf("%d are in the line, want %d", tb.Counts().InLine, inLine)
				}
				if !held && len(line) > 0 && len(running) < most {
					t.Fatalf("%q wait with a free slot", line)
				}
				for _, row := range rowsOf(tb) {
					if row.Queued != len(waiting[row.Key]) {
						t.Fatalf("%s has %d waiting, want %d", row.Key, row.Queued, len(waiting[row.Key]))
					}
					waits := slices.Contains(line, row.Key) && len(running) == most
					if (row.State == ops.SessionWaiting) != waits || (row.WaitingFor == limit.Turns) != waits {
						t.Fatalf("%s is %s, waiting for %q; that it waits for a slot is %v", row.Key, row.State, row.WaitingFor, waits)
					}
				}
			},
		})
	})
}
