package ops

import (
	"errors"
	"time"
)

// Code classifies an Error for scripts. It is stable.
type Code string

// The codes, each with the HTTP status that the control socket answers it with (HTTPStatus).
const (
	CodeInvalid     Code = "invalid"      // the request itself is wrong
	CodeForbidden   Code = "forbidden"    // this caller may not
	CodeToolCaller  Code = "tool_caller"  // the caller is a tool of this gateway, which may not (HF7)
	CodeNotFound    Code = "not_found"    // no such session, process, adapter, request
	CodeConflict    Code = "conflict"     // the object has changed, or another request holds it
	CodeBusy        Code = "busy"         // it is in use: a running turn, an unsaved agent
	CodeQueueFull   Code = "queue_full"   // too many messages wait behind the running turn
	CodeLimit       Code = "limit"        // a bound of [limits] is reached; the message names it
	CodeDraining    Code = "draining"     // no new work is taken
	CodeStopping    Code = "stopping"     // the gateway stops; only status and levers
	CodeNotStopping Code = "not_stopping" // an action on a stop, and none runs
	CodeUnavailable Code = "unavailable"  // the gateway does not answer
	CodeInternal    Code = "internal"     // our fault
	// CodeNeedsConfirmation is the command line's own: a command that ends running work was given without --yes, and there
	// was no terminal to ask on, or the answer was no.
	CodeNeedsConfirmation Code = "needs_confirmation"
)

// The codes of a turn whose model call failed (TF18). Those with an OpenAI name have OpenAI's meaning.
const (
	CodeTooLong          Code = "context_length_exceeded"  // the conversation does not fit the model
	CodeRateLimited      Code = "rate_limit_exceeded"      // the endpoint answered 429
	CodeBudget           Code = "budget_exceeded"          // a budget of the gateway is used up; the message names it
	CodeQuota            Code = "insufficient_quota"       // the endpoint's account is used up
	CodeUpstream         Code = "upstream_error"           // the endpoint failed, or could not be reached
	CodeUpstreamTimeout  Code = "upstream_timeout"         // no whole answer within the model's timeout
	CodeUpstreamAuth     Code = "upstream_auth_error"      // the endpoint refused the gateway's key
	CodeUpstreamNoModel  Code = "upstream_model_not_found" // the endpoint does not know the configured model
	CodeUpstreamRejected Code = "upstream_rejected"        // the endpoint refused the request for another reason
	// CodeUpstreamRedirected says that the endpoint redirects, which is not followed.
	CodeUpstreamRedirected Code = "upstream_redirected"
	// CodeUpstreamNotAModel says that something else than a model answers at the configured address, such as a web page.
	CodeUpstreamNotAModel Code = "upstream_not_a_model"
)

var httpStatus = map[Code]int{
	CodeInvalid: 400, CodeForbidden: 403, CodeToolCaller: 403, CodeNotFound: 404, CodeConflict: 409, CodeBusy: 409, CodeQueueFull: 429, CodeLimit: 429,
	CodeDraining: 503, CodeStopping: 503, CodeNotStopping: 409, CodeUnavailable: 503, CodeInternal: 500,
	CodeNeedsConfirmation: 409,
	CodeTooLong:           400, CodeRateLimited: 429, CodeQuota: 429, CodeBudget: 429, CodeUpstream: 502, CodeUpstreamTimeout: 504,
	CodeUpstreamAuth: 502, CodeUpstreamNoModel: 502, CodeUpstreamRejected: 502, CodeUpstreamRedirected: 502, CodeUpstreamNotAModel: 502,
}

// Error is an answer that an operator can act on: what is wrong, and in Hint what to do next.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
	// RetryAfter is when the same request may succeed, 0 where that is unknown. HTTP has a header for it.
	RetryAfter time.Duration `json:"-"`
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + "; " + e.Hint
}

// HTTPStatus is the status that the control socket answers e with.
func (e *Error) HTTPStatus() int {
	if s, ok := httpStatus[e.Code]; ok {
		return s
	}
	return 500
}

// AsError returns err as an *Error, wrapping what is none as CodeInternal. It returns nil for nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: CodeInternal, Message: err.Error()}
}

// HasCode reports whether err is an *Error with code c.
func HasCode(err error, c Code) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == c
}

// ToolRefused is the answer to a tool of the gateway that made a call of the control socket which is for operators.
func ToolRefused(call string) *Error {
	return &Error{
		Code: CodeToolCaller, Message: "a tool of the gateway may not use " + call + " of its control socket",
		Hint: "a tool may ask for the status, and, as tools.may_stop allows, for a stop or a restart with --yes",
	}
}
