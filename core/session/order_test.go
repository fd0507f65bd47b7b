package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/ops"
)

// rowsOf is every row, read page by page.
func rowsOf(tb *Table) []ops.Session { return pagesOf(tb, 7, Selection{}) }

// suspend does what a load of a suspended session does.
func suspend(tb *Table, key string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if e := tb.sessions[key]; e != nil {
		e.setState(ops.SessionSuspended)
		tb.reposition(e)
	}
}

// pagesOf concatenates the pages of a selection.
func pagesOf(tb *Table, limit int, sel Selection) (all []ops.Session) {
	for sel.Limit = limit; ; {
		rows, next, _ := tb.Page(sel)
		all = append(all, rows...)
		if next == (Cursor{}) {
			return all
		}
		sel.After, _ = ParseCursor(next.String())
	}
}

func keysOf(rows []ops.Session) []string {
	keys := make([]string, len(rows))
	for i, r := range rows {
		keys[i] = r.Key
	}
	return keys
}

// naive is the order in the words of the promise, written without ops.SessionPlace.
func naive(a, b ops.Session) int {
	group := func(s ops.Session) int {
		if s.Attention != "" {
			return 0
		}
		switch s.State {
		case ops.SessionStalled, ops.SessionWaitingApproval, ops.SessionSuspended:
			return 0
		case ops.SessionIdle, ops.SessionInterrupted:
			return 2
		}
		return 1
	}
	ms := func(t ops.Time) int64 { return t.UnixMilli() }
	if c := cmp.Compare(group(a), group(b)); c != 0 {
		return c
	}
	for _, s := range []*ops.Session{&a, &b} { // what loops stands where its loop began
		if s.Attention != "" {
			s.TurnStartedAt = s.AttentionSince
		}
	}
	switch {
	case group(a) == 2:
		if c := cmp.Compare(ms(b.LastActivityAt), ms(a.LastActivityAt)); c != 0 {
			return c
		}
	case a.TurnStartedAt.IsZero() != b.TurnStartedAt.IsZero():
		return cmp.Compare(btoi(a.TurnStartedAt.IsZero()), btoi(b.TurnStartedAt.IsZero()))
	case a.TurnStartedAt.IsZero():
		if c := cmp.Compare(ms(a.LastActivityAt), ms(b.LastActivityAt)); c != 0 {
			return c
		}
	default:
		if c := cmp.Compare(ms(a.TurnStartedAt), ms(b.TurnStartedAt)); c != 0 {
			return c
		}
	}
	return strings.Compare(a.Key, b.Key)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// After any changes to the sessions, the pages concatenated are the naive sort of all rows, each row once, with any size of
// a page, any groups and any filter; and what the table counts is what the rows say.
func TestPagesAreTheNaiveOrderAfterAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tb := NewTable(Options{Bounds: Bounds{QueueLimit: 3}, NewID: counter()})
		ctx := context.Background()
		began := time.Now().Add(-time.Hour)
		keys := rapid.Map(rapid.IntRange(0, 30), func(i int) string { return fmt.Sprintf("cli:%d", i) })
		running := map[string]*Turn{}
		closing, replacing := map[string]bool{}, map[string]bool{}
		follow := func(key string, next *Turn) {
			if delete(running, key); next != nil { // the next turn may be of another session
				running[next.Session.Key] = next
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"load": func(t *rapid.T) {
				state := rapid.SampledFrom([]ops.SessionState{ops.SessionIdle, ops.SessionInterrupted, ops.SessionSuspended}).Draw(t, "state")
				at := began.Add(time.Duration(rapid.IntRange(0, 5000).Draw(t, "ms")) * time.Millisecond)
				tb.Load(Session{Key: keys.Draw(t, "key"), ID: "x", State: state, LastActivity: at, Stored: true})
			},
			"message": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				at := began.Add(time.Duration(rapid.IntRange(0, 9000).Draw(t, "ms")) * time.Millisecond)
				if turn, _, _, _ := tb.Enqueue(ctx, key, Message{Text: "x", At: at, User: key}); turn != nil {
					running[key] = turn
				}
			},
			"release": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				if turn := running[key]; turn != nil {
					next, _ := tb.Release(ctx, turn, End{State: ops.SessionIdle, Hold: rapid.Bool().Draw(t, "hold")})
					follow(key, next)
				}
			},
			"stall": func(t *rapid.T) {
				if turn := running[keys.Draw(t, "key")]; turn != nil {
					tb.MarkStalled(turn, time.Now())
				}
			},
			"repeat": func(t *rapid.T) {
				if turn := running[keys.Draw(t, "key")]; turn != nil {
					tb.Repeats(turn, "terminal: ls", 10)
				}
			},
			"settle": func(t *rapid.T) {
				tb.Settle(time.Now().Add(time.Duration(rapid.IntRange(0, 180).Draw(t, "seconds")) * time.Second))
			},
			"progress": func(t *rapid.T) {
				if turn := running[keys.Draw(t, "key")]; turn != nil {
					tb.Progress(turn, "model call")
				}
			},
			"suspend": func(t *rapid.T) { suspend(tb, keys.Draw(t, "key")) },
			"begin reset": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				if _, _, _, ok := tb.BeginReset(key); ok {
					closing[key] = true
					delete(running, key)
				}
			},
			"end reset": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				if closing[key] {
					delete(closing, key)
					follow(key, tb.EndReset(ctx, key, rapid.Bool().Draw(t, "forget"), rapid.Bool().Draw(t, "hold")))
				}
			},
			"begin replace": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				if _, ok := tb.BeginReplace(key); ok {
					if running[key] != nil || closing[key] {
						t.Fatalf("%s is replaced, and a turn runs there or it is being reset", key)
					}
					replacing[key] = true
				}
			},
			"end replace": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				if replacing[key] {
					delete(replacing, key)
					s := &Session{Key: key, ID: "y", State: ops.SessionIdle, LastActivity: time.Now()}
					if rapid.Bool().Draw(t, "fails") {
						s = nil
					}
					follow(key, tb.EndReplace(ctx, key, s, rapid.Bool().Draw(t, "hold")))
				}
			},
			"resume": func(*rapid.T) {
				for _, turn := range tb.Resume(ctx) {
					running[turn.Session.Key] = turn
				}
			},
			"drop": func(t *rapid.T) { tb.Drop() },
			"": func(t *rapid.T) {
				all := rowsOf(tb)
				want := slices.Clone(all)
				slices.SortFunc(want, naive)
				if got := keysOf(all); !slices.Equal(got, keysOf(want)) {
					t.Fatalf("the pages have %v, the rows sorted are %v", got, keysOf(want))
				}
				if n := tb.Counts(); n.Sessions != len(all) || n.Turns != len(running) {
					t.Fatalf("%d rows of %d sessions, %d turns of %d", len(all), n.Sessions, n.Turns, len(running))
				}
				queued, busy := 0, []string{}
				for _, r := range all {
					queued += r.Queued
					if r.Group() == ops.GroupBusy {
						busy = append(busy, r.Key)
					}
					if one, found := tb.Row(r.Key); !found || one != r {
						t.Fatalf("the row of %s alone is %+v, in a page %+v", r.Key, one, r)
					}
				}
				if queued != tb.Counts().Queued {
					t.Fatalf("%d messages wait, the rows have %d", tb.Counts().Queued, queued)
				}
				limit := rapid.IntRange(1, 40).Draw(t, "limit")
				some := pagesOf(tb, limit, Selection{Groups: func(g ops.SessionGroup) bool { return g == ops.GroupBusy }})
				if !slices.Equal(keysOf(some), busy) {
					t.Fatalf("the busy ones are %v, want %v", keysOf(some), busy)
				}
				odd := func(r *ops.Session) bool { return strings.HasSuffix(r.Key, "1") }
				picked := slices.DeleteFunc(slices.Clone(all), func(r ops.Session) bool { return !odd(&r) })
				if got := pagesOf(tb, limit, Selection{Match: odd, Scan: 3}); !slices.Equal(keysOf(got), keysOf(picked)) {
					t.Fatalf("the filter picked %v, want %v", keysOf(got), keysOf(picked))
				}
			},
		})
	})
}

