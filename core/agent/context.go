package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
	"gatewaytui/core/window"
)

const (
	// mostExtra is how many model calls a turn may make so that its conversation fits: summaries, and the call that is made again
	// after one that was too long.
	mostExtra = 2
	// summaryTimeout bounds one summary. After it the past is cut without one.
	summaryTimeout = 2 * time.Minute
	// learnFrom is the shortest request whose usage is believed, as an estimate in tokens: in a short one the endpoint's own
	// frame is most of it.
	learnFrom = 200
	// askFrom is from where on an unknown window matters, as an estimate in tokens.
	askFrom = 2000
	// tightened is what of a request that was too long is taken for the window where the endpoint does not tell it.
	tightened = 0.9
)

// Compaction is what stands for the older part of a conversation from now on.
type Compaction struct {
	// Upto is the Seq of the last message that Digest stands for; 0: none. The results of tools up to Pruned have notes in their
	// place.
	Upto, Pruned int64
	Digest       window.Digest
}

// Compacted is a compaction as people see it.
type Compacted struct {
	// Before and After are about how many tokens the conversation had and has.
	Before, After int
	// Messages is how many messages a digest replaced, Summary that a model made one. With 0 results of tools were left out.
	Messages int
	Summary  bool
}

// SetPins replaces the texts that every model call of the agent has. The next call has them. Any goroutine may call it.
func (a *Agent) SetPins(pins []string) { a.pins.Store(&pins) }

// Reload makes the next turn load the transcript again, because its memory has another one now. Any goroutine may call it.
func (a *Agent) Reload() { a.stale.Store(true) }

// pinned is the pins as the model reads them.
func (a *Agent) pinned() string {
	pins := a.pins.Load()
	if pins == nil || len(*pins) == 0 {
		return ""
	}
	return "The user pinned this; it always holds:\n- " + strings.Join(*pins, "\n- ")
}

// past is the conversation as the model gets it.
func (a *Agent) past() window.Past { return window.Past{Digest: a.digest, Messages: a.messages} }

// take makes past the conversation in memory.
func (a *Agent) take(past window.Past) {
	a.digest, a.messages, a.tokens = past.Digest, past.Messages, past.Tokens()
	a.bytes.Store(transcriptBytes(a.messages) + int64(len(a.digest.Text())))
	a.count.Store(int64(len(a.messages)))
}

// contextWindow is the model's context in tokens.
func (a *Agent) contextWindow() int {
	known := cmp.Or(a.cfg.Models.Window(), window.Fallback)
	if a.narrow > 0 {
		return min(known, a.narrow)
	}
	return known
}

// reserve is how many tokens of the window are for the answer.
func (r *run) reserve() int {
	whole := r.a.contextWindow()
	return min(cmp.Or(r.mostOut(), window.Output(whole)), whole/2)
}

// fixed is the estimate for what every request of the turn has.
func (r *run) fixed() int {
	system := window.Text(r.system())
	if len(r.turn.Input.Tools) > 0 || r.turn.NoTools {
		return system + window.Tools(r.offered())
	}
	if r.a.counted != r.a.tools {
		r.a.toolTokens, r.a.counted = window.Tools(r.a.tools.Specs()), r.a.tools
	}
	return system + r.a.toolTokens
}

// room is how much room the conversation has in a request.
func (r *run) room() window.Room {
	return window.NewRoom(r.a.gauge, r.a.contextWindow(), r.reserve(), r.fixed())
}

// fit makes the conversation fit the model's context before a call (CV4). A history that the client sent is never changed.
func (r *run) fit() error {
	a := r.a
	if r.turn.Input.Given {
		return nil
	}
	if a.cfg.Models.Window() == 0 && a.bytes.Load() > askFrom { // a token has at least a byte
		if d, can := a.cfg.Models.(model.Discoverer); can && a.tokens > askFrom {
			d.Discover(r.ctx)
		}
	}
	if a.cfg.Context.Relaxed(r.room(), a.tokens) || window.Decide(a.cfg.Context, r.room(), a.past(), false).Nothing() {
		return nil
	}
	_, err := r.compact(false, "")
	return err
}

