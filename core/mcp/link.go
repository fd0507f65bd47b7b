package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gatewaytui/core/bound"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
)

const (
	// protocol is the version that a start asks for. A server may answer with an earlier one.
	protocol = "2025-11-25"
	// inputMost is how long a program may take to end after its input has ended, before its tree is killed.
	inputMost = time.Second
	// letGo bounds each other step of a close.
	letGo = 2 * time.Second
	// exitMost is how long a call that fails waits for the exit code of its server.
	exitMost = 300 * time.Millisecond
	// outputKept is how much of the standard error of a program is kept, in bytes.
	outputKept = 16 << 10
)

// errNoProgram means that a server cannot start before something is installed or configured.
var errNoProgram = errors.New("the server cannot start")

// errSilent means that a call had no answer within its limit.
var errSilent = errors.New("no answer")

// link is one connection to a server, with the process behind it.
type link struct {
	server  *server
	session *sdk.ClientSession
	process *process.Process // nil over HTTP
	pipes   *pipes           // nil over HTTP
	launch  Launch
	kind    ops.HeldKind
	id      uint64
	since   time.Time
	grace   time.Duration
	// ctx ends with the connection: HTTP requests and questions end by it.
	ctx  context.Context
	stop context.CancelFunc
	free func() // closes idle connections; nil over pipes

	// ended is closed when the connection has broken, and why then says how.
	ended chan struct{}
	once  sync.Once
	why   error
	// asked gets why the connection is to end. changed and hurried hold one nudge each.
	asked            chan ending
	changed, hurried chan struct{}
	slots            chan struct{} // one for each call under way
	listed           bool          // the list was read by the start
	suspected        atomic.Bool
	reading          atomic.Bool // the list is being read
	asking           questions

	// users and used belong to the lock of the instance.
	users int
	used  time.Time
}

// connect starts a server for an instance and shakes hands with it. After an error nothing of it is left.
func (s *Set) connect(ctx context.Context, i *instance) (_ *link, err error) {
	l := &link{
		server: i.server, kind: ops.HeldServer, id: s.nextID(), since: time.Now(), grace: s.o.KillGrace, ended: make(chan struct{}),
		asked: make(chan ending, 1), changed: make(chan struct{}, 1), hurried: make(chan struct{}, 1), slots: make(chan struct{}, maxCalls),
	}
	l.ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx)) // it outlives the start; close ends it
	transport, err := s.transport(ctx, i, l)
	if err == nil {
		err = l.shake(ctx, s, transport)
	}
	if err == nil && !i.server.hasList() {
		err, l.listed = i.server.read(ctx, l), true
	}
	if err == nil {
		return l, nil
	}
	if l.broken() && !errors.Is(context.Cause(ctx), context.Canceled) { // the exit of a program whose start was cancelled explains nothing
		l.awaitExit()
	}
	err = l.explained(err)
	return nil, errors.Join(err, l.close())
}

// transport starts the program of a server, or makes the client for one over HTTP.
func (s *Set) transport(ctx context.Context, i *instance, l *link) (sdk.Transport, error) {
	d := i.server.def
	if d.URL != "" {
		transport, trip, err := overHTTP(l.ctx, d)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errNoProgram, err)
		}
		l.free = trip.base.CloseIdleConnections
		return transport, nil
	}
	l.launch = Launch{Command: d.Command}
	if d.Preset != "" {
		preset := s.o.Presets[d.Preset]
		if preset == nil {
			return nil, fmt.Errorf("%w: this gateway has no preset %q", errNoProgram, d.Preset)
		}
		var err error
		if l.launch, err = preset(ctx, Use{Server: d.Name, Session: i.session, ID: strconv.FormatUint(l.id, 10)}); err != nil {
			return nil, err
		}
		if l.launch.Kind != "" {
			l.kind = l.launch.Kind
		}
	}
	if err := os.MkdirAll(s.o.Workdir, 0o700); err != nil {
		return nil, fmt.Errorf("make the work folder: %w", err)
	}
	policy := process.PolicySession
	if i.session == "" {
		policy = process.PolicyGateway
	}
	p, err := s.o.Spawn(ctx, process.Spec{
		Session: i.session, Argv: l.launch.Command, Dir: s.o.Workdir, Env: slices.Concat(process.Variables(d.Env), l.launch.Env), Pipes: true, Policy: policy,
		OutputLimit: outputKept, Owner: l.owner(),
	})
	if err != nil {
		if errors.Is(err, process.ErrNoProgram) || errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%w: %w", errNoProgram, err)
		}
		return nil, err
	}
	l.process = p
	in, out := p.Pipes()
	l.pipes = newPipes(in, out, func() { nudge(l.changed) }, l.fail)
	return l.pipes, nil
}

// owner is the owner of the processes of a connection.
func (l *link) owner() string {
	if l.launch.Owner != "" {
		return l.launch.Owner
	}
	return "mcp:" + l.server.def.Name
}

