package container

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gatewaytui/core/process"
)

// Times of a removal.
const (
	// removeBound is the longest that one call for the removal may take.
	removeBound = 10 * time.Second
	// endMargin is how much of a caller's time is left to end the program that hangs.
	endMargin = 150 * time.Millisecond
	// hangupSlack is what a container that ends by itself may take beyond its grace.
	hangupSlack = 2 * time.Second
	// settle is how long a container whose start was cut off is looked for, before its absence is believed.
	settle = 30 * time.Second
)

// errBusy means that the daemon removes the container at the moment.
var errBusy = errors.New("its removal is under way")

// Close ends what runs in the container, first by TERM, and removes it. It is idempotent, waits for a Close under way, and
// returns before ctx ends. After an error the container has a row, is tried again in the background, and by the next life.
// The error names the container and says so.
func (c *Container) Close(ctx context.Context) error {
	ctx, cancel := early(ctx)
	defer cancel()
	select {
	case c.removing <- struct{}{}:
		defer func() { <-c.removing }()
	case <-ctx.Done():
		return c.leftBehind(context.Cause(ctx))
	}
	if c.Gone() {
		return nil
	}
	c.set(stateClosing, "")
	c.hangUp(ctx)
	err := c.remove(ctx)
	if errors.Is(err, process.ErrClosing) && c.endedItself() {
		c.gone(ctx)
		return nil
	}
	if err == nil {
		return nil
	}
	c.set(stateLeft, err.Error())
	c.engine.retry()
	return c.leftBehind(err)
}

// endedItself reports whether the program that holds the container has ended with the container's own end. With --rm it waits until the
// daemon has removed the container (docker/cli, waitExitOrRemoved). This counts where a stop starts no program any more.
func (c *Container) endedItself() bool {
	if c.attached == nil {
		return false
	}
	code, over := c.attached.Exited()
	return over && code == 0
}

func (c *Container) leftBehind(err error) error {
	return fmt.Errorf("container %s of session %s may still exist, and is removed when %s answers: %w", c.name, c.owner.Session, c.program.Name(), err)
}

// early is ctx with an end that leaves time to end a program.
func early(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	margin := min(endMargin, time.Until(deadline)/4)
	return context.WithDeadline(ctx, deadline.Add(-margin))
}

// hangUp closes the container's input, which ends its commands with their grace, and waits for the end of the program that
// holds it. A program that does not end is ended. Half of the time that ctx has is left for the removal.
func (c *Container) hangUp(ctx context.Context) {
	if c.attached == nil {
		return // of an earlier life
	}
	if _, over := c.attached.Exited(); !over {
		c.attached.HangUp()
		limit := c.engine.opts.Grace + hangupSlack
		if deadline, ok := ctx.Deadline(); ok {
			limit = min(limit, time.Until(deadline)/2)
		}
		wait, cancel := context.WithTimeout(ctx, limit)
		_ = c.attached.Wait(wait)
		cancel()
	}
	c.attached.End(ctx)
}

// remove asks the program to remove the container. nil: it said that there is none. c.removing is held.
func (c *Container) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, removeBound)
	defer cancel()
	output, code, err := c.program.Run(ctx, "rm", "--force", "--volumes", c.name)
	switch {
	case err != nil:
		return err
	case busy(output):
		return errBusy
	case code != 0 && !absent(output):
		return errors.New(c.program.explain(output))
	}
	if absent(output) && !c.believed(time.Now()) {
		return errUnsure
	}
	c.gone(ctx)
	return nil
}

// errUnsure means that a container whose start was cut off was not found yet.
var errUnsure = fmt.Errorf("its start was cut off and the container does not exist now; it is looked for again for %v", settle)

// believed reports whether an answer that there is no such container is the last word.
func (c *Container) believed(now time.Time) bool {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	if c.unsure && c.absent.IsZero() {
		c.absent = now
	}
	return !c.unsure || now.Sub(c.absent) >= settle
}

// abandon takes a container out of use whose commands cannot be ended one by one, and removes it in the background.
func (c *Container) abandon(why error) {
	if c.Gone() {
		return
	}
	c.release()
	c.set(stateLeft, why.Error())
	c.engine.retry()
}

// release says that no session has the row of c any more.
func (c *Container) release() {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	c.held = false
}

// errCutOff is why a container is left whose start was cut off.
var errCutOff = errors.New("its start was cut off")
