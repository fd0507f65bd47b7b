package tool

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/environment"
	"gatewaytui/core/fence"
	"gatewaytui/core/files"
)

// asked is a gate that notes each step and refuses those with a word.
type asked struct {
	refuses string
	steps   []Step
	err     error
}

func (a *asked) Pass(_ context.Context, _ Call, s Step) error {
	a.steps = append(a.steps, s)
	if strings.Contains(s.Text, a.refuses) {
		return a.err
	}
	return nil
}

func TestTR3_NothingStartsBeforeTheGateHasPassedIt(t *testing.T) {
	gate := &asked{refuses: "mark", err: errors.New("a person said no")}
	b := newBench(t, func(o *Options) { o.Gate, o.Environments = gate, placed{environment.KindPartial} })
	for _, args := range []map[string]any{
		{"command": "touch mark"},
		{"command": "touch mark", "background": true},
		{"command": "touch mark", "pty": true},
		{"command": "touch mark; sleep 30", "background": true, "pty": true},
	} {
		text := b.call(t.Context(), b.terminal, args)
		if want := `{"error":"a person said no"}`; text != want {
			t.Errorf("%v: the model reads %s, want %s", args, text, want)
		}
	}
	if _, err := os.Stat(filepath.Join(b.opts.Workdir, "mark")); err == nil {
		t.Error("a refused command ran")
	}
	if rows := b.registry.SessionRows("s"); len(rows) != 0 {
		t.Errorf("refused commands have processes: %+v", rows)
	}
	a := b.run(map[string]any{"command": "echo yes"})
	if a.Output != "yes\n" {
		t.Errorf("a passed command answered %+v", a)
	}
	last := gate.steps[len(gate.steps)-1]
	want := Step{Kind: StepCommand, Text: "echo yes", Folder: b.opts.Workdir, Environment: fence.Partial}
	if last.Kind != want.Kind || last.Text != want.Text || last.Folder != want.Folder || last.Environment != want.Environment || last.Into != "" {
		t.Errorf("the gate judged %+v, want %+v", last, want)
	}
}

func TestTR3_InputOfAProcessPassesTheGate(t *testing.T) {
	gate := &asked{refuses: "mark", err: errors.New("a person said no")}
	b := newBench(t, func(o *Options) { o.Gate = gate })
	pid := b.run(map[string]any{"command": "cat", "background": true}).PID
	if text := b.call(t.Context(), b.process, map[string]any{"action": "write", "pid": pid, "data": "touch mark\n"}); !strings.Contains(text, "a person said no") {
		t.Errorf("input that was refused: %s", text)
	}
	if text := b.call(t.Context(), b.process, map[string]any{"action": "write", "pid": pid, "data": "fine\n"}); !strings.Contains(text, `"written":5`) {
		t.Errorf("input that was passed: %s", text)
	}
	if i := slices.IndexFunc(gate.steps, func(s Step) bool { return s.Text == "touch mark\n" }); i < 0 || gate.steps[i].Into != "cat" {
		t.Errorf("the gate saw %+v", gate.steps)
	}
}

func TestTR3_AStepThatEndsTheTurnSaysWhatTheUserReads(t *testing.T) {
	gate := &asked{err: &OverError{Text: "three refusals"}}
	b := newBench(t, func(o *Options) { o.Gate = gate })
	answer := ""
	b.call(t.Context(), b.terminal, map[string]any{"command": "true"}, func(c *Call) { c.Over = func(text string) { answer = text } })
	if answer != "three refusals" {
		t.Errorf("the turn ends with %q", answer)
	}
}

