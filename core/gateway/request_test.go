package gateway

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
)

func anonymous() string { return session.RequestPrefix + ulid.Make().String() }

// nothing waits until no row, agent, process or stored session of a request is left.
func (l *lab) nothing() {
	l.t.Helper()
	l.wait("nothing is left of the request", func() bool {
		s, err := l.g.Snapshot(context.Background())
		if err != nil {
			l.t.Fatal(err)
		}
		stored := 0
		if _, err := l.g.recovery.Store().Sessions(context.Background(), func(store.Session) error { stored++; return nil }); err != nil {
			l.t.Fatal(err)
		}
		return len(s.Sessions) == 0 && len(s.Agents) == 0 && len(s.Processes) == 0 && stored == 0
	})
}

// TF28: nothing of an anonymous request stays, with any outcome.
func TestTF28_AnAnonymousRequestLeavesNothing(t *testing.T) {
	for name, run := range map[string]func(l *lab){
		"answered": func(l *lab) {
			l.ask(anonymous(), "hello")
			s, err := l.g.Snapshot(context.Background())
			if err != nil || len(s.Sessions)+len(s.Agents) != 0 {
				l.t.Errorf("when the answer is there %d sessions and %d agents are left (%v)", len(s.Sessions), len(s.Agents), err)
			}
		},
		"answered with a background process": func(l *lab) {
			if got := l.ask(anonymous(), "bg: sleep 1000"); !strings.Contains(got, "pid") {
				l.t.Errorf("the process was not started: %s", got)
			}
		},
		"interrupted": func(l *lab) {
			key := anonymous()
			r := l.send(key, "hang")
			l.wait("the turn runs", func() bool { return l.session(key).Doing == ops.DoingModelCall })
			l.do(ops.Command{Verb: ops.VerbInterrupt, Target: key})
			if got := l.await(r); got.err == nil {
				l.t.Errorf("answered %+v", got)
			}
		},
		"left by its client": func(l *lab) {
			key := anonymous()
			id, r := l.post(key, "hang")
			l.wait("the turn runs", func() bool { return l.session(key).Doing == ops.DoingModelCall })
			l.g.intake.Withdraw(key, id)
			l.await(r)
		},
		"reset by an operator": func(l *lab) {
			key := anonymous()
			r := l.send(key, "hang")
			l.wait("the turn runs", func() bool { return l.session(key).Doing == ops.DoingModelCall })
			l.do(ops.Command{Verb: ops.VerbReset, Target: key})
			l.await(r)
		},
		"released because its worker does not return": func(l *lab) {
			key := anonymous()
			r := l.send(key, "wedge")
			l.wait("the turn runs", func() bool { return l.session(key).Doing == ops.DoingModelCall })
			l.do(ops.Command{Verb: ops.VerbInterrupt, Target: key})
			l.await(r)
		},
		"a background task": func(l *lab) {
			if got := l.ask(anonymous(), "/background hello"); got != "you said hello" {
				l.t.Errorf("answered %q", got)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := start(t)
			run(l)
			l.nothing()
		})
	}
}

// TF28: what a crash left of a request is deleted by the next life; other sessions stay.
func TestTF28_TheNextLifeDeletesTheRequestsOfACrash(t *testing.T) {
	dir := t.TempDir()
	leave(t, dir, func(ctx context.Context, st *store.Store) error {
		for i, key := range []string{anonymous(), anonymous(), "api:user:maria"} {
			id := ulid.Make().String()
			now := time.Now()
			s := store.Session{Key: key, ID: id, Platform: "api", State: ops.SessionIdle, CreatedAt: now, LastActivityAt: now}
			if err := st.BeginTurn(ctx, s, store.Turn{ID: "t" + strconv.Itoa(i), SessionID: id, Life: "before", StartedAt: now}, store.Message{Role: "user", Content: "hi", At: now}); err != nil {
				return err
			}
		}
		return nil
	})
	l := start(t, func(s *setup) { s.dir = dir })
	l.wait("only the named session is left", func() bool {
		var keys []string
		if _, err := l.g.recovery.Store().Sessions(context.Background(), func(s store.Session) error { keys = append(keys, s.Key); return nil }); err != nil {
			t.Fatal(err)
		}
		sessions := l.g.table.Counts().Sessions
		return len(keys) == 1 && keys[0] == "api:user:maria" && sessions == 1
	})
}

// TF28: requests push no agent of a person out of the cache.
func TestTF28_RequestsEvictNoAgent(t *testing.T) {
	l := start(t, func(s *setup) { s.cfg.Agent.CacheSize = 1 })
	l.ask("api:user:maria", "hello")
	var waiting []responder
	for range 3 {
		waiting = append(waiting, l.send(anonymous(), "hello"))
	}
	for _, r := range waiting {
		l.await(r)
	}
	if !l.session("api:user:maria").Cached {
		t.Error("the person's agent has left the cache")
	}
}
