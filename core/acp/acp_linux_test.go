package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/environment"
	"gatewaytui/core/ops"
	"gatewaytui/core/tool"
	"gatewaytui/fixtures/eventually"
)

func TestHR7_AnExternalAgentAnswersATurn(t *testing.T) {
	r := newRoom(t)
	a := r.agent()
	answer, err := a.Prompt(t.Context(), r.turn("think", "plan", "say one", "run echo two", "say three"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "one\n\ntwothree"; answer.Text != want || r.text.String() != want {
		t.Errorf("the answer is %q, and %q was heard of it; want %q", answer.Text, r.text.String(), want)
	}
	if answer.Usage.In != 7 || answer.Usage.Out != 3 {
		t.Errorf("the usage is %+v", answer.Usage)
	}
	for _, want := range []string{ops.DoingModelCall, "plan 1/2: the first step", "execute: echo two"} {
		if !r.did(want) {
			t.Errorf("%q is not among the progress %q", want, r.doing)
		}
	}
	if got := r.says(a, "recall"); !strings.HasPrefix(got, "1 before") {
		t.Errorf("the second turn has another program: %q", got)
	}
	r.close(a)
	r.nothingRuns()
	if _, err := a.Prompt(t.Context(), r.turn("say x")); err == nil {
		t.Error("a closed agent works on a turn")
	}
}

func TestHR7_APermissionIsAnApproval(t *testing.T) {
	r := newRoom(t)
	a := r.agent()
	if got := r.says(a, "run echo hello", "edit /tmp/x"); got != "hello\n\nedited" {
		t.Errorf("with every step allowed the answer is %q", got)
	}
	if s := r.steps[0]; s.Kind != tool.StepCommand || s.Text != "echo hello" || s.Environment != "local" || s.Folder == "" {
		t.Errorf("the gate saw the command as %+v", s)
	}
	if s := r.steps[1]; s.Kind != tool.StepTool || !strings.Contains(s.Text, "/tmp/x") {
		t.Errorf("the gate saw the edit as %+v", s)
	}
	r.ask = func(context.Context, tool.Call, tool.Step) error { return &tool.WithheldError{Text: "no"} }
	if got := r.says(a, "run echo hello"); got != "not allowed" {
		t.Errorf("with the step refused the answer is %q", got)
	}
	r.ask = func(context.Context, tool.Call, tool.Step) error { return &tool.OverError{Text: "three times no"} }
	answer, err := a.Prompt(t.Context(), r.turn("run echo hello", "wait"))
	if err != nil || !answer.Over || answer.Text != "three times no" {
		t.Errorf("a turn that the gate ends has %+v, %v", answer, err)
	}
}

func TestHR7_AnInterruptReachesTheAgentAndItsTools(t *testing.T) {
	r := newRoom(t)
	a := r.agent()
	for _, lines := range [][]string{{"say begun", "run sleep 1000"}, {"say begun", "wait"}} {
		stop := errors.New("stopped by a person")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		go func() {
			answer, err := a.Prompt(ctx, r.turn(lines...))
			if !strings.HasPrefix(answer.Text, "begun") { // it may have said more until its turn had ended
				err = errors.Join(err, fmt.Errorf("the answer so far is lost: it is %q", answer.Text))
			}
			done <- err
		}()
		eventually.True(t, "the turn works", func() bool { r.mu.Lock(); defer r.mu.Unlock(); return strings.HasSuffix(r.text.String(), "begun") })
		cancel(stop)
		if err := <-done; !errors.Is(err, stop) || err.Error() != stop.Error() {
			t.Errorf("%q: the turn ended with %v", lines, err)
		}
		r.mu.Lock()
		r.text.Reset()
		r.mu.Unlock()
		if got := r.says(a, "say again"); got != "again" {
			t.Errorf("the next turn answers %q", got)
		}
		r.mu.Lock()
		r.text.Reset()
		r.mu.Unlock()
	}
}

func TestHR7_ASessionIsResumedOrReadAgain(t *testing.T) {
	for _, tt := range []struct{ name, forgets, want string }{
		{"an agent that loads sessions has the conversation", "", "1 before: recall"},
		{"one that does not reads it again", "yes", "User: say one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRoom(t)
			if tt.forgets != "" {
				r.env["ACPAGENT_FORGETS"] = tt.forgets
			}
			first := r.agent()
			r.says(first, "say one")
			r.close(first)
			r.nothingRuns()
			turn := r.turn("recall")
			turn.Past = "User: say one\n\nYou: one"
			answer, err := r.agent().Prompt(t.Context(), turn)
			if err != nil || !strings.Contains(answer.Text, tt.want) || strings.Contains(answer.Text, "replayed") {
				t.Errorf("the answer is %q, %v; want %q in it", answer.Text, err, tt.want)
			}
		})
	}
	t.Run("a conversation that was changed is repeated", func(t *testing.T) {
		r := newRoom(t)
		a := r.agent()
		r.says(a, "say one")
		turn := r.turn("recall")
		turn.Past, turn.Fresh = "User: say two", true
		answer, err := a.Prompt(t.Context(), turn)
		if err != nil || !strings.HasPrefix(answer.Text, "0 before") || !strings.Contains(answer.Text, "User: say two") {
			t.Errorf("the answer is %q, %v", answer.Text, err)
		}
	})
}

func TestHR7_AnAgentThatDoesNotStartIsExplained(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*room)
		want   string
	}{
		{"a program that does not exist", func(r *room) { r.def.Command = []string{"no-such-agent"} }, "does not start"},
		{"a program that speaks something else", func(r *room) { r.def.Command = []string{"cat", "/etc/passwd"} }, "failed in starting it"},
		{"a program that ends at once", func(r *room) { r.def.Command = []string{"false"} }, "failed in starting it"},
		{"a program without a login", func(r *room) { r.env["ACPAGENT_LOGIN"] = "yes" }, "needs a login"},
		{"a person who may not use the machine", func(r *room) { r.def.OnMachine = func(tool.Call) bool { return false } }, environment.ErrOwnersAlone.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRoom(t)
			tt.change(r)
			answer, err := r.agent().Prompt(t.Context(), r.turn("say x"))
			if told, is := errors.AsType[*ops.Error](err); !is || !strings.Contains(told.Message, tt.want) {
				t.Errorf("the person reads %v; want %q in it", err, tt.want)
			}
			if answer.Asked {
				t.Error("a program that did not start was asked")
			}
			r.nothingRuns()
		})
	}
}

