package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/environment"
	"gatewaytui/core/fence"
)

// doorman is a gate whose person answers after a time.
type doorman struct {
	after  time.Duration
	answer map[string]error // by host; else nil

	mu    sync.Mutex
	steps []Step
}

func (d *doorman) Pass(ctx context.Context, _ Call, step Step) error {
	d.mu.Lock()
	d.steps = append(d.steps, step)
	d.mu.Unlock()
	select {
	case <-time.After(d.after):
		return d.answer[step.Text]
	case <-ctx.Done():
		return &WithheldError{Text: "withdrawn"}
	}
}

func (d *doorman) asked() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.steps)
}

var box = environment.Use{Session: "s", Agent: "a", Definition: environment.Definition{Name: "box"}}

// commanding lets the command of a test ask.
func commanding(t *testing.T, h *Hosts, gate Gate) *reach {
	return h.begin(t.Context(), gate, Call{Session: "s", Agent: "a", Progress: func(string) {}}, "curl all\x1b[2J", "terminal: curl")
}

func TestTR3_AHostThatASandboxDoesNotListIsAskedOncePerCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, d := &Hosts{}, &doorman{after: time.Minute, answer: map[string]error{"no.example": &WithheldError{Text: "a person refused", Declined: true}}}
		r := commanding(t, h, d)
		var wg sync.WaitGroup
		for range 3 { // a client opens several connections
			wg.Go(func() {
				if err := h.Ask(t.Context(), box, "yes.example"); err != nil {
					t.Errorf("what a person allows: %v", err)
				}
				if err := h.Ask(t.Context(), box, "no.example"); err == nil || err.Error() != "a person refused" {
					t.Errorf("what a person refuses: %v", err)
				}
			})
		}
		wg.Wait()
		if over := r.end(); over != "" || d.asked() != 2 {
			t.Errorf("%d questions for two hosts, and the turn ended with %q", d.asked(), over)
		}
		step := d.steps[0]
		if step.Kind != StepHost || step.Text != "yes.example" || step.Environment != fence.Sandbox || step.Judgement.Verdict != fence.Ask ||
			strings.Join(step.Judgement.Reasons, "; ") != "environments.box.network does not list the host; the command is curl all␛[2J" {
			t.Errorf("the step is %+v", step)
		}
		if err := h.Ask(t.Context(), box, "yes.example"); err == nil || !strings.Contains(err.Error(), "environments.box.network") {
			t.Errorf("without a command that is waited for: %v", err)
		}
	})
}

func TestTR3_AQuestionAboutAHostIsThatOfItsOwnSessionAndAgent(t *testing.T) {
	h, d := &Hosts{}, &doorman{}
	r := commanding(t, h, d)
	defer r.end()
	for _, use := range []environment.Use{{Session: "other", Agent: "a"}, {Session: "s", Agent: "other"}} {
		if err := h.Ask(t.Context(), use, "yes.example"); err == nil || d.asked() != 0 {
			t.Errorf("the sandbox of %+v asks through another: %v", use, err)
		}
	}
	if r := h.begin(t.Context(), nil, Call{}, "", ""); r != nil || r.end() != "" {
		t.Error("without a gate a question begins")
	}
}

func TestTR3_QuestionsAboutHostsEndWithTheirCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, d := &Hosts{}, &doorman{after: time.Hour}
		r := commanding(t, h, d)
		gone, leave := context.WithCancel(t.Context())
		left, stays := make(chan error, 1), make(chan error, 1)
		go func() { left <- h.Ask(gone, box, "a.example") }()
		go func() { stays <- h.Ask(t.Context(), box, "a.example") }()
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("a client that left: %v", err)
		}
		synctest.Wait()
		if d.asked() != 1 || len(stays) != 0 {
			t.Error("the question did not stay when one of its clients left")
		}
		r.end()
		if err := <-stays; err == nil || err.Error() != "withdrawn" {
			t.Errorf("after the end of the command: %v", err)
		}
		if err := r.ask(t.Context(), "box", "b.example"); !errors.Is(err, errCommandEnded) {
			t.Errorf("what the command left asks: %v", err)
		}
	})
}

