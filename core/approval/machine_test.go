package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/tool"
)

// asking is one step that the model of the machine waits for.
type asking struct {
	key    string
	turn   *session.Turn
	step   tool.Step
	cancel context.CancelCauseFunc
	out    <-chan error
	id     string // of its request; empty: none was made
	life   int
	asked  time.Time
}

// machine runs a Book against what it promises.
type machine struct {
	*bench
	t    *rapid.T
	turn map[string]*session.Turn
	open []*asking
	ids  []string // every id that was ever seen
	// said is what the last answer to each id was that was taken; blanket are the turns, and rules what is granted for longer.
	said    map[string]bool
	blanket map[string]bool
	granted map[string]bool // session conversation or "always", with the command
	life    int
}

var machineCommands = []string{"rm -rf build", "make all", "curl example.org", "$X y", "git push", "ls", "rm -rf /"}

// settle collects the steps that went on, and checks why.
func (m *machine) settle() {
	synctest.Wait()
	m.open = slices.DeleteFunc(m.open, func(a *asking) bool {
		select {
		case err := <-a.out:
			m.check(a, err)
			return true
		default:
			return false
		}
	})
	for _, a := range m.open {
		if a.life != m.life {
			m.t.Fatalf("%q of life %d still waits in life %d", a.step.Text, a.life, m.life)
		}
		if time.Since(a.asked) > 30*time.Minute {
			m.t.Fatalf("%q waits since %v", a.step.Text, time.Since(a.asked))
		}
	}
}

// check is what a step that went on must have: a verdict of its own, or what an earlier answer gave.
func (m *machine) check(a *asking, err error) {
	if err != nil {
		_, withheld := errors.AsType[*tool.WithheldError](err)
		_, over := errors.AsType[*tool.OverError](err)
		if !withheld && !over {
			m.t.Fatalf("%q was refused with %v", a.step.Text, err)
		}
		if a.id != "" && m.said[a.id] && context.Cause(a.turn.Context()) == nil && a.life == m.life {
			m.t.Fatalf("request %s was allowed and did not run: %v", a.id, err)
		}
		return
	}
	switch {
	case a.step.Text == "ls":
	case a.step.Text == "rm -rf /":
		m.t.Fatal("what never runs ran")
	case a.id != "":
		if allowed, answered := m.said[a.id]; !answered || !allowed {
			m.t.Fatalf("%q ran, and request %s was not allowed", a.step.Text, a.id)
		}
		row, found, err := m.rows.Approval(context.Background(), a.id)
		if err != nil || !found || row.State != store.ApprovalAllowed || row.Command != a.step.Text || row.Folder != a.step.Folder {
			m.t.Fatalf("%q ran, and its row is %+v, %v", a.step.Text, row, err)
		}
	default:
		s, _ := m.table.Get(a.key)
		if !m.blanket[a.turn.ID] && !m.granted[s.ID+a.step.Text] && !m.granted["always"+a.step.Text] {
			m.t.Fatalf("%q ran in %s without a verdict", a.step.Text, a.key)
		}
	}
}

// ask lets the turn of a session ask for a step.
func (m *machine) ask(key, text string) {
	turn := m.turn[key]
	if turn == nil {
		turn = m.bench.turn(key)
		m.turn[key] = turn
	}
	ctx, cancel := context.WithCancelCause(turn.Context())
	before := m.waits()
	a := &asking{key: key, turn: turn, step: command(text), cancel: cancel, life: m.life, asked: time.Now()}
	a.out = m.pass(ctx, call(turn), a.step)
	synctest.Wait()
	for _, id := range m.waits() {
		if !slices.Contains(before, id) {
			a.id = id
			if slices.Contains(m.ids, id) {
				m.t.Fatalf("the id %s was used again", id)
			}
			m.ids = append(m.ids, id)
		}
	}
	m.open = append(m.open, a)
}

// answer answers any id that was ever seen.
func (m *machine) answer(id string, allow bool, scope ops.Scope) {
	var of *asking
	for _, a := range m.open {
		if a.id == id {
			of = a
		}
	}
	var err error
	if allow {
		_, err = m.allow(id, scope)
	} else {
		_, err = m.deny(id, "no")
	}
	if of == nil != (err != nil) {
		m.t.Fatalf("the answer to %s, which waits: %v, was %v", id, of != nil, err)
	}
	if err != nil {
		return
	}
	m.said[id] = allow
	s, _ := m.table.Get(of.key)
	switch {
	case !allow:
	case scope == ops.ScopeTurn:
		m.blanket[of.turn.ID] = true
	case scope == ops.ScopeSession:
		m.granted[s.ID+of.step.Text] = true
	case scope == ops.ScopeAlways:
		m.granted["always"+of.step.Text] = true
	}
}

