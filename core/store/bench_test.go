package store

import (
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

// BenchmarkTurns is 64 sessions that each begin and end turns as fast as the store acknowledges them: turns/s is the
// figure that the issue asks for, without the rest of the gateway.
func BenchmarkTurns(b *testing.B) {
	s := open(b, b.TempDir())
	const sessions = 64
	var next atomic.Int64
	b.ResetTimer()
	var wg sync.WaitGroup
	for g := range sessions {
		wg.Go(func() {
			v := session(fmt.Sprintf("api:user:%d", g), fmt.Sprintf("s%d", g))
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				turn := Turn{ID: "t" + strconv.FormatInt(n, 10), SessionID: v.ID, Life: "life", StartedAt: time.Now()}
				if err := s.BeginTurn(b.Context(), v, turn, Message{Role: "user", Content: "hello", At: time.Now()}); err != nil {
					b.Error(err)
					return
				}
				turn.State, turn.EndedAt = TurnDone, time.Now()
				if err := s.EndTurn(b.Context(), v, turn, []Message{{Role: "assistant", Content: "hello yourself", At: time.Now()}}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
}

// BenchmarkTurnAlone is one session: two commits, each synced for itself; without the counters of budgets, and with what they write.
func BenchmarkTurnAlone(b *testing.B) {
	for _, tt := range []struct {
		name    string
		charges func(id string) (begin, end *Charge)
	}{
		{"without a budget", func(string) (begin, end *Charge) { return nil, nil }},
		{"with a budget", func(id string) (begin, end *Charge) {
			u := Usage{Day: "2026-11-22", Budget: "default", Agent: "default", Model: "m", Person: "api:alice", Session: "s1", Calls: 1, In: 1000, Out: 100, Cost: 1_000_000, Priced: 1}
			return &Charge{Turn: id, N: 1, Reserved: []Usage{u}}, &Charge{Turn: id, N: 2, Lines: []Usage{u}}
		}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			s := open(b, b.TempDir())
			v := session("api:user:alice", "s1")
			for n := 0; b.Loop(); n++ {
				turn := Turn{ID: "t" + strconv.Itoa(n), SessionID: v.ID, Life: "life", StartedAt: time.Now()}
				var end *Charge
				turn.Charge, end = tt.charges(turn.ID)
				if err := s.BeginTurn(b.Context(), v, turn, Message{Role: "user", Content: "hello", At: time.Now()}); err != nil {
					b.Fatal(err)
				}
				turn.State, turn.EndedAt, turn.Charge = TurnDone, time.Now(), end
				if err := s.EndTurn(b.Context(), v, turn, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSessions10000 streams 10,000 current sessions, as a start does.
func BenchmarkSessions10000(b *testing.B) {
	s := open(b, b.TempDir())
	var wg sync.WaitGroup
	for g := range 100 {
		wg.Go(func() {
			for i := range 100 {
				v := session(fmt.Sprintf("telegram:dm:%d", g*100+i), fmt.Sprintf("01JD0000000000000000%06d", g*100+i))
				if err := s.BeginTurn(b.Context(), v, Turn{ID: v.ID, SessionID: v.ID, StartedAt: noon}, Message{Role: "user"}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		if _, err := s.Sessions(b.Context(), func(Session) error { n++; return nil }); err != nil || n != 10_000 {
			b.Fatal(n, err)
		}
	}
}

// BenchmarkTranscript reads 100 messages of one session among many.
func BenchmarkTranscript(b *testing.B) {
	s := open(b, b.TempDir())
	v := session("cli:local", "s1")
	turn := Turn{ID: "t1", SessionID: v.ID, Life: "life", StartedAt: time.Now()}
	msg := Message{Role: "user", Content: strings.Repeat("word ", 100), At: time.Now()}
	if err := s.BeginTurn(b.Context(), v, turn, msg); err != nil {
		b.Fatal(err)
	}
	for range 99 {
		if err := s.AppendMessages(b.Context(), v.ID, turn.ID, []Message{msg}, nil); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if m, err := s.Since(b.Context(), v.ID, 0); err != nil || len(m) != 100 {
			b.Fatal(len(m), err)
		}
	}
}

// BenchmarkOpenClose is a store of an earlier life opened, written to and closed: what a restart pays.
func BenchmarkOpenClose(b *testing.B) {
	dir := b.TempDir()
	shut(b, open(b, dir))
	for b.Loop() {
		s := open(b, dir)
		if err := s.PutLife(b.Context(), Life{ID: "l1", Outcome: ops.OutcomeRunning}); err != nil {
			b.Fatal(err)
		}
		shut(b, s)
	}
}

// BenchmarkResident reports what an open store with all of its connections costs in memory, without the program itself.
func BenchmarkResident(b *testing.B) {
	debug.FreeOSMemory()
	before := resident(b)
	s := open(b, b.TempDir())
	for b.Loop() {
		var wg sync.WaitGroup
		for range readConns {
			wg.Go(func() { _, _, _ = s.LastLife(b.Context()) })
		}
		wg.Wait()
	}
	debug.FreeOSMemory()
	b.ReportMetric(float64(resident(b)-before)/(1<<20), "MiB")
}