// compact does what the plan for the conversation says. asked means that its people want it compacted in any case, and keep what
// the summary must not leave out. It reports what was done; nil: nothing was to be done.
func (r *run) compact(asked bool, keep string) (did *Compacted, err error) {
	a := r.a
	r.progress(ops.DoingCompact)
	durable, err := r.reload()
	if err != nil {
		return nil, err
	}
	past := a.past()
	plan := window.Decide(a.cfg.Context, r.room(), past, asked)
	if plan.Nothing() {
		return nil, nil
	}
	if fixed := a.gauge.Tokens(r.fixed()); fixed > a.contextWindow()/2 {
		a.log.Warn("the prompt and the tools fill more than half of the model's context", "event", ops.LogContextFixed, "session", a.cfg.Session, "tokens", fixed, "window", a.contextWindow())
	}
	r.compacting = r.span(ops.TimelineCompaction, "context")
	defer func() {
		r.compacting.End(compactionResult(did, err))
		r.compacting = nil
	}()
	did = &Compacted{Before: a.gauge.Tokens(past.Tokens()), Messages: plan.Cut}
	summary := past.Digest.Summary
	if plan.Cut > 0 {
		var made bool
		if summary, made, err = r.summary(past, plan, keep); err != nil {
			return nil, err
		}
		did.Summary = made
	}
	next := Compaction{Upto: a.upto, Pruned: a.prunedTo, Digest: past.Digest}
	for _, m := range past.Messages[:plan.Cut] {
		next.Upto = max(next.Upto, m.Seq)
	}
	for _, m := range past.Messages[:plan.Prune] {
		next.Pruned = max(next.Pruned, m.Seq)
	}
	after := plan.Apply(past, summary)
	next.Digest = after.Digest
	if durable {
		if err := a.cfg.Memory.Compact(r.ctx, r.turn.ID, next); errors.Is(err, ErrStale) {
			return nil, err
		} else if err != nil && context.Cause(r.ctx) == nil { // the messages are all there: a later load makes the next one
			a.log.Warn("compaction not saved", "session", a.cfg.Session, "turn", r.turn.ID, "error", term.Clean(err.Error(), 300))
		}
	}
	a.upto, a.prunedTo = next.Upto, next.Pruned
	a.take(after)
	did.After = a.gauge.Tokens(after.Tokens())
	if r.turn.Compacted != nil && r.ctx.Err() == nil {
		r.turn.Compacted(*did)
	}
	r.measured(0)
	return did, context.Cause(r.ctx)
}

// reload takes the conversation from its memory again, with the places of its messages there. durable means that it has such
// places. What cannot be read is left as it is in memory.
func (r *run) reload() (durable bool, err error) {
	a := r.a
	if _, none := a.cfg.Memory.(volatile); none {
		return false, nil
	}
	kept, err := a.read(r.ctx, false)
	if cause := context.Cause(r.ctx); cause != nil {
		return false, cause
	}
	if err != nil {
		a.log.Warn("conversation not read again; it is compacted in memory alone", "session", a.cfg.Session, "turn", r.turn.ID, "error", term.Clean(err.Error(), 300))
		return false, nil
	}
	images := r.turn.Input.Images
	shown := a.shownResults()
	a.keep(kept, repaired(kept.Messages))
	a.showAgain(shown)
	for i := len(a.messages) - 1; i >= 0 && len(images) > 0; i-- {
		if m := &a.messages[i]; m.Role == model.RoleUser && m.Content == r.turn.Text {
			m.Images = images
			a.take(a.past())
			break
		}
	}
	return true, nil
}

// read loads the conversation with its pins. Pins that were set meanwhile are newer than those that were read. first is Turn.First.
func (a *Agent) read(ctx context.Context, first bool) (Past, error) {
	before := a.pins.Load()
	kept, err := a.cfg.Memory.Load(ctx, first)
	if err == nil {
		a.pins.CompareAndSwap(before, &kept.Pins)
	}
	return kept, err
}

