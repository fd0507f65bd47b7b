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
// and less is promised there (weakest in divide_darwin.go). The verb doctor names what is missing.
package process

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"gatewaytui/core/bound"
	"gatewaytui/core/process/kernel"
)

// isOpen ensures that one registry at a time is open in this program.
var isOpen atomic.Bool

// New returns a registry that is not open yet. It does no I/O.
func New(o Options) *Registry {
	ctx, stop := context.WithCancel(context.Background())
	r := &Registry{
		ctx: ctx, stop: stop, opts: o, log: o.Log, peeker: &peeker{read: peekAt}, journal: newRecorder(o.Journal, o.Log),
		send: sendSignal, tag: true, oom: endings{kills: oomKills}, unguarded: lasting{err: errGuardStarts},
		spawns: make(chan *spawnRequest), nudges: make(chan struct{}, 1), reapNow: make(chan struct{}, 1),
		divided: make(chan struct{}), watched: make(chan struct{}), scanTurn: make(chan struct{}, 1),
		searches: make(chan struct{}, searchesMost), pending: map[uint64]*tree{}, spawned: map[string]uint64{},
		trees: map[uint64]*tree{}, byPID: map[int]*tree{}, owners: map[ident]*tree{},
		shed: map[ident]shedder{}, presentNews: make(chan struct{}, 1),
		adopted: map[int]struct{}{}, foreign: map[ident]bool{}, ticks: map[ident]uint64{},
	}
	r.SetRules(Rules{Pass: o.Pass, Secrets: o.Secrets, Share: o.Share, PerSession: o.PerSession, Total: o.Total})
	return r
}

// Rules are the Options that may change while a registry is open.
type Rules struct {
	Pass              func(name, value string) bool
	Secrets           []string
	Share             Share
	PerSession, Total int
}

// SetRules puts other rules in force, from the next spawn on.
func (r *Registry) SetRules(rules Rules) { r.rules.Store(&rules) }

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
	procs, err := kernel.Table(nil)
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
	if err := r.removeOld(); report.Verified {
		errs = append(errs, err)
	}
	errs = append(errs, setSubreaper(false))
	isOpen.Store(false)
	return errors.Join(errs...)
}

// Recorded returns when the journal has the starts and ends of all trees that came and went before, within ctx. The error says that it
// may lack some.
func (r *Registry) Recorded(ctx context.Context) error { return r.journal.flush(ctx) }

// JournalError is why the journal lacks an entry; nil: it has all entries since the last success.
func (r *Registry) JournalError() error { return r.journal.failure() }