// What was packed comes back as it was, also after its sender has changed.
func TestAnEntryKeepsWhatItIsGiven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 20, 60)
		want := Session{
			Key: "p:" + text.Draw(t, "key"), ID: rapid.SampledFrom([]string{"", "id-1", "01JD0000000000000000000000", "01jd0000000000000000000000"}).Draw(t, "id"),
			Platform: rapid.SampledFrom([]string{"p", "", "other"}).Draw(t, "platform"), User: text.Draw(t, "user"), Target: text.Draw(t, "target"),
			State: rapid.SampledFrom(states).Draw(t, "state"), TokensIn: rapid.Int64().Draw(t, "in"), TokensOut: rapid.Int64().Draw(t, "out"),
			Created: time.UnixMicro(rapid.Int64Range(0, 1<<51).Draw(t, "created")).UTC(), Stored: rapid.Bool().Draw(t, "stored"), Caller: rapid.SampledFrom(callers).Draw(t, "caller"),
		}
		e := &entry{}
		e.set(want)
		if got := e.session(); got != want {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		want.User, want.Target, want.Caller = text.Draw(t, "next user"), text.Draw(t, "next target"), rapid.SampledFrom(callers).Draw(t, "next caller")
		e.address(want.User, want.Target, want.Caller)
		if got := e.session(); got != want {
			t.Fatalf("after a message of another: got %+v, want %+v", got, want)
		}
	})
}

