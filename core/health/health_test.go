package health

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gatewaytui/core/background"
	"gatewaytui/core/limit"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/fixtures/eventually"
)

// gateway is a gateway that takes messages, and notes what it receives.
type gateway struct {
	mu      sync.Mutex
	refused []string
	reasons []string
}

func (g *gateway) State() (ops.State, bool) { return ops.StateRunning, true }

func (g *gateway) ClockConfirmed(time.Time) bool           { return false }
func (g *gateway) Booted() (ago time.Duration, known bool) { return 0, false }

func (g *gateway) RefuseWaiting(why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refused = append(g.refused, why.Error())
}

func (g *gateway) ReadinessChanged(reason string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reasons = append(g.reasons, reason)
}

// open is the health of a gateway on an open store.
func open(t *testing.T, change ...func(*Options)) (*Health, *gateway, *store.Store) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	g := &gateway{}
	path := filepath.Join(t.TempDir(), "gateway.db")
	o := Options{Log: log, Gateway: g, Host: g, Life: "this", Database: path, Limits: &limit.Set{}, Background: background.New(log)}
	for _, c := range change {
		c(&o)
	}
	st, err := store.Open(t.Context(), store.Options{Path: path, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, task := range o.Background.Close() {
			_ = task.Stop(context.Background()) // each ends within its own bound
		}
		if err := st.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	h := New(o)
	h.Opened(st)
	return h, g, st
}

func codes(h *Health) (out []string) {
	for _, w := range h.Warnings(time.Now()) {
		out = append(out, w.Code)
	}
	return out
}

// F8: from the moment that damage is found no message is taken, who waits gets an answer, and the operator is warned once.
func TestF8_DamageEndsTheIntakeAndIsAWarningOnce(t *testing.T) {
	h, g, st := open(t)
	if err := h.LastReadiness(time.Now()); err != nil || h.Refusal() != nil {
		t.Fatalf("a sound store is not ready: %v", err)
	}
	for range 2 {
		h.StopWriting(&store.DamagedError{Path: "gateway.db", What: "a test says so", Tables: []string{"messages"}})
	}
	if err := h.LastReadiness(time.Now()); err == nil || !strings.Contains(err.Error(), "damaged in messages") {
		t.Errorf("the readiness says %v", err)
	}
	if !ops.HasCode(h.Refusal(), ops.CodeUnavailable) || len(g.refused) != 2 || !strings.Contains(g.refused[0], "damaged") {
		t.Errorf("a message is refused with %v, those who wait with %q", h.Refusal(), g.refused)
	}
	if got := codes(h); len(got) != 1 || got[0] != WarnReadOnly {
		t.Errorf("the warnings are %q, want one of the damage", got)
	}
	if err := st.Heartbeat(t.Context(), "this", time.Now(), 0); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("the store still writes: %v", err)
	}
}

// A question for readiness has its answer although nothing watches the store.
func TestReadinessAnswersWithoutAWatcher(t *testing.T) {
	h, _, _ := open(t)
	began := time.Now()
	if err := h.Readiness(t.Context()); err != nil || time.Since(began) > 5*time.Second {
		t.Errorf("got %v after %v", err, time.Since(began))
	}
}

// TF29: a config file that has changed is a warning until it is as it was, and one that cannot be read says why.
func TestTF29_AChangedConfigFileIsAWarning(t *testing.T) {
	h, _, _ := open(t, func(o *Options) { o.Config.Path = "/etc/gateway.toml" })
	level := []ops.ConfigChange{{Key: "log.level", Old: `"info"`, New: `"debug"`, Class: ops.ChangeNow}}
	for _, tc := range []struct {
		seen ConfigSeen
		want string
	}{
		{ConfigSeen{}, ""},
		{ConfigSeen{Changed: true, Changes: level}, "has changed (log.level); `gatewaytui reload` applies it"},
		{ConfigSeen{Problem: "permission denied"}, "not applied, and nothing changes: permission denied"},
		{ConfigSeen{Restart: level}, "needs a restart: log.level"},
		{ConfigSeen{}, ""},
	} {
		h.NoteConfig(time.Now(), tc.seen)
		row, warnings := h.ConfigFile()
		text := ""
		for _, w := range warnings {
			text += w.Message
		}
		if row.Changed != tc.seen.Changed || (text == "") != (tc.want == "") || !strings.Contains(text, tc.want) {
			t.Errorf("%+v: the row says %v, the warning %q", tc.seen, row.Changed, text)
		}
	}
}

// HF21: a clock that came back is saved as the measure for the next life.
func TestHF21_TheNextLifeComparesWithTheLastClockThatAgreed(t *testing.T) {
	h, _, st := open(t)
	h.BeginClock(time.Now().Add(-365 * day))
	if !h.ClockDoubted() || len(codes(h)) != 1 {
		t.Fatalf("a clock a year ahead is not doubted; the warnings are %q", codes(h))
	}
	life := store.Life{ID: "this", StartedAt: time.Now(), HeartbeatAt: time.Now(), Outcome: ops.OutcomeRunning, ClockDoubted: true}
	if err := st.PutLife(t.Context(), life); err != nil {
		t.Fatal(err)
	}
	if at, err := st.LastAgreed(t.Context()); err != nil || !at.IsZero() {
		t.Fatalf("the clock last agreed at %v, %v", at, err)
	}
	h.clock.expect(time.Now()) // as if it had been corrected
	h.Check(t.Context(), time.Now())
	eventually.True(t, "the verdict is saved", func() bool {
		at, err := st.LastAgreed(t.Context())
		return err == nil && time.Since(at) < day
	})
	if len(codes(h)) != 0 {
		t.Errorf("the warnings are still %q", codes(h))
	}
}

// CV13: a database of 5 GiB is a warning that names the key which bounds it.
func TestCV13_ALargeDatabaseIsAWarning(t *testing.T) {
	h, _, _ := open(t, func(o *Options) {
		o.Database = filepath.Join(t.TempDir(), "large.db")
		file, err := os.Create(o.Database)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(file.Truncate(muchDatabase-1), file.Close()); err != nil { // it has no blocks
			t.Fatal(err)
		}
	})
	h.checkResources(time.Now())
	if got := codes(h); slices.Contains(got, WarnDatabaseSize) {
		t.Errorf("a smaller one: %v", got)
	}
	if err := os.Truncate(h.o.Database, muchDatabase); err != nil {
		t.Fatal(err)
	}
	h.checkResources(time.Now())
	warnings := h.Warnings(time.Now())
	i := slices.IndexFunc(warnings, func(w ops.Warning) bool { return w.Code == WarnDatabaseSize })
	if i < 0 || !strings.Contains(warnings[i].Message, "5.0 GiB") || !strings.Contains(warnings[i].Message, "retention.transcripts") {
		t.Errorf("the warnings are %v", warnings)
	}
}
