package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"gatewaytui/core/bound"
	"gatewaytui/core/ops"
)

// Defaults of Options.
const (
	DefaultConnectTimeout = 30 * time.Second
	DefaultSendTimeout    = 30 * time.Second
	DefaultMinBackoff     = time.Second
	DefaultOutageBackoff  = time.Minute
	DefaultMaxBackoff     = 5 * time.Minute
)

const (
	// readyAfter is how long a first attempt may hold up FirstAttempts: one platform that hangs must not make the gateway
	// look as if it did (E7).
	readyAfter = 1500 * time.Millisecond
	// conflictWarning is from how many conflicts in a row on a second user of a credential is taken for a fact and not
	// for the remnant of our own last connection (E9).
	conflictWarning = 3
)

// Options are what a Supervisor needs. The zero value of a field is its default.
type Options struct {
	// ConnectTimeout bounds one connection attempt.
	ConnectTimeout time.Duration
	// CallTimeout bounds the teardown of one connection, cancel and disconnect together. Zero or less opts out on the
	// stop path, where the plan has a deadline of its own; a teardown in the background is then bounded by ConnectTimeout.
	CallTimeout time.Duration
	// Teardown is a platform's own bound within CallTimeout; 0 or less: it has none. It does not wait. nil: none has one.
	Teardown func(name string) time.Duration
	// SendTimeout bounds one Send, the wait for its turn included.
	SendTimeout time.Duration
	// MinBackoff and MaxBackoff bound the wait before a retry.
	MinBackoff, MaxBackoff time.Duration
	// OutageBackoff bounds it too after a failure that can end by itself: a platform that is back is used again within it. What a person
	// has to end, a bad credential or another user of it, is tried as rarely as MaxBackoff says.
	OutageBackoff time.Duration
	// Receiver takes what the platforms receive; required.
	Receiver Receiver
	// OnState, if not nil, is given each new row of an adapter, in order and one at a time. It must return at once; it
	// may call the Supervisor.
	OnState func(ops.Adapter)
	Log     *slog.Logger
}

// Supervisor keeps one connection of each platform alive. Its methods may be called from any goroutine, but Add and
// AddBroken only before Run; Replace changes a platform later.
type Supervisor struct {
	o     Options
	ready chan struct{}

	list  sync.RWMutex // guards the four below; never held over a call into a platform
	links []*managedAdapter
	named map[string]*managedAdapter
	// during is the context of Run; nil before it and after its end. runs are the goroutines of adapters that Run waits for.
	during context.Context
	runs   sync.WaitGroup

	mu       sync.Mutex // guards the two below; never held during OnState
	notes    []note
	flushing bool
}

// note is a state on its way to the log and to OnState.
type note struct {
	row   ops.Adapter
	level slog.Level
	err   error
}

// NewSupervisor does no I/O; Run does.
func NewSupervisor(o Options) *Supervisor {
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, DefaultConnectTimeout)
	o.SendTimeout = cmp.Or(o.SendTimeout, DefaultSendTimeout)
	o.MinBackoff = cmp.Or(o.MinBackoff, DefaultMinBackoff)
	o.MaxBackoff = max(cmp.Or(o.MaxBackoff, DefaultMaxBackoff), o.MinBackoff)
	o.OutageBackoff = min(max(cmp.Or(o.OutageBackoff, DefaultOutageBackoff), o.MinBackoff), o.MaxBackoff)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Supervisor{o: o, named: map[string]*managedAdapter{}, ready: make(chan struct{})}
}

// Add puts p under supervision. Two platforms of one name are a mistake of the caller and panic.
func (s *Supervisor) Add(p Platform) { s.add(s.supervised(p)) }

// supervised is an adapter of p that is not in the list.
func (s *Supervisor) supervised(p Platform) *managedAdapter {
	l := newManagedAdapter(s, p.Name())
	l.platform = p
	if q, ok := p.(interface{ StaleAfter() time.Duration }); ok {
		l.staleAfter = q.StaleAfter()
	}
	l.row.Abilities = abilitiesOf(p)
	return l
}

// AddBroken lists an adapter that the config enables and that cannot be built, err telling why: a *CredentialsError where
// its credential is not set. It is shown as needs_credentials for the whole life, since an environment does not change.
func (s *Supervisor) AddBroken(name string, err error) { s.add(s.broken(name, err)) }

func (s *Supervisor) broken(name string, err error) *managedAdapter {
	l := newManagedAdapter(s, name)
	l.row.State = ops.AdapterNeedsCredentials
	l.row.Attempt = 0
	l.row.LastError = clean(err)
	l.firstDone()
	return l
}

