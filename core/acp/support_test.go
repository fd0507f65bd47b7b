package acp

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/agent"
	"gatewaytui/core/environment"
	"gatewaytui/core/process"
	"gatewaytui/core/timeline"
	"gatewaytui/core/tool"
	"gatewaytui/fixtures/acpagent"
	"gatewaytui/fixtures/eventually"
)

func TestMain(m *testing.M) {
	acpagent.Play()
	goleak.VerifyTestMain(m)
}

// patience bounds a wait for what must come, on a machine that is busy.
const patience = 30 * time.Second

// room is a Set over a registry of the test's own, and an agent of it.
type room struct {
	*testing.T
	registry *process.Registry
	set      *Set
	def      Definition
	work     string
	env      map[string]string
	memory   *kept
	ask      func(ctx context.Context, call tool.Call, step tool.Step) error

	mu    sync.Mutex
	doing []string
	text  strings.Builder
	steps []tool.Step
}

// kept is a memory that keeps the session of a program.
type kept struct {
	agent.Memory
	mu sync.Mutex
	id string
}

func (k *kept) ExternalSession(context.Context, string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.id, nil
}

func (k *kept) KeepExternalSession(_ context.Context, _, id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.id = id
	return nil
}

func newRoom(t *testing.T) *room {
	t.Helper()
	life := fmt.Sprintf("life-of-the-tests-%d-%d", os.Getpid(), time.Now().UnixNano())
	r := &room{T: t, work: t.TempDir(), memory: &kept{}, env: map[string]string{acpagent.Folder: t.TempDir(), "PATH": os.Getenv("PATH"), "GORACE": "atexit_sleep_ms=0"}}
	r.registry = process.New(process.Options{Life: life, HomeID: "home of " + life, KillGrace: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	if err := r.registry.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.set = New(Options{Processes: r.registry, Workdir: filepath.Join(r.work, "work"), KillGrace: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	r.def = Definition{Name: "coder", Command: []string{os.Args[0]}, TurnTimeout: time.Minute, Environments: r, Gate: r, OnMachine: func(tool.Call) bool { return true }}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := r.set.CloseAll(ctx); err != nil {
			t.Errorf("close the programs: %v", err)
		}
		if err := r.registry.Close(ctx); err != nil {
			t.Errorf("close the registry: %v", err)
		}
	})
	return r
}

// Resolve implements Environments.
func (r *room) Resolve(context.Context, string) (environment.Place, error) {
	return environment.Place{Name: environment.NameLocal, Kind: environment.KindLocal}, nil
}

// Command implements Environments.
func (r *room) Command(ctx context.Context, req environment.Request) (environment.Launch, environment.Place, error) {
	place, err := r.Resolve(ctx, req.Agent)
	l := environment.Launch{Argv: req.Argv, Dir: req.Dir}
	for name, value := range maps.All(r.env) {
		l.Env = append(l.Env, name+"="+value)
	}
	return l, place, err
}

// Pass implements tool.Gate.
func (r *room) Pass(ctx context.Context, call tool.Call, step tool.Step) error {
	r.mu.Lock()
	r.steps = append(r.steps, step)
	r.mu.Unlock()
	if r.ask != nil {
		return r.ask(ctx, call, step)
	}
	return nil
}

func (r *room) agent() agent.External {
	return r.set.External(r.def).New(agent.ExternalOwner{Session: "demo:dm:1", Agent: "coder", Memory: r.memory})
}

// turn is a turn with a message of these lines.
func (r *room) turn(lines ...string) agent.ExternalTurn {
	return agent.ExternalTurn{
		Text: strings.Join(lines, "\n"),
		Call: tool.Call{Session: "demo:dm:1", Turn: "t1", Agent: "coder", Progress: func(doing string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.doing = append(r.doing, doing)
		}},
		Delta: func(text string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.text.WriteString(text)
		},
		Span: func(string) *timeline.Span { return nil }, Measured: func(int, int) {},
	}
}

// says works on a message, and returns the answer.
func (r *room) says(a agent.External, lines ...string) string {
	r.Helper()
	answer, err := a.Prompt(r.Context(), r.turn(lines...))
	if err != nil {
		r.Fatalf("the turn %q failed: %v", lines, err)
	}
	return answer.Text
}

// did reports whether the turn has reported this activity.
func (r *room) did(part string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Contains(strings.Join(r.doing, "\n"), part)
}

// close ends an agent within a bound.
func (r *room) close(a agent.External) {
	r.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), patience)
	defer cancel()
	if err := a.Close(ctx); err != nil {
		r.Errorf("close: %v", err)
	}
}

// nothingRuns waits until no process of the session is left.
func (r *room) nothingRuns() {
	r.Helper()
	eventually.True(r.T, "no process of the session is left", func() bool { return r.registry.CountSession("demo:dm:1") == 0 })
}
