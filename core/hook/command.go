package hook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/process"
)

const (
	// killGrace is the time between TERM and KILL for what is left of a command, and killBound what its end may take.
	killGrace = 500 * time.Millisecond
	killBound = 3 * time.Second
	// outputLimit is how much of a command's output is kept: its last line says why it failed.
	outputLimit = 8 << 10
)

// command runs a program for each event.
type command struct {
	argv      []string
	dir       string
	processes Processes
}

// send implements sender. A program that does not read its input has handled the event if it ends with 0.
func (c *command) send(ctx context.Context, _ ops.EventType, body []byte) (err error) {
	p, err := c.processes.Spawn(ctx, process.Spec{
		Argv: c.argv, Dir: c.dir, Stdin: true, Policy: process.PolicyGateway, Owner: Owner, OutputLimit: outputLimit,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end(ctx, p)) }()
	_, _ = p.Write(ctx, append(body[:len(body):len(body)], '\n')) // it need not read
	_ = p.CloseInput()                                            // it may have ended
	exit, err := p.Wait(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("wait for its end: %w", err)
	case exit.Signal != 0:
		return fmt.Errorf("it ended by signal %d (%v)%s", int(exit.Signal), exit.Signal, lastLine(p))
	case exit.Code != 0:
		return fmt.Errorf("it ended with exit code %d%s", exit.Code, lastLine(p))
	}
	return nil
}

func lastLine(p *process.Process) string {
	if line := p.LastLine(); line != "" {
		return ": " + line
	}
	return ""
}

// end ends what is left of a command, also when its time is over: nothing of it outlives its event.
func end(ctx context.Context, p *process.Process) error {
	if left, err := p.Left(); err == nil && left == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killBound)
	defer cancel()
	if left := p.Kill(ctx, killGrace).Survivors; len(left) > 0 {
		return fmt.Errorf("%d processes of it are still alive", len(left))
	}
	return nil
}

// close implements sender.
func (c *command) close() {}