func (s *Supervisor) add(l *managedAdapter) {
	s.list.Lock()
	defer s.list.Unlock()
	if _, taken := s.named[l.name]; taken {
		panic("adapter: two platforms are named " + l.name)
	}
	s.named[l.name] = l
	s.links = append(s.links, l)
}

// Run connects every platform and keeps it connected until ctx ends. Then it takes down, side by side, what Stop has not. It returns nil when everything that it started has ended, but for calls into a platform that
// ignore their context: those were abandoned and are named in the log.
func (s *Supervisor) Run(ctx context.Context) error {
	s.list.Lock()
	s.during = ctx
	for _, l := range s.links {
		s.start(l)
	}
	s.list.Unlock()
	s.awaitFirst(ctx)
	<-ctx.Done()
	s.list.Lock()
	s.during = nil
	s.list.Unlock()
	s.runs.Wait()
	return nil
}

// start runs an adapter while Run does. s.list is held.
func (s *Supervisor) start(l *managedAdapter) {
	if ctx := s.during; ctx != nil && l.platform != nil {
		s.runs.Go(func() { l.run(ctx) })
	}
}

// find is the adapter with a name.
func (s *Supervisor) find(name string) (l *managedAdapter, found bool) {
	s.list.RLock()
	defer s.list.RUnlock()
	l, found = s.named[name]
	return l, found
}

// all are the adapters as they are listed now.
func (s *Supervisor) all() []*managedAdapter {
	s.list.RLock()
	defer s.list.RUnlock()
	return slices.Clone(s.links)
}

// Replace stops the adapter called name, as Stop does, and puts p in its place, or a broken one where p is nil and err says why; with
// neither the adapter is gone. A name that is new is added. No other adapter is touched. The error is about the stop, within which
// the old adapter was abandoned; the new one is in its place all the same.
func (s *Supervisor) Replace(ctx context.Context, name string, p Platform, err error) error {
	old, _ := s.find(name)
	var stopped error
	if old != nil {
		stopped = s.Stop(ctx, name)
	}
	var l *managedAdapter
	switch {
	case p != nil:
		l = s.supervised(p)
	case err != nil:
		l = s.broken(name, err)
	}
	s.list.Lock()
	at := slices.Index(s.links, old)
	switch {
	case l == nil && at >= 0:
		s.links = slices.Delete(slices.Clone(s.links), at, at+1)
		delete(s.named, name)
	case l == nil:
	case at >= 0:
		s.links = slices.Clone(s.links)
		s.links[at] = l
	default:
		s.links = append(slices.Clone(s.links), l)
	}
	if l != nil {
		s.named[name] = l
		s.start(l)
	}
	s.list.Unlock()
	if l != nil {
		s.note(note{row: l.snapshot(), level: slog.LevelInfo})
		s.flush()
	}
	return stopped
}

func (s *Supervisor) awaitFirst(ctx context.Context) {
	defer close(s.ready)
	limit := time.After(readyAfter)
	for _, l := range s.all() {
		select {
		case <-l.first:
		case <-limit:
			return
		case <-ctx.Done():
			return
		}
	}
}

// FirstAttempts is closed when each platform's first connection attempt has ended, or has been under way for 1.5 s.
func (s *Supervisor) FirstAttempts() <-chan struct{} { return s.ready }

// Names lists the adapters in the order in which they were added.
func (s *Supervisor) Names() []string {
	all := s.all()
	names := make([]string, len(all))
	for i, l := range all {
		names[i] = l.name
	}
	return names
}

// Rows are the adapters as they are now, in the order of Names. It does not wait for a platform.
func (s *Supervisor) Rows() []ops.Adapter {
	all := s.all()
	rows := make([]ops.Adapter, len(all))
	for i, l := range all {
		rows[i] = l.snapshot()
	}
	return rows
}

// Counts tells how many adapters there are, and how many are connected.
func (s *Supervisor) Counts() (connected, total int) {
	rows := s.Rows()
	for _, r := range rows {
		if r.State == ops.AdapterConnected {
			connected++
		}
	}
	return connected, len(rows)
}

