package conversation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gatewaytui/core/agent"
	"gatewaytui/core/budget"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/window"
)

// spend begins what the turn may spend, and plans its first call, so that the write that begins the turn has the reservation. That
// a budget is used up is said by the call itself, when the user's message is saved.
func (r *turnRunner) spend(ctx context.Context, d *agent.Definition, models model.Provider, text string, in model.Input) (err error) {
	c, t := r.c, r.turn
	if c.o.Budget == nil {
		return nil
	}
	who := budget.Who{Turn: t.ID, Person: personOf(t), Budget: d.Budget, Agent: d.Name, Job: t.Message.Job, Key: t.Session.Key, Target: t.Message.Target}
	if !session.IsRequest(t.Session.Key) { // the conversation of a request ends with it
		who.Session = t.Session.ID
	}
	ctx, cancel := c.store.Patient(ctx) // an interrupted turn is saved as well
	defer cancel()
	if r.spending, err = c.o.Budget.Begin(ctx, who); err != nil {
		return fmt.Errorf("read what budget %s has left: %w", d.Budget, err)
	}
	if t.Message.Compact {
		return nil
	}
	call := budget.Call{
		Model: models.Name(), In: int64(t.Session.ContextUsed + window.Text(text) + window.Messages(in.History)), Counted: t.Session.ContextUsed > 0,
		Fixed: func() int { return window.Text(basePrompt(d, t, true)) + window.Tools(d.Tools.Specs()) },
	}
	if l, is := models.(model.Limited); is {
		call.Out = int64(l.MaxOutput())
	}
	if p, is := models.(model.Pricer); is {
		call.Price = p.Price
	}
	r.spending.Plan(ctx, call)
	return nil
}

// closeSpending ends what the turn may spend, and writes what no write of the turn had.
func (r *turnRunner) closeSpending() {
	if err := r.spending.Close(r.turn.Context()); err != nil {
		r.c.o.Log.Error("cost of a turn not saved", "session", r.turn.Session.Key, "turn", r.turn.ID, "error", clean(err))
	}
}

// personOf names who wrote the turn's message: telegram:4711; empty: the platform names no one.
func personOf(t *session.Turn) string {
	if t.Message.Job != "" {
		return t.Message.User
	}
	platform := session.Platform(t.Session.Key)
	who := session.PersonOf(t.Message.User)
	if who == "" || who == platform { // that is what programs are without a name
		return ""
	}
	return platform + ":" + who
}

// overBudget is the answer to a message that a budget refused.
func overBudget(r *budget.Refusal, now time.Time) *ops.Error {
	e := &ops.Error{Code: ops.CodeBudget, Message: strings.TrimSuffix(r.Text, "."), Hint: r.Hint}
	if !r.Renews.IsZero() {
		e.RetryAfter = max(r.Renews.Sub(now), time.Second)
	}
	return e
}