func TestHR7_AHostileAgentCostsItsOwnTurnAtMost(t *testing.T) {
	for _, tt := range []struct {
		name, line string
		// interrupt means that a person ends the turn; want is in its error, or in its answer if answers.
		interrupt, answers bool
		want               string
	}{
		{name: "it ends", line: "exit", want: "failed in its turn"},
		{name: "it writes what is not the protocol", line: "garbage", want: "failed in its turn"},
		{name: "it writes a message without an end", line: "giant", want: "failed in its turn"},
		{name: "it writes a long answer", line: "much", answers: true, want: "the rest of the answer is left out"},
		{name: "it floods", line: "flood", interrupt: true, want: "enough"},
		{name: "it hears nothing", line: "deaf", interrupt: true, want: "enough"},
		{name: "it freezes", line: "freeze", interrupt: true, want: "enough"},
		{name: "it asks a thousand times", line: "ask 1000", answers: true, want: "more than 500 times"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRoom(t)
			a := r.agent()
			r.says(a, "say hello")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if tt.interrupt {
				stop := time.AfterFunc(300*time.Millisecond, func() { cancel(errors.New("enough")) })
				defer stop.Stop()
			}
			began := time.Now()
			answer, err := a.Prompt(ctx, r.turn(tt.line))
			switch {
			case tt.answers && (err != nil || !strings.Contains(answer.Text, tt.want)):
				t.Errorf("the answer is %.80q, %v", answer.Text, err)
			case !tt.answers && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("the turn ended with %v; want %q", err, tt.want)
			}
			if took := time.Since(began); took > patience {
				t.Errorf("the turn took %v", took)
			}
			if got := r.says(a, "say again"); got != "again" {
				t.Errorf("the next turn answers %q", got)
			}
			r.close(a)
			r.nothingRuns()
		})
	}
}
