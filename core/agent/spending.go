package agent

import (
	"cmp"
	"errors"

	"gatewaytui/core/budget"
	"gatewaytui/core/model"
	"gatewaytui/core/window"
)

// expected is a call of a provider's model with a request of about so many tokens, as the turn's budget sees it.
func (r *run) expected(by model.Provider, sent, mostOut int) budget.Call {
	c := budget.Call{Model: by.Name(), In: int64(r.a.gauge.Tokens(sent)), Out: int64(mostOut)}
	if p, is := by.(model.Pricer); is {
		c.Price = p.Price
	}
	return c
}

// mostOut is how many tokens the model's answer may have; 0: it is not bounded.
func (r *run) mostOut() int {
	most := 0
	if l, is := r.a.cfg.Models.(model.Limited); is {
		most = l.MaxOutput()
	}
	for _, asked := range []*int64{r.turn.Input.Params.MaxTokens, r.turn.Input.Params.MaxCompletionTokens} {
		if asked != nil {
			most = max(most, int(min(*asked, model.Unbounded)))
		}
	}
	return most
}

// admit asks the turn's budget for a call. Its error is a *budget.Refusal if it does not allow the call.
func (r *run) admit(by model.Provider, sent, mostOut int) error {
	if r.turn.Spending == nil {
		return nil
	}
	return r.turn.Spending.Reserve(r.ctx, r.expected(by, sent, mostOut))
}

// plan reserves the call that follows the last result of a step, so that the write of the result has the reservation.
func (r *run) plan(result model.Message) {
	if r.turn.Spending != nil {
		r.turn.Spending.Plan(r.ctx, r.expected(r.a.cfg.Models, r.a.tokens+r.fixed()+window.Message(result), r.mostOut()))
	}
}

// charge is what the next write has of the turn's calls. A memory that keeps nothing has none.
func (r *run) charge() *budget.Charge {
	if _, none := r.a.cfg.Memory.(volatile); none {
		return nil
	}
	return r.turn.Spending.Charge()
}

// unbilled are the failures after which a call cost nothing: its endpoint did not begin to answer.
var unbilled = map[model.Kind]bool{
	model.KindAuth: true, model.KindNoModel: true, model.KindTooLong: true, model.KindRateLimited: true, model.KindQuota: true, model.KindRefused: true,
	model.KindRedirected: true, model.KindNotAModel: true, model.KindUnavailable: true,
}

// settle counts a call in the turn's budget, and returns what it used: what the endpoint reported, else an upper estimate. A call that
// was cut off has used what was reserved for it.
func (r *run) settle(m made) model.Usage {
	s, u := r.turn.Spending, m.resp.Usage
	if s == nil {
		return u
	}
	if m.err != nil {
		if failed, is := errors.AsType[*model.Error](m.err); is && unbilled[failed.Kind] && !m.streamed {
			s.Cancel()
			return u
		}
		return s.Abort()
	}
	silent := u.In == 0 && u.Out == 0
	if silent {
		u.In, u.Out = int64(r.a.gauge.Tokens(m.sent)), int64(window.Message(m.resp.Message))
		if p, is := m.by.(model.Pricer); is && u.Cost == 0 {
			u.Priced = false
			u = p.Price(u)
		}
	}
	s.Settle(cmp.Or(m.resp.Model, m.name), u, silent)
	return u
}

// refused is why a call was not allowed in a turn that has made one; nil: it was, or the turn has done nothing that is kept.
func (r *run) refused(err error) *budget.Refusal {
	refusal, is := errors.AsType[*budget.Refusal](err)
	if !is || r.res.Iterations <= 1 || r.a.depth > 0 {
		return nil
	}
	return refusal
}

// overBudget is the answer of a turn whose budget is used up.
func overBudget(refusal *budget.Refusal) string {
	return "I stopped here without finishing. " + refusal.Text + " What was done so far is kept. " + refusal.Hint
}
