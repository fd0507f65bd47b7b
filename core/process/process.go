// Package process is the one registry of subprocesses. It is the only place in the program that starts a process, and
// the place that ends them all. A test over the whole module holds this.
//
// What it promises:
//
//   - Everything that descends from a started process stays within reach. The program is a child subreaper (prctl(2)), so
//     an orphan becomes its child, also after a change of session, group or environment. The control group tells the
//     owner of a process, where the machine grants one, and so does a tag that the process inherits (package kernel). A
//     process that takes its tag off is recognised by its descent, by a mark that it cannot take off, and by its identity,
//     which the guardian and the journal know (shed.go).
//   - A kill reports "verified" only after a scan of /proc found nothing more of the target; zombies do not count.
//     Otherwise the report names the survivors and why (C5, B15).
//   - A signal goes to a process, never to a number. The identity (pid, start ticks, boot id) is read again behind a
//     pidfd that pins it (B11). Our own process, our process group, our parent and pid 1 are never a target (B12).
//   - A command ends when its leader ends. Another process that holds its pipe open never delays a wait (C6).
//   - No child makes our memory grow: output, environment and command line are read with bounds.
//   - Zombies are reaped, adopted ones as well, also as pid 1 (C3).
//   - A child may not fill the process limit that the program lives under. When memory runs out, the kernel ends the child
//     before the program (constrain_linux.go).
//   - When the program is killed, the guardian ends within 2 s what it had started (package guardian). SweepEarlier ends
//     in the next life what the guardian missed (C2). Only processes with PolicyKept live on; AdoptEarlier takes them
//     over (C10).
//
// All of this holds on Linux, with /proc, the subreaper, and pidfds (5.3) where the kernel has them. macOS has none of them,
// and less is promised there (weakest in groups_darwin.go). The verb doctor names what is missing.
package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/bound"
	"gatewaytui/core/ops"
	"gatewaytui/core/process/kernel"
	"gatewaytui/core/term"
)

// Names of the environment variables that mark a child and everything that inherits its environment (CONTRACT.md, 5).
const (
	EnvLife    = kernel.EnvLife
	EnvSession = "GATEWAYTUI_SESSION"
	EnvHomeID  = "GATEWAYTUI_HOME_ID"
	// EnvSpawn is the number of the spawn within its life. It says which tree an orphan belongs to.
	EnvSpawn = "GATEWAYTUI_SPAWN"
)

// envPrefix begins every variable of the program's own configuration. No child inherits such a variable.
const envPrefix = "GATEWAYTUI_"

// Containment names how the registry keeps track of the descendants of its children.
type Containment string

// The levels. At each the guardian ends what outlives the program.
const (
	// ContainmentSubreaper means adoption of orphans, inherited marks, scans of /proc, and a parent-death signal for direct
	// children.
	ContainmentSubreaper Containment = "subreaper"
	// ContainmentCgroup adds a control group (v2) for each tree. A child is in it from its first instruction, and one
	// write kills the whole group, however fast it forks.
	ContainmentCgroup Containment = "cgroup"
)

// Errors that callers decide on.
var (
	// ErrClosing refuses a spawn after Refuse or Close.
	ErrClosing = errors.New("no new subprocess is started: the gateway is stopping")
	// ErrNotTracked means that no tracked tree has this pid as its leader.
	ErrNotTracked = errors.New("no tracked process has this pid")
	// ErrOpen refuses a second registry in one program, because adoption and waiting belong to the whole program.
	ErrOpen = errors.New("another registry is open in this program")
)

