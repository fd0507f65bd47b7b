package environment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"gatewaytui/core/bound"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/term"
)

// Names of the definitions that always exist.
const (
	NameAuto  = "auto"
	NameLocal = "local"
)

// ErrClosed refuses commands after CloseAll.
var ErrClosed = errors.New("no new environment is made: the gateway is stopping")

// ErrOwnersAlone refuses the machine itself to callers that are not owners, where the gateway runs as root.
var ErrOwnersAlone = errors.New("the gateway runs as root, and its commands would run without a sandbox: only owners may run them. " +
	"Run the gateway as its own user, or install bubblewrap (gatewaytui doctor says more)")

// Options of a Set.
type Options struct {
	// Drivers are the kinds that can be made, other than local.
	Drivers []Driver
	// Setup is what the config says. Use may change it later.
	Setup
	// Homes is the folder that has the home of each agent: HOMES/AGENT/home, made 0700. Workdir is the work folder.
	Homes, Workdir string
	// Root says that the gateway runs as root.
	Root bool
	Log  *slog.Logger
}

// Setup is what a config says of environments. It never changes: a reload makes another one.
type Setup struct {
	// Definitions are the blocks [environments.NAME] by name. Agents has the name of the definition of each agent; one that is not in it has
	// auto.
	Definitions map[string]Definition
	Agents      map[string]string
	// Env are further variables of an agent's commands, as NAME=value; nil: there are none.
	Env func(agent string) []string
}

// Set owns the environments of all sessions. Its methods may be called from any goroutine, between Open and CloseAll.
type Set struct {
	opts   Options
	setup  atomic.Pointer[Setup] // in force
	probes []*probe

	tasks sync.WaitGroup // probes, and environments that are being made
	ctx   context.Context
	stop  context.CancelFunc

	mu     sync.Mutex // guards what follows; never held over I/O
	closed bool
	lastID uint64
	held   map[string]*held // by session
	// leaving are those of them that are not used any more, by id, until they are closed.
	leaving map[string]*held
}

// held is one environment. Set.mu guards state and problem. env and err are written before made is closed.
type held struct {
	use     Use
	kind    Kind
	driver  Driver
	since   time.Time
	made    chan struct{}
	env     Environment
	err     error
	state   ops.EnvironmentState
	problem string
	closed  bool          // belongs to the holder of closing
	closing chan struct{} // held by the close under way; holds one
}

