package conversation

import (
	"errors"
	"fmt"
	"time"

	"gatewaytui/core/budget"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
)

// userError is err in the words for the sender of the message: an *ops.Error, or nil.
func userError(err error) error {
	if err == nil {
		return nil
	}
	if e, is := errors.AsType[*ops.Error](err); is {
		return e
	}
	if e := session.Answer(err); e != nil {
		return e
	}
	if e := upstream(err); e != nil {
		return e
	}
	if r, is := errors.AsType[*budget.Refusal](err); is {
		return overBudget(r, time.Now())
	}
	return &ops.Error{Code: ops.CodeUnavailable, Message: "the turn failed", Hint: "try again; " + operatorHint}
}

// clean is err for a log line or a row.
func clean(err error) string { return term.Clean(err.Error(), 300) }

// upstreamError is what the sender of a message gets for each kind of model failure: the code, whose HTTP status the api
// adapter answers with, and what to do. The sentence is model.Error's Brief; the address, the status and the endpoint's own
// words are in the log alone, because a chat may be a group of other people (TF18).
var upstreamErrors = map[model.Kind]struct {
	code ops.Code
	hint string
}{
	model.KindAuth:        {ops.CodeUpstreamAuth, operatorHint},
	model.KindNoModel:     {ops.CodeUpstreamNoModel, operatorHint},
	model.KindTooLong:     {ops.CodeTooLong, "/new starts a fresh one"},
	model.KindRateLimited: {ops.CodeRateLimited, "try again in a minute"},
	model.KindQuota:       {ops.CodeQuota, operatorHint},
	model.KindUnavailable: {ops.CodeUpstream, "try again in a moment"},
	model.KindTimeout:     {ops.CodeUpstreamTimeout, "try again"},
	model.KindRefused:     {ops.CodeUpstreamRejected, "/new starts a fresh conversation, which may help; " + operatorHint},
	model.KindRedirected:  {ops.CodeUpstreamRedirected, operatorHint},
	model.KindNotAModel:   {ops.CodeUpstreamNotAModel, operatorHint},
	model.KindBroken:      {ops.CodeUpstream, "try again"},
}

const operatorHint = "the gateway's log has the details"

// upstream returns err as the sender gets it, nil if err is not a model's.
func upstream(err error) *ops.Error {
	failed, ok := errors.AsType[*model.Error](err)
	if !ok {
		return nil
	}
	u, known := upstreamErrors[failed.Kind]
	if !known {
		u.code, u.hint = ops.CodeUpstream, "try again"
	}
	if failed.RetryAfter > 0 {
		u.hint = fmt.Sprintf("try again in %s", max(failed.RetryAfter.Round(time.Second), time.Second))
	}
	return &ops.Error{Code: u.code, Message: failed.Brief(), Hint: u.hint, RetryAfter: failed.RetryAfter}
}
