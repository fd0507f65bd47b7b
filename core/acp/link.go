package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"gatewaytui/core/process"
	"gatewaytui/core/term"
)

const (
	// partMost is how long a program may take to end by itself once its standard input is closed. Some never do.
	partMost = 300 * time.Millisecond
	// endMost bounds the end of a program whose caller has no time left.
	endMost = 10 * time.Second
	// readMost is how long what a program has written is still read after its end.
	readMost = 200 * time.Millisecond
)

// link is a running program, and the connection to it.
type link struct {
	c       *client
	p       *process.Process
	in, out *os.File
	rpc     *sdk.Connection
	intake  *intake
	// turn is the turn that the program works on; nil: none, and what it says is not heard.
	turn atomic.Pointer[turn]
	// gone is closed when the connection is of no use any more.
	gone chan struct{}

	mu      sync.Mutex // guards what follows; never held over I/O
	why     error      // that it is gone
	hello   sdk.InitializeResponse
	session sdk.SessionId
	// ending is made by an end and closed with it; nil: none runs, and none has succeeded. err is its result from then on.
	ending chan struct{}
	err    error
}

// newLink connects to a program that was just started.
func newLink(c *client, p *process.Process) *link {
	l := &link{c: c, p: p, gone: make(chan struct{})}
	l.in, l.out = p.Pipes()
	l.intake = newIntake(l.out, l.gone, l.fail)
	l.rpc = sdk.NewConnection(l.handle, outlet{l.in, l.fail}, l.intake)
	l.rpc.SetLogger(slog.New(slog.DiscardHandler)) // it would log what the program writes
	close(l.intake.begin)
	c.set.tasks.Go(l.watch)
	return l
}

// watch ends the connection when the program has ended: what it started may hold its pipes open.
func (l *link) watch() {
	exit, err := l.p.Wait(l.c.set.ctx)
	if err != nil { // CloseAll has ended it
		l.fail(errStopping)
		return
	}
	select {
	case <-time.After(readMost):
	case <-l.gone:
	}
	why := fmt.Sprintf("it ended with code %d", exit.Code)
	if exit.Limit != "" {
		why += ": " + exit.Limit
	}
	l.fail(errors.New(why))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.c.set.ctx), endMost)
	defer cancel()
	_ = l.end(ctx, nil) // the rows of processes show what survives it
}

// fail says that the connection is of no use any more, and why. The first reason stays.
func (l *link) fail(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == nil {
		l.why = why
		close(l.gone)
	}
}

// over reports whether the connection is of no use any more.
func (l *link) over() bool {
	select {
	case <-l.gone:
		return true
	default:
		return false
	}
}

// reason is why the connection is gone, with the last line that the program wrote; err: it is not gone.
func (l *link) reason(err error) error {
	l.mu.Lock()
	why := cmp.Or(l.why, err)
	l.mu.Unlock()
	if last := l.p.LastLine(); last != "" && (l.over() || errors.Is(err, context.DeadlineExceeded)) {
		return fmt.Errorf("%w; its last line: %s", why, term.Clean(last, 200))
	}
	return why
}

// end ends the program and everything that it started: it closes its standard input, waits a moment, and then sends TERM and KILL. A
// second caller waits for the first one. An end that failed may be tried again.
func (l *link) end(ctx context.Context, why error) error {
	err := l.endOnce(ctx, why)
	if err != nil {
		l.c.stuck(err.Error())
	} else {
		l.c.drop(l)
	}
	return err
}

// endOnce is end without its row.
func (l *link) endOnce(ctx context.Context, why error) error {
	l.mu.Lock()
	if done := l.ending; done != nil {
		l.mu.Unlock()
		select {
		case <-done:
			return l.err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	done := make(chan struct{})
	l.ending = done
	l.mu.Unlock()
	defer close(done)
	if t := l.turn.Load(); t != nil && ctx.Err() == nil { // the turn's own cancel asks the program to stop
		select {
		case <-t.over:
		case <-l.gone:
		case <-time.After(partMost):
		}
	}
	_ = l.in.Close()
	part, cancel := context.WithTimeout(ctx, partMost)
	_, _ = l.p.Wait(part) // what has not ended is killed
	cancel()
	report := l.p.Kill(ctx, l.c.set.o.KillGrace)
	l.fail(cmp.Or(why, errEnded))
	_ = l.out.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err = nil; report.Verified {
		return nil
	}
	l.ending, l.err = nil, fmt.Errorf("end %s: %s", l.c.of.Name(), report.Summary())
	return l.err
}

// greeted records what the program says of itself.
func (l *link) greeted(hello sdk.InitializeResponse) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hello = hello
}

func (l *link) capabilities() sdk.AgentCapabilities {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hello.AgentCapabilities
}

// images reports whether the program takes pictures.
func (l *link) images() bool { return l.capabilities().PromptCapabilities.Image }

// talk records the session that the program works in.
func (l *link) talk(id sdk.SessionId) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session = id
}

func (l *link) talks() sdk.SessionId {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session
}

// detail is one line for people.
func (l *link) detail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := l.c.of.Name()
	if info := l.hello.AgentInfo; info != nil {
		name = info.Name + " " + info.Version
	}
	return fmt.Sprintf("%s, pid %d", term.Clean(name, 60), l.p.PID())
}

// handle works on one message of the program. Notifications come one after the other, requests each on a goroutine of its own.
func (l *link) handle(ctx context.Context, method string, params json.RawMessage) (any, *sdk.RequestError) {
	defer l.intake.done()
	switch method {
	case sdk.ClientMethodSessionUpdate:
		var n sdk.SessionNotification
		if json.Unmarshal(params, &n) != nil {
			return nil, nil // a kind of update that is not known yet
		}
		if t := l.turn.Load(); t != nil && n.SessionId == l.talks() {
			t.hear(n.Update)
		}
		return nil, nil
	case sdk.ClientMethodSessionRequestPermission:
		var req sdk.RequestPermissionRequest
		if err := json.Unmarshal(params, &req); err != nil {
			return nil, sdk.NewInvalidParams(nil)
		}
		t := l.turn.Load()
		if t == nil || req.SessionId != l.talks() {
			return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}, nil
		}
		return sdk.RequestPermissionResponse{Outcome: t.permit(ctx, req)}, nil
	}
	return nil, sdk.NewMethodNotFound(method)
}
