package adapter

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/ops"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a platform that misbehaves as real ones were seen to. Its fields are set before it is added; what changes
// later goes through its methods.
type fake struct {
	name  string
	stale time.Duration
	hang  chan struct{} // what hangs, hangs until it is closed

	hangConnect, hangSend, hangCancel, hangDisconnect bool
	polite                                            bool // what hangs heeds its context
	panics                                            string
	// deaf connections complete no poll; others complete one at every moment.
	deaf bool
	// connectErr, if not nil, decides each attempt, counted from 1.
	connectErr func(n int) error
	sendErr    func() error
	// broken, if not nil, is why the platform cannot even be built.
	broken error

	mu        sync.Mutex
	attempts  []time.Time
	receivers []Receiver // of each attempt
	conns     []*fakeConn
	open      int // connections made and not disconnected
	most      int
}

func (f *fake) Name() string              { return f.name }
func (f *fake) StaleAfter() time.Duration { return f.stale }

// Lacks makes fake a Partial of which nothing is missing.
func (f *fake) Lacks() []string {
	if f.panics == "describe" {
		panic("describe")
	}
	return nil
}

func (f *fake) block(ctx context.Context, hangs bool) error {
	if !hangs {
		return nil
	}
	if f.polite {
		select {
		case <-f.hang:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	<-f.hang
	return nil
}

func (f *fake) Connect(ctx context.Context, r Receiver) (Conn, error) {
	f.mu.Lock()
	f.attempts, f.receivers = append(f.attempts, time.Now()), append(f.receivers, r)
	n := len(f.attempts)
	f.mu.Unlock()
	if f.panics == "connect" {
		panic("connect")
	}
	if err := f.block(ctx, f.hangConnect); err != nil {
		return nil, err
	}
	if f.connectErr != nil {
		if err := f.connectErr(n); err != nil {
			return nil, err
		}
	}
	c := &fakeConn{f: f, in: r, done: make(chan struct{}), since: time.Now()}
	f.mu.Lock()
	f.conns = append(f.conns, c)
	f.open++
	f.most = max(f.most, f.open)
	f.mu.Unlock()
	return c, nil
}

func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.attempts)
}

// gaps are the times between attempts.
func (f *fake) gaps() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []time.Duration
	for i := 1; i < len(f.attempts); i++ {
		out = append(out, f.attempts[i].Sub(f.attempts[i-1]))
	}
	return out
}

func (f *fake) made() (conns []*fakeConn, peak int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.conns), f.most
}

func (f *fake) last(t *testing.T) *fakeConn {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.conns) == 0 {
		t.Fatalf("%s never connected", f.name)
	}
	return f.conns[len(f.conns)-1]
}

type fakeConn struct {
	f     *fake
	in    Receiver
	done  chan struct{}
	err   error
	since time.Time

	once                             sync.Once
	sent, cancelled, disconnected    atomic.Int32
	cancelFirst, sentAfterDisconnect atomic.Bool
}

// fail ends the connection from the platform's side.
func (c *fakeConn) fail(err error) {
	c.once.Do(func() {
		c.err = err
		close(c.done)
	})
}

func (c *fakeConn) Done() <-chan struct{} { return c.done }
func (c *fakeConn) Err() error            { return c.err }

func (c *fakeConn) LastInbound() time.Time {
	if c.f.panics == "liveness" {
		panic("liveness")
	}
	if c.f.deaf {
		return c.since
	}
	return time.Now()
}

func (c *fakeConn) Send(ctx context.Context, _ Outgoing) (Sent, error) { return Sent{}, c.send(ctx) }

func (c *fakeConn) send(ctx context.Context) error {
	if c.f.panics == "send" {
		panic("send")
	}
	if c.disconnected.Load() > 0 {
		c.sentAfterDisconnect.Store(true)
	}
	if err := c.f.block(ctx, c.f.hangSend); err != nil {
		return err
	}
	if c.f.sendErr != nil {
		if err := c.f.sendErr(); err != nil {
			return err
		}
	}
	c.sent.Add(1)
	return nil
}

