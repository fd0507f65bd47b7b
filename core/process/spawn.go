package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

// Policy is what ends a tree, apart from its own exit and the gateway's stop.
type Policy = ops.Policy

// The policies. A tree of PolicySession survives its turn and the eviction of its agent (C8). A tree of PolicyKept also
// survives a SIGKILL of the gateway: the next life adopts it (C10). A stop ends both.
const (
	PolicyTurn    = ops.PolicyTurn
	PolicySession = ops.PolicySession
	PolicyKept    = ops.PolicyKept
	PolicyGateway = ops.PolicyGateway
)

var policies = []Policy{PolicyTurn, PolicySession, PolicyKept, PolicyGateway}

// DefaultOutputLimit is how many bytes of output are kept when Spec names no limit.
const DefaultOutputLimit = 64 << 10

// Spec is a process to start.
type Spec struct {
	// Session and Turn own it; Turn may be empty.
	Session, Turn string
	// Command is what is shown for it, masked and cleaned; empty: Argv.
	Command string
	// Argv is the program and its arguments. A program without a slash is searched for in PATH. Required.
	Argv []string
	// Dir is its working directory; empty: ours.
	Dir string
	// Env is added to our variables that pass, as NAME=value. Secrets, GATEWAYTUI_… and the markers cannot be
	// set.
	Env []string
	// PTY gives it a terminal of 80x24 as its controlling terminal. Stdin connects its standard input to Write. Without
	// either, its standard input is /dev/null.
	PTY, Stdin bool
	// Policy is what ends it. Required.
	Policy Policy
	// OutputLimit bounds the output that is kept, in bytes; 0: DefaultOutputLimit.
	OutputLimit int
}

func (s Spec) check() error {
	switch {
	case len(s.Argv) == 0 || s.Argv[0] == "":
		return errors.New("no program given")
	case !slices.Contains(policies, s.Policy):
		return fmt.Errorf("invalid policy %q", s.Policy)
	case s.Policy == PolicyKept && s.PTY:
		return errors.New("a process with a terminal cannot have the policy kept: it is hung up when the gateway ends")
	case s.OutputLimit < 0:
		return fmt.Errorf("invalid output limit of %d bytes", s.OutputLimit)
	}
	for _, s := range append([]string{s.Session, s.Dir}, s.Argv...) {
		if strings.IndexByte(s, 0) >= 0 {
			return errors.New("an argument, the directory or the session has a zero byte")
		}
	}
	return nil
}

// spawnRequest is a fork on its way to the spawner's thread.
type spawnRequest struct {
	spec   Spec
	path   string
	id     uint64
	env    []string
	result chan spawnResult
	gone   chan struct{} // closed when the caller no longer waits for the result
}

type spawnResult struct {
	p   *Process
	err error
}

// handoverWait is how long a caller whose ctx has ended waits for a start under way.
const handoverWait = 200 * time.Millisecond

// Spawn starts a process in its own session and group, marked and tracked. ctx bounds the start alone; the process lives
// until it ends or is killed. If ctx ends during the start, Spawn still returns a process that starts within 200 ms.
// Otherwise the process and everything that it started are ended as soon as it exists. Spawn fails with ErrClosing after
// Refuse, with a *LimitError at the bound on tracked trees, and with the system's reason where the program or the
// directory cannot be used.
//
// The journal gets the entry before Spawn returns, but a failure of the journal does not stop Spawn: see JournalError.
func (r *Registry) Spawn(ctx context.Context, spec Spec) (*Process, error) {
	if err := spec.check(); err != nil {
		return nil, fmt.Errorf("start process: %w", err)
	}
	path, err := lookPath(spec)
	if err != nil {
		return nil, fmt.Errorf("start process: %w", err)
	}
	spec.OutputLimit = cmp.Or(spec.OutputLimit, DefaultOutputLimit)
	r.makeRoom(ctx, spec.Session)
	r.mu.Lock()
	if r.refused || !r.open {
		r.mu.Unlock()
		return nil, ErrClosing
	}
	if name, most := r.full(spec.Session); name != "" {
		r.mu.Unlock()
		return nil, r.limited(spec.Session, name, most)
	}
	r.lastID++
	req := &spawnRequest{spec: spec, path: path, id: r.lastID, result: make(chan spawnResult), gone: make(chan struct{})}
	r.spawned[spec.Session] = req.id
	r.pending[req.id] = &tree{id: req.id, session: spec.Session, turn: spec.Turn, policy: spec.Policy}
	r.mu.Unlock()
	req.env = r.environ(spec, strconv.FormatUint(req.id, 10))

	select {
	case r.spawns <- req:
	case <-r.ctx.Done():
		r.forked(req.id)
		return nil, ErrClosing
	case <-ctx.Done():
		r.forked(req.id)
		return nil, fmt.Errorf("start process: wait for the previous start: %w", ctx.Err())
	}
	var res spawnResult
	select {
	case res = <-req.result:
	case <-ctx.Done():
		// A start takes a moment, and a caller that gets the process can end it. A start that hangs is abandoned.
		select {
		case res = <-req.result:
		case <-time.After(handoverWait):
			close(req.gone)
			return nil, fmt.Errorf("start %s: %w", path, ctx.Err())
		}
	}
	if res.err != nil {
		return nil, res.err
	}
	r.journal.wait(ctx, res.p.noted)
	return res.p, nil
}

// forked records that the child of spawn id, if there is one, is in trees. It may be called more than once.
func (r *Registry) forked(id uint64) {
	r.mu.Lock()
	delete(r.pending, id)
	r.mu.Unlock()
	nudge(r.reapNow) // the reaper left unknown children alone
}

// lookPath finds the program as exec.Command does: in PATH without a slash, else relative to the child's directory.
func lookPath(spec Spec) (string, error) {
	if spec.Dir != "" {
		if info, err := os.Stat(spec.Dir); err != nil {
			return "", fmt.Errorf("working directory: %w", err)
		} else if !info.IsDir() {
			return "", fmt.Errorf("working directory %s is not a directory", spec.Dir)
		}
	}
	if name := spec.Argv[0]; filepath.Base(name) != name {
		return name, nil
	}
	return exec.LookPath(spec.Argv[0])
}

// enter makes a process that was just started a tracked tree. It is called on the spawner's thread, before anything could
// have waited for the child.
func (r *Registry) enter(req *spawnRequest, child forkedChild) *Process {
	p := r.newProcess(child.out, req.spec.OutputLimit)
	p.in, p.pty = child.in, req.spec.PTY
	command := cmp.Or(req.spec.Command, strings.Join(req.spec.Argv, " "))
	t := &tree{
		id: req.id, leader: child.Ident, handle: p, session: req.spec.Session, turn: req.spec.Turn,
		job:    job{req.spec.Session, req.spec.Dir, strings.Join(req.spec.Argv, "\x00")},
		policy: req.spec.Policy, origin: ops.OriginSpawned, dir: child.dir,
		command: r.displayCommand(command), started: time.Now(), pidfd: child.pidfd, leading: true, pipe: child.pipe,
		members: []ident{child.Ident},
	}
	p.tree = t
	r.mu.Lock()
	delete(r.pending, t.id)
	r.trees[t.id], r.byPID[child.PID] = t, t
	r.owners[child.Ident] = t
	p.noted = r.journal.add(r.entry(t), "")
	row := r.row(t, t.started)
	r.mu.Unlock()
	r.readers.Go(p.read)
	r.emit(ops.EventProcessStarted, row, fmt.Sprintf("process %d started", child.PID))
	nudge(r.nudges)
	return p
}