func TestTR3_AWriteOutsideOfTheWorkFolderIsAskedAndIsWhereItWasAsked(t *testing.T) {
	outside, home := t.TempDir(), t.TempDir()
	work := filepath.Join(t.TempDir(), "work")
	if err := errors.Join(os.Mkdir(work, 0o700), os.Symlink(outside, filepath.Join(work, "link")), os.WriteFile(filepath.Join(outside, "old"), []byte("one"), 0o600)); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(outside)
	if err != nil {
		t.Fatal(err)
	}
	gate := &asked{refuses: "no.txt", err: errors.New("a person said no")}
	set := NewSet(4096, NewFiles(Options{Timeout: patience, OutputLimit: 4096, Workdir: work, Folder: files.New(work, files.Own{Home: home, Work: work}), Gate: gate})...)
	for _, tt := range []struct {
		tool, arguments string
		// asked is what a person sees, empty where there is no question; file is what is written.
		asked, file, content string
	}{
		{"files_write", `{"path":"in.txt","content":"x"}`, "", filepath.Join(work, "in.txt"), "x"},
		{"files_write", `{"path":"` + outside + `/new.txt","content":"hello"}`, real + "/new.txt\nhello", real + "/new.txt", "hello"},
		{"files_write", `{"path":"link/through.txt","content":"hello"}`, real + "/through.txt\nhello", real + "/through.txt", "hello"},
		{"files_edit", `{"path":"` + outside + `/old","old":"one","new":"two"}`, real + "/old\n- one\n+ two", real + "/old", "two"},
		{"files_write", `{"path":"` + outside + `/no.txt","content":"x"}`, real + "/no.txt\nx", real + "/no.txt", ""},
		{"files_write", `{"path":"` + home + `/api.key","content":"x"}`, "", home + "/api.key", ""},
		{"files_write", `{"path":"` + outside + `/missing/x","content":"x"}`, "", real + "/missing/x", ""},
		{"files_read", `{"path":"` + outside + `/old"}`, "", real + "/old", "two"},
	} {
		gate.steps = nil
		text := set.Run(t.Context(), tt.tool, Call{Session: "s", Turn: "t", Arguments: []byte(tt.arguments), Progress: func(string) {}})
		seen := ""
		if len(gate.steps) == 1 {
			seen = gate.steps[0].Text
		}
		if seen != tt.asked || len(gate.steps) > 1 {
			t.Errorf("%s %s asked %+v, want %q", tt.tool, tt.arguments, gate.steps, tt.asked)
		}
		if got, _ := os.ReadFile(tt.file); string(got) != tt.content {
			t.Errorf("%s %s answered %s, and the file has %q, want %q", tt.tool, tt.arguments, text, got, tt.content)
		}
	}
}

// mover replaces a folder by a link while a person is asked.
type mover struct{ move func() }

func (m mover) Pass(context.Context, Call, Step) error { m.move(); return nil }

func TestTR3_AFolderThatMovesDuringTheQuestionIsNotWrittenTo(t *testing.T) {
	outside, other := t.TempDir(), t.TempDir()
	work := t.TempDir()
	target := filepath.Join(outside, "sub")
	if err := os.Mkdir(target, 0o700); err != nil {
		t.Fatal(err)
	}
	gate := mover{func() {
		if err := errors.Join(os.Remove(target), os.Symlink(other, target)); err != nil {
			t.Error(err)
		}
	}}
	set := NewSet(4096, NewFiles(Options{Timeout: patience, OutputLimit: 4096, Workdir: work, Folder: files.New(work, files.Own{}), Gate: gate})...)
	text := set.Run(t.Context(), "files_write", Call{Session: "s", Turn: "t", Arguments: []byte(`{"path":"` + target + `/x","content":"x"}`), Progress: func(string) {}})
	if entries, _ := os.ReadDir(other); len(entries) != 0 || !strings.Contains(text, "error") {
		t.Errorf("it answered %s, and the other folder has %v", text, entries)
	}
}

// placed runs every command on the machine itself and says that it is of another kind.
type placed struct{ kind environment.Kind }

func (p placed) Resolve(context.Context, string) (environment.Place, error) {
	return environment.Place{Name: "box", Kind: p.kind}, nil
}

func (p placed) Command(_ context.Context, r environment.Request) (environment.Launch, environment.Place, error) {
	return environment.Launch{Argv: r.Argv, Dir: r.Dir}, environment.Place{Name: "box", Kind: p.kind}, nil
}

// moved resolves to one kind and starts in another.
type moved struct{ placed }

func (moved) Command(_ context.Context, r environment.Request) (environment.Launch, environment.Place, error) {
	return environment.Launch{Argv: r.Argv, Dir: r.Dir}, environment.Place{Name: "box", Kind: environment.KindLocal}, nil
}

func TestTR3_ACommandRunsInTheEnvironmentThatItWasJudgedFor(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Gate, o.Environments = &asked{}, moved{placed{environment.KindSandbox}} })
	text := b.call(t.Context(), b.terminal, map[string]any{"command": "touch mark"})
	if _, err := os.Stat(filepath.Join(b.opts.Workdir, "mark")); err == nil || !strings.Contains(text, "judged for the environment sandbox") {
		t.Errorf("it answered %s, and the file is there: %v", text, err == nil)
	}
}
