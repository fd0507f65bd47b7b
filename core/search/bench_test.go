package search

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/store"
	"gatewaytui/fixtures/eventually"
)

// A corpus is as chats are: few words are frequent, and each fifth message is Chinese.
const (
	corpusSessions = 1000
	corpusTurn     = 4 // messages of a turn
)

// word is a made-up word; a smaller number is a more frequent one.
func word(n uint64) string { return fmt.Sprintf("w%dx", n) }

// textOf makes the texts of a corpus.
func textOf(seed uint64) func(i int) string {
	rng := rand.New(rand.NewPCG(seed, 1))
	latin, han := rand.NewZipf(rng, 1.1, 8, 50_000), rand.NewZipf(rng, 1.05, 20, 3000)
	return func(i int) string {
		var b strings.Builder
		if i%5 == 0 {
			for range 40 {
				b.WriteRune(rune(0x4e00 + han.Uint64()))
			}
			return b.String()
		}
		for range 25 {
			b.WriteString(word(latin.Uint64()) + " ")
		}
		return b.String()
	}
}

// corpus makes a store with that many messages, faster than turns can, and opens it.
func corpus(b *testing.B, dir string, messages int, o store.Options) *store.Store {
	b.Helper()
	ctx := context.Background()
	o.Path, o.Log = filepath.Join(dir, "gateway.db"), slog.New(slog.DiscardHandler)
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	st, err := store.Open(ctx, o)
	check(err)
	check(st.Close(ctx))
	db, err := sql.Open("sqlite", "file:"+o.Path+"?_pragma=journal_mode(wal)&_pragma=synchronous(off)")
	check(err)
	tx, err := db.Begin()
	check(err)
	for i := range corpusSessions {
		_, err = tx.Exec(`INSERT INTO sessions (id, key, platform, user, target, state, created_at, last_activity_at, end_reason, tokens_in, tokens_out)
			VALUES (?, ?, 'chat', ?, '', 'idle', 1, 1, '', 0, 0)`, fmt.Sprint("s", i), fmt.Sprint("chat:dm:", i), fmt.Sprint("user", i))
		check(err)
	}
	turn, err := tx.Prepare(`INSERT INTO turns (id, session_id, life, started_at, state, reason, tokens_in, tokens_out) VALUES (?, ?, '', 1, 'done', '', 0, 0)`)
	check(err)
	message, err := tx.Prepare(`INSERT INTO messages (seq, session_id, turn_id, role, content, tool_call_id, at, who) VALUES (?, ?, ?, ?, ?, '', 1, ?)`)
	check(err)
	text := textOf(1)
	for i := range messages {
		n := i / corpusTurn
		session, id, role, who := fmt.Sprint("s", n%corpusSessions), fmt.Sprint("t", n), "assistant", ""
		if i%corpusTurn == 0 {
			role, who = "user", fmt.Sprint("user", n%corpusSessions)
			_, err = turn.Exec(id, session)
			check(err)
		}
		_, err = message.Exec(i+1, session, id, role, text(i), who)
		check(err)
	}
	check(tx.Commit())
	check(db.Close())
	st, err = store.Open(ctx, o)
	check(err)
	b.Cleanup(func() { check(st.Close(context.Background())) })
	return st
}

// CV13: a search over a million messages, newest first, takes at most 100 ms. The index is built once, without its pauses.
func BenchmarkCV13_SearchOfAMillionMessages(b *testing.B) {
	const messages = 1_000_000
	dir, ctx := b.TempDir(), context.Background()
	x := New(Options{Path: filepath.Join(dir, "search.db")})
	x.store = corpus(b, dir, messages, store.Options{})
	f, err := open(ctx, x.o.Path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = f.close() })
	x.file = f
	fill, began := &filler{store: x.store, file: f}, time.Now()
	settle(b, fill)
	b.Logf("%d messages were indexed in %v", messages, time.Since(began).Round(time.Second))
	rare := word(30_000)
	for _, q := range []struct {
		name string
		Query
	}{
		{"frequent", Query{Text: word(0)}},
		{"two frequent", Query{Text: word(0) + " " + word(1)}},
		{"two in a row", Query{Text: `"` + word(0) + " " + word(1) + `"`}},
		{"rare", Query{Text: rare}},
		{"rare and frequent", Query{Text: rare + " " + word(0)}},
		{"none", Query{Text: "missing"}},
		{"two characters", Query{Text: "一丁"}},
		{"four characters", Query{Text: "一丁丂七"}},
		{"one character", Query{Text: "一"}},
		{"begin", Query{Text: "w123*"}},
		{"own chats, frequent", Query{Text: word(0), Platform: "chat", User: "user7"}},
		{"own chats, rare", Query{Text: rare, Platform: "chat", User: "user7"}},
		{"session", Query{Text: word(3), Session: "chat:dm:7"}},
	} {
		b.Run(strings.ReplaceAll(q.name, " ", "-"), func(b *testing.B) {
			n := 0
			for b.Loop() {
				found, err := x.Find(ctx, q.Query)
				if err != nil {
					b.Fatal(err)
				}
				n = len(found.Items)
			}
			b.ReportMetric(float64(n), "found")
		})
	}
}

