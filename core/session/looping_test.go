package session

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/ops"
)

// oneTurn is a turn of key that begins and ends now.
func oneTurn(t *testing.T, tb *Table, key string) *Turn {
	t.Helper()
	turn := start(t, tb, key, "x")
	tb.Release(context.Background(), turn, End{State: ops.SessionIdle})
	return turn
}

func TestOP1_ASessionWithMoreThan20TurnsInAMinuteNeedsAttention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := NewTable(Options{Bounds: Bounds{QueueLimit: 3}, NewID: counter()})
		for range LoopTurns {
			if turn := oneTurn(t, tb, "cli:a"); turn.Loops != "" {
				t.Fatalf("it loops already: %s", turn.Loops)
			}
			time.Sleep(2 * time.Second)
			tb.Settle(time.Now())
		}
		if row := rowOf(t, tb, "cli:a"); row.Attention != "" || row.NeedsAttention(time.Now()) {
			t.Fatalf("%d turns in a minute need attention: %+v", LoopTurns, row)
		}
		turn := oneTurn(t, tb, "cli:a")
		if turn.Loops != "21 turns in a minute" {
			t.Errorf("the turn that is one too many says %q", turn.Loops)
		}
		if again := oneTurn(t, tb, "cli:a"); again.Loops != "" {
			t.Errorf("the loop begins a second time: %s", again.Loops)
		}
		oneTurn(t, tb, "cli:b")
		row := rowOf(t, tb, "cli:a")
		if row.Attention != ops.AttentionLooping || row.AttentionReason != "22 turns in a minute" || !row.NeedsAttention(time.Now()) {
			t.Errorf("the row is %+v", row)
		}
		if first := rowsOf(tb)[0].Key; first != "cli:a" {
			t.Errorf("the first session is %s, promised the one that loops", first)
		}
		time.Sleep(59 * time.Second)
		if tb.Settle(time.Now()); rowOf(t, tb, "cli:a").Attention == "" {
			t.Error("the loop ended after 59 s")
		}
		time.Sleep(time.Second)
		if tb.Settle(time.Now()); rowOf(t, tb, "cli:a").Attention != "" {
			t.Error("the loop goes on a minute after the last turn too many")
		}
		if rows := rowsOf(tb); rows[0].Key != "cli:b" && rows[0].LastActivityAt.Before(rows[1].LastActivityAt.Time) {
			t.Errorf("the order is %v", keysOf(rows))
		}
		time.Sleep(time.Minute)
		if tb.Settle(time.Now()); len(tb.quick) > 0 || tb.sessions["cli:a"].mail != nil {
			t.Errorf("%d sessions are still counted", len(tb.quick))
		}
	})
}

func TestOP1_AResetSessionDoesNotLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := NewTable(Options{Bounds: Bounds{QueueLimit: 3}, NewID: counter()})
		for range LoopTurns + 1 {
			oneTurn(t, tb, "cli:a")
		}
		if rowOf(t, tb, "cli:a").Attention == "" {
			t.Fatal("it does not loop")
		}
		tb.BeginReset("cli:a")
		tb.EndReset(context.Background(), "cli:a", false, false)
		if row := rowOf(t, tb, "cli:a"); row.Attention != "" {
			t.Errorf("the fresh session loops: %s", row.AttentionReason)
		}
		if turn := oneTurn(t, tb, "cli:a"); turn.Loops != "" {
			t.Errorf("its first turn loops: %s", turn.Loops)
		}
	})
}

func TestOP1_ARequestWithoutASessionIsNotCounted(t *testing.T) {
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 3}, NewID: counter()})
	for range 2 * LoopTurns {
		if turn := oneTurn(t, tb, RequestPrefix+"01JD0000000000000000000000"); turn.Loops != "" {
			t.Fatalf("a request loops: %s", turn.Loops)
		}
	}
	if len(tb.quick) > 0 {
		t.Errorf("%d requests are counted", len(tb.quick))
	}
}

func TestOP1_ATurnThatRepeatsACallLoopsUntilItEnds(t *testing.T) {
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 3}, NewID: counter()})
	turn, other := start(t, tb, "cli:b", "x"), start(t, tb, "cli:a", "x")
	if why := tb.Repeats(turn, "terminal: ls", 10); why != "terminal: ls called 10 times in this turn" {
		t.Errorf("the loop begins with %q", why)
	}
	if why := tb.Repeats(turn, "terminal: ls", 11); why != "" {
		t.Errorf("the loop begins a second time: %s", why)
	}
	row := rowOf(t, tb, "cli:b")
	if row.Attention != ops.AttentionLooping || !strings.Contains(row.AttentionReason, "11 times") || rowsOf(tb)[0].Key != "cli:b" {
		t.Errorf("the row is %+v of %v", row, keysOf(rowsOf(tb)))
	}
	tb.Release(context.Background(), turn, End{State: ops.SessionIdle})
	if row := rowOf(t, tb, "cli:b"); row.Attention != "" || rowsOf(tb)[0].Key != "cli:a" {
		t.Errorf("after the turn the row is %+v of %v", row, keysOf(rowsOf(tb)))
	}
	tb.Release(context.Background(), other, End{State: ops.SessionIdle})
	if why := tb.Repeats(other, "terminal: ls", 10); why != "" {
		t.Errorf("a turn that has ended loops: %s", why)
	}
}

// The pace is compared with every start of a turn, by the second.
func TestOP1_AMinuteIsCountedExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, now, starts := pace{}, time.Unix(1_790_000_000, 0), []int64{}
		var until time.Time
		for range rapid.IntRange(0, 300).Draw(t, "turns") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(2*time.Minute)).Draw(t, "pause") >> rapid.IntRange(0, 12).Draw(t, "shorter")))
			if !until.IsZero() && !now.Before(until) {
				until, p.since, p.until = time.Time{}, time.Time{}, time.Time{}
			}
			starts = append(starts, now.Unix())
			n := 0
			for _, s := range starts {
				if now.Unix()-s < 60 {
					n++
				}
			}
			want := n > LoopTurns && until.IsZero()
			if n > LoopTurns {
				until = now.Add(time.Minute)
			}
			if began := p.add(now); began != want || !p.until.Equal(until) {
				t.Fatalf("with %d turns in the minute the loop begins: %v until %s, promised %v until %s", n, began, p.until, want, until)
			}
			if !until.IsZero() && n > LoopTurns && p.most != n {
				t.Fatalf("it counts %d turns, promised %d", p.most, n)
			}
		}
	})
}
