package agent

import (
	"errors"
	"fmt"
	"strings"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/timeline"
)

// span begins a part of the turn's timeline. A child's has its number.
func (r *run) span(kind ops.TimelineKind, name string) *timeline.Span {
	_, child, _ := strings.Cut(r.turn.ID, "/")
	return r.turn.Line.Begin(kind, name, child)
}

// toolSpan begins a call of a tool in the timeline.
func (r *run) toolSpan(name string) *timeline.Span {
	if name == delegateName {
		return r.span(ops.TimelineDelegate, name)
	}
	return r.span(ops.TimelineTool, name)
}

// describes is the progress of a tool, whose first report tells the timeline what the tool was asked to do. What a child was asked is
// text of the conversation, which a timeline does not have.
func (r *run) describes(span *timeline.Span, name string) func(doing string) {
	return func(doing string) {
		if head, described := strings.CutPrefix(doing, name+": "); described && name != delegateName {
			span.Says(head)
		}
		r.progress(doing)
	}
}

// compactionResult is what a compaction did, for the timeline.
func compactionResult(did *Compacted, err error) string {
	switch {
	case err != nil || did == nil:
		return ops.TimelineInterrupted
	case did.Messages > 0:
		return fmt.Sprintf("%d to %d tokens", did.Before, did.After)
	}
	return "results of tools left out"
}

// outcome is how a model call ended, for the timeline.
func (r *run) outcome(m made) string {
	failed, is := errors.AsType[*model.Error](m.err)
	switch {
	case r.ctx.Err() != nil:
		return ops.TimelineInterrupted
	case is:
		return ops.TimelineFailed + ": " + string(failed.Kind)
	case m.err != nil:
		return ops.TimelineFailed
	case len(m.resp.Failed) > 0:
		return "after " + strings.Join(m.resp.Failed, ", ") + " failed"
	}
	return string(m.resp.Finish)
}
