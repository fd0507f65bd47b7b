package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"gatewaytui/core/follow"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/remote"
	"gatewaytui/core/term"
	"gatewaytui/views/lines"
)

const (
	// readyBound is what the next life may take to answer once the last one is over.
	readyBound = 60 * time.Second
	// vacancy is how long a home may be nobody's between two lives.
	vacancy = 2 * time.Second
	// readyAgain is how often it is asked.
	readyAgain = 50 * time.Millisecond
)

func restartFlags(f *pflag.FlagSet, r *request) {
	f.BoolVar(&r.wait, "wait", false, "show the phases of the stop")
}

// restart stops the gateway with exit code 75 and returns when another life answers and is ready: only then is it true
// that it was restarted (B6). A service manager starts that life; without one it is started here, as the one
// before it was, and waits for the home. A tool of the gateway that restarts it, and whatever it would start, ends with
// it, so that then the gateway starts the next life itself, as its last deed (B7). So it does where only root can read how
// it was started (process.Protect).
func (p *program) restart(ctx context.Context, g *remote.Gateway, r *request) error {
	before, err := g.Status(ctx)
	if hasLeft(err) { // perhaps it is between two lives, by somebody else's restart
		bound := vacancy
		if g.Found.Alive {
			bound = readyBound
		}
		if now, none := p.nextLife(ctx, g.Home, "", bound); none == nil {
			before, err = now, nil
		}
	}
	if err != nil {
		return err
	}
	if before.StartedAt.After(p.began) { // somebody else's restart came first: one is enough (B19)
		p.note("gatewaytui: it was restarted meanwhile")
		return p.restarted(before)
	}
	plan, err := g.Plan(ctx)
	tool := ops.HasCode(err, ops.CodeToolCaller) // which may not see the plan
	if tool {
		err = nil
	}
	var again started
	if err == nil {
		again, err = lifeOf(before.PID, g.Home)
	}
	hidden := errors.Is(err, fs.ErrPermission)
	if hidden {
		err = nil
	}
	if hasLeft(err) {
		p.note("gatewaytui: life %s has ended meanwhile", before.Life)
		return p.awaitNext(ctx, g.Home, before.Life, readyBound)
	}
	if err != nil {
		return err
	}
	inside := tool || process.Descends(os.Getpid(), before.PID)
	ctx, release := signal.NotifyContext(ctx, os.Interrupt)
	defer release()
	events := follow.Start(ctx, g, 0)
	defer events.Close()
	alone := before.Supervisor.Name == ""
	if alone && inside {
		p.note("gatewaytui: a tool of the gateway runs this command, which ends with it; the gateway starts its next life itself")
	}
	r.Respawn = r.Respawn || hidden
	r.Expect = before.Life // not one that somebody else's restart has brought already (B19)
	req, err := g.Do(ctx, r.Command)
	others := err == nil && req.Joined || ops.HasCode(err, ops.CodeConflict)
	switch {
	case hasLeft(err):
		// It may have ended because of us, without a word. If nobody else has begun the next life, we do: as one that takes
		// the place of none.
		p.note("gatewaytui: life %s has ended meanwhile", before.Life)
		if after, none := p.nextLife(ctx, g.Home, before.Life, vacancy); none == nil {
			return p.restarted(after)
		}
		if alone && hidden {
			return notStarted(errors.New("how it was started can be read by root alone"))
		}
		if alone && !inside {
			if err := again.start(); err != nil {
				return notStarted(err)
			}
		}
	case others && err == nil && req.Verb != ops.VerbRestart:
		return &ops.Error{Code: ops.CodeStopping, Message: "the gateway is stopping, and not to start again (" + req.ID + ")", Hint: "start it when it has ended"}
	case others && err == nil:
		p.note("gatewaytui: already restarting (%s)", req.ID)
	case others:
		p.note("gatewaytui: life %s has ended meanwhile", before.Life)
	case err != nil:
		return err
	case alone && !inside && !hidden:
		again.waits()
		if err := again.start(); err != nil {
			return notStarted(err)
		}
	}
	if r.wait && err == nil {
		v := &ending{p: p, g: g, life: before.Life, told: map[string]bool{}}
		_ = events.Each(ctx, v.show, p.waits()) // what matters is whether the next life answers
	}
	return p.awaitNext(ctx, g.Home, before.Life, time.Duration(plan.WorstCaseMS)*time.Millisecond+readyBound)
}

func notStarted(err error) error {
	return &ops.Error{Code: ops.CodeInternal, Message: fmt.Sprintf("the gateway stops, and the next life could not be started: %v", err), Hint: "start it by hand"}
}

