package adapter

import (
	"context"
	"errors"

	"golang.org/x/sync/semaphore"
)

// ErrDisconnected is the error of a call into a connection whose Disconnect has begun.
var ErrDisconnected = &UnsentError{Err: errors.New("the connection is closed")}

// While runs f with a context that ends with ctx and with life, the connection's. It counts in sends while it runs: who holds all of
// sends, a Disconnect, knows that no call is under way and that none can begin.
func While(ctx, life context.Context, sends *semaphore.Weighted, f func(context.Context) error) error {
	if !sends.TryAcquire(1) {
		return ErrDisconnected
	}
	defer sends.Release(1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	if life.Err() != nil {
		return ErrDisconnected
	}
	return f(ctx)
}
