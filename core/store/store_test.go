package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/ops"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(actAs); name != "" {
		os.Exit(act(name))
	}
	goleak.VerifyTestMain(m)
}

// open opens a store in dir; the test closes it, or its end does.
func open(tb testing.TB, dir string) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), Options{Path: filepath.Join(dir, "gateway.db")})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { shut(tb, s) })
	return s
}

// unsynced opens a store that does not wait for the disk, for tests of what is in it and not of whether it lasts.
func unsynced(tb testing.TB, dir string) *Store {
	tb.Helper()
	s := open(tb, dir)
	// Nothing was requested yet, so the writer's goroutine has not touched its connection.
	if _, err := s.writer.conn.ExecContext(tb.Context(), "PRAGMA synchronous = OFF"); err != nil {
		tb.Fatal(err)
	}
	return s
}

// shut closes s within a bound that no test needs.
func shut(tb testing.TB, s *Store) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		tb.Errorf("close: %v", err)
	}
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 123_000, time.UTC)

func session(key, id string) Session {
	platform, _, _ := strings.Cut(key, ":")
	return Session{
		Key: key, ID: id, Platform: platform, User: "alice", Target: "4711", State: ops.SessionIdle,
		CreatedAt: noon, LastActivityAt: noon.Add(time.Minute), TokensIn: 10, TokensOut: 20,
	}
}

func begun(tb testing.TB, s *Store, v Session, id string) Turn {
	tb.Helper()
	turn := Turn{ID: id, SessionID: v.ID, Life: "life", StartedAt: noon, State: TurnRunning}
	if err := s.BeginTurn(tb.Context(), v, turn, Message{Role: "user", Content: "question of " + id, At: noon}); err != nil {
		tb.Fatal(err)
	}
	return turn
}

// resident is the memory of this process in bytes.
func resident(tb testing.TB) int64 {
	tb.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		tb.Skip("runs where /proc is mounted: resident memory is read there")
	}
	pages, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// descriptors are the files that this process has open below dir.
func descriptors(tb testing.TB, dir string) map[string]int {
	tb.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		tb.Skip("runs where /proc is mounted: descriptors are read there")
	}
	open := map[string]int{}
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(target, dir) {
			open[strings.TrimPrefix(target, dir)]++
		}
	}
	return open
}

func contents(msgs []Entry) string {
	var out []string
	for _, m := range msgs {
		out = append(out, m.Role+": "+m.Content)
	}
	return fmt.Sprint(out)
}
