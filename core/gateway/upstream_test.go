package gateway

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/fixtures/syncbuf"
)

// TF18: each kind of model failure has its code, a chat reads a short sentence, and the details are in the log alone.
func TestTF18_AModelFailureIsReportedShortlyAndLoggedInFull(t *testing.T) {
	const detail = `model "m" at http://10.1.2.3:9999/v1 answered 418: Kilroy's provider was here`
	for name, tt := range map[string]struct {
		err  *model.Error
		code ops.Code
		http int
		chat string
	}{
		"the conversation is too long": {
			&model.Error{Kind: model.KindTooLong, Status: 400}, ops.CodeTooLong, 400,
			"This conversation has become too long for the model. /new starts a fresh one.",
		},
		"the key is refused": {
			&model.Error{Kind: model.KindAuth, Status: 401}, ops.CodeUpstreamAuth, 502,
			"The model refused the gateway's credentials. The gateway's log has the details.",
		},
		"the model is unknown": {
			&model.Error{Kind: model.KindNoModel, Status: 404}, ops.CodeUpstreamNoModel, 502,
			"The configured model does not exist at its endpoint. The gateway's log has the details.",
		},
		"the endpoint limits the rate": {
			&model.Error{Kind: model.KindRateLimited, Status: 429}, ops.CodeRateLimited, 429,
			"The model is receiving too many requests. Try again in a minute.",
		},
		"the endpoint says how long": {
			&model.Error{Kind: model.KindRateLimited, Status: 429, RetryAfter: 7 * time.Second}, ops.CodeRateLimited, 429,
			"The model is receiving too many requests. Try again in 7s.",
		},
		"the account is used up": {
			&model.Error{Kind: model.KindQuota, Status: 429}, ops.CodeQuota, 429,
			"The account of the model is used up. The gateway's log has the details.",
		},
		"the endpoint fails": {
			&model.Error{Kind: model.KindUnavailable, Status: 500}, ops.CodeUpstream, 502,
			"The model is not available at the moment. Try again in a moment.",
		},
		"the endpoint is silent": {
			&model.Error{Kind: model.KindTimeout}, ops.CodeUpstreamTimeout, 504,
			"The model did not answer in time. Try again.",
		},
		"the endpoint refuses the request": {
			&model.Error{Kind: model.KindRefused, Status: 400}, ops.CodeUpstreamRejected, 502,
			"The model rejected the request. /new starts a fresh conversation, which may help; the gateway's log has the details.",
		},
		"the endpoint is not a model": {
			&model.Error{Kind: model.KindNotAModel}, ops.CodeUpstreamNotAModel, 502,
			"No model answers at the configured address. The gateway's log has the details.",
		},
		"the answer is broken": {
			&model.Error{Kind: model.KindBroken}, ops.CodeUpstream, 502,
			"The model sent an answer that cannot be read. Try again.",
		},
		"a kind that is not known": {
			&model.Error{Kind: "new"}, ops.CodeUpstream, 502,
			"The model call failed. Try again.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log syncbuf.Buffer
			l := start(t, func(s *setup) {
				s.log = slog.NewJSONHandler(&log, nil)
				s.model = script(func(context.Context, model.Request) (model.Response, error) {
					e := *tt.err
					e.Message = detail
					return model.Response{}, &e
				})
			})
			got := ops.AsError(l.await(l.send("api:user:a", "hello")).err)
			if got == nil || got.Code != tt.code || got.HTTPStatus() != tt.http || got.RetryAfter != tt.err.RetryAfter {
				t.Errorf("the asker gets %+v, want code %s, status %d and Retry-After %s", got, tt.code, tt.http, tt.err.RetryAfter)
			}
			l.say("chat:dm:1", "1", "hello")
			l.wait("the chat has the notice", func() bool { return len(l.chat.messages()) == 1 })
			if got, want := l.chat.messages()[0], "1: "+tt.chat; got != want {
				t.Errorf("the chat reads %q, want %q", got, want)
			}
			for _, text := range []string{got.Error(), l.chat.messages()[0]} {
				if strings.Contains(text, "10.1.2.3") || strings.Contains(text, "Kilroy") {
					t.Errorf("the asker gets the endpoint's address or its words: %q", text)
				}
			}
			l.wait("the log has the details", func() bool {
				line := log.String()
				return strings.Contains(line, "10.1.2.3:9999") && strings.Contains(line, "Kilroy") && strings.Contains(line, `"kind":"`+string(tt.err.Kind)+`"`)
			})
		})
	}
}
