package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"go.uber.org/goleak"

	"gatewaytui/core/process"
	"gatewaytui/fixtures/eventually"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	// patience bounds a wait for what must come, on a machine that is busy.
	patience = 15 * time.Second
	// slack is what a busy machine may add to a bound.
	slack = 15 * time.Second
)

// bench is a session's terminal and process tools over a registry of the test's own.
type bench struct {
	*testing.T
	registry *process.Registry
	opts     Options
	terminal *Terminal
	process  *Process

	mu    sync.Mutex
	doing []string
}

func newBench(t *testing.T, change ...func(*Options)) *bench {
	t.Helper()
	// Another run at the same time has another life and another home: a start sweeps the other lives of its home.
	life := fmt.Sprintf("life-of-the-tests-%d-%d", os.Getpid(), time.Now().UnixNano())
	r := process.New(process.Options{
		Life: life, HomeID: "home of " + life, KillGrace: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
	})
	if err := r.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := r.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	o := Options{Timeout: 30 * time.Second, OutputLimit: 16 << 10, Workdir: filepath.Join(t.TempDir(), "work"), KillGrace: 100 * time.Millisecond}
	for _, c := range change {
		c(&o)
	}
	return &bench{T: t, registry: r, opts: o, terminal: NewTerminal(r, o), process: NewProcess(r, o)}
}

// call calls a tool for session "s" in turn "t", as an agent does, through a set.
func (b *bench) call(ctx context.Context, t Tool, args map[string]any, change ...func(*Call)) string {
	b.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		b.Fatal(err)
	}
	c := Call{Session: "s", Turn: "t", Arguments: text, Progress: func(doing string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.doing = append(b.doing, doing)
	}}
	for _, f := range change {
		f(&c)
	}
	return NewSet(b.opts.OutputLimit, t).Run(ctx, t.Spec().Name, c)
}

// answer is every field of every answer.
type answer struct {
	Output      string           `json:"output"`
	ExitCode    *int             `json:"exit_code"`
	PID         int              `json:"pid"`
	SessionID   string           `json:"session_id"`
	Note        string           `json:"note"`
	State       string           `json:"state"`
	AgeMS       int64            `json:"age_ms"`
	LastOutput  string           `json:"last_output"`
	TimedOut    bool             `json:"timed_out"`
	Truncated   bool             `json:"truncated"`
	LeftRunning int              `json:"left_running"`
	Survivors   []int            `json:"survivors"`
	Verified    bool             `json:"verified"`
	Killed      []int            `json:"killed"`
	Summary     string           `json:"summary"`
	Written     int              `json:"written"`
	Processes   []map[string]any `json:"processes"`
	More        int              `json:"more"`
	Error       string           `json:"error"`
}

// read reads what a model got; it is one JSON object, in bounds, and nothing in it acts on a terminal.
func (b *bench) read(text string) answer {
	b.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	var a answer
	if err := dec.Decode(&a); err != nil || dec.More() {
		b.Fatalf("the model gets %q: %v", text, err)
	}
	if len(text) > max(b.opts.OutputLimit, minLimit) || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		b.Errorf("the model gets %d bytes: %q", len(text), text)
	}
	return a
}

func (b *bench) run(args map[string]any, change ...func(*Call)) answer {
	b.Helper()
	return b.read(b.call(b.Context(), b.terminal, args, change...))
}

func (b *bench) act(args map[string]any, change ...func(*Call)) answer {
	b.Helper()
	return b.read(b.call(b.Context(), b.process, args, change...))
}

// background starts a command in the background.
func (b *bench) background(command string, change ...func(*Call)) int {
	b.Helper()
	a := b.run(map[string]any{"command": command, "background": true}, change...)
	if a.PID == 0 || a.SessionID == "" || a.Error != "" {
		b.Fatalf("not started: %+v", a)
	}
	return a.PID
}

func as(session string) func(*Call) { return func(c *Call) { c.Session = session } }

// lives reports whether a process has this pid and is not a zombie.
func lives(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	state := strings.TrimSpace(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return state[0] != 'Z' && state[0] != 'X'
}

// saidPID waits for a file that a command writes its pid to.
func saidPID(t *testing.T, path string) int {
	t.Helper()
	var pid int
	eventually.True(t, "a pid is in "+path, func() bool {
		text, _ := os.ReadFile(path)
		n, err := strconv.Atoi(strings.TrimSpace(string(text)))
		pid = n
		return err == nil && strings.HasSuffix(string(text), "\n")
	})
	return pid
}