// keep makes what a memory has the conversation in memory, with messages in the place of its own.
func (a *Agent) keep(kept Past, messages []model.Message) {
	a.upto, a.prunedTo = kept.Upto, kept.Pruned
	a.take(window.Past{Digest: kept.Digest, Messages: window.Pruned(messages, kept.Pruned)})
}

// measured tells the turn's owner how much of the window is used. counted is what the endpoint counted for the last call; 0: the
// conversation was compacted since, and an earlier count says nothing any more.
func (r *run) measured(counted int64) {
	if r.turn.Measured == nil || r.ctx.Err() != nil || r.turn.Input.Given {
		return
	}
	used := int(counted)
	if used == 0 {
		used = r.a.gauge.Tokens(r.a.tokens + r.fixed())
	}
	r.turn.Measured(used, r.a.contextWindow())
}

// tooLong reports whether a call failed because the request is too long for the model, and can be made again: the conversation has
// been made to fit what was learned from it. It does so once in a turn.
func (r *run) tooLong(failed error) (again bool, err error) {
	a := r.a
	e, is := errors.AsType[*model.Error](failed)
	if !is || e.Kind != model.KindTooLong || r.turn.Input.Given || r.retried || r.extra >= mostExtra {
		return false, nil
	}
	r.retried = true
	r.extra++
	sent := a.gauge.Tokens(a.tokens + r.fixed())
	switch {
	case e.Window > 0 && e.Window < sent:
		a.narrow = e.Window
	case e.Window > 0: // it counts more than the estimate
		a.narrow = e.Window
		a.gauge.Learn(a.tokens+r.fixed(), int64(e.Window)*5/4)
	default:
		a.narrow = max(int(tightened*float64(min(sent, a.contextWindow()))), 1)
	}
	did, err := r.compact(false, "")
	if err == nil && did == nil {
		did, err = r.compact(true, "")
	}
	if err != nil || did == nil || !r.turn.Calls.take() {
		return false, err
	}
	a.log.Info("model call was too long; it is made again with a shorter conversation", "event", ops.LogTooLong, "session", a.cfg.Session, "turn", r.turn.ID,
		"window", a.contextWindow(), "before", did.Before, "after", did.After)
	return true, nil
}

// system is the system prompt of the turn's requests.
func (r *run) system() string {
	system := r.turn.System
	for _, more := range []string{r.turn.Input.System, r.a.pinned(), r.turn.Note} {
		if more != "" {
			system = strings.TrimSpace(system + "\n\n" + more)
		}
	}
	return system
}

// conversation is the messages of a request: the digest is the beginning of the first message if that is a user's, because some
// endpoints refuse two messages of one role.
func (a *Agent) conversation() []model.Message {
	text := a.digest.Text()
	if text == "" {
		return a.messages
	}
	out := make([]model.Message, 0, len(a.messages)+1)
	if len(a.messages) > 0 && a.messages[0].Role == model.RoleUser {
		first := a.messages[0]
		first.Content = text + "\n\n" + first.Content
		return append(append(out, first), a.messages[1:]...)
	}
	return append(append(out, model.Message{Role: model.RoleUser, Content: text}), a.messages...)
}

// compactNow is a turn that compacts the conversation instead of working on a message.
func (r *run) compactNow() error {
	did, err := r.compact(true, r.turn.Text)
	if err != nil {
		return err
	}
	r.res.Text = "There is nothing to compact yet: the conversation is short."
	if did != nil {
		how := "a summary"
		if !did.Summary {
			how = "a note, because no summary could be made"
		}
		r.res.Text = fmt.Sprintf("The conversation is compacted: %s and what you wrote stand for %d older messages. It has about %d tokens, before %d.", how, did.Messages, did.After, did.Before)
	}
	return nil
}
