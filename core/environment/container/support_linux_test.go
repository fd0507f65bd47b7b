package container

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"gatewaytui/core/background"
	"gatewaytui/core/process"
	"gatewaytui/core/store"
	"gatewaytui/fixtures/docker"
)

const image = "tools:1"

// rig is an engine over the double of Docker.
type rig struct {
	*Engine
	docker    *docker.Machine
	processes *process.Registry
	tasks     *background.Group
	rows      *journal
	owner     Owner
}

// setUp starts a daemon with one image, and an engine. Nothing of the engine may be left at the end.
func setUp(t *testing.T) *rig {
	t.Helper()
	m := docker.Start(t, image)
	t.Setenv("PATH", m.Bin+":"+os.Getenv("PATH"))
	t.Setenv("DOCKER_HOST", m.Host)
	log := slog.New(slog.DiscardHandler)
	life := fmt.Sprintf("L%d", time.Now().UnixNano())
	processes := process.New(process.Options{Life: life, HomeID: life, KillGrace: 100 * time.Millisecond, Log: log})
	if err := processes.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := &rig{docker: m, processes: processes, rows: &journal{rows: map[string]store.Environment{}}}
	dir := t.TempDir()
	r.owner = Owner{Session: "telegram:dm:47", Work: filepath.Join(dir, "work"), Home: filepath.Join(dir, "home")}
	for _, path := range []string{r.owner.Work, r.owner.Home} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r.live("home", life)
	t.Cleanup(func() {
		r.die(context.Background())
		if err := processes.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// live begins a life: a new engine over the rows of the last one.
func (r *rig) live(home, life string) {
	log := slog.New(slog.DiscardHandler)
	r.tasks = background.New(log)
	tasks := r.tasks
	r.Engine = New(Options{
		HomeID: home, Life: life, Programs: []CommandLine{NewProgram(Docker, r.processes)}, Journal: r.rows, Grace: 300 * time.Millisecond,
		UID: os.Getuid(), GID: os.Getgid(), Defined: []Settings{r.settings()}, Log: log,
		Go: func(name string, run func(context.Context)) bool {
			return tasks.Start(context.Background(), name, "", run)
		},
	})
}

// die ends the background tasks of a life, as a stop does.
func (r *rig) die(ctx context.Context) {
	for _, task := range r.tasks.Close() {
		_ = task.Stop(ctx)
	}
}

func (r *rig) settings() Settings { return Settings{Name: "box", Image: image} }

// container makes one, and removes it at the end of the test.
func (r *rig) container(t *testing.T) *Container {
	t.Helper()
	c, err := r.Start(t.Context(), r.settings(), r.owner)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// sh starts a shell command in a container.
func (r *rig) sh(t *testing.T, c *Container, script string, change ...func(*process.Spec)) (Command, *process.Process) {
	t.Helper()
	cmd := c.Command([]string{"bash", "-c", script}, r.owner.Work, []string{"SECRET_OF_TOOL=s3cr3t", "DOCKER_HOST=elsewhere"}, false)
	spec := process.Spec{Argv: cmd.Argv, Env: cmd.Env, Policy: process.PolicyTurn, Session: r.owner.Session}
	for _, f := range change {
		f(&spec)
	}
	p, err := r.processes.Spawn(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, p
}

// run runs a shell command to its end.
func (r *rig) run(t *testing.T, c *Container, script string) (string, int) {
	t.Helper()
	_, p := r.sh(t, c, script)
	exit, err := p.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out, _ := p.Output()
	return out, exit.Code
}

// journal is a Journal in memory.
type journal struct {
	mu   sync.Mutex
	rows map[string]store.Environment
}

func (j *journal) PutEnvironment(_ context.Context, v store.Environment) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rows[v.ID] = v
	return nil
}

func (j *journal) DropEnvironment(_ context.Context, id string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.rows, id)
	return nil
}

func (j *journal) Environments(context.Context) ([]store.Environment, error) { return j.all(), nil }

func (j *journal) all() (out []store.Environment) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, v := range j.rows {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b store.Environment) int { return a.At.Compare(b.At) })
	return out
}
