package remote

import (
	"context"
	"sync/atomic"
	"time"

	"gatewaytui/core/ops"
)

// Console is the gateway for a console that stays when the gateway has ended: then the report of its stop is read from the home,
// where it is complete.
type Console struct {
	*Gateway
	life atomic.Pointer[string] // the one that answered last
}

// Lasting is g for a console that stays. s is its status, which the console has seen.
func Lasting(g *Gateway, s ops.Status) *Console {
	o := &Console{Gateway: g}
	o.seen(s)
	return o
}

func (o *Console) seen(s ops.Status) { o.life.Store(&s.Life) }

func (o *Console) Status(ctx context.Context) (ops.Status, error) {
	s, err := o.Gateway.Status(ctx)
	if err == nil {
		o.seen(s)
	}
	return s, err
}

func (o *Console) Snapshot(ctx context.Context, most ...ops.Most) (ops.Snapshot, error) {
	s, err := o.Gateway.Snapshot(ctx, most...)
	if err == nil {
		o.seen(s.Status)
	}
	return s, err
}

// Shutdown implements ops.Console. Once the gateway has left the socket it waits until the report on disk is complete,
// which is a moment later, or until ctx or lastWord ends.
func (o *Console) Shutdown(ctx context.Context) (ops.Shutdown, error) {
	s, err := o.Gateway.Shutdown(ctx)
	if !Unreachable(err) {
		return s, err
	}
	if report, found := o.lastReport(ctx); found {
		return report, nil
	}
	return s, err
}

// lastReport is the report of the life that answered last; false if it left none, or one that is not complete.
func (o *Console) lastReport(ctx context.Context) (ops.Shutdown, bool) {
	ctx, cancel := context.WithTimeout(ctx, lastWord)
	defer cancel()
	reports := o.reports()
	for {
		report, found, err := reports.ReadReport(*o.life.Load())
		if err != nil {
			return report, false // the next start tells of it
		}
		if found && !report.EndedAt.IsZero() {
			return report, true
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return report, false
		}
	}
}

// Complete is the report of the stop that a console saw, with all that the gateway wrote of it.
func (o *Console) Complete(seen ops.Shutdown) ops.Shutdown {
	if report, found := o.lastReport(context.Background()); found && report.ID == seen.ID {
		return report
	}
	return seen
}