// Warnings are what an operator should fix: credentials that are missing, and credentials that another program uses too.
func (s *Supervisor) Warnings() []ops.Warning {
	var ws []ops.Warning
	for _, r := range s.Rows() {
		if r.State == ops.AdapterNeedsCredentials {
			ws = append(ws, ops.Warning{
				Code:    "adapter.needs_credentials",
				Message: fmt.Sprintf("adapter %s needs credentials: %s", r.Name, r.LastError),
				Since:   r.Since,
			})
		}
		if r.State == ops.AdapterConnected && r.LastError != "" {
			ws = append(ws, ops.Warning{
				Code:    "adapter.lacks_secret",
				Message: fmt.Sprintf("a part of adapter %s does not work: %s", r.Name, r.LastError),
				Since:   r.Since,
			})
		}
		if r.Conflicts >= conflictWarning {
			ws = append(ws, ops.Warning{
				Code: "adapter.conflict",
				Message: fmt.Sprintf("adapter %s was cut off %d times in a row by another user of its credential; stop that one or give this gateway a credential of its own",
					r.Name, r.Conflicts),
				Since: r.Since,
			})
		}
	}
	return ws
}

// Pause takes the adapter off the network until Resume: no event causes a retry or a connection (E3, E19). It returns when
// the connection is down or was abandoned after CallTimeout, which it reports; the adapter is paused either way.
func (s *Supervisor) Pause(ctx context.Context, name string) error {
	return s.with("pause", name, func(l *managedAdapter) error { return l.stop(ctx, ops.AdapterPaused) })
}

// Resume ends a pause, or the wait for the next attempt. It returns at once and does nothing to an adapter that is
// connected or connecting.
func (s *Supervisor) Resume(name string) error {
	return s.with("resume", name, func(l *managedAdapter) error { return l.reconnect(false) })
}

// Reconnect replaces the adapter's connection by a new one, and ends a pause. It returns at once: the old connection is
// taken down, or abandoned, next to the new one and shares nothing with it (E4).
func (s *Supervisor) Reconnect(name string) error {
	return s.with("reconnect", name, func(l *managedAdapter) error { return l.reconnect(true) })
}

// Stop takes the adapter down for good: cancels its tasks, disconnects it, together within CallTimeout, or within ctx
// alone where that opts out. In each case the adapter is out of the live set from the first moment on: nothing is
// sent, received or reconnected (S4, S5). A failure and a timeout are logged as well; the latter is
// context.DeadlineExceeded to errors.Is.
func (s *Supervisor) Stop(ctx context.Context, name string) error {
	return s.with("stop", name, func(l *managedAdapter) error { return l.stop(ctx, ops.AdapterStopped) })
}

func (s *Supervisor) with(doing, name string, f func(*managedAdapter) error) error {
	l, ok := s.find(name)
	if !ok {
		return fmt.Errorf("%s adapter %q: %w", doing, name, ErrUnknown)
	}
	err := f(l)
	s.flush()
	if err != nil {
		return fmt.Errorf("%s adapter %s: %w", doing, name, err)
	}
	return nil
}

// note queues a new row; the caller holds the link's lock, so that rows are queued in the order in which they came about,
// and calls flush once it does not.
func (s *Supervisor) note(n note) {
	s.mu.Lock()
	s.notes = append(s.notes, n)
	s.mu.Unlock()
}

// flush passes what note queued to the log and to OnState. A caller that comes during another flush leaves the work to it.
func (s *Supervisor) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flushing {
		return
	}
	s.flushing = true
	for len(s.notes) > 0 {
		n := s.notes[0]
		s.notes = s.notes[1:]
		s.mu.Unlock()
		s.tell(n)
		s.mu.Lock()
	}
	s.notes = nil
	s.flushing = false
}

func (s *Supervisor) tell(n note) {
	attrs := []slog.Attr{slog.String("adapter", n.row.Name), slog.String("state", string(n.row.State))}
	if n.row.Attempt > 0 {
		attrs = append(attrs, slog.Int("attempt", n.row.Attempt))
	}
	if !n.row.NextAttemptAt.IsZero() {
		attrs = append(attrs, slog.Time("next_attempt_at", n.row.NextAttemptAt.Time))
	}
	if n.row.Conflicts > 0 {
		attrs = append(attrs, slog.Int("conflicts", n.row.Conflicts))
	}
	if n.row.LastError != "" {
		attrs = append(attrs, slog.String("error", n.row.LastError))
	}
	if p, ok := errors.AsType[*bound.Panic](n.err); ok {
		attrs = append(attrs, slog.String("stack", string(p.Stack)))
	}
	s.o.Log.LogAttrs(context.Background(), n.level, string(ops.EventAdapterState), attrs...)
	if _, is := errors.AsType[*ConflictError](n.err); is && n.row.Conflicts == conflictWarning {
		// Once, and louder than a retry: no retry cures it (E9).
		s.o.Log.Error(ops.LogAdapterConflict, "adapter", n.row.Name, "conflicts", n.row.Conflicts, "error", n.row.LastError)
	}
	if s.o.OnState != nil {
		s.o.OnState(n.row)
	}
}
