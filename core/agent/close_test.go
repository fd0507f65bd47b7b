package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatewaytui/core/model"
	"gatewaytui/core/tool"
)

// everything is what a close does, in the order of the words.
var everything = []string{"close client 0", "flush", "kill session cli:local", "remember", "shutdown"}

func sorted(lines []string) []string {
	lines = slices.Clone(lines)
	slices.Sort(lines)
	return lines
}

func TestS10_ThreeClosesAreOneAndReleaseEverything(t *testing.T) {
	b := newBench(hang, nil)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := b.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(everything, sorted(b.log.all())); diff != "" {
		t.Errorf("four closes did (-want +got):\n%s", diff)
	}
	if b.Row().State != "closing" {
		t.Errorf("state %q", b.Row().State)
	}
	if _, err := b.Run(t.Context(), Turn{ID: "T"}); !errors.Is(err, ErrClosed) {
		t.Errorf("a turn on a closed agent: %v, want ErrClosed", err)
	}
}

func TestS10_AStepThatFailsKeepsNoOtherFromRunning(t *testing.T) {
	broken := errors.New("broken")
	faults := map[string]func(ctx context.Context) error{
		"fails":  func(context.Context) error { return broken },
		"panics": func(context.Context) error { panic(broken) },
		"hangs":  func(ctx context.Context) error { <-ctx.Done(); return broken },
	}
	// over ends when the test does, for what has no other context.
	places := map[string]func(over context.Context, b *bench, fault func(context.Context) error){
		"memory flush":    func(_ context.Context, b *bench, f func(context.Context) error) { b.memory.flush = f },
		"notes":           func(_ context.Context, b *bench, f func(context.Context) error) { b.memory.remember = f },
		"memory shutdown": func(_ context.Context, b *bench, f func(context.Context) error) { b.memory.shutdown = f },
		"processes":       func(_ context.Context, b *bench, f func(context.Context) error) { b.processes.kill = f },
		"model client": func(over context.Context, b *bench, f func(context.Context) error) {
			b.models.closing = func() error { return f(over) }
		},
	}
	for fault, f := range faults {
		for place, put := range places {
			t.Run("the "+place+" "+fault, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(hang, nil)
					over, end := context.WithCancel(t.Context())
					defer end()
					put(over, b, f)
					ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
					defer cancel()
					start := time.Now()
					err := b.Close(ctx)
					if took := time.Since(start); took > 4*time.Second {
						t.Errorf("took %v, more than it was given", took)
					}
					if err == nil || !strings.Contains(err.Error(), place) {
						t.Errorf("error %v, want it to name the %s", err, place)
					}
					if diff := cmp.Diff(everything, sorted(b.log.all())); diff != "" {
						t.Errorf("did (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

// A step that ignores its context is abandoned, and what follows has time of its own.
func TestS10_AStepThatIgnoresItsContextIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(hang, nil)
		release := make(chan struct{})
		defer close(release)
		b.memory.flush = func(context.Context) error { <-release; return nil }
		b.memory.shutdown = func(context.Context) error { <-release; return nil }
		var leftForProcesses time.Duration
		b.processes.kill = func(ctx context.Context) error {
			deadline, _ := ctx.Deadline()
			leftForProcesses = time.Until(deadline)
			return nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		start := time.Now()
		err := b.Close(ctx)
		if err == nil || !strings.Contains(err.Error(), "memory flush: not done after 2s") ||
			!strings.Contains(err.Error(), "memory shutdown: not done after 1s") {
			t.Errorf("error %v, want both named with what they had", err)
		}
		if took := time.Since(start); took != 3*time.Second || leftForProcesses != time.Second {
			t.Errorf("took %v and left %v for the processes, want 3s and 1s", took, leftForProcesses)
		}
		if diff := cmp.Diff(everything, sorted(b.log.all())); diff != "" {
			t.Errorf("did (-want +got):\n%s", diff)
		}
	})
}

func TestS10_ACloseWithoutTimeStillDropsWhatDoesNotHang(t *testing.T) {
	b := newBench(hang, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Close(ctx); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(everything, sorted(b.log.all())); diff != "" {
		t.Errorf("did (-want +got):\n%s", diff)
	}
}

func TestS10_ASecondCallerWaitsForTheFirstClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(hang, nil)
		release := make(chan struct{})
		b.memory.flush = func(context.Context) error { <-release; return errors.New("disk full") }
		errs := make(chan error, 2)
		go func() { errs <- b.Close(t.Context()) }()
		synctest.Wait()
		go func() { errs <- b.Close(t.Context()) }()
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Close(impatient); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an impatient caller got %v, want its own deadline", err)
		}
		close(release)
		first, second := <-errs, <-errs
		if first == nil || first != second {
			t.Errorf("two callers got %v and %v, want the one close's error", first, second)
		}
	})
}

func TestS15_MemoryIsFlushedThenShutDownThenTheRestCloses(t *testing.T) {
	b := newBench(hang, nil)
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.log.all(); got[0] != "flush" || got[1] != "remember" || got[2] != "shutdown" {
		t.Errorf("order %q, want the flush, the conversation given to the memory, and its shutdown first", got)
	}
}

func TestS12_ReleaseDropsTheClientAndKeepsSessionAndProcesses(t *testing.T) {
	b := newBench(hang, nil)
	for range 2 {
		if err := b.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"close client 0"}, b.log.all()); diff != "" {
		t.Errorf("two releases did (-want +got):\n%s", diff)
	}
	if _, err := b.Run(t.Context(), Turn{ID: "T"}); !errors.Is(err, ErrClosed) {
		t.Errorf("a turn on a released agent: %v, want ErrClosed", err)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.log.all(); !slices.Contains(got, "kill session cli:local") {
		t.Errorf("a close after the release did %q; it must still end the session's processes", got)
	}
}

// S11 closes agents that are still in a turn; D8: that turn ends and does nothing more.
func TestClose_EndsTheRunningTurn(t *testing.T) {
	for name, end := range map[string]func(*Agent, context.Context) error{"close": (*Agent).Close, "release": (*Agent).Release} {
		t.Run(name, func(t *testing.T) {
			started := make(chan struct{})
			b := newBench(inOrder(asks(model.ToolCall{ID: "a", Name: "wait"}), says("never")), nil,
				fakeTool{"wait", func(ctx context.Context, _ tool.Call) (string, error) {
					close(started)
					<-ctx.Done()
					return "", ctx.Err()
				}})
			done := make(chan error)
			go func() {
				_, err := b.Run(t.Context(), Turn{ID: "T", Text: "go"})
				done <- err
			}()
			<-started
			if err := end(b.Agent, t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-done; !errors.Is(err, ErrClosed) {
				t.Errorf("the turn ended with %v, want ErrClosed", err)
			}
			if b.Busy() {
				t.Error("busy after its turn")
			}
		})
	}
}
