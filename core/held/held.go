// Package held joins what sessions and the gateway hold besides processes and environments: tool servers, browsers, external agents,
// hooks that run.
//
// What it promises: everything that is held has a row. It ends with its session (Set.CloseSession, called by Agent.Close and by the end of
// a conversation) and with the gateway (Set.CloseAll, called by the stop's phase sweep; the phase agents closes what is left by name). A
// holder that fails, hangs or panics does not keep the others from closing: each has the whole time of the caller, at the same time.
package held

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"gatewaytui/core/bound"
	"gatewaytui/core/ops"
)

// Holder holds resources of one kind or more. Its methods may be called from any goroutine, at the same time.
type Holder interface {
	// Rows are what it holds now. It does no I/O.
	Rows() []ops.Held
	// CloseSession ends what one session holds, within the time of ctx; of the empty session what the gateway itself holds. A caller that comes
	// while a close is under way waits for that one. The session can hold something again afterwards.
	CloseSession(ctx context.Context, session string) error
	// CloseAll ends everything within the time of ctx, and lets nothing start any more.
	CloseAll(ctx context.Context) error
}

// Set joins holders. Add is called before the gateway runs, everything else from any goroutine.
type Set struct{ holders []named }

type named struct {
	name string
	Holder
}

// Add adds a holder. Its name, such as "servers", is for errors.
func (s *Set) Add(name string, h Holder) { s.holders = append(s.holders, named{name, h}) }

// Rows are everything that is held now, oldest first.
func (s *Set) Rows() []ops.Held {
	var all []ops.Held
	for _, h := range s.holders {
		all = append(all, h.Rows()...)
	}
	slices.SortStableFunc(all, func(a, b ops.Held) int { return a.Since.Compare(b.Since.Time) })
	return all
}

// Find is the row as it is now of what an earlier row describes; false: that is not held any more.
func (s *Set) Find(row ops.Held) (now ops.Held, held bool) {
	all := s.Rows()
	at := slices.IndexFunc(all, func(r ops.Held) bool { return r.Kind == row.Kind && r.ID == row.ID && r.Session == row.Session })
	if at < 0 {
		return now, false
	}
	return all[at], true
}

// CloseSession ends what a session holds; of the empty session what the gateway itself holds. The errors are joined.
func (s *Set) CloseSession(ctx context.Context, session string) error {
	return s.each(ctx, func(ctx context.Context, h Holder) error { return h.CloseSession(ctx, session) })
}

// CloseAll ends everything, and nothing starts any more. The errors are joined.
func (s *Set) CloseAll(ctx context.Context) error {
	return s.each(ctx, func(ctx context.Context, h Holder) error { return h.CloseAll(ctx) })
}

// each does something with all holders at the same time, and abandons one that outlasts ctx.
func (s *Set) each(ctx context.Context, do func(context.Context, Holder) error) error {
	errs := make([]error, len(s.holders))
	var all sync.WaitGroup
	for i, h := range s.holders {
		all.Go(func() {
			if err := bound.Run(ctx, 0, func(ctx context.Context) error { return do(ctx, h.Holder) }); err != nil {
				errs[i] = fmt.Errorf("close %s: %w", h.name, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
