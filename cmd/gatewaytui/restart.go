package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"gatewaytui/core/control"
	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
)

const (
	// readyBound is what the next life may take to answer once the last one is over.
	readyBound = 60 * time.Second
	// readyAgain is how often it is asked.
	readyAgain = 50 * time.Millisecond
)

func restartFlags(f *pflag.FlagSet, r *request) {
	f.BoolVar(&r.wait, "wait", false, "show the phases of the stop")
}

// restart stops the gateway with exit code 75 and returns when another life answers and is ready: only then is it true
// that it was restarted (field notes, B6). A service manager starts that life; without one it is started here, as the one
// before it was, and waits for the home.
func (p *program) restart(ctx context.Context, g *remote, r *request) error {
	before, err := g.Status(ctx)
	if err != nil {
		return err
	}
	plan, err := g.Plan(ctx)
	if err != nil {
		return err
	}
	again, err := lifeOf(before.PID)
	if err != nil {
		return err
	}
	ctx, release := signal.NotifyContext(ctx, os.Interrupt)
	defer release()
	follow := p.follow(ctx, g, 0)
	defer follow.close()
	if _, err := g.Do(ctx, r.Command); err != nil {
		return err
	}
	if before.Supervisor.Name == "" {
		if err := again.start(); err != nil {
			return &ops.Error{Code: ops.CodeInternal, Message: fmt.Sprintf("the gateway stops, and the next life could not be started: %v", err), Hint: "start it by hand"}
		}
	}
	if r.wait {
		v := &ending{p: p, g: g, life: before.Life, told: map[string]bool{}}
		_ = follow.each(ctx, v.show) // what matters is whether the next life answers
	}
	bound := time.Duration(plan.WorstCaseMS)*time.Millisecond + readyBound
	after, err := p.nextLife(ctx, g.home, before.Life, bound)
	if err != nil {
		return err
	}
	if p.json {
		p.writeJSON(p.out, after)
		return nil
	}
	p.say("restarted: life %s, pid %d, took over from pid %d", after.Life, after.PID, before.PID)
	return nil
}

// nextLife waits until another life than the one before runs on home, and returns its status.
func (p *program) nextLife(ctx context.Context, home, before string, bound time.Duration) (ops.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	tick := time.NewTicker(readyAgain)
	defer tick.Stop()
	for {
		if st, err := p.statusOf(ctx, home); err == nil && st.Life != before && st.State == ops.StateRunning {
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

func (p *program) statusOf(ctx context.Context, home string) (ops.Status, error) {
	found, err := instance.Locate(home)
	if err != nil {
		return ops.Status{}, err
	}
	c := control.NewClient(found.Control, control.ClientOptions{})
	defer c.Close()
	return c.Status(ctx)
}

// life once more: how a process was started.
type started struct {
	argv, env []string
	dir       string
	pid       int
}

// lifeOf reads how the gateway pid was started (proc(5)). The program is the one that asks: after an update it is the new
// one.
func lifeOf(pid int) (started, error) {
	program, err := os.Executable()
	if err != nil {
		return started{}, fmt.Errorf("find the program: %w", err)
	}
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
	if s.dir, err = os.Readlink(proc + "cwd"); err != nil || strings.HasSuffix(s.dir, " (deleted)") {
		s.dir = "/"
	}
	s.argv[0] = program
	for _, flag := range []string{"--no-tui", "--replace"} { // it has no terminal, and waits for the home
		if !slices.Contains(s.argv, flag) {
			s.argv = append(s.argv, flag)
		}
	}
	return s, nil
}

func (s started) start() error {
	_, err := process.Detach(s.argv, s.env, s.dir, s.pid)
	return err
}