func TestTR3_TheLimitOfACommandStandsStillWhileAPersonIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, d := &Hosts{}, &doorman{after: time.Minute}
		r := commanding(t, h, d)
		defer r.end()
		bound, cancel := r.within(t.Context(), 10*time.Second)
		defer cancel()
		time.Sleep(4 * time.Second)
		if err := h.Ask(t.Context(), box, "a.example"); err != nil || bound.Err() != nil {
			t.Fatalf("%v, %v", err, bound.Err())
		}
		answered := time.Now()
		<-bound.Done()
		if took := time.Since(answered); took != 6*time.Second {
			t.Errorf("the command had %s after the answer, want the 6 s that were left", took)
		}
	})
}

func TestTR3_TheHostsThatOneCommandAsksForAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, d := &Hosts{}, &doorman{after: time.Minute}
		r := commanding(t, h, d)
		defer r.end()
		for i := range hostsAtOnce {
			go func() { _ = h.Ask(t.Context(), box, fmt.Sprint(i, ".example")) }() // ends with the command
		}
		synctest.Wait()
		if err := h.Ask(t.Context(), box, "more.example"); err == nil || !strings.Contains(err.Error(), "wait for a person already") {
			t.Errorf("one more at once: %v", err)
		}
		time.Sleep(2 * time.Minute)
		for i := hostsAtOnce; i < hostsPerCommand; i++ {
			if err := h.Ask(t.Context(), box, fmt.Sprint(i, ".example")); err != nil {
				t.Fatalf("host %d: %v", i, err)
			}
		}
		if err := h.Ask(t.Context(), box, "more.example"); err == nil || !strings.Contains(err.Error(), "at most 20 hosts") {
			t.Errorf("one more in all: %v", err)
		}
	})
}

func TestTR3_ARefusalOfAHostEndsTheTurnLikeAnyOther(t *testing.T) {
	h, d := &Hosts{}, &doorman{answer: map[string]error{"no.example": &OverError{Text: "I stop here"}}}
	r := commanding(t, h, d)
	if err := h.Ask(t.Context(), box, "no.example"); err == nil {
		t.Error("it is allowed")
	}
	if err := h.Ask(t.Context(), box, "next.example"); err == nil || d.asked() != 1 {
		t.Errorf("the next host is asked for: %v", err)
	}
	if over := r.end(); over != "I stop here" {
		t.Errorf("the turn ends with %q", over)
	}
}

// asking is an environment whose commands ask for a host as they start.
type asking struct {
	hosts *Hosts
	err   chan error
}

func (asking) Resolve(context.Context, string) (environment.Place, error) {
	return environment.Place{Name: "box", Kind: environment.KindSandbox}, nil
}

func (a asking) Command(ctx context.Context, r environment.Request) (environment.Launch, environment.Place, error) {
	a.err <- a.hosts.Ask(ctx, environment.Use{Session: r.Session, Agent: r.Agent}, "a.example")
	place, err := a.Resolve(ctx, r.Agent)
	return environment.Launch{Argv: r.Command.Argv, Dir: r.Command.Dir}, place, err
}

func TestTR3_ACommandInTheForegroundAsksAndOneInTheBackgroundDoesNot(t *testing.T) {
	for background, want := range map[bool]int{false: 1, true: 0} {
		t.Run(fmt.Sprint("background: ", background), func(t *testing.T) {
			d := &doorman{}
			e := asking{&Hosts{}, make(chan error, 1)}
			b := newBench(t, func(o *Options) { o.Environments, o.Hosts, o.Gate = e, e.hosts, commandsPass{d} })
			if a := b.run(map[string]any{"command": "echo done", "background": background}); a.Error != "" {
				t.Errorf("%+v", a)
			}
			if err := <-e.err; (err == nil) != (want == 1) || d.asked() != want {
				t.Errorf("%d questions, %v", d.asked(), err)
			}
		})
	}
}

// commandsPass is a gate that lets commands pass.
type commandsPass struct{ *doorman }

func (c commandsPass) Pass(ctx context.Context, call Call, step Step) error {
	if step.Kind == StepCommand {
		return nil
	}
	return c.doorman.Pass(ctx, call, step)
}
