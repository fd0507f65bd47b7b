package approval

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
	"gatewaytui/core/tool"
)

const (
	// offersTurnFrom is from which request of a turn on its card offers the rest of the turn.
	offersTurnFrom = 5
	// maxRefusals is how many refusals end a turn.
	maxRefusals = 3
	// doingWidth is the room for a command in the display of a turn's activity, in runes.
	doingWidth = 80
)

// ask makes a request and waits for its end. Its turn holds no slot meanwhile.
func (b *Book) ask(ctx context.Context, t *Terms, call tool.Call, step tool.Step, row store.Approval) error {
	b.mu.Lock()
	stopping := b.stopping
	b.mu.Unlock()
	if stopping {
		b.refused(ctx, row, "the gateway is stopping")
		return &tool.WithheldError{Text: "this needs the approval of a person, and the gateway is stopping; it was not run. Ask again in a later turn."}
	}
	at := b.chatOf(row)
	row.CardChat, row.CardTarget = at.chat, at.target
	if err := b.put(ctx, &row); err != nil {
		b.o.Log.Error("approval not saved", "event", ops.LogApproval, "session", row.Session, "error", term.Clean(err.Error(), 600))
		return &tool.WithheldError{Text: "this needs the approval of a person, and the request could not be saved (" + term.Clean(store.Reason(err), 200) + "); it was not run"}
	}
	r := &request{row: row, step: step, terms: t, card: at, outcome: make(chan store.Approval, 1)}
	b.mu.Lock()
	m := b.memory(row.Session, row.SessionID, root(row.Turn))
	m.asks++
	r.offersTurn = m.asks >= offersTurnFrom
	b.waiting[row.ID] = r
	b.mu.Unlock()
	asked := call.Span.Ask(step.Text)
	row = b.await(ctx, call, r, row)
	asked.End(answered(row))
	if row.Turn != "" {
		_ = b.turns.Unpark(ctx, row.Session, root(row.Turn), row.ID) // its error is ctx's end
	}
	call.Span.Again()
	if ctx.Err() != nil {
		return &tool.WithheldError{Text: "the request to do this was withdrawn because the turn ended (" + reasonOf(ctx) + "). It was not run. If it is still needed, ask again."}
	}
	return b.verdict(row)
}

// answered is how a request ended, for the timeline of its turn.
func answered(row store.Approval) string {
	if row.By != "" {
		return string(row.State) + " by " + row.By
	}
	return string(row.State)
}

// await shows a request to people and returns its row as it ended. What asks outside of a turn has no slot to give up.
func (b *Book) await(ctx context.Context, call tool.Call, r *request, row store.Approval) store.Approval {
	if row.Turn != "" && !b.turns.Park(row.Session, root(row.Turn), row.ID) {
		return b.end(ctx, r, store.Approval{State: store.ApprovalWithdrawn, Reason: "its turn had ended"})
	}
	if call.Progress != nil {
		call.Progress("waiting for approval " + row.ID + ": " + term.Clean(row.Command, doingWidth))
	}
	b.emit(ops.EventApprovalAsked, row)
	b.o.Log.Info("approval asked", "event", ops.LogApproval, "id", row.ID, "session", row.Session, "turn", row.Turn, "kind", row.Kind)
	b.show(r, row)
	timer := time.NewTimer(time.Until(row.Expires))
	defer timer.Stop()
	select {
	case row := <-r.outcome:
		return row
	case <-timer.C:
		return b.end(ctx, r, store.Approval{State: store.ApprovalExpired, Reason: "no answer within " + text.Duration(row.Expires.Sub(row.Asked))})
	case <-ctx.Done():
		return b.end(ctx, r, store.Approval{State: store.ApprovalWithdrawn, Reason: reasonOf(ctx)})
	}
}

// reasonOf says why a turn ended, for people.
func reasonOf(ctx context.Context) string {
	cause := context.Cause(ctx)
	if answer := session.Answer(cause); answer != nil {
		return answer.Message
	}
	if cause == nil || errors.Is(cause, context.Canceled) {
		return "the turn was ended"
	}
	return term.Clean(cause.Error(), 200)
}

// verdict is what the model reads of a request that ended; nil: the step is taken.
func (b *Book) verdict(row store.Approval) error {
	said := ""
	switch row.State {
	case store.ApprovalAllowed:
		return nil
	case store.ApprovalDenied:
		said = "a person refused this"
		if row.Reason != "" {
			said += " and said: " + term.Clean(row.Reason, 600)
		}
		said += ". It was not run. Do not try to do the same in another way; ask what to do instead."
	case store.ApprovalExpired:
		said = fmt.Sprintf("no person answered the request within %s, so it expired. It was not run.", text.Duration(row.Expires.Sub(row.Asked)))
	default:
		return &tool.WithheldError{Text: "the request to do this was withdrawn: " + row.Reason + ". It was not run. If it is still needed, ask again."}
	}
	b.mu.Lock()
	m := b.memory(row.Session, row.SessionID, root(row.Turn))
	m.refusals++
	over := m.refusals >= maxRefusals
	b.mu.Unlock()
	if over {
		return &tool.OverError{Text: fmt.Sprintf("I stop here: %d of my requests in this turn were refused or not answered. What was done before is kept. Tell me how to go on.", maxRefusals)}
	}
	return &tool.WithheldError{Text: said}
}