// hasLeft reports whether err says that the gateway which was there a moment ago is not there any more.
func hasLeft(err error) bool {
	return remote.Unreachable(err) && !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

// awaitNext is nextLife, told.
func (p *program) awaitNext(ctx context.Context, home, before string, bound time.Duration) error {
	after, err := p.nextLife(ctx, home, before, bound)
	if err != nil {
		return err
	}
	return p.restarted(after)
}

func (p *program) restarted(now ops.Status) error {
	if p.json {
		p.writeJSON(p.out, now)
		return nil
	}
	p.say("restarted: life %s, pid %d", now.Life, now.PID)
	return nil
}

// nextLife waits until another life than the one before runs on home, and returns its status.
func (p *program) nextLife(ctx context.Context, home, before string, bound time.Duration) (ops.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	tick := time.NewTicker(readyAgain)
	defer tick.Stop()
	for {
		if st, err := remote.StatusOf(ctx, home); err == nil && st.Life != before && st.State == ops.StateRunning {
			return st, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if ctx.Err() != context.DeadlineExceeded {
				return ops.Status{}, stopGoesOn()
			}
			return ops.Status{}, &ops.Error{
				Code: ops.CodeUnavailable, Message: fmt.Sprintf("no other life of the gateway answered within %s", bound.Round(time.Second)),
				Hint: "see logs/gateway.jsonl in the home, and gatewaytui status",
			}
		}
	}
}

// started is how a process was started, for the next one that is started like it.
type started struct {
	argv, env []string
	dir       string
	pid       int
}

// lifeOf reads how the gateway pid was started (proc(5)). The error is fs.ErrPermission where only root can.
func lifeOf(pid int, home string) (started, error) {
	var err error
	proc := fmt.Sprintf("/proc/%d/", pid)
	read := func(name string) (list []string) {
		text, readErr := os.ReadFile(proc + name)
		if readErr != nil {
			err = fmt.Errorf("read how pid %d was started: %w", pid, readErr)
		}
		for part := range bytes.SplitSeq(bytes.TrimSuffix(text, []byte{0}), []byte{0}) {
			list = append(list, string(part))
		}
		return list
	}
	s := started{argv: read("cmdline"), env: read("environ"), pid: pid}
	if err != nil {
		return started{}, err
	}
	if s.dir, err = os.Readlink(proc + "cwd"); err != nil {
		s.dir = "/"
	}
	return s.again(home)
}

// ownLife is lifeOf of this process, whose environment below /proc is closed to itself as well.
func (l *life) ownLife() (started, error) {
	s := started{argv: slices.Clone(os.Args), env: l.environ, pid: os.Getpid()}
	var err error
	if s.dir, err = os.Getwd(); err != nil {
		s.dir = "/"
	}
	return s.again(l.home.Dir())
}

// again is s for the next life. The program is the one that asks: after an update it is the new one. A demo goes on in the
// home of the life before.
func (s started) again(home string) (started, error) {
	program, err := os.Executable()
	if err != nil {
		return started{}, fmt.Errorf("find the program: %w", err)
	}
	if strings.HasSuffix(s.dir, " (deleted)") {
		s.dir = "/"
	}
	s.argv[0] = program
	s.argv = slices.DeleteFunc(s.argv, func(arg string) bool { return arg == "--replace" || arg == "--replace=true" })
	if slices.ContainsFunc(s.argv, func(arg string) bool { return arg == "--demo" || arg == "--demo=true" }) {
		s.argv = append(s.argv, "--home="+home) // else it would make a new one
	}
	if !slices.Contains(s.argv, "--no-tui") { // it has no terminal
		s.argv = append(s.argv, "--no-tui")
	}
	return s, nil
}

// waits makes it wait for the home, which the life before still holds.
func (s *started) waits() { s.argv = append(s.argv, "--replace") }

func (s started) start() error {
	_, err := process.Detach(s.argv, s.env, s.dir, s.pid)
	return err
}

// succession bounds the start of the next life where this one is ended by force: a fork may hang.
const succession = time.Second

// succeed starts the next life after a restart that nobody else starts it for. The home is free by then: should somebody
// else have taken it, the next life leaves it to them.
func (l *life) succeed() {
	next, err := l.ownLife()
	if err == nil {
		err = next.start()
	}
	if err != nil {
		l.log.Error("next life not started", "error", term.Clean(err.Error(), lines.MaxLine), "hint", "start it by hand")
		return
	}
	l.log.Info("next life started")
}

// succeedByForce is succeed where the stop did not come to its end, so that we may still hold the home: the next life
// waits for it. It waits for no lock of ours, which may be what the stop hangs at.
func (l *life) succeedByForce() {
	tried := make(chan struct{})
	go func() { // outlives us only as long as the process takes to end
		defer close(tried)
		if l.gateway == nil || !l.gateway.StartsNext() {
			return
		}
		if next, err := l.ownLife(); err == nil {
			next.waits()
			_ = next.start() // nobody is left to tell
		}
	}()
	select {
	case <-tried:
	case <-time.After(succession):
	}
}