// Options of a Registry.
type Options struct {
	// Life and HomeID mark the children. Life is how a marked process is recognised as ours. Required.
	Life, HomeID string
	// Journal is where trees are recorded; nil records nothing.
	Journal Journal
	// KillGrace is the time from TERM to KILL in Close. Other kills take their grace as an argument.
	KillGrace time.Duration
	// MaxAge is the age at which a tree is ended, for every policy; 0: no limit.
	MaxAge time.Duration
	// PerSession and Total bound the trees of one session and of all (HF9); 0: no bound. OnLimit is called with the name
	// of the bound that refuses a spawn. It must not block, and may be nil.
	PerSession, Total int
	OnLimit           func(name string)
	// Containment is the level to use. Empty means the strongest that the machine allows. With ContainmentCgroup, Open
	// and Spawn fail where there are no control groups.
	Containment Containment
	// Bounds limit the control groups of trees, where the machine grants the controllers. With nil there are no limits,
	// and the program stays in the control group that it was started in.
	Bounds *Bounds
	// Guardian keeps a guardian process running with the program.
	Guardian bool
	// Pass reports whether children see a variable of our environment; nil: they see none. It may be called from any
	// goroutine.
	Pass func(name, value string) bool
	// Secrets are names of environment variables that no child sees, even if Pass or a Spec names them.
	Secrets []string
	// OnEvent gets starts (ops.EventProcessStarted), ends of leaders (EventProcessExited), verified kills
	// (EventProcessKilled), limits and ages that were reached. text describes the event in one line, for people. It is
	// called without locks, from any goroutine, and must not block.
	OnEvent func(typ ops.EventType, row ops.Process, text string)
	// Redactor masks secrets in what is shown of a process, and its known values in what the process writes. With nil,
	// only text that looks like a secret is masked, in what is shown.
	Redactor *term.Redactor
	// Log is required.
	Log *slog.Logger
}

// Registry starts, contains, watches and ends subprocesses. Its methods may be called from any goroutine, between Open
// and Close.
type Registry struct {
	opts Options
	self self
	log  *slog.Logger

	spawns  chan *spawnRequest
	nudges  chan struct{} // asks for a sweep
	reapNow chan struct{} // asks for a reap
	// presentNews signals that present was replaced.
	presentNews chan struct{}
	ctx         context.Context // ended by Close: the loops end
	stop        context.CancelFunc
	loops       sync.WaitGroup
	readers     sync.WaitGroup

	journal *recorder
	peeker  *peeker
	scanner *scanner
	// scanTurn is held by the goroutine that scans, and guards scanner; it holds one token. It is held over reads of
	// /proc/PID/stat, which do not wait for the process that they describe. Reads that may wait go through peeker. See
	// takeScan.
	scanTurn chan struct{}
	// send delivers a signal. Tests of processes that cannot be killed replace it.
	send func(t *target, sig unix.Signal, group bool) error
	// tag says that children are tagged. Tests of machines without tags clear it before Open.
	tag bool
	// tagless is why children are not tagged, if the kernel refused.
	tagless error
	// oom tells which processes the kernel ended for lack of memory. Tests replace its count.
	oom endings
	// untraceable says that children cannot be held at their exec. It belongs to the spawner.
	untraceable bool
	// processLimit bounds the processes of each child; 0: no bound.
	processLimit uint64
	// groups are set by Open; nil: this machine grants none.
	groups *groups
	// groupless is why there are no groups.
	groupless string
	// divided is closed when division is set.
	divided  chan struct{}
	division division
	reaped   atomic.Uint64 // adopted children that were waited for

	mu        sync.Mutex // guards what follows; never held over I/O
	open      bool
	refused   bool
	closing   bool
	unclean   bool              // Close left survivors: they are left to the guardian
	pending   map[uint64]*tree  // starts that may have a child which is not in trees yet, and what their trees will be: session, turn and policy alone
	spawned   map[string]uint64 // by session: its last spawn, until a kill verified that nothing of the session is left
	lastID    uint64
	trees     map[uint64]*tree
	byPID     map[int]*tree       // the newest tree of each leader's pid
	owners    map[ident]*tree     // every live member seen by the last scan
	adopted   map[int]struct{}    // direct children that we did not start, at the last scan
	silent    map[ident]time.Time // those of them that have not identified themselves yet, since when
	present   []ident             // what the guardian ends if we cannot, at the last scan. Replaced, never changed
	shed      map[ident]shedder   // members that took their tag off
	waited    uint64              // all children that were waited for
	swept     bool                // a kill of everything was verified after Refuse
	next      *round              // the next scan, not begun yet, and its waiters; nil: there is none
	foreign   map[ident]bool      // descendants from before Open, and the guardian; true: children, whose status the reaper leaves alone. Replaced, never changed
	searches  chan struct{}       // holds a token for each search of SocketOwner
	outside   []ident             // processes that held a socket and are not ours, newest last: see SocketOwner
	ended     []*Process          // the last endedKept background processes whose trees are gone
	scans     uint64              // scans begun
	scanErr   error
	sampled   time.Time
	ticks     map[ident]uint64 // CPU ticks of each member at the last sample
	ungrouped lasting          // why the last spawn had no group for itself
	unlimited lasting          // why the group of the last tree was not limited as division says
	stay      bool             // Close leaves the program in its current group
	guardian  int              // its pid; 0: no guardian watches
	unguarded lasting          // why none watches
	opened    time.Time
}

