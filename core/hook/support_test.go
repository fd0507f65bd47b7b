package hook

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/events"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/fixtures/eventually"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is hooks that run, with the hub that their events come from.
type world struct {
	*Hooks
	t   testing.TB
	hub *events.Hub
	dir string
}

// begin runs hooks until the test ends. procs may be nil where no hook has a command.
func begin(t testing.TB, procs Processes, specs ...Spec) *world {
	t.Helper()
	w := &world{t: t, hub: events.New(), dir: t.TempDir()}
	w.Hooks = New(Options{Events: w.hub, Processes: procs, Dir: w.dir, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	w.Use(specs)
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		w.Run(ctx)
	}()
	t.Cleanup(func() {
		w.close()
		cancel()
		<-ran
	})
	eventually.True(t, "the hooks follow", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.again != nil
	})
	return w
}

func (w *world) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := w.CloseAll(ctx); err != nil {
		w.t.Errorf("the hooks did not end: %v", err)
	}
}

// emit is n events that turns end.
func (w *world) emit(n int) {
	for i := range n {
		w.hub.Emit(ops.EventTurnEnded, fmt.Sprintf("cli:%d", i), "turn done", ops.TurnEnd{State: "done", Turn: "t"})
	}
}

// row is the row of a hook.
func (w *world) row(name string) ops.Held {
	for _, r := range w.Rows() {
		if r.ID == name {
			return r
		}
	}
	return ops.Held{}
}

// registry starts tracked processes until the test ends.
func registry(t testing.TB, emit func(ops.EventType, ops.Process)) *process.Registry {
	t.Helper()
	life := fmt.Sprintf("hook-%d-%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-"))
	r := process.New(process.Options{
		Life: life, HomeID: life, KillGrace: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler), Pass: func(string, string) bool { return true },
		OnEvent: func(typ ops.EventType, row ops.Process, _ string) {
			if emit != nil {
				emit(typ, row)
			}
		},
	})
	if err := r.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		r.KillAll(ctx, 0)
		if err := r.Close(ctx); err != nil {
			t.Errorf("the registry did not close: %v", err)
		}
	})
	return r
}

// double is a sender that a test steers.
type double struct {
	mu   sync.Mutex
	got  []string
	hold chan struct{} // nil: it does not wait
	err  error
}

func (d *double) send(ctx context.Context, _ ops.EventType, body []byte) error {
	d.mu.Lock()
	d.got = append(d.got, string(body))
	hold, err := d.hold, d.err
	d.mu.Unlock()
	if hold == nil {
		return err
	}
	select {
	case <-hold:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *double) close() {}

func (d *double) texts() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.got...)
}

// script writes an executable script for a hook.
func script(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hook.sh")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
