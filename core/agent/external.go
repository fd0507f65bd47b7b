package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/timeline"
	"gatewaytui/core/tool"
	"gatewaytui/core/window"
)

// External is a program that works on the turns of one session in place of a model (HR7). Its agent owns it.
type External interface {
	// Prompt works on one turn and returns soon after ctx has ended, with ctx's cause. With an error the answer has what was written until
	// then. It is not called while it runs. An *ops.Error is for the person who asked.
	Prompt(ctx context.Context, t ExternalTurn) (ExternalAnswer, error)
	// Close ends the program with everything that it started. It is idempotent and may be called while Prompt runs. It returns when ctx ends.
	Close(ctx context.Context) error
}

// Externals make the External of each agent of a definition. They may be used by many goroutines.
type Externals interface {
	// Name names the program where rows show the name of a model.
	Name() string
	// Vision reports whether the program takes pictures, as far as that is known.
	Vision() bool
	// TurnsPerDay is how many turns of a day the programs of the definition may work on without saying what they used; 0: no bound.
	TurnsPerDay() int
	// New makes the External of an agent. It does no I/O.
	New(of ExternalOwner) External
}

// ExternalOwner is the agent that an External works for.
type ExternalOwner struct {
	// Session is the key of the session, Agent the name of the definition. Memory is where the conversation is kept.
	Session, Agent string
	Memory         Memory
}

// ExternalTurn is a turn as an External gets it. Its functions are never nil. Any goroutine may call them, and they do not block.
type ExternalTurn struct {
	// Text is the user's message, Images the pictures that came with it.
	Text   string
	Images []model.Image
	// Note is what the gateway adds to this message. Past is the conversation before it, for a program that does not have it.
	Note, Past string
	// Fresh means that the conversation has changed behind the program's back: what the program remembers of it is wrong.
	Fresh bool
	// Call is whose steps the gate judges.
	Call tool.Call
	// Delta gets the text of the answer as it arrives. Span begins a call of a tool in the timeline. Measured gets how many tokens of the
	// program's context are used, and of how many.
	Delta    func(text string)
	Span     func(name string) *timeline.Span
	Measured func(used, window int)
}

// ExternalAnswer is what an External answers.
type ExternalAnswer struct {
	Text   string
	Finish model.Finish
	// Over means that the gateway ended the turn, with Text as its answer.
	Over bool
	// Usage is what the program says that it used; zero: it does not say.
	Usage model.Usage
	// Asked means that the program got the message, and so may have used tokens.
	Asked bool
}

// pastMost bounds the conversation that a program reads which does not have it, in bytes.
const pastMost = 24 << 10

// externalModel stands for the model of an external agent where a name or a price is asked for.
type externalModel struct{ Externals }

func (m externalModel) New() model.Client { return externalClient{m.Name()} }

// Window is not known: the program keeps its own context.
func (externalModel) Window() int { return 0 }

// externalClient stands for the client of an external agent. It is never asked.
type externalClient struct{ name string }

func (c externalClient) Name() string { return c.name }
func (externalClient) Close() error   { return nil }

func (c externalClient) Complete(context.Context, model.Request, func(string)) (model.Response, error) {
	return model.Response{}, fmt.Errorf("%s is not a model", c.name)
}

// external runs the turn with the agent's External.
func (r *run) external(fresh bool) error {
	a := r.a
	switch {
	case r.turn.Compact:
		r.res.Text = "This agent keeps its own context, and the gateway cannot compact it. /new starts a fresh conversation."
		return nil
	case r.turn.NoTools:
		return &ops.Error{Code: ops.CodeForbidden, Message: "this agent works with tools, which you may not use", Hint: "an owner can make you a member: gatewaytui people role"}
	case len(r.turn.Input.Tools) > 0 || len(r.turn.Input.Results) > 0:
		return &ops.Error{Code: ops.CodeInvalid, Message: "this agent does not call functions of its caller", Hint: "leave tools out of the request, or name another agent"}
	case !r.turn.Calls.take():
		return r.stop(stopped("this turn", r.turn.Calls.Most(), "limits.calls_per_turn"))
	}
	r.res.Iterations++
	if err := r.turn.Spending.Unreported(r.ctx, a.cfg.External.TurnsPerDay()); err != nil {
		return err
	}
	sent := a.tokens + window.Text(r.turn.Note)
	if err := r.admit(a.cfg.Models, sent, 0); err != nil {
		return err
	}
	r.progress("starting " + a.client.Name())
	began, heard := time.Now(), &heard{r: r}
	span := r.span(ops.TimelineModel, a.client.Name())
	answer, err := a.external.Prompt(r.ctx, r.externalTurn(fresh, heard.delta))
	text, first := heard.text()
	m := made{span: span, by: a.cfg.Models, name: a.client.Name(), err: err, began: began, sent: sent, streamed: text != "", first: first}
	m.resp = model.Response{Message: model.Message{Role: model.RoleAssistant, Content: answer.Text}, Usage: answer.Usage, Model: a.client.Name(), Finish: answer.Finish}
	if !answer.Asked && r.turn.Spending != nil {
		r.turn.Spending.Cancel()
		span.End(r.outcome(m))
	} else {
		r.called(m)
	}
	if err != nil {
		if text != "" {
			r.keep(model.Message{Role: model.RoleAssistant, Content: text + " [interrupted]"})
		}
		return err
	}
	r.res.Model, r.res.Finish, r.res.Over = a.client.Name(), answer.Finish, answer.Over
	if strings.TrimSpace(answer.Text) == "" {
		answer.Text = emptyReply
	}
	return r.answer(model.Message{Role: model.RoleAssistant, Content: answer.Text})
}

// externalTurn is the turn for the agent's External.
func (r *run) externalTurn(fresh bool, delta func(string)) ExternalTurn {
	note := r.turn.Note
	if pins := r.a.pinned(); pins != "" {
		note = strings.TrimSpace(note + "\n\n" + pins)
	}
	return ExternalTurn{
		Text: r.turn.Text, Images: r.turn.Input.Images, Note: note, Past: r.earlier(), Fresh: fresh,
		Call: tool.Call{
			Session: r.a.cfg.Session, Turn: r.turn.ID, Agent: r.a.cfg.Definition, Person: r.turn.Person, Role: r.turn.Role, Unattended: r.turn.Unattended, Progress: r.progress,
		},
		Delta: delta, Span: r.toolSpan,
		Measured: func(used, window int) {
			if r.turn.Measured != nil && r.ctx.Err() == nil {
				r.turn.Measured(used, window)
			}
		},
	}
}

// earlier is the newest part of what was said before the turn, within pastMost. Results of tools are left out.
func (r *run) earlier() string {
	messages := r.a.conversation()
	messages = messages[:max(len(messages)-1, 0)]
	var said []string
	for i, left := len(messages)-1, pastMost; i >= 0; i-- {
		m, who := messages[i], "User"
		if m.Role == model.RoleAssistant {
			who = "You"
		}
		if m.Content == "" || m.Role != model.RoleUser && m.Role != model.RoleAssistant {
			continue
		}
		if left -= len(m.Content); left < 0 {
			said = append(said, "(older messages are left out)")
			break
		}
		said = append(said, who+": "+m.Content)
	}
	var b strings.Builder
	for i := len(said) - 1; i >= 0; i-- {
		b.WriteString(said[i] + "\n\n")
	}
	return strings.TrimSpace(b.String())
}
