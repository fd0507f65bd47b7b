package process

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

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
	spec.OutputLimit, spec.Share = cmp.Or(spec.OutputLimit, DefaultOutputLimit), cmp.Or(spec.Share, r.rules.Load().Share)
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

// Find is the path of a program that a spawn would start: in PATH for a name without a slash. It starts nothing.
func Find(program string) (string, error) { return exec.LookPath(program) }

// enter makes a process that was just started a tracked tree. It is called on the spawner's thread, before anything could
// have waited for the child.
func (r *Registry) enter(req *spawnRequest, child forkedChild) *Process {
	p := r.newProcess(child.out, req.spec.OutputLimit)
	p.in, p.data, p.pty = child.in, child.data, req.spec.PTY
	command := cmp.Or(req.spec.Command, strings.Join(req.spec.Argv, " "))
	t := &tree{
		id: req.id, leader: child.Ident, handle: p, session: req.spec.Session, turn: req.spec.Turn,
		job:    job{req.spec.Session, req.spec.Dir, strings.Join(req.spec.Argv, "\x00")},
		policy: req.spec.Policy, origin: ops.OriginSpawned, dir: child.dir,
		command: r.displayCommand(command), started: time.Now(), pidfd: child.pidfd, leading: true, pipe: child.pipe,
		members: []ident{child.Ident}, carrier: req.spec.Carrier, sharing: req.sharing, belongs: req.spec.Owner, environment: req.spec.Environment,
	}
	p.tree = t
	r.mu.Lock()
	row := r.row(t, t.started)
	r.mu.Unlock()
	// Before its end can be seen: the events of a process keep their order.
	r.emit(ops.EventProcessStarted, row, fmt.Sprintf("process %d started", child.PID))
	r.mu.Lock()
	delete(r.pending, t.id)
	r.trees[t.id], r.byPID[child.PID] = t, t
	r.owners[child.Ident] = t
	p.noted = r.journal.add(r.entry(t), "")
	r.mu.Unlock()
	r.readers.Go(p.read)
	nudge(r.nudges)
	return p
}

// envPrefix begins every variable of the program's own configuration. No child inherits such a variable.
const envPrefix = "GATEWAYTUI_"

// environ is the environment of a child: our variables that pass, then extra ones, then the markers, which win.
func (r *Registry) environ(spec Spec, spawn string) []string {
	rules := r.rules.Load()
	all := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		return rules.Pass == nil || !rules.Pass(name, value)
	})
	all = append(all, spec.Env...)
	// They come first, so that a bounded read of /proc/PID/environ finds them.
	env := []string{
		EnvLife + "=" + r.opts.Life, EnvSession + "=" + spec.Session, EnvHomeID + "=" + r.opts.HomeID, EnvSpawn + "=" + spawn,
	}
	for i, kv := range all {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || name == "" || strings.HasPrefix(name, envPrefix) || slices.Contains(rules.Secrets, name) {
			continue
		}
		again := func(later string) bool { return strings.HasPrefix(later, kv[:len(name)+1]) }
		if !slices.ContainsFunc(all[i+1:], again) { // the last of each name counts
			env = append(env, kv)
		}
	}
	return env
}

// spawnLoop makes all forks, on one thread that lives as long as the registry. The parent-death signal fires when the
// thread that forked ends, not the program (PR_SET_PDEATHSIG, prctl(2)).
func (r *Registry) spawnLoop() {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	for {
		select {
		case <-r.ctx.Done():
			return
		case req := <-r.spawns:
			r.serve(req)
		}
	}
}

func (r *Registry) serve(req *spawnRequest) {
	defer r.forked(req.id)
	r.mu.Lock()
	refused := r.refused
	r.mu.Unlock()
	var res spawnResult
	if refused {
		res.err = ErrClosing
	} else if child, err := r.forkContained(req); err != nil {
		r.forked(req.id) // first: the caller may start the next one at once, and there is room for it
		res.err = fmt.Errorf("start %s: %w", req.path, explainFork(err))
	} else {
		res.p = r.enter(req, child)
	}
	select {
	case req.result <- res:
	case <-req.gone:
		// It is ended with everything that it started, on another goroutine, because the next spawn waits here.
		if res.p != nil {
			r.readers.Go(func() { res.p.Kill(context.Background(), 0) }) // the caller's ctx has ended; a kill without a grace is bounded
		}
	}
}