// callers are ones that a session can have.
var callers = []ops.Caller{{}, {UID: 0, By: ops.ByKernel}, {UID: 1000, By: ops.ByKernel}, {UID: -1, By: ops.ByKey}, {UID: 1<<32 - 2, By: ops.ByKey}}

// A session that stays where it is comes exactly once although others move and go between two pages, the row of the cursor
// among them.
func TestACursorOutlivesItsRow(t *testing.T) {
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 3}, NewID: counter()})
	at := time.Now()
	for i := range 10 {
		tb.Load(Session{Key: fmt.Sprintf("cli:%d", i), State: ops.SessionIdle, LastActivity: at.Add(-time.Duration(i) * time.Second)})
	}
	first, next, _ := tb.Page(Selection{Limit: 4})
	if !slices.Equal(keysOf(first), []string{"cli:0", "cli:1", "cli:2", "cli:3"}) {
		t.Fatalf("the first page is %v", keysOf(first))
	}
	tb.BeginReset("cli:3") // the row that the cursor was made from is gone
	tb.EndReset(context.Background(), "cli:3", true, false)
	start(t, tb, "cli:2", "moves to the front")
	cursor, err := ParseCursor(next.String())
	if err != nil {
		t.Fatal(err)
	}
	rest, next, _ := tb.Page(Selection{Limit: 10, After: cursor})
	if !slices.Equal(keysOf(rest), []string{"cli:4", "cli:5", "cli:6", "cli:7", "cli:8", "cli:9"}) || next.String() != "" {
		t.Fatalf("the second page is %v, then %q", keysOf(rest), next)
	}
	for _, bad := range []string{"cli:3", ".", "zzzzzzzzzzzzzzzzzzzz.x", "1." + strings.Repeat("x", maxKey+1)} {
		if _, err := ParseCursor(bad); !ops.HasCode(err, ops.CodeInvalid) {
			t.Errorf("%.40q was taken for a cursor: %v", bad, err)
		}
	}
}

// BenchmarkPage is one page of 50 rows: it costs the same for any number of sessions.
func BenchmarkPage(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		tb := loadedTable(n)
		_, half, _ := tb.Page(Selection{Limit: n / 2})
		for _, p := range []struct {
			name string
			sel  Selection
		}{
			{"first", Selection{Limit: 50}},
			{"middle", Selection{Limit: 50, After: half}},
			{"nothing-matches", Selection{Limit: 50, Scan: 100_000, Match: func(r *ops.Session) bool { return strings.Contains(r.Key, "zz") }}},
			{"busy-only", Selection{Limit: 50, Groups: func(g ops.SessionGroup) bool { return g == ops.GroupBusy }}},
		} {
			b.Run(fmt.Sprintf("sessions=%d/page=%s", n, p.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					tb.Page(p.sel)
				}
			})
		}
	}
}

// BenchmarkActivity is a turn that begins and ends, which moves its session twice.
func BenchmarkActivity(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		tb := loadedTable(n)
		b.Run(fmt.Sprintf("sessions=%d", n), func(b *testing.B) {
			i := 0
			for b.Loop() {
				turn, _, _, _ := tb.Enqueue(context.Background(), fmt.Sprintf("telegram:dm:%d", i*7919%n), Message{At: time.Now()})
				tb.Release(context.Background(), turn, End{State: ops.SessionIdle})
				i++
			}
		})
	}
}

func loadedTable(n int) *Table {
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 3}, NewID: counter()})
	now := time.Now()
	for i := range n {
		tb.Load(Session{
			Key: fmt.Sprintf("telegram:dm:%d", i), ID: "01JD0000000000000000000000", Platform: "telegram", User: fmt.Sprint(i), Target: fmt.Sprint(i),
			State: ops.SessionIdle, LastActivity: now.Add(-time.Duration(i) * time.Second), Stored: true,
		})
	}
	return tb
}
