package container

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/store"
)

// The pause between two rounds of removals grows from the first to the last.
const (
	pauseFirst = time.Second
	pauseLast  = time.Minute
)

// retry starts the task that removes what is left, if it does not run. In a stop nothing is started: the next life removes
// what has a row.
func (e *Engine) retry() {
	e.mu.Lock()
	begin := !e.retrying
	e.retrying = true
	e.mu.Unlock()
	if begin && !e.opts.Go("removal of containers", e.removeLeft) {
		e.mu.Lock()
		e.retrying = false
		e.mu.Unlock()
	}
}

// removeLeft removes what is left, round after round, until nothing is left or ctx ends.
func (e *Engine) removeLeft(ctx context.Context) {
	for pause := pauseFirst; ; pause = min(2*pause, pauseLast) {
		select {
		case <-ctx.Done():
			e.mu.Lock()
			e.retrying = false
			e.mu.Unlock()
			return
		case <-time.After(pause):
		}
		progress := e.round(ctx)
		if progress && e.opts.Settled != nil {
			e.opts.Settled(ctx)
		}
		e.mu.Lock()
		over := len(e.left()) == 0
		if over {
			e.retrying = false // under the lock: what is left from now on starts another task
		}
		e.mu.Unlock()
		if over {
			return
		}
		if progress {
			pause = pauseFirst / 2
		}
	}
}

// left are the containers that are left, oldest first. Engine.mu is held.
func (e *Engine) left() (out []*Container) {
	for _, c := range e.all {
		if c.state == stateLeft {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *Container) int { return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.name, b.name)) })
	return out
}

// round tries each container that is left once, and reports whether one was removed. It stops at the first call that does
// not return: a daemon that hangs is asked once a round.
func (e *Engine) round(ctx context.Context) (progress bool) {
	e.mu.Lock()
	all := e.left()
	e.mu.Unlock()
	for _, c := range all {
		select {
		case c.removing <- struct{}{}:
		default:
			continue // its Close is under way
		}
		if c.Gone() {
			<-c.removing
			continue
		}
		if c.attached != nil {
			c.attached.End(ctx)
		}
		err := c.remove(ctx)
		<-c.removing
		if err == nil {
			progress = true
			e.log.Info("container removed", "container", c.name, "session", c.owner.Session)
			continue
		}
		if ctx.Err() != nil {
			return progress
		}
		c.set(stateLeft, err.Error())
		if hangs(err) {
			return progress
		}
	}
	return progress
}

// Recover implements environment.Leaver. It takes over the rows of earlier lives. They are listed from now on, and removed in the background. Where the config
// has containers, it also looks for those of this home without a row.
func (e *Engine) Recover(ctx context.Context) {
	var rows []store.Environment
	if e.opts.Journal != nil {
		var err error
		if rows, err = e.opts.Journal.Environments(ctx); err != nil {
			e.log.Warn("rows of containers not read", "error", err.Error())
		}
	}
	own := e.ownPrefix()
	for _, v := range rows {
		if v.Kind == Kind && !strings.HasPrefix(v.ID, own) {
			e.inherit(e.named(v.Program), v.ID, v.Name, v.Session, v.At, !v.Made)
		}
	}
	if len(e.opts.Defined) > 0 && !e.opts.Go("search for containers of earlier lives", e.search) {
		e.log.Warn("containers of earlier lives are not looked for during a stop")
	}
	e.mu.Lock()
	some := len(e.left()) > 0
	e.mu.Unlock()
	if some {
		e.retry()
	}
}

// inherit makes the row of a container of an earlier life.
func (e *Engine) inherit(program CommandLine, name, settings, session string, at time.Time, unsure bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all[name] != nil {
		return
	}
	e.all[name] = &Container{
		engine: e, program: program, name: name, settings: Settings{Name: settings}, owner: Owner{Session: session}, state: stateLeft,
		since: at, detail: "an earlier life of the gateway left it", unsure: unsure, removing: make(chan struct{}, 1),
	}
}

// search looks for containers that carry the label of the home and have no row, until the daemon has answered.
func (e *Engine) search(ctx context.Context) {
	for pause := pauseFirst; ; pause = min(2*pause, pauseLast) {
		if e.searchOnce(ctx) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// searchOnce reports whether the search has an answer.
func (e *Engine) searchOnce(ctx context.Context) bool {
	program, err := e.program(ctx)
	if err != nil {
		return ctx.Err() == nil && missingProgram(err)
	}
	ask, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	output, code, err := program.Run(ask, "ps", "--all", "--filter", "label="+labelHome+"="+e.opts.HomeID, "--format", "{{.Names}}")
	if err != nil || code != 0 {
		return false
	}
	own := e.ownPrefix()
	for name := range strings.Lines(output) {
		name = strings.TrimSpace(name)
		if !strings.HasPrefix(name, namePrefix) || strings.HasPrefix(name, own) {
			continue // a line of the program, or a container of this life, which has a row
		}
		e.inherit(program, name, "", "", time.Now(), false)
	}
	e.mu.Lock()
	some := len(e.left()) > 0
	e.mu.Unlock()
	if some {
		e.retry()
	}
	return true
}
