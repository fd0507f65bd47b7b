package process

import (
	"errors"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"gatewaytui/fixtures/soak"
)

func TestKill_Scopes(t *testing.T) {
	owned := func(session, turn string, policy Policy) func(*Spec) {
		return func(s *Spec) { s.Session, s.Turn, s.Policy = session, turn, policy }
	}
	type kept map[string]bool
	for _, tt := range []struct {
		name string
		kill func(*Registry, map[string]*Process) Report
		ends []string
	}{
		{"one pid", func(r *Registry, ps map[string]*Process) Report {
			rep, err := r.KillPID(t.Context(), ps["a background"].PID(), short)
			if err != nil {
				t.Error(err)
			}
			return rep
		}, []string{"a background"}},
		{"a turn ends what is its own and spares the session's (C8)", func(r *Registry, _ map[string]*Process) Report {
			return r.KillTurn(t.Context(), "a1", short)
		}, []string{"a foreground"}},
		{"a session ends all of it but what is the gateway's (C9)", func(r *Registry, _ map[string]*Process) Report {
			return r.KillSession(t.Context(), "a", short)
		}, []string{"a foreground", "a background", "a other turn"}},
		{"the kill of all sessions spares what is the gateway's", func(r *Registry, _ map[string]*Process) Report {
			return r.KillSessions(t.Context(), short)
		}, []string{"a foreground", "a background", "a other turn", "b background"}},
		{"an empty turn matches none", func(r *Registry, _ map[string]*Process) Report {
			return r.KillTurn(t.Context(), "", short)
		}, nil},
		{"an empty session matches none", func(r *Registry, _ map[string]*Process) Report {
			return r.KillSession(t.Context(), "", short)
		}, nil},
		{"all is all", func(r *Registry, _ map[string]*Process) Report {
			return r.KillAll(t.Context(), short)
		}, []string{"a foreground", "a background", "a other turn", "a gateway", "b background", "no owner"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := registry(t)
			ps := map[string]*Process{
				"a foreground": sh(t, r, `exec sleep 1000`, owned("a", "a1", PolicyTurn)),
				"a background": sh(t, r, `exec sleep 1000`, owned("a", "a1", PolicySession)),
				"a other turn": sh(t, r, `exec sleep 1000`, owned("a", "a2", PolicyTurn)),
				"a gateway":    sh(t, r, `exec sleep 1000`, owned("a", "a1", PolicyGateway)),
				"b background": sh(t, r, `exec sleep 1000`, owned("b", "b1", PolicySession)),
				"no owner":     sh(t, r, `exec sleep 1000`, owned("", "", PolicyGateway)),
			}
			rep := tt.kill(r, ps)
			verified(t, rep)
			if len(rep.Killed) != len(tt.ends) {
				t.Errorf("%d were killed, of %d", len(rep.Killed), len(tt.ends))
			}
			gone := kept{}
			for _, name := range tt.ends {
				gone[name] = true
			}
			for name, p := range ps {
				if lives(p.tree.leader) == gone[name] {
					t.Errorf("%q lives: %v", name, !gone[name])
				}
			}
			if n := r.Count(); n != len(ps)-len(tt.ends) {
				t.Errorf("%d trees are left", n)
			}
		})
	}
}

// The grace of many sessions is one grace: every tree has its TERM before the first one gets KILL.
func TestKill_AllSessionsShareOneGrace(t *testing.T) {
	const sessions = 10
	r := registry(t, at(ContainmentSubreaper)) // a control group would be killed at once, past send
	var mu sync.Mutex
	termed, early := map[int]bool{}, 0
	send := r.send
	r.send = func(t *target, sig unix.Signal, group bool) error {
		mu.Lock()
		defer mu.Unlock()
		if sig == unix.SIGTERM {
			termed[t.PID] = true
		} else if sig == unix.SIGKILL && len(termed) < sessions {
			early++
		}
		return send(t, sig, group)
	}
	for i := range sessions {
		p := sh(t, r, `trap '' TERM; echo ready; exec sleep 1000`, func(s *Spec) { s.Session = "s" + strconv.Itoa(i) })
		ready(t, p)
		becomes(t, p.tree.leader, "sleep")
	}
	rep := r.KillSessions(t.Context(), short)
	verified(t, rep)
	if rep.Escalated != sessions {
		t.Errorf("%d trees needed KILL, want all %d", rep.Escalated, sessions)
	}
	if len(termed) != sessions || early > 0 {
		t.Errorf("%d of %d trees had TERM; KILL was sent %d times before all had", len(termed), sessions, early)
	}
}

// What is started while everything is ended does not escape: after Refuse one KillAll is enough (S1).
func TestS1_NothingStartedDuringTheEndEscapes(t *testing.T) {
	r := registry(t)
	var wg sync.WaitGroup
	var began sync.WaitGroup
	const spawners = 4
	most := soak.Count(t, 5, 20)
	began.Add(spawners)
	for range spawners {
		wg.Go(func() {
			began.Done()
			for range most {
				_, err := r.Spawn(t.Context(), spec(`trap '' TERM; sleep 1000 & setsid sleep 1000 & wait`))
				if errors.Is(err, ErrClosing) {
					return
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	began.Wait()
	r.KillAll(t.Context(), 0) // they go on, so it may come to no end; what it leaves is the next one's
	r.Refuse()
	verified(t, r.KillAll(t.Context(), short))
	for _, p := range marked(t, testLife) {
		t.Errorf("pid %d escaped", p.PID)
	}
	wg.Wait()
	if _, err := r.Spawn(t.Context(), spec(`exit 0`)); !errors.Is(err, ErrClosing) {
		t.Errorf("a spawn after Refuse: %v", err)
	}
}

func TestKill_ManyAtOnceOfTheSameTree(t *testing.T) {
	r := registry(t)
	p := sh(t, r, `trap '' TERM; sleep 1000 & setsid sleep 1000 & echo ready; wait`)
	ready(t, p)
	var wg sync.WaitGroup
	for _, end := range []func() Report{
		func() Report { return p.Kill(t.Context(), short) },
		func() Report { return p.Kill(t.Context(), 0) },
		func() Report { return r.KillSession(t.Context(), "s", short) },
		func() Report { return r.KillAll(t.Context(), short) },
		func() Report { return r.KillAll(t.Context(), 0) },
	} {
		wg.Go(func() { verified(t, end(), p.tree.leader) })
	}
	wg.Wait()
	if n := r.Count(); n != 0 {
		t.Errorf("%d trees are left", n)
	}
}