// endedKept is how many ended background processes keep their output for Get.
const endedKept = 64

// isOpen ensures that one registry at a time is open in this program.
var isOpen atomic.Bool

// New returns a registry that is not open yet. It does no I/O.
func New(o Options) *Registry {
	ctx, stop := context.WithCancel(context.Background())
	return &Registry{
		ctx: ctx, stop: stop, opts: o, log: o.Log, scanner: new(scanner), peeker: &peeker{read: peekAt}, journal: newRecorder(o.Journal, o.Log),
		send: sendSignal, tag: true, oom: endings{kills: oomKills}, unguarded: lasting{err: errGuardStarts},
		spawns: make(chan *spawnRequest), nudges: make(chan struct{}, 1), reapNow: make(chan struct{}, 1),
		divided: make(chan struct{}), scanTurn: make(chan struct{}, 1),
		searches: make(chan struct{}, searchesMost), pending: map[uint64]*tree{}, spawned: map[string]uint64{},
		trees: map[uint64]*tree{}, byPID: map[int]*tree{}, owners: map[ident]*tree{},
		shed: map[ident]shedder{}, presentNews: make(chan struct{}, 1),
		adopted: map[int]struct{}{}, foreign: map[ident]bool{}, ticks: map[ident]uint64{},
	}
}

// Open makes the program a subreaper and starts the registry's loops. Processes that descend from the program already are
// never touched, except that orphans are reaped. It fails where /proc does not show this program, with ErrOpen, and where
// the requested level is not available. It is called with the home's lock held, because it removes empty control groups
// of earlier lives of this home.
func (r *Registry) Open(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !isOpen.CompareAndSwap(false, true) {
		return ErrOpen
	}
	if err := r.prepare(); err != nil {
		isOpen.Store(false)
		return fmt.Errorf("open process registry: %w", err)
	}
	r.mu.Lock()
	r.open, r.opened = true, time.Now()
	r.unguarded.since = r.opened
	r.mu.Unlock()
	for _, loop := range []func(){r.divide, r.spawnLoop, r.reapLoop, r.sweepLoop, func() { r.journal.run(r.ctx.Done()) }} {
		r.loops.Go(loop)
	}
	if r.opts.Guardian {
		r.loops.Go(r.guardLoop)
	}
	return nil
}

// prepare reads the program's own identity and makes it a subreaper.
func (r *Registry) prepare() error {
	var err error
	if r.self, err = readSelf(); err != nil {
		return err
	}
	procs, err := r.scanner.scan()
	if err != nil {
		return err
	}
	for _, p := range descendants(procs, r.self.PID, nil) {
		r.foreign[p.Ident] = p.PPID == r.self.PID
	}
	r.processLimit = childProcessLimit()
	r.oom.look(time.Now())
	if err := r.openGroups(); err != nil {
		return err
	}
	if r.tag {
		if err := kernel.TryTag(kernel.NewTag(r.opts.Life, 0)); err != nil {
			r.tag, r.tagless = false, err
			r.log.Warn("children cannot be tagged", "error", err)
		}
	}
	return setSubreaper(true)
}