// shake does the handshake. A server that does not take part in it is abandoned when ctx ends: the end of its connection frees the SDK.
func (l *link) shake(ctx context.Context, s *Set, transport sdk.Transport) error {
	options := &sdk.ClientOptions{
		Capabilities:           &sdk.ClientCapabilities{}, // no roots: some servers take them in place of the folders of their command
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { nudge(l.changed) },
		Logger:                 slog.New(slog.DiscardHandler), // it has bodies of messages
	}
	if s.o.Asker != nil {
		options.ElicitationHandler = l.elicit
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "gatewaytui", Version: "1"}, options)
	end := context.AfterFunc(ctx, func() { l.disconnect(context.Cause(ctx)) })
	defer end()
	session, _, err := bound.Call(ctx, 0, func(ctx context.Context) (*sdk.ClientSession, error) {
		return client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: protocol})
	}, func(late *sdk.ClientSession, err error) {
		if err == nil {
			_ = late.Close() // its pipes are closed
		}
	})
	if err != nil {
		return fmt.Errorf("the handshake failed: %w", err)
	}
	l.session = session
	if l.pipes == nil {
		s.start(func() { // over HTTP the SDK alone knows that the connection has ended
			err := session.Wait()
			l.fail(errors.Join(errors.New("the connection has ended"), err))
		})
	}
	return nil
}

// fail notes that the connection has broken. The first reason counts.
func (l *link) fail(err error) {
	l.once.Do(func() {
		l.why = err
		close(l.ended)
		l.stop()
	})
}

// disconnect breaks the connection.
func (l *link) disconnect(why error) {
	l.fail(why)
	if l.pipes != nil {
		_ = l.pipes.Close()
	}
}

// broken reports whether the connection has broken.
func (l *link) broken() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// killed reports whether the registry was asked to end the program, for instance with its session.
func (l *link) killed() bool {
	return l.process != nil && l.process.Killed() && errors.Is(l.cause(), io.EOF)
}

// cause is why the connection has broken; nil: it has not.
func (l *link) cause() error {
	if l.broken() {
		return l.why
	}
	return nil
}

// reason says for people why the connection has broken, with the exit code and the last line of the program.
func (l *link) reason() string {
	err := l.explained(l.cause())
	if err == nil {
		return ""
	}
	return err.Error()
}

// explained is err with what is known of the program. Its exit says more than a connection that is at its end.
func (l *link) explained(err error) error {
	if err == nil || l.process == nil {
		return err
	}
	last := l.process.LastLine()
	if last != "" {
		last = "; its last line: " + last
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("%w%s", err, last)
	}
	if exit, over := l.process.Exited(); over && !l.process.Killed() {
		return fmt.Errorf("it ended with exit code %d%s", exit.Code, last)
	}
	return fmt.Errorf("it closed its output%s", last)
}

// awaitExit waits a moment for the exit code of a program whose connection has broken.
func (l *link) awaitExit() {
	if l.process == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), exitMost) // the call's own ctx may have ended
	defer cancel()
	_, _ = l.process.Wait(ctx) // what matters is read from the process
}

// ping asks a server for a sign of life, and breaks the connection without one.
func (l *link) ping(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, pingMost)
	defer cancel()
	err := l.session.Ping(ctx, nil)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		l.fail(fmt.Errorf("it did not answer a call, and then not a ping within %s", pingMost))
	}
}

// close ends the connection and its program: the end of its input, a second, and then the kill of its tree. It returns what is left.
// It is bounded, and called once.
func (l *link) close() error {
	var errs []error
	if l.process == nil && l.session != nil && !l.broken() { // a server over HTTP learns that its session has ended
		_ = bound.Run(context.Background(), letGo, func(context.Context) error { return l.session.Close() }) // at worst it forgets it later
	}
	l.stop()
	if l.process != nil {
		l.pipes.closeInput()
		// The start, the turn and the gateway that wanted it may be over: the close has its own bounds.
		ctx, cancel := context.WithTimeout(context.Background(), inputMost+l.grace+letGo)
		wait, over := context.WithTimeout(ctx, inputMost)
		if !l.broken() {
			_, _ = l.process.Wait(wait)
		}
		over()
		if report := l.process.Kill(ctx, l.grace); !report.Verified {
			errs = append(errs, errors.New(report.Summary()))
		}
		cancel()
		_ = l.pipes.Close()
	}
	l.fail(errClosed)
	if l.session != nil {
		errs = append(errs, bound.Run(context.Background(), letGo, func(context.Context) error {
			_ = l.session.Close() // its connection is closed or cancelled, so what it returns is not news
			return nil
		}))
	}
	if l.free != nil {
		l.free()
	}
	if l.launch.Close != nil {
		errs = append(errs, bound.Run(context.Background(), letGo, l.launch.Close))
	}
	return errors.Join(errs...)
}

// errClosed is the cause of a connection that was closed.
var errClosed = errors.New("the connection was closed")
