package container

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/background"
	"gatewaytui/core/environment"
	"gatewaytui/core/store"
)

// step is something that happens.
type step struct {
	What    string
	Session int
	After   time.Duration
}

var happenings = []string{"use", "use", "use", "close", "kill a command", "stop", "SIGKILL", "hang", "answer", "answer", "fail"}

// What exists has a row, for any order of events. Nothing exists and no row is left once the daemon answers again.
func TestTR6_NothingIsLeftExceptWhatARowNames(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) step {
			return step{
				rapid.SampledFrom(happenings).Draw(rt, "what"), rapid.IntRange(0, 2).Draw(rt, "session"),
				time.Duration(rapid.IntRange(0, 40_000).Draw(rt, "after")) * time.Millisecond,
			}
		}), 1, 30).Draw(rt, "steps")
		var problem string
		synctest.Test(t, func(t *testing.T) {
			w := &world{t: t, daemon: newFake(), rows: &journal{rows: map[string]store.Environment{}}}
			problem = w.play(steps)
		})
		if problem != "" {
			rt.Fatal(problem)
		}
	})
}

// world is a gateway over lives.
type world struct {
	t      *testing.T
	daemon *fakeDaemon
	rows   *journal
	engine *Engine
	tasks  *background.Group
	held   map[int]environment.Environment
	life   int
}

func (w *world) live() {
	w.life++
	tasks := background.New(slog.New(slog.DiscardHandler))
	w.tasks, w.held = tasks, map[int]environment.Environment{}
	w.engine = New(Options{
		HomeID: "home", Life: fmt.Sprintf("l%d", w.life), Programs: []CommandLine{w.daemon}, Journal: w.rows, Grace: time.Second, Defined: []Settings{{Image: image}}, Log: slog.New(slog.DiscardHandler),
		Go: func(name string, run func(context.Context)) bool {
			return tasks.Start(context.Background(), name, "", run)
		},
	})
	w.engine.Recover(context.Background())
}

const (
	useBound   = 2 * time.Second
	closeBound = 3 * time.Second
)

// play plays the steps and returns what was not as promised.
func (w *world) play(steps []step) string {
	w.live()
	for i, s := range steps {
		if late := w.do(s); late != "" {
			return fmt.Sprintf("step %d, %s: %s", i, s.What, late)
		}
		if name := w.unnamed(); name != "" {
			return fmt.Sprintf("after step %d, %s: container %s exists and has no row", i, s.What, name)
		}
		time.Sleep(s.After) // virtual
		if name := w.unnamed(); name != "" {
			return fmt.Sprintf("%v after step %d, %s: container %s exists and has no row", s.After, i, s.What, name)
		}
	}
	w.daemon.set(true, false)
	for session := range w.held {
		w.do(step{What: "close", Session: session})
	}
	time.Sleep(10 * time.Minute) // virtual
	var left []string
	for _, row := range w.engine.Rows() {
		left = append(left, row.ID+" "+row.State+": "+row.Detail)
	}
	w.end()
	w.daemon.pending.Wait()
	if boxes := w.daemon.names(); len(boxes)+len(left)+len(w.rows.all()) > 0 {
		return fmt.Sprintf("in the end there are the containers %q, the rows %q, and in the store %v", boxes, left, w.rows.all())
	}
	return ""
}

func (w *world) do(s step) string {
	ctx := context.Background()
	switch s.What {
	case "use", "kill a command":
		ctx, cancel := context.WithTimeout(ctx, useBound)
		defer cancel()
		env := w.held[s.Session]
		if env == nil {
			made, err := w.engine.Make(ctx, environment.Use{Session: fmt.Sprint(s.Session), Workdir: "/w", Home: "/h", Definition: environment.Definition{Image: image}})
			if err != nil {
				return ""
			}
			env, w.held[s.Session] = made, made
		}
		launch, err := env.Command(ctx, environment.Command{Argv: []string{"true"}})
		if err == nil && s.What == "kill a command" {
			launch.Carrier.Relay(ctx, 9)
		}
	case "close":
		if env := w.held[s.Session]; env != nil {
			delete(w.held, s.Session)
			return w.close(env)
		}
	case "stop":
		for _, env := range w.held {
			if late := w.close(env); late != "" {
				return late
			}
		}
		w.end()
		w.live()
	case "SIGKILL":
		w.engine.mu.Lock()
		for _, c := range w.engine.all {
			if c.attached != nil {
				c.attached.End(ctx)
			}
		}
		w.engine.mu.Unlock()
		w.end()
		w.live()
	case "hang":
		w.daemon.set(false, false)
	case "answer":
		w.daemon.set(true, false)
	case "fail":
		w.daemon.set(true, true)
	}
	return ""
}

func (w *world) close(env environment.Environment) string {
	ctx, cancel := context.WithTimeout(context.Background(), closeBound)
	defer cancel()
	began := time.Now()
	_ = env.Close(ctx)
	if took := time.Since(began); took > closeBound {
		return fmt.Sprintf("a close took %v", took)
	}
	return ""
}

// end ends the background tasks of a life.
func (w *world) end() {
	for _, task := range w.tasks.Close() {
		if err := task.Stop(context.Background()); err != nil {
			w.t.Error(err)
		}
	}
}

// unnamed is a container that exists without a row, on the screen or in the store.
func (w *world) unnamed() string {
	for _, name := range w.daemon.names() {
		named := slices.ContainsFunc(w.engine.Rows(), func(r Row) bool { return r.ID == name }) ||
			slices.ContainsFunc(w.rows.all(), func(r store.Environment) bool { return r.ID == name })
		if !named {
			return name
		}
	}
	return ""
}
