package bound

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestS5_RunReturnsAtTheLimitForAnyCall(t *testing.T) {
	for _, tc := range []struct {
		name    string
		limit   time.Duration
		call    func(ctx context.Context, release <-chan struct{}) error
		want    time.Duration
		wantErr func(error) bool
	}{
		{
			"a call that heeds its context ends at the limit", 200 * time.Millisecond,
			func(ctx context.Context, _ <-chan struct{}) error { <-ctx.Done(); return ctx.Err() },
			200 * time.Millisecond, isTimeout,
		},
		{
			"a call that ignores its context is abandoned at the limit", 200 * time.Millisecond,
			func(_ context.Context, release <-chan struct{}) error { <-release; return nil },
			200 * time.Millisecond, isTimeout,
		},
		{
			"with 0 a 50 ms operation runs to its end and returns its own error", 0,
			func(context.Context, <-chan struct{}) error { time.Sleep(50 * time.Millisecond); return errOutage },
			50 * time.Millisecond, func(err error) bool { return err == errOutage },
		},
		{
			"a negative limit opts out as well", -time.Second,
			func(context.Context, <-chan struct{}) error { time.Sleep(50 * time.Millisecond); return nil },
			50 * time.Millisecond, func(err error) bool { return err == nil },
		},
		{
			"a quick answer is returned as it is", time.Second,
			func(context.Context, <-chan struct{}) error { return errOutage },
			0, func(err error) bool { return err == errOutage },
		},
		{
			"a panic is an error", time.Second,
			func(context.Context, <-chan struct{}) error { panic("boom") },
			0, func(err error) bool { return err != nil && strings.Contains(err.Error(), "panic: boom") },
		},
		{
			"a call that ends its goroutine is an error", time.Second,
			func(context.Context, <-chan struct{}) error { runtime.Goexit(); return nil },
			0, func(err error) bool { return err != nil && !isTimeout(err) },
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				defer close(release)
				began := time.Now()
				err := Run(t.Context(), tc.limit, func(ctx context.Context) error { return tc.call(ctx, release) })
				if got := time.Since(began); got != tc.want {
					t.Errorf("took %v, want %v", got, tc.want)
				}
				if !tc.wantErr(err) {
					t.Errorf("returned %v", err)
				}
			})
		})
	}
}

func TestS5_CancellationOfTheWholePassesThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(30*time.Millisecond, cancel)
		release := make(chan struct{})
		defer close(release)
		began := time.Now()
		err := Run(ctx, time.Minute, func(context.Context) error { <-release; return nil })
		if err != context.Canceled || time.Since(began) != 30*time.Millisecond {
			t.Fatalf("returned %v after %v, want the parent's own error after 30ms", err, time.Since(began))
		}
		started := false
		if err := Run(ctx, 0, func(context.Context) error { started = true; return nil }); err != nil && err != context.Canceled {
			t.Fatal(err)
		}
		synctest.Wait()
		if !started {
			t.Error("a teardown that was cancelled before it began did not get its chance")
		}
	})
}

var errOutage = errors.New("outage")

func isTimeout(err error) bool { return errors.Is(err, context.DeadlineExceeded) }
