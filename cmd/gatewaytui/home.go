package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"gatewaytui/core/control"
	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
	"gatewaytui/core/process/kernel"
)

// remote is the gateway on the home that is meant, if one runs there.
type remote struct {
	*control.Client
	home  string
	found instance.Found
}

// errNoHome marks the answer that there can be no gateway, because there is no home.
var errNoHome = errors.New("no home")

// reach finds the home and its control socket. It does not connect. The caller closes what it returns.
func (p *program) reach() (*remote, error) {
	home, err := instance.Resolve(p.home, p.getenv)
	if err != nil {
		return nil, err
	}
	found, err := instance.Locate(home)
	if ops.HasCode(err, ops.CodeUnavailable) {
		err = errors.Join(err, errNoHome)
	}
	if err != nil {
		return nil, &outcome{exitNoGateway, err}
	}
	return &remote{Client: control.NewClient(found.Control, control.ClientOptions{Owner: found.Owner}), home: home, found: found}, nil
}

// asking makes a verb's body of a function that needs the gateway.
func (p *program) asking(body func(ctx context.Context, g *remote, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		g, err := p.reach()
		if err != nil {
			return err
		}
		defer g.Close()
		return g.explain(body(cmd.Context(), g, args))
	}
}

// explain says more of a socket that nobody is behind: that alone does not mean that no gateway lives (field notes, H1).
// It also says more of a gateway that does not answer because its process is stopped.
func (g *remote) explain(err error) error {
	if _, said := errors.AsType[*outcome](err); said {
		return err
	}
	if isUnreachable(err) && errors.Is(err, context.DeadlineExceeded) && g.stopped() {
		pid := g.found.Record.PID
		return &outcome{exitNoGateway, &ops.Error{
			Code:    ops.CodeUnavailable,
			Message: fmt.Sprintf("the gateway does not answer: its process %d is stopped (SIGSTOP, or a debugger)", pid),
			Hint:    fmt.Sprintf("kill -CONT %d lets it go on; gatewaytui --replace does that and takes its place", pid),
		}}
	}
	if !isGone(err) {
		return err
	}
	now, locateErr := instance.Locate(g.home)
	if locateErr != nil || now.Record.PID == 0 || now.Known && !now.Alive {
		return err // a pid file that an earlier life left behind says nothing
	}
	return &outcome{exitNoGateway, &alive{now}}
}

// alive is a gateway that may live but does not listen.
type alive struct{ instance.Found }

func (a *alive) Error() string { return a.answer().Error() }

func (a *alive) Unwrap() error { return a.answer() }

func (a *alive) answer() *ops.Error {
	if !a.Known {
		return &ops.Error{
			Code:    ops.CodeUnavailable,
			Message: fmt.Sprintf("nobody listens on the control socket %s, and whether pid %d of the pid file lives cannot be told from here", a.Control, a.Record.PID),
			Hint:    "ask on the machine and in the container that it runs in",
		}
	}
	return &ops.Error{
		Code:    ops.CodeUnavailable,
		Message: fmt.Sprintf("pid %d lives on this home, but nobody listens on its control socket %s: it is starting or ending", a.Record.PID, a.Control),
		Hint:    fmt.Sprintf("ask again in a moment; if it stays so: kill -QUIT %d, and look in dumps/", a.Record.PID),
	}
}

// A gateway that closes its socket may hang up on whoever connects at that moment; the next look finds nobody.
const (
	looks     = 10
	lookAgain = 20 * time.Millisecond
)

// settle finds out what became of a gateway that hung up: it returns the life that answers now, or why none does. An err
// that says so already is returned as it is.
func (g *remote) settle(ctx context.Context, err error) (life string, _ error) {
	for range looks {
		if !isUnreachable(err) || isGone(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
			return "", err
		}
		var s ops.Status
		if s, err = g.Status(ctx); err == nil {
			return s.Life, nil
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return "", err
		}
	}
	return "", err
}

// stopped reports whether the process that was found is stopped; false where that cannot be told.
func (g *remote) stopped() bool {
	if alive, known := instance.Alive(g.found.Record); !known || !alive {
		return false
	}
	p, err := kernel.StatOf(g.found.Record.PID, make([]byte, 1<<10))
	return err == nil && (p.State == 'T' || p.State == 't') // proc_pid_stat(5)
}

// gone reports whether the process that was found has ended; false where that cannot be told.
func (g *remote) gone() bool {
	alive, known := instance.Alive(g.found.Record)
	return known && !alive
}
