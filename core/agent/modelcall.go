package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/limit"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/timeline"
	"gatewaytui/core/tool"
)

// complete makes one model call. If ctx interrupts it, the text that was already sent to the user is kept.
func (r *run) complete() (model.Message, error) {
	r.res.Iterations++
	var streamed strings.Builder
	var moved, first time.Time
	delta := func(text string) {
		if first.IsZero() {
			first = time.Now()
		}
		if r.ctx.Err() != nil {
			return
		}
		streamed.WriteString(text)
		if r.turn.Delta != nil && text != "" {
			r.turn.Delta(text)
		}
		if now := time.Now(); now.Sub(moved) >= progressEvery {
			moved = now
			doing := ops.DoingModelCall // a thinking model makes progress
			if streamed.Len() > 0 {
				doing = ops.DoingModelAnswer
			}
			r.progress(doing)
		}
	}
	release, err := r.slot()
	if err != nil {
		return model.Message{}, err
	}
	sent := r.a.tokens + r.fixed()
	if err := r.admit(r.a.cfg.Models, sent, r.mostOut()); err != nil {
		release()
		return model.Message{}, err
	}
	began := time.Now()
	span := r.span(ops.TimelineModel, r.a.client.Name())
	resp, err := r.a.client.Complete(r.ctx, r.request(), delta)
	release()
	r.called(made{span: span, by: r.a.cfg.Models, name: r.a.client.Name(), resp: resp, err: err, began: began, sent: sent, streamed: streamed.Len() > 0, first: first})
	if err == nil {
		if sent >= learnFrom {
			r.a.gauge.Learn(sent, resp.Usage.In)
		}
		r.measured(resp.Usage.In + resp.Usage.Out)
		r.res.Model = resp.Model
	}
	r.res.Finish = resp.Finish
	if cause := context.Cause(r.ctx); cause != nil {
		if streamed.Len() > 0 {
			r.keep(model.Message{Role: model.RoleAssistant, Content: streamed.String() + " [interrupted]"})
		}
		return model.Message{}, cause
	}
	if err != nil {
		return model.Message{}, fmt.Errorf("model call: %w", err)
	}
	return resp.Message, nil
}

// made is a model call that ended.
type made struct {
	span  *timeline.Span
	by    model.Provider
	name  string // of the client that made it
	resp  model.Response
	err   error
	began time.Time
	first time.Time // when the first part of the answer arrived; zero: none did
	// sent is the estimate for the request, in tokens. streamed means that a part of the answer arrived.
	sent     int
	streamed bool
}

// called counts a model call that ended.
func (r *run) called(m made) {
	if r.a.cfg.Called != nil {
		call := Call{Model: cmp.Or(m.resp.Model, m.name), Failed: m.resp.Failed, Took: time.Since(m.began), Usage: m.resp.Usage, Err: m.err, Interrupted: r.ctx.Err() != nil}
		switch {
		case !m.first.IsZero():
			call.FirstByte = m.first.Sub(m.began)
		case m.err == nil: // it came in one piece
			call.FirstByte = call.Took
		}
		r.a.cfg.Called(call)
	}
	used := r.settle(m)
	r.res.Usage.Add(used.Count())
	m.span.Used(used.In, used.Cached, used.Out, used.Cost, used.Priced)
	if m.span != r.compacting {
		m.span.Named(m.resp.Model)
		m.span.End(r.outcome(m))
	}
}

// slot takes a slot for one model call. Only the turn's context bounds the wait. The turn's owner ends it when the turn
// is interrupted, stops or stalls for too long.
func (r *run) slot() (release func(), err error) {
	slots := r.a.cfg.Slots
	if slots == nil {
		return func() {}, nil
	}
	waited := false
	var span *timeline.Span
	release, err = slots.Acquire(r.ctx, r.a.cfg.Session, func() {
		waited = true
		span = r.span(ops.TimelineWait, limit.ModelCalls)
		if r.turn.Waiting != nil && r.ctx.Err() == nil {
			r.turn.Waiting()
		}
	})
	switch {
	case err == nil && waited:
		span.End("")
		r.progress(ops.DoingModelCall)
	case waited:
		span.End(ops.TimelineInterrupted)
	}
	return release, err
}

// request is the transcript as the model gets it. The turn's note goes with the system prompt, because not every endpoint
// accepts a later system message.
func (r *run) request() model.Request {
	system, talk := r.system(), r.a.conversation()
	messages := make([]model.Message, 0, len(talk)+1)
	if system != "" {
		messages = append(messages, model.Message{Role: model.RoleSystem, Content: system})
	}
	messages = append(messages, talk...)
	in := r.turn.Input
	if in.Params.Forces() && r.res.Iterations > 1 {
		in.Params.ToolChoice = nil
	}
	return model.Request{Session: r.a.script, Messages: messages, Tools: r.offered(), Params: in.Params}
}

// noTools is the tools of a turn without any.
var noTools = tool.NewSet(0)

// tools are those of the agent that the turn may use.
func (r *run) tools() *tool.Set {
	if r.turn.NoTools {
		return noTools
	}
	return r.a.tools
}

// offered are the tools that the model may call. The client's function hides the agent's tool of the same name.
func (r *run) offered() []model.ToolSpec {
	own := r.tools().Specs()
	if len(r.turn.Input.Tools) == 0 {
		return own
	}
	own = slices.DeleteFunc(slices.Clone(own), func(s model.ToolSpec) bool { return r.isClients(s.Name) })
	return append(own, r.turn.Input.Tools...)
}