// load is a store that takes turns at a steady rate, with an index over it or without one.
type load struct {
	st   *store.Store
	x    *Index // nil: none
	text func(i int) string
	n    int
}

func newLoad(b *testing.B, messages int, indexed bool) *load {
	b.Helper()
	dir := b.TempDir()
	x := New(Options{Path: filepath.Join(dir, "search.db"), Log: slog.New(slog.DiscardHandler), Warn: func(code, text string) { b.Error(code, text) }})
	l := &load{text: textOf(2), st: corpus(b, dir, messages, store.Options{OnTransaction: func(time.Duration) { x.Wake() }})}
	if indexed {
		l.x = x
		ready := make(chan struct{})
		close(ready)
		x.Start(l.st, ready)
		b.Cleanup(func() { _ = x.Close(context.Background()) })
	}
	return l
}

// commits are how long the ends of some turns took, 200 turns a second.
func (l *load) commits(b *testing.B, turns int) (took []time.Duration) {
	b.Helper()
	v := store.Session{ID: "own", Key: "chat:dm:own", Platform: "chat", User: "maria", State: "idle", CreatedAt: time.Now()}
	due := time.Now()
	for range turns {
		l.n++
		due = due.Add(5 * time.Millisecond)
		time.Sleep(time.Until(due)) // modelled: 200 turns a second
		turn := store.Turn{ID: fmt.Sprint("own", l.n), SessionID: v.ID, Life: "l", StartedAt: time.Now(), State: store.TurnRunning}
		if err := l.st.BeginTurn(b.Context(), v, turn, store.Message{Role: "user", Content: l.text(l.n)}); err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		turn.State = store.TurnDone
		if err := l.st.EndTurn(b.Context(), v, turn, []store.Message{{Role: "assistant", Content: l.text(l.n)}}); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	return took
}

// caughtUp waits until the index has every message.
func (l *load) caughtUp(b *testing.B) {
	b.Helper()
	eventually.True(b, "the index has every message", func() bool {
		newest, err := l.st.Newest(b.Context())
		l.x.mu.Lock()
		defer l.x.mu.Unlock()
		return err == nil && l.x.reach.high == newest && l.x.reach.low <= 1
	})
}

func p99(took []time.Duration) float64 {
	slices.Sort(took)
	return float64(took[len(took)*99/100].Microseconds())
}

// CV13: what the index adds to the commit of a turn while it follows new messages: 0. Spans with and without an index take turns, and the
// median of their differences is reported.
func BenchmarkCV13_WhatTheIndexAddsToACommit(b *testing.B) {
	const pairs, turns = 8, 1000 // a span is longer than the index yields
	with, without := newLoad(b, 1000, true), newLoad(b, 1000, false)
	var added, plain []float64
	for range b.N {
		for range pairs {
			with.caughtUp(b)
			base := p99(without.commits(b, turns))
			plain = append(plain, base)
			added = append(added, p99(with.commits(b, turns))-base)
		}
	}
	slices.Sort(added)
	slices.Sort(plain)
	b.ReportMetric(plain[len(plain)/2], "without-p99-µs")
	b.ReportMetric((added[(len(added)-1)/2]+added[len(added)/2])/2, "added-p99-µs")
}

// CV13: the commits of turns while the index of 100,000 older messages is built.
func BenchmarkCV13_TurnsWhileTheIndexIsBuilt(b *testing.B) {
	l := newLoad(b, 100_000, true)
	b.ResetTimer()
	took := l.commits(b, max(b.N, 100))
	b.StopTimer()
	b.ReportMetric(p99(took), "p99-µs")
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
}
