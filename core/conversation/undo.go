package conversation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// shownSaid is how much of a message /undo quotes, in cells.
const shownSaid = 60

var (
	errTurnRuns = &ops.Error{Code: ops.CodeBusy, Message: "a turn runs in this conversation", Hint: "wait for its answer, or /stop it first"}
	// errOvertaken is for a /retry whose exchange is not the last one any more when its turn begins.
	errOvertaken = &ops.Error{Code: ops.CodeConflict, Message: "another message came before this /retry, so nothing was asked again", Hint: "send /retry again for the newest one"}
	errTheirs    = &ops.Error{Code: ops.CodeInvalid, Message: "the history of this conversation is with its client, not with the gateway", Hint: "change it there and send it again"}
)

// lastExchange is the exchange that /undo takes back and /retry asks again. why says why there is none.
func (c *Conversations) lastExchange(ctx context.Context, u use) (s session.Session, x store.Exchange, why string, err error) {
	s, known := c.o.Table.Get(u.key)
	switch {
	case session.IsRequest(u.key), u.msg.Input != nil && u.msg.Input.Given:
		return s, x, "", errTheirs
	case !known:
		return s, x, "There is no conversation yet.", nil
	}
	if a, cached := c.o.Cache.Peek(u.key); cached && a.Conversation() == s.ID && a.Unsaved() {
		if err := a.Memory().Flush(ctx); err != nil {
			return s, x, "", fmt.Errorf("save the last answer of %s: %w", u.key, err)
		}
	}
	x, found, err := c.store.LastExchange(ctx, s.ID)
	switch {
	case err != nil:
		return s, x, "", fmt.Errorf("read the last message of %s: %w", u.key, err)
	case !found:
		return s, x, "There is no earlier message in this conversation.", nil
	case x.Upto >= x.Last:
		return s, x, "What was said before is in the summary of a compaction, and cannot be taken out of it. /new starts a fresh conversation.", nil
	}
	return s, x, "", nil
}

// undo is /undo: the last exchange leaves what the model gets. No turn begins meanwhile, so that none has half of it.
func (c *Conversations) undo(ctx context.Context, u use) (string, error) {
	if c.o.Table.Active(u.key) {
		return "", errTurnRuns
	}
	if _, known := c.o.Table.Get(u.key); known {
		if _, held := c.o.Table.BeginReplace(u.key); !held {
			return "", errTurnRuns
		}
		defer func() { c.Begin(c.o.Table.EndReplace(c.turns, u.key, nil, c.holding())) }()
	}
	s, x, why, err := c.lastExchange(ctx, u)
	if err != nil || why != "" {
		return why, err
	}
	wctx, cancel := c.store.Patience(ctx, store.Stall)
	defer cancel()
	switch err := c.store.Undo(wctx, s.ID, x.First, x.Last, time.Now()); {
	case errors.Is(err, store.ErrChanged):
		return "", errTurnRuns
	case err != nil:
		return "", fmt.Errorf("undo in %s: %w", u.key, err)
	}
	if a, cached := c.o.Cache.Peek(u.key); cached && a.Conversation() == s.ID {
		a.Reload()
	}
	return undone(x), nil
}

// undone says what /undo took out.
func undone(x store.Exchange) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Taken back: %s", term.Quote(term.Clean(oneLine(strings.Join(x.Said, " ")), shownSaid)))
	if !x.At.IsZero() {
		fmt.Fprintf(&b, " from %s ago", text.Age(x.At))
	}
	with := []string{}
	if x.Answer != "" {
		with = append(with, "its answer")
	}
	if x.Steps > 0 {
		with = append(with, text.Count(x.Steps, "step")+" with tools")
	}
	if len(with) > 0 {
		b.WriteString(", with " + strings.Join(with, " and "))
	}
	b.WriteString(". The model does not get it any more; what the tools did stays done. The transcript keeps it.")
	if x.Upto >= x.First {
		b.WriteString(" Its beginning is also in the summary of a compaction, which does not change.")
	}
	b.WriteString(" /undo goes further back.")
	return b.String()
}

// retry is /retry: the last message of a user is asked again, in a turn that takes the place of the last exchange. The same write
// takes the one back and begins the other.
func (c *Conversations) retry(ctx context.Context, u use) (string, error) {
	if c.o.Table.Active(u.key) {
		return "", errTurnRuns
	}
	_, x, why, err := c.lastExchange(ctx, u)
	if err != nil || why != "" {
		return why, err
	}
	m := u.msg
	m.Text, m.Again = strings.Join(x.Said, "\n\n"), [2]int64{x.First, x.Last}
	if err := c.intake.Submit(ctx, u.key, m); err != nil {
		return "", err
	}
	return "", errAnsweredElsewhere
}
