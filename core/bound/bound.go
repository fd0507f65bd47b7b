// Package bound runs a call that may hang: with a deadline, and abandoned on its goroutine if it does not keep it.
//
// What it promises: Run and Call return at the limit, or when their context ends, even if the call hangs; a panic of the call, and
// the end of its goroutine, are its error.
package bound

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// Run runs one call and returns its error, or returns at the limit even if the call ignores its
// context; such a call is abandoned on its goroutine, and what it returns later is dropped (S5). It never panics: a
// panic of f is its error.
//
// A limit of zero or less opts out: then only ctx bounds the call. The end of ctx passes through as ctx's own error; the
// limit's error is one for which errors.Is(err, context.DeadlineExceeded) holds. f is started even if ctx has already
// ended, so that a teardown that was cancelled still gets its chance to let go.
func Run(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	_, _, err := Call(ctx, limit, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) }, nil)
	return err
}

// Call is Run for a call with a value, and tells whether the call was abandoned. late, if not nil, then gets what
// the call returns in the end, on the call's goroutine; it must bound itself.
func Call[T any](
	ctx context.Context, limit time.Duration, f func(context.Context) (T, error), late func(T, error),
) (value T, abandoned bool, err error) {
	call, cancel := context.WithCancel(ctx)
	if limit > 0 {
		cancel()
		call, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()

	type answer struct {
		value T
		err   error
	}
	answered, gone := make(chan answer), make(chan struct{})
	go func() {
		a := answer{err: errors.New("the call ended its goroutine")}
		defer func() {
			if p := recover(); p != nil {
				a.err = &Panic{Value: p, Stack: debug.Stack()}
			}
			select {
			case answered <- a:
			case <-gone:
				if late != nil {
					late(a.value, a.err)
				}
			}
		}()
		a.value, a.err = f(call)
	}()

	select {
	case a := <-answered:
		if ctx.Err() == nil && call.Err() != nil && errors.Is(a.err, context.DeadlineExceeded) {
			a.err = &limitError{limit}
		}
		return a.value, false, a.err
	case <-call.Done():
		close(gone)
		if err := ctx.Err(); err != nil {
			return value, true, err
		}
		return value, true, &limitError{limit}
	}
}

// limitError says that a call did not answer in time. It is context.DeadlineExceeded to errors.Is.
type limitError struct {
	limit time.Duration
}

func (e *limitError) Error() string        { return fmt.Sprintf("no answer within %s", e.limit) }
func (e *limitError) Is(target error) bool { return target == context.DeadlineExceeded }

// Panic is a panic of a call.
type Panic struct {
	Value any
	Stack []byte
}

func (e *Panic) Error() string { return fmt.Sprintf("panic: %v", e.Value) }