// New returns a set without environments. It does no I/O.
func New(o Options) *Set {
	s := &Set{opts: o, held: map[string]*held{}, leaving: map[string]*held{}}
	s.Use(o.Setup)
	for _, d := range o.Drivers {
		s.probes = append(s.probes, &probe{driver: d, done: make(chan struct{})})
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Use puts another setup in force. A session keeps its environment until a command of another definition comes.
func (s *Set) Use(setup Setup) { s.setup.Store(&setup) }

// With is the set as a setup sees it that is in force or was: the commands of a turn go by the one that it began with (OP4).
func (s *Set) With(setup Setup) *View { return &View{s, &setup} }

// View is a Set with a setup of its own.
type View struct {
	set   *Set
	setup *Setup
}

// Resolve is Set.Resolve.
func (v *View) Resolve(ctx context.Context, agent string) (Place, error) {
	return v.set.resolve(ctx, v.setup.definition(agent))
}

// Command is Set.Command.
func (v *View) Command(ctx context.Context, r Request) (Launch, Place, error) {
	return v.set.command(ctx, v.setup, r)
}

// Open begins the probes of the kinds that agents have, and the removal of what earlier lives left, and returns at once. Resolve and Command wait for them. CloseAll ends them.
func (s *Set) Open() {
	s.recover()
	setup := s.setup.Load()
	for agent := range setup.Agents {
		kind := setup.definition(agent).Kind
		if kind == KindAuto {
			kind = KindSandbox // another one only if that does not work
		}
		for _, p := range s.probes {
			if p.driver.Kind() == kind {
				s.probe(p)
			}
		}
	}
}

// Request is a command of a tool.
type Request struct {
	// Session owns the environment; Agent is the name of its definition.
	Session, Agent string
	// Owner says that the person who speaks is an owner. It counts where the gateway runs as root.
	Owner bool
	Command
}

// Command returns how a command starts in its session's environment, which it makes if there is none. ctx bounds the waiting, not the
// making: another command may wait for it. A failed start is tried again by the next command.
func (s *Set) Command(ctx context.Context, r Request) (Launch, Place, error) {
	return s.command(ctx, s.setup.Load(), r)
}

func (s *Set) command(ctx context.Context, setup *Setup, r Request) (Launch, Place, error) {
	def := setup.definition(r.Agent)
	place, err := s.resolve(ctx, def)
	if err != nil {
		return Launch{}, place, err
	}
	if place.Kind == KindLocal && s.opts.Root && !r.Owner {
		return Launch{}, place, ErrOwnersAlone
	}
	h, err := s.use(r, def, place.Kind)
	if err != nil {
		return Launch{}, place, err
	}
	select {
	case <-h.made:
	case <-ctx.Done():
		return Launch{}, place, fmt.Errorf("wait for the environment %s: %w", h.use.ID, context.Cause(ctx))
	}
	if h.err != nil {
		return Launch{}, place, fmt.Errorf("make the environment %q: %w", def.Name, h.err)
	}
	launch, err := h.env.Command(ctx, r.Command)
	if setup.Env != nil {
		launch.Env = append(setup.Env(r.Agent), launch.Env...)
	}
	if err != nil {
		return Launch{}, place, fmt.Errorf("prepare the environment %q: %w", def.Name, err)
	}
	launch.Share = process.Share{Memory: def.Memory, Processes: def.Processes, CPU: def.CPU}
	return launch, place, nil
}

// definition is that of an agent. A name that the config does not define is refused when it is read, and is auto here.
func (s *Setup) definition(agent string) Definition {
	name := cmp.Or(s.Agents[agent], NameAuto)
	if def, is := s.Definitions[name]; is {
		def.Name = name
		return def
	}
	if name == NameLocal {
		return Definition{Name: NameLocal, Kind: KindLocal}
	}
	return Definition{Name: NameAuto, Kind: KindAuto}
}

// use returns the environment of a session, and begins to make it if there is none. One of another definition is closed.
func (s *Set) use(r Request, def Definition, kind Kind) (*held, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if h := s.held[r.Session]; h != nil {
		if reflect.DeepEqual(h.use.Definition, def) && h.use.Agent == r.Agent && h.kind == kind {
			return h, nil
		}
		s.leave(h)
		s.tasks.Go(func() { _ = s.closeOne(s.ctx, h) }) // its row has the error
	}
	s.lastID++
	h := &held{
		use: Use{
			ID: "e" + strconv.FormatUint(s.lastID, 10), Session: r.Session, Agent: r.Agent, Definition: def, Workdir: s.opts.Workdir,
			Home: s.HomeOf(r.Agent),
		},
		kind: kind, driver: s.driver(kind), since: time.Now(), made: make(chan struct{}), closing: make(chan struct{}, 1), state: ops.EnvironmentMaking,
	}
	s.held[r.Session] = h
	s.tasks.Go(func() { s.make(h) })
	return h, nil
}

// HomeOf is the home of an agent's commands.
func (s *Set) HomeOf(agent string) string { return filepath.Join(s.opts.Homes, agent, "home") }

func (s *Set) driver(kind Kind) Driver {
	for _, d := range s.opts.Drivers {
		if d.Kind() == kind {
			return d
		}
	}
	return local{}
}

// make makes an environment, or drops its row if that fails.
func (s *Set) make(h *held) {
	defer close(h.made)
	if h.kind != KindLocal {
		if h.err = os.MkdirAll(h.use.Home, 0o700); h.err == nil {
			h.err = os.MkdirAll(h.use.Workdir, 0o700)
		}
	}
	if h.err == nil {
		h.env, _, h.err = bound.Call(s.ctx, makeMost, func(ctx context.Context) (Environment, error) { return h.driver.Make(ctx, h.use) }, closeLate)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.err == nil {
		if h.state == ops.EnvironmentMaking {
			h.state = ops.EnvironmentReady
		}
		return
	}
	s.opts.Log.Warn("environment not made", "event", ops.LogEnvironment, "session", h.use.Session, "kind", string(h.kind), "error", h.err.Error())
	delete(s.leaving, h.use.ID)
	if s.held[h.use.Session] == h {
		delete(s.held, h.use.Session)
	}
}

// closeLate closes an environment that was made after its maker was abandoned.
func closeLate(env Environment, err error) {
	if err != nil || env == nil {
		return
	}
	// The set's own context may have ended, and what was made must not stay.
	ctx, cancel := context.WithTimeout(context.Background(), closeLateMost)
	defer cancel()
	_ = env.Close(ctx) // it has no row any more; its driver finds it at the next start
}

// leave takes an environment out of use. Set.mu is held.
func (s *Set) leave(h *held) {
	if s.held[h.use.Session] == h {
		delete(s.held, h.use.Session)
	}
	h.state = ops.EnvironmentClosing
	s.leaving[h.use.ID] = h
}

// Close closes the environments of a session, after its processes have ended. It is idempotent. The error names what is still held; that has a
// row, and the next Close of the session tries again.
func (s *Set) Close(ctx context.Context, session string) error {
	return s.closeSome(ctx, func(h *held) bool { return h.use.Session == session })
}

// CloseAll ends the probes, refuses further commands and closes all environments at the same time. It returns when ctx ends, with the names of
// what is still held. It may be called again.
func (s *Set) CloseAll(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	err := s.closeSome(ctx, func(*held) bool { return true })
	tasks := bound.Run(ctx, 0, func(context.Context) error {
		s.tasks.Wait()
		return nil
	})
	if tasks != nil {
		tasks = fmt.Errorf("wait for environments that are being made: %w", tasks)
	}
	return errors.Join(err, tasks)
}

func (s *Set) closeSome(ctx context.Context, want func(*held) bool) error {
	s.mu.Lock()
	for _, h := range s.held {
		if want(h) {
			s.leave(h)
		}
	}
	var all []*held
	for _, h := range s.leaving {
		if want(h) {
			all = append(all, h)
		}
	}
	s.mu.Unlock()
	slices.SortFunc(all, older)
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, h := range all {
		wg.Go(func() { errs[i] = s.closeOne(ctx, h) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// closeOne closes an environment that has left.
func (s *Set) closeOne(ctx context.Context, h *held) error {
	err := h.close(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.leaving, h.use.ID)
		return nil
	}
	h.state, h.problem = ops.EnvironmentCloseFailed, err.Error()
	return fmt.Errorf("close the environment %s (%s) of %s: %w", h.use.ID, h.kind, h.use.Session, err)
}

func (h *held) close(ctx context.Context) error {
	select {
	case <-h.made:
	case <-ctx.Done():
		return fmt.Errorf("it is still being made: %w", context.Cause(ctx))
	}
	if h.env == nil {
		return nil
	}
	select {
	case h.closing <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%s: wait for the close under way: %w", h.env.Detail(), context.Cause(ctx))
	}
	defer func() { <-h.closing }()
	if h.closed {
		return nil
	}
	err := bound.Run(ctx, 0, h.env.Close)
	h.closed = err == nil
	if err != nil && ctx.Err() != nil { // the driver's own error, which says what is left, may have come too late
		return fmt.Errorf("%s: %w", h.env.Detail(), err)
	}
	return err
}

func older(a, b *held) int {
	return cmp.Or(a.since.Compare(b.since), cmp.Compare(len(a.use.ID), len(b.use.ID)), cmp.Compare(a.use.ID, b.use.ID))
}

// Rows are the environments that exist or may exist: those of Held, and then those of Left. It does no I/O.
func (s *Set) Rows() []ops.Environment { return append(s.Held(), s.Left()...) }

// Names are the names of the environments that sessions have, by session. It does no I/O.
func (s *Set) Names() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make(map[string]string, len(s.held))
	for _, h := range s.held {
		names[h.use.Session] = h.use.Definition.Name
	}
	return names
}

// Held are all environments that sessions hold, oldest first. It does no I/O.
func (s *Set) Held() []ops.Environment {
	rows, made := s.heldRows()
	for i, env := range made { // without the lock: drivers have their own
		if env != nil {
			rows[i].Detail = env.Detail()
		}
		rows[i].Detail = term.Clean(rows[i].Detail, detailWidth)
	}
	return rows
}

// heldRows are the rows of Held without the details of their environments, which come with them; nil: the row has its detail.
func (s *Set) heldRows() ([]ops.Environment, []Environment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.AppendSeq(slices.Collect(maps.Values(s.held)), maps.Values(s.leaving))
	slices.SortFunc(all, older)
	rows, made := make([]ops.Environment, len(all)), make([]Environment, len(all))
	for i, h := range all {
		rows[i] = ops.Environment{
			ID: h.use.ID, Kind: h.kind, Name: h.use.Definition.Name, Session: term.Clean(h.use.Session, sessionWidth), State: h.state, Since: ops.At(h.since),
			Detail: h.problem,
		}
		if h.problem == "" {
			made[i] = h.working()
		}
	}
	return rows, made
}

// Widths of what is shown, in cells.
const (
	sessionWidth = 120
	detailWidth  = 200
)

// working is the environment once it is made; nil: it is not. The caller holds Set.mu.
func (h *held) working() Environment {
	select {
	case <-h.made:
		return h.env
	default:
		return nil
	}
}