func (c *fakeConn) CancelTasks(ctx context.Context) error {
	c.cancelled.Add(1)
	c.cancelFirst.Store(c.disconnected.Load() == 0)
	if c.f.panics == "disconnect" {
		panic("cancel")
	}
	return c.f.block(ctx, c.f.hangCancel)
}

func (c *fakeConn) Disconnect(ctx context.Context) error {
	if c.disconnected.Add(1) == 1 {
		c.f.mu.Lock()
		c.f.open--
		c.f.mu.Unlock()
	}
	if c.f.panics == "disconnect" {
		panic("disconnect")
	}
	return c.f.block(ctx, c.f.hangDisconnect)
}

// fakeReceiver counts what reaches the gateway.
type fakeReceiver struct {
	Receiver
	n, forwarded, withdrawn atomic.Int32
}

func (r *fakeReceiver) Forward(context.Context, string, Outgoing) (Sent, error) {
	r.forwarded.Add(1)
	return Sent{}, nil
}

func (r *fakeReceiver) Greets(User) bool { return true }

func (r *fakeReceiver) Withdraw(string, string) { r.withdrawn.Add(1) }

func (r *fakeReceiver) Receive(context.Context, Inbound) (string, error) {
	r.n.Add(1)
	return "id", nil
}

// world is one Supervisor in a bubble of virtual time.
type world struct {
	*Supervisor
	t    *testing.T
	in   *fakeReceiver
	hang chan struct{}
	logs *logbook

	mu     sync.Mutex
	states map[string][]ops.Adapter
}

// simulate runs f next to a running Supervisor of fakes, in virtual time, and ends both.
func simulate(t *testing.T, o Options, fakes []*fake, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, in: &fakeReceiver{}, hang: make(chan struct{}), logs: &logbook{}, states: map[string][]ops.Adapter{}}
		o.Receiver, o.Log = w.in, slog.New(w.logs)
		o.OnState = func(a ops.Adapter) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.states[a.Name] = append(w.states[a.Name], a)
		}
		w.Supervisor = NewSupervisor(o)
		for _, p := range fakes {
			p.hang = w.hang
			if p.broken != nil {
				w.AddBroken(p.name, p.broken)
			} else {
				w.Add(p)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		defer func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("Run returned %v", err)
			}
			close(w.hang)
		}()
		synctest.Wait()
		f(t, w)
	})
}

// Send is Supervisor.Send for tests that ask only whether it worked.
func (w *world) Send(ctx context.Context, name string, m Outgoing) error {
	_, err := w.Supervisor.Send(ctx, name, m)
	return err
}

func (w *world) row(name string) ops.Adapter {
	w.t.Helper()
	for _, r := range w.Rows() {
		if r.Name == name {
			return r
		}
	}
	w.t.Fatalf("no row for %s", name)
	return ops.Adapter{}
}

func (w *world) wantState(name string, want ops.AdapterState) ops.Adapter {
	w.t.Helper()
	r := w.row(name)
	if r.State != want {
		w.t.Fatalf("%s is %s, want %s: %+v", name, r.State, want, r)
	}
	return r
}

// after lets d pass, and everything that can run run.
func (w *world) after(d time.Duration) {
	time.Sleep(d) // virtual
	synctest.Wait()
}

// release lets everything that hangs go on.
func (w *world) release() {
	close(w.hang)
	w.hang = make(chan struct{})
}

// seen are the states that OnState received.
func (w *world) seen(name string) []ops.AdapterState {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []ops.AdapterState
	for _, r := range w.states[name] {
		out = append(out, r.State)
	}
	return out
}

// logbook is a log handler that keeps the messages.
type logbook struct {
	mu    sync.Mutex
	lines []slog.Record
}

func (b *logbook) Enabled(context.Context, slog.Level) bool { return true }
func (b *logbook) WithAttrs([]slog.Attr) slog.Handler       { return b }
func (b *logbook) WithGroup(string) slog.Handler            { return b }

func (b *logbook) Handle(_ context.Context, r slog.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, r.Clone())
	return nil
}

func (b *logbook) count(level slog.Level, message string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.lines {
		if r.Level == level && r.Message == message {
			n++
		}
	}
	return n
}

var errOutage = errors.New("connection refused")
