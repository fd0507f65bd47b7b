package api

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"gatewaytui/core/ops"
)

// problem is why a request has no answer, in OpenAI's shape.
type problem struct {
	status        int
	code, message string
	// param is the part of the request that is wrong, as OpenAI writes it: messages[0].content.
	param string
	// retryAfter is when the same request may do better; 0 is unsaid.
	retryAfter time.Duration
	// taken says that the gateway has the message, so that sending it again would run it again.
	taken bool
	// allow is the methods that the path knows.
	allow string
}

// kind is OpenAI's word for a class of errors, which its clients map to their own types together with the status.
func (p *problem) kind() string {
	switch {
	case p.status == http.StatusUnauthorized:
		return "authentication_error"
	case p.status == http.StatusForbidden:
		return "permission_error"
	case p.status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case p.status >= 500:
		return "server_error"
	default:
		return "invalid_request_error"
	}
}

// body is p as JSON.
func (p *problem) body() []byte {
	type inner struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	b := inner{Message: p.message, Type: p.kind()}
	if p.param != "" {
		b.Param = &p.param
	}
	if p.code != "" {
		b.Code = &p.code
	}
	out, _ := json.Marshal(map[string]inner{"error": b}) // strings always encode
	return out
}

// write answers with p.
func (p *problem) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retryAfter.Seconds()))))
	}
	if p.taken {
		// OpenAI's clients send a request again after 429 and 5xx, unless this header forbids it.
		h.Set("X-Should-Retry", "false")
	}
	if p.allow != "" {
		h.Set("Allow", p.allow)
	}
	if p.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	body := append(p.body(), '\n')
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.status)
	_, _ = w.Write(body) // a client that has gone needs no answer
}

func invalid(param, message string) *problem {
	return &problem{status: http.StatusBadRequest, code: "invalid_request", param: param, message: message}
}

// stopping is the answer to a request whose message was not accepted before the gateway stopped.
func stopping() *problem {
	return &problem{
		status: http.StatusServiceUnavailable, code: string(ops.CodeStopping), message: "the gateway is stopping", retryAfter: 10 * time.Second,
	}
}

// cutOff is the answer to a request whose message was accepted before the gateway stopped.
func cutOff() *problem {
	return &problem{
		status: http.StatusServiceUnavailable, code: string(ops.CodeStopping), taken: true,
		message: "the gateway is stopping; it has the message, and its turn may have been cut off",
	}
}

// retryIn is when a refusal may have passed.
var retryIn = map[ops.Code]time.Duration{
	ops.CodeDraining: 5 * time.Second, ops.CodeStopping: 10 * time.Second, ops.CodeQueueFull: time.Second, ops.CodeLimit: 5 * time.Second, ops.CodeUnavailable: 5 * time.Second,
}

// refused turns the gateway's refusal of a message into a problem.
func refused(e *ops.Error) *problem {
	p := &problem{status: e.HTTPStatus(), code: string(e.Code), message: clean(e.Error()), retryAfter: retryIn[e.Code]}
	if e.RetryAfter > 0 {
		p.retryAfter = e.RetryAfter
	}
	if e.Code == ops.CodeTooLong {
		p.param = "messages"
	}
	return p
}

// unanswered turns a turn's end without an answer into a problem. Retry-After is then the model endpoint's own value, passed
// on for the caller to act on; a client does not retry automatically, since the turn has run.
func unanswered(err error) *problem {
	e := ops.AsError(err)
	p := refused(e)
	p.taken, p.retryAfter = true, e.RetryAfter
	return p
}

// tooSlow ends a stream whose reader does not keep up.
var tooSlow = &problem{
	status: http.StatusServiceUnavailable, code: "slow_reader", taken: true,
	message: "the answer was written faster than it was read; the session keeps it",
}

// maxMessage bounds an error's text, in runes.
const maxMessage = 1000

// clean keeps what an error quotes from somewhere else from reaching a client's terminal as anything but text.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, invisible...) {
			return ' '
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > maxMessage {
		return string(runes[:maxMessage]) + "…"
	}
	return text
}

// invisible is what a name or a message may not hold, in addition to control characters: text that changes how other text
// looks.
var invisible = []*unicode.RangeTable{unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // a client that has gone needs no answer
}
