package model

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"
)

// ErrClosed is what Complete returns when the client was closed, before or during the call.
var ErrClosed = errors.New("model client is closed")

// Kind classifies an Error for callers that act on it.
type Kind string

// The kinds of failure.
const (
	KindAuth        Kind = "auth"         // 401, 403: the key is missing, wrong or may not do this
	KindNoModel     Kind = "no_model"     // the endpoint has no such model, or no such path
	KindTooLong     Kind = "too_long"     // the transcript does not fit the model's context
	KindRateLimited Kind = "rate_limited" // 429
	KindQuota       Kind = "quota"        // 429 of an account that is used up: no wait cures it
	KindUnavailable Kind = "unavailable"  // 5xx, no connection, a connection that broke
	KindTimeout     Kind = "timeout"      // no complete answer within model.timeout
	KindRefused     Kind = "refused"      // another 4xx
	KindRedirected  Kind = "redirected"   // 3xx: it is not followed
	KindNotAModel   Kind = "not_a_model"  // the listener is not a model endpoint: a web page, another protocol
	KindBroken      Kind = "broken"       // the answer is not what the protocol says, or longer than the bound
)

// Kinds is every kind.
var Kinds = []Kind{KindAuth, KindNoModel, KindTooLong, KindRateLimited, KindQuota, KindUnavailable, KindTimeout, KindRefused, KindRedirected, KindNotAModel, KindBroken}

// Error is why a model call failed. Message is one sentence for people: the endpoint, the status and what the endpoint
// said, cleaned and bounded, never the key.
type Error struct {
	Kind Kind
	// Status is the HTTP status; 0 where none was received.
	Status  int
	Message string

	// RetryAfter is the endpoint's Retry-After; 0 where it sent none.
	RetryAfter time.Duration

	// Window is the model's context in tokens, if an error of KindTooLong tells it; 0: it does not.
	Window int

	// said is the endpoint's words, as they came, for the end of Message.
	said string
	// retry says that the same call may go well later.
	retry bool
	cause error
}

func (e *Error) Error() string { return e.Message }

// brief has a sentence for each kind that says neither the endpoint's address nor its words.
var brief = map[Kind]string{
	KindAuth:        "the model refused the gateway's credentials",
	KindNoModel:     "the configured model does not exist at its endpoint",
	KindTooLong:     "this conversation has become too long for the model",
	KindRateLimited: "the model is receiving too many requests",
	KindQuota:       "the account of the model is used up",
	KindUnavailable: "the model is not available at the moment",
	KindTimeout:     "the model did not answer in time",
	KindRefused:     "the model rejected the request",
	KindRedirected:  "the model's address points somewhere else",
	KindNotAModel:   "no model answers at the configured address",
	KindBroken:      "the model sent an answer that cannot be read",
}

// Brief says what happened in a few words for readers who may not see the endpoint's address and its own words: the users of
// a chat and of the API. The whole Message belongs in the log.
func (e *Error) Brief() string {
	if text := brief[e.Kind]; text != "" {
		return text
	}
	return "the model call failed"
}

// Unwrap is the network's or the decoder's error under e, if there is one.
func (e *Error) Unwrap() error { return e.cause }

// apiError is what an endpoint says about a failure.
type apiError struct {
	message, code string
	// window is the model's context, 0 where it is not named.
	window int
}

// parseSaid reads an error body. The shapes are OpenAI's {"error":{"message","code"}}, {"error":"…"} (llama.cpp, Ollama),
// {"message":"…"} and {"detail":"…"} (FastAPI); any other text is used as it is, unless it is a page for browsers.
func parseSaid(body []byte) apiError {
	var flat struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &flat) != nil {
		if text := strings.TrimSpace(string(body)); !strings.HasPrefix(text, "<") {
			return apiError{message: text}
		}
		return apiError{}
	}
	if s, ok := parseErrorValue(flat.Error); ok {
		return s
	}
	if flat.Message != "" {
		return apiError{message: flat.Message}
	}
	var detail string
	if json.Unmarshal(flat.Detail, &detail) != nil {
		detail = string(flat.Detail)
	}
	return apiError{message: detail}
}

// parseErrorValue reads the value of an "error" member; false if there is none.
func parseErrorValue(raw json.RawMessage) (apiError, bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return apiError{}, false
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return apiError{message: text}, true
	}
	var object struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"`
		Window  int    `json:"n_ctx"` // llama.cpp
	}
	if json.Unmarshal(raw, &object) != nil {
		return apiError{message: string(raw)}, true
	}
	code := object.Type
	if object.Code != nil {
		code = fmt.Sprint(object.Code)
	}
	return apiError{message: object.Message, code: code, window: object.Window}, true
}

// judge sets what kind of failure the status and the endpoint's words make of e.
func (e *Error) judge(s apiError) {
	if e.Kind, e.retry = classify(e.Status, s); e.Kind == KindTooLong {
		e.Window = cmp.Or(s.window, windowIn(s.message))
	}
}

// classify turns a status (0: the error came inside a stream) and the endpoint's words into a kind, and says whether the
// same call may go well later.
func classify(status int, s apiError) (kind Kind, retry bool) {
	words := strings.ToLower(s.code + " " + s.message)
	says := func(any ...string) bool {
		for _, w := range any {
			if strings.Contains(words, w) {
				return true
			}
		}
		return false
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return KindAuth, false
	case status == http.StatusTooManyRequests && says("insufficient_quota"):
		return KindQuota, false
	case status == http.StatusTooManyRequests:
		return KindRateLimited, true
	case says("credit balance is too low"):
		return KindQuota, false
	case says("context_length_exceeded", "maximum context length", "context window", "exceed_context_size", "prompt is too long", "exceed context limit", "context size", "context length"),
		status == http.StatusRequestEntityTooLarge:
		return KindTooLong, false
	case status == http.StatusNotFound, says("model_not_found"):
		return KindNoModel, false
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		return KindUnavailable, true
	case status == http.StatusNotImplemented:
		return KindRefused, false
	case status >= 500, status == 0:
		return KindUnavailable, true
	default:
		return KindRefused, false
	}
}

// maxSaid bounds what of an endpoint's message goes into an error, in runes.
const maxSaid = 300

// clean makes an endpoint's words fit for one line of a log, a chat or a terminal: without control and format
// characters, without the key should the endpoint repeat it, bounded.
func clean(text, key string) string {
	if key != "" {
		text = strings.ReplaceAll(text, key, "[key]")
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, text)
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > maxSaid {
		return string(runes[:maxSaid]) + "…"
	}
	return string(runes)
}
