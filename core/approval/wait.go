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

// ask makes a request for an approval and waits for its end.
func (b *Book) ask(ctx context.Context, t *Terms, call tool.Call, step tool.Step, row store.Approval) error {
	row, _, err := b.request(ctx, call, &request{row: row, step: step, terms: t}, step.Text)
	if err != nil {
		return err
	}
	return b.verdict(row)
}

// request makes a request and waits for its end. Its turn holds no slot meanwhile. head is what the timeline shows of it. The error says
// why it was not made, or that its turn has ended.
func (b *Book) request(ctx context.Context, call tool.Call, r *request, head string) (row store.Approval, reply string, err error) {
	row = r.row
	b.mu.Lock()
	stopping := b.stopping
	b.mu.Unlock()
	if stopping {
		b.refused(ctx, row, "the gateway is stopping")
		return row, "", &tool.WithheldError{Text: needs(row) + ", and the gateway is stopping; " + notDone(row) + ". Ask again in a later turn."}
	}
	r.card = b.chatOf(row)
	row.CardChat, row.CardTarget = r.card.chat, r.card.target
	if err := b.put(ctx, &row); err != nil {
		b.o.Log.Error("approval not saved", "event", ops.LogApproval, "session", row.Session, "error", term.Clean(err.Error(), 600))
		return row, "", &tool.WithheldError{Text: needs(row) + ", and the request could not be saved (" + term.Clean(store.Reason(err), 200) + "); " + notDone(row)}
	}
	r.row, r.outcome = row, make(chan store.Approval, 1)
	b.mu.Lock()
	m := b.memory(row.Session, row.SessionID, root(row.Turn))
	m.asks++
	r.offersTurn = m.asks >= offersTurnFrom
	b.waiting[row.ID] = r
	b.mu.Unlock()
	asked := call.Span.Ask(head)
	row = b.await(ctx, call, r, row)
	asked.End(answered(row))
	if row.Turn != "" {
		_ = b.turns.Unpark(ctx, row.Session, root(row.Turn), row.ID) // its error is ctx's end
	}
	call.Span.Again()
	if ctx.Err() != nil {
		return row, "", &tool.WithheldError{Text: withdrawnText(row, "because the turn ended ("+reasonOf(ctx)+")")}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return row, r.reply, nil
}

// needs says what a step lacks, for its model.
func needs(row store.Approval) string {
	if row.Kind == question {
		return "this asks a person"
	}
	return "this needs the approval of a person"
}

// notDone says that nothing came of a request, for its model.
func notDone(row store.Approval) string {
	if row.Kind == question {
		return "the question was not asked"
	}
	return "it was not run"
}

// withdrawnText says why a request is over that no person answered, for its model.
func withdrawnText(row store.Approval, why string) string {
	if row.Kind == question {
		return "the question was withdrawn " + why + ". There is no answer. If it is still needed, ask again."
	}
	return "the request to do this was withdrawn " + why + ". It was not run. If it is still needed, ask again."
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
		doing := "waiting for approval " + row.ID + ": " + term.Clean(row.Command, doingWidth)
		if row.Kind == question { // its text is of the conversation
			doing = "waiting for the answer to question " + row.ID
		}
		call.Progress(doing)
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
	said, declined := "", row.State == store.ApprovalDenied
	switch row.State {
	case store.ApprovalAllowed:
		return nil
	case store.ApprovalDenied:
		said = "a person refused this"
		if row.Reason != "" {
			said += " and said: " + term.Clean(row.Reason, 600)
		}
		if row.Kind == question {
			said += ". There is no answer. Do not ask the same again; do what is possible without it."
		} else {
			said += ". It was not run. Do not try to do the same in another way; ask what to do instead."
		}
	case store.ApprovalExpired:
		said = fmt.Sprintf("no person answered the request within %s, so it expired. ", text.Duration(row.Expires.Sub(row.Asked)))
		if row.Kind == question {
			said += "Do what is possible without the answer, and say what is missing."
		} else {
			said += "It was not run."
		}
	default:
		return &tool.WithheldError{Text: withdrawnText(row, "("+row.Reason+")")}
	}
	b.mu.Lock()
	m := b.memory(row.Session, row.SessionID, root(row.Turn))
	m.refusals++
	over := m.refusals >= maxRefusals
	b.mu.Unlock()
	if over {
		return &tool.OverError{Text: fmt.Sprintf("I stop here: %d of my requests in this turn were refused or not answered. What was done before is kept. Tell me how to go on.", maxRefusals)}
	}
	return &tool.WithheldError{Text: said, Declined: declined}
}
