package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/agent"
	"gatewaytui/core/config"
	"gatewaytui/core/limit"
	"gatewaytui/core/media"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/reap"
	"gatewaytui/core/shutdown"
)

// deafKernel runs process trees that ignore TERM: a kill of one or of many costs its grace and verification, and has ended
// them then. A tree in stubborn outlives KILL as well.
type deafKernel struct {
	mu       sync.Mutex
	trees    map[int]string // the session of each tree
	stubborn map[int]bool
	graces   int // kills that waited out a grace, or a part of one
}

// verification is the virtual time from KILL to the scan that finds nothing.
const verification = 500 * time.Millisecond

func (k *deafKernel) Count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.trees)
}

func (k *deafKernel) of(sel func(session string) bool) (pids []int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for pid, session := range k.trees {
		if sel(session) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (k *deafKernel) kill(ctx context.Context, grace time.Duration, sel func(session string) bool) process.Report {
	if len(k.of(sel)) == 0 {
		return process.Report{Verified: true}
	}
	if grace > 0 {
		k.mu.Lock()
		k.graces++
		k.mu.Unlock()
		select {
		case <-time.After(grace):
		case <-ctx.Done():
		}
	}
	time.Sleep(verification) // virtual: the look that follows a kill
	report := process.Report{Verified: true}
	for _, pid := range k.of(sel) {
		id := process.Identity{PID: pid}
		report.Signalled = append(report.Signalled, id)
		k.mu.Lock()
		if k.stubborn[pid] {
			report.Verified = false
			report.Survivors = append(report.Survivors, process.Survivor{Identity: id, Why: "still there after KILL"})
		} else {
			delete(k.trees, pid)
			report.Killed = append(report.Killed, id)
		}
		k.mu.Unlock()
	}
	return report
}

func (k *deafKernel) KillTurn(context.Context, string, time.Duration) process.Report {
	return process.Report{Verified: true}
}

func (k *deafKernel) KillSession(ctx context.Context, session string, grace time.Duration) process.Report {
	return k.kill(ctx, grace, func(s string) bool { return s == session })
}

func (k *deafKernel) KillSessions(ctx context.Context, grace time.Duration) process.Report {
	return k.kill(ctx, grace, func(s string) bool { return s != "" })
}

func (k *deafKernel) KillAll(ctx context.Context, grace time.Duration) process.Report {
	return k.kill(ctx, grace, func(string) bool { return true })
}

// The phases of a stop that kill are run in virtual time over 1,000 trees of 200 sessions, each with an agent. Every tree
// ignores TERM.
func TestAStopGivesTheTreesOfAllSessionsOneGraceTogether(t *testing.T) {
	const trees, sessions = 1000, 200
	const grace = 3 * time.Second
	const handOver = 150 * time.Millisecond // before the end of its phase the kill is left to the sweep
	for _, tc := range []struct {
		name     string
		mode     ops.Mode
		agent    time.Duration // shutdown.agent_timeout
		stubborn int
		want     time.Duration
	}{
		{"a stop that drained kills while the agents are closed", ops.ModeGraceful, 10 * time.Second, 0, grace + verification},
		{"a kill that outlives the phase agents is joined by the sweep", ops.ModeGraceful, grace + handOver, 0, grace + verification},
		{"a phase agents that is shorter than the grace cuts the grace", ops.ModeGraceful, 2 * time.Second, 0, 2*time.Second - handOver + verification},
		{"a fast stop kills before the agents are closed", ops.ModeFast, 10 * time.Second, 0, grace + verification},
		// Each of the kills that follow costs a verification alone.
		{"a tree that outlives KILL gets no second grace", ops.ModeGraceful, 10 * time.Second, 1, grace + 2*verification},
		{"a tree that outlives the KILL of a fast stop gets no second grace", ops.ModeFast, 10 * time.Second, 1, grace + 3*verification},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kernel := &deafKernel{trees: map[int]string{}, stubborn: map[int]bool{}}
				cfg := config.Default()
				cfg.Process.KillGrace.Duration, cfg.Shutdown.AgentTimeout.Duration = grace, tc.agent
				g, err := New(Options{Settings: Settings{Config: cfg, Models: pool(echo(nil))}, Log: slog.New(slog.DiscardHandler), Identity: Identity{Life: "life"}, Host: &hostDouble{}, Limits: &limit.Set{}, Media: media.New(media.Options{})})
				if err != nil {
					t.Fatal(err)
				}
				all := reap.New(kernel, grace)
				g.trees = all
				g.phases = g.newPhases()
				for i := range trees {
					kernel.trees[100+i] = fmt.Sprintf("chat:dm:%d", i%sessions)
					kernel.stubborn[100+i] = i < tc.stubborn
				}
				for i := range sessions {
					a := agent.New(agent.Config{
						Session: fmt.Sprintf("chat:dm:%d", i), Models: g.opts.Models.Chain(model.Default), Processes: all, KillGrace: grace, Log: g.opts.Log,
					})
					g.cache.Put(a)
					g.cache.Done(a)
				}
				plan := g.phases.Plan()
				kills := shutdown.Plan{Phases: []shutdown.Phase{
					*plan.Phase(shutdown.PhaseReap), *plan.Phase(shutdown.PhaseAgents), *plan.Phase(shutdown.PhaseSweep),
				}}
				began := time.Now()
				run := shutdown.Start(kills, shutdown.Options{
					Mode: tc.mode, Log: g.opts.Log, Exit: func(code int) { t.Errorf("the watchdog ended the process with %d", code) },
				})
				<-run.Done()
				if took := time.Since(began); took != tc.want {
					t.Errorf("the phases that kill took %s, want %s", took, tc.want)
				}
				if kernel.graces != 1 {
					t.Errorf("%d graces were given, want 1", kernel.graces)
				}
				if left := kernel.Count(); left != tc.stubborn {
					t.Errorf("%d trees are left, want %d", left, tc.stubborn)
				}
			})
		})
	}
}