// end ends the turn of a session with a cause.
func (m *machine) end(key string, cause error) {
	turn := m.turn[key]
	if turn == nil {
		m.t.Skip("runs while a turn runs")
	}
	m.table.Interrupt(key, turn.ID, cause)
	synctest.Wait()
	m.settle()
	m.table.Release(context.Background(), turn, session.End{State: ops.SessionIdle})
	delete(m.turn, key)
}

// restart begins the next life; killed: without a stop.
func (m *machine) restart(killed bool) {
	old := m.open
	if !killed {
		if err := m.book.Stop(context.Background()); err != nil {
			m.t.Fatal(err)
		}
		for _, id := range m.ids {
			if _, err := m.allow(id, ""); err == nil {
				m.t.Fatalf("%s was allowed during the stop", id)
			}
		}
	}
	if killed {
		m.bench.begin() // before the old turns hear of anything
	}
	for key := range m.turn {
		m.table.Interrupt(key, "", session.ErrStopping)
	}
	synctest.Wait()
	for _, a := range old {
		select {
		case err := <-a.out:
			if err == nil {
				m.t.Fatalf("%q ran after the end of its life", a.step.Text)
			}
		default:
			m.t.Fatalf("%q waits after the end of its life", a.step.Text)
		}
	}
	for key, turn := range m.turn {
		m.table.Release(context.Background(), turn, session.End{State: ops.SessionIdle})
		delete(m.turn, key)
	}
	if !killed {
		m.bench.begin()
	}
	m.open, m.life = nil, m.life+1
	for key := range m.granted {
		if !strings.HasPrefix(key, "always") {
			delete(m.granted, key)
		}
	}
}

// Random requests, answers, expiries, resets, stops and kills, over the store: nothing runs without its verdict, no answer reaches
// another id, and nothing waits for ever.
func TestTR4_TheBookAgainstAModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) {
			var rows Store = newRows()
			if rapid.IntRange(0, 9).Draw(rt, "disk") == 0 {
				disk := openDisk(t, t.TempDir())
				defer closeDisk(t, disk)
				rows = disk
			}
			m := &machine{bench: newBench(t, rows), t: rt, turn: map[string]*session.Turn{}, said: map[string]bool{}, blanket: map[string]bool{}, granted: map[string]bool{}}
			keys := rapid.SampledFrom([]string{"telegram:dm:4711", "telegram:dm:4712", "telegram:group:-1"})
			rt.Repeat(map[string]func(*rapid.T){
				"ask": func(rt *rapid.T) {
					m.t = rt
					m.ask(keys.Draw(rt, "key"), rapid.SampledFrom(machineCommands).Draw(rt, "command"))
				},
				"answer": func(rt *rapid.T) {
					if m.t = rt; len(m.ids) == 0 {
						rt.Skip("runs once something was asked")
					}
					m.answer(rapid.SampledFrom(m.ids).Draw(rt, "id"), rapid.Bool().Draw(rt, "allow"), rapid.SampledFrom(append(slices.Clone(ops.Scopes), "")).Draw(rt, "scope"))
				},
				"wait": func(rt *rapid.T) {
					m.t = rt
					time.Sleep(time.Duration(rapid.IntRange(1, 40).Draw(rt, "minutes")) * time.Minute)
				},
				"interrupt": func(rt *rapid.T) { m.t = rt; m.end(keys.Draw(rt, "key"), session.ErrInterrupted) },
				"reset": func(rt *rapid.T) {
					m.t = rt
					key := keys.Draw(rt, "key")
					if m.turn[key] == nil {
						rt.Skip("runs while a turn runs")
					}
					if _, _, _, ok := m.table.BeginReset(key); !ok {
						rt.Fatalf("%s is not reset", key)
					}
					m.settle()
					m.table.EndReset(context.Background(), key, false, false)
					delete(m.turn, key)
				},
				"stop": func(rt *rapid.T) { m.t = rt; m.restart(false) },
				"kill": func(rt *rapid.T) { m.t = rt; m.restart(true) },
				"": func(rt *rapid.T) {
					m.t = rt
					m.settle()
				},
			})
			for key := range m.turn {
				m.table.Interrupt(key, "", session.ErrInterrupted)
			}
			synctest.Wait()
			if m.settle(); len(m.open) > 0 {
				rt.Fatal(fmt.Sprint(len(m.open), " steps wait for ever"))
			}
		})
	})
}
