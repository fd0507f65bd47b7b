package tool

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/fence"
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
	b := newBench(t, func(o *Options) { o.Gate, o.Environment = gate, fence.Partial })
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
