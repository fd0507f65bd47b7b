package phases

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gatewaytui/core/agent"
	"gatewaytui/core/bound"
	"gatewaytui/core/ops"
	"gatewaytui/core/reap"
	"gatewaytui/core/shutdown"
)

// environmentItems close the environments of sessions whose agent was evicted. The others are closed with their agents. They also name
// what could not be removed before.
func (f *Phases) environmentItems() (items []shutdown.Item) {
	closes := map[string]bool{}
	for _, a := range f.o.Cache.All() {
		closes[a.Session()] = true
	}
	for _, e := range f.o.Environments.Left() { // their drivers remove them; the report names those that it is too late for
		items = append(items, shutdown.Item{Kind: "environment", ID: e.ID, Run: func(context.Context) error {
			return fmt.Errorf("it may still exist, and the next life removes it: %s", e.Detail)
		}})
	}
	for _, e := range f.o.Environments.Held() {
		if closes[e.Session] {
			continue
		}
		items = append(items, shutdown.Item{
			Kind: "environment", ID: e.ID,
			Run: func(ctx context.Context) error {
				return reap.Environments{Trees: f.o.Trees, Held: f.o.Environments}.Close(ctx, e.Session)
			},
			Progress: func() (string, time.Time) { return placeOf(e), time.Time{} },
		})
	}
	return items
}

// holdings are what else is held, by name. What belongs to a session with a cached agent ends with that agent, because the memory of the
// agent may need it to its end; what belongs to the gateway ends after all agents.
func (f *Phases) holdings(agents *sync.WaitGroup) (items []shutdown.Item) {
	cached := map[string]*agent.Agent{}
	for _, a := range f.o.Cache.All() {
		cached[a.Session()] = a
	}
	for _, row := range f.o.Held.Rows() {
		items = append(items, shutdown.Item{
			Kind: string(row.Kind), ID: heldID(row),
			Run: func(ctx context.Context) error {
				if a := cached[row.Session]; a != nil {
					return f.ended(row, a.Close(ctx))
				}
				if row.Session == "" {
					_ = bound.Run(ctx, half(ctx), func(context.Context) error { agents.Wait(); return nil }) // then it is closed in any case
				}
				return f.ended(row, f.o.Held.CloseSession(ctx, row.Session))
			},
			Progress: func() (string, time.Time) { return holding(row), time.Time{} },
		})
	}
	return items
}

// ended is the error of the close of what a row describes. err is about everything that the session holds.
func (f *Phases) ended(row ops.Held, err error) error {
	now, held := f.o.Held.Find(row)
	switch {
	case !held:
		return nil
	case err != nil:
		return err
	}
	how := string(now.State)
	if now.Detail != "" {
		how += ", " + now.Detail
	}
	return errors.New("it is still held: " + how)
}

// heldID names what a row describes in a stop: a session has its own server of a name.
func heldID(row ops.Held) string {
	if row.Session == "" {
		return row.ID
	}
	return row.ID + "@" + row.Session
}

// holding says what a row is and whose.
func holding(row ops.Held) string {
	if row.Session == "" {
		return string(row.Kind) + " of the gateway"
	}
	return string(row.Kind) + " of " + row.Session
}

// heldItems close the environments that are still held, each by itself so that the report names each, once the processes are swept.
func (f *Phases) heldItems(swept <-chan struct{}) (items []shutdown.Item, ended *sync.WaitGroup) {
	ended = new(sync.WaitGroup)
	for _, e := range f.o.Environments.Held() {
		ended.Add(1)
		items = append(items, shutdown.Item{
			Kind: "environment", ID: e.ID,
			Run: func(ctx context.Context) error {
				defer ended.Done()
				select {
				case <-swept:
				case <-ctx.Done():
					return leftOf(e, context.Cause(ctx))
				}
				_, abandoned, err := bound.Call(ctx, half(ctx), func(ctx context.Context) (struct{}, error) {
					return struct{}{}, f.o.Environments.Close(ctx, e.Session)
				}, nil)
				if abandoned {
					return leftOf(e, err)
				}
				return err
			},
			Progress: func() (string, time.Time) { return placeOf(e), time.Time{} },
		})
	}
	for _, row := range f.o.Held.Rows() {
		ended.Add(1)
		items = append(items, shutdown.Item{
			Kind: string(row.Kind), ID: heldID(row),
			Run: func(ctx context.Context) error {
				defer ended.Done()
				select {
				case <-swept:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
				return bound.Run(ctx, half(ctx), func(ctx context.Context) error { return f.ended(row, f.o.Held.CloseSession(ctx, row.Session)) })
			},
			Progress: func() (string, time.Time) { return holding(row), time.Time{} },
		})
	}
	return items, ended
}

// placeOf says what an environment is, whose, and what its driver says of it, such as the name of its container.
func placeOf(e ops.Environment) string { return string(e.Kind) + " of " + e.Session + ": " + e.Detail }

// leftOf is the error of an environment whose close has not answered: the close would have said what may be left.
func leftOf(e ops.Environment, err error) error {
	return fmt.Errorf("%s may still exist: %w", placeOf(e), err)
}

// half is half of the time until ctx's deadline; 0: it has none.
func half(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max(time.Until(deadline)/2, 1)
}