// Refuse makes every further Spawn fail with ErrClosing. Kills still work. A kill that begins after Refuse returned finds
// everything that was ever started.
func (r *Registry) Refuse() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = true
}

// Stay makes Close leave the program in its control group, for a next life that is started there before the program ends.
func (r *Registry) Stay() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stay = true
}

// Close refuses further spawns and ends what is left, by KillAll with the KillGrace of the options. It skips that kill if
// one that began after Refuse was verified. It waits for every goroutine of the registry and for the guardian. It returns
// an error that names the survivors, which are left to the guardian, and one that wraps ctx's when ctx ended first. A
// second Close does nothing.
func (r *Registry) Close(ctx context.Context) error {
	r.mu.Lock()
	first, swept := r.open && !r.closing, r.swept
	r.closing, r.refused = true, true
	r.mu.Unlock()
	if !first {
		return nil
	}
	report := Report{Verified: true}
	if !swept {
		report = r.KillAll(ctx, r.opts.KillGrace)
	}
	var errs []error
	if !report.Verified {
		errs = append(errs, fmt.Errorf("close process registry: %s", report.Summary()))
	}
	r.unclean = !report.Verified // read after the end of ctx
	r.stop()
	r.closePipes()

	// What the loops started is waited for after them. A loop that hangs outlives Close, which then returns an error.
	err := bound.Run(ctx, 0, func(context.Context) error {
		r.loops.Wait()
		r.readers.Wait()
		return nil
	})
	if err != nil {
		return errors.Join(append(errs, fmt.Errorf("close process registry: wait for its goroutines: %w", err))...)
	}
	r.mu.Lock()
	r.open = false
	r.mu.Unlock()
	if r.tag {
		errs = append(errs, kernel.SetTag(0))
	}
	if r.groups != nil {
		if err := r.groups.remove(); report.Verified { // else the report already names the survivors in it
			errs = append(errs, err)
		}
		r.rejoin()
	}
	errs = append(errs, setSubreaper(false))
	isOpen.Store(false)
	return errors.Join(errs...)
}

// Containment returns the level in force, and why it is not a stronger one; empty: it is the strongest. Call it after
// Open.
func (r *Registry) Containment() (level Containment, why string) {
	if r.groups == nil {
		return weakest, r.groupless
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ungrouped.err != nil {
		return weakest, r.ungrouped.err.Error()
	}
	return ContainmentCgroup, ""
}

// JournalError is why the journal lacks an entry; nil: it has all entries since the last success.
func (r *Registry) JournalError() error { return r.journal.failure() }

func (r *Registry) emit(typ ops.EventType, row ops.Process, text string) {
	if r.opts.OnEvent != nil {
		r.opts.OnEvent(typ, row, text)
	}
}

// nudge asks ch's loop to run soon. Several requests count as one.
func nudge(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// environ is the environment of a child: our variables that pass, then extra ones, then the markers, which win.
func (r *Registry) environ(spec Spec, spawn string) []string {
	all := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		return r.opts.Pass == nil || !r.opts.Pass(name, value)
	})
	all = append(all, spec.Env...)
	// They come first, so that a bounded read of /proc/PID/environ finds them.
	env := []string{
		EnvLife + "=" + r.opts.Life, EnvSession + "=" + spec.Session, EnvHomeID + "=" + r.opts.HomeID, EnvSpawn + "=" + spawn,
	}
	for i, kv := range all {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || name == "" || strings.HasPrefix(name, envPrefix) || slices.Contains(r.opts.Secrets, name) {
			continue
		}
		again := func(later string) bool { return strings.HasPrefix(later, kv[:len(name)+1]) }
		if !slices.ContainsFunc(all[i+1:], again) { // the last of each name counts
			env = append(env, kv)
		}
	}
	return env
}

// unmarked is env without the marks of a life.
func unmarked(env []string) []string {
	var out []string
	for _, kv := range env {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case EnvLife, EnvSession, EnvHomeID, EnvSpawn:
		default:
			out = append(out, kv)
		}
	}
	return out
}
