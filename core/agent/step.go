package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"gatewaytui/core/model"
	"gatewaytui/core/tool"
)

// append makes messages durable, then part of the transcript. After an error the state on disk is unknown: the next turn
// reads it.
func (r *run) append(messages ...model.Message) error {
	return r.appended(messages, r.a.cfg.Memory.Append(r.ctx, r.turn.ID, messages, r.charge()))
}

// steer adds what the user wrote meanwhile to the transcript, once a step of the turn has ended.
func (r *run) steer() error {
	if r.turn.Steer == nil || r.res.Iterations == 0 || r.ctx.Err() != nil {
		return nil
	}
	messages, err := r.turn.Steer(r.ctx)
	return r.appended(messages, err)
}

// appended makes messages part of the transcript unless err says that they could not be made durable.
func (r *run) appended(messages []model.Message, err error) error {
	if err == nil {
		r.a.add(messages...)
		return nil
	}
	r.a.forget()
	if cause := context.Cause(r.ctx); cause != nil {
		return cause
	}
	if errors.Is(err, ErrStale) {
		return err
	}
	return fmt.Errorf("save a step of turn %s: %w", r.turn.ID, err)
}

// keep makes messages part of the transcript that the gateway makes durable with the turn's end.
func (r *run) keep(messages ...model.Message) {
	r.a.add(messages...)
	r.res.Last = append(r.res.Last, messages...)
}

// call runs the calls of one message in order. Each result is durable before the next call begins, so that a crash costs
// one call, not the round.
func (r *run) call(calls []model.ToolCall) error {
	for i, c := range calls {
		if cause := context.Cause(r.ctx); cause != nil {
			for _, left := range calls[i:] {
				r.keep(toolResult(left, neverStarted))
			}
			return cause
		}
		if r.over != "" {
			if err := r.append(toolResult(c, neverStarted)); err != nil {
				return err
			}
			continue
		}
		if r.isClients(c.Name) {
			if err := r.append(toolResult(c, notAlone)); err != nil {
				return err
			}
			continue
		}
		r.toolsRan = true
		r.progress(c.Name)
		span, again, shown := r.toolSpan(c.Name), r.again(c), r.shows()
		text := r.tools().Run(r.ctx, c.Name, tool.Call{
			Session: r.a.cfg.Session, Turn: r.turn.ID, Child: r.a.depth > 0, Arguments: json.RawMessage(c.Arguments),
			Agent: r.a.cfg.Definition, Person: r.turn.Person, Role: r.turn.Role, Unattended: r.turn.Unattended, Over: func(answer string) { r.over = answer },
			Span: span, Progress: again.names(r.describes(span, c.Name)), Signalled: r.turn.Signalled, Delegate: r, Show: shown.function(),
		})
		r.progress(c.Name + ": ended")
		if r.ctx.Err() == nil {
			result := toolResult(c, text)
			result.Images = shown.taken()
			if i == len(calls)-1 && r.over == "" {
				r.plan(result)
			}
			err := r.append(result)
			if err == nil {
				r.a.boundPictures()
				continue
			}
			if r.ctx.Err() == nil {
				return err
			}
		}
		// It is too late for a step of the turn, but the result is still true. If the append wrote it after all, repaired
		// keeps one of the two.
		r.keep(toolResult(c, text))
	}
	return context.Cause(r.ctx)
}
