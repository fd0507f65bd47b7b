package model

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestErrorsSayWhatTheEndpointSaidAndWhatToDoWithoutTheKey(t *testing.T) {
	for name, tt := range map[string]struct {
		status   int
		body     string
		stream   bool
		kind     Kind
		attempts int32
		says     []string
	}{
		"a wrong key":                       {status: 401, body: `{"error":{"message":"Incorrect API key provided: ` + testKey + `"}}`, kind: KindAuth, attempts: 1, says: []string{"401 Unauthorized", "Incorrect API key", "OPENAI_API_KEY"}},
		"a key that may not":                {status: 403, body: `{"error":"no"}`, kind: KindAuth, attempts: 1, says: []string{"403 Forbidden: no"}},
		"a model that is not there":         {status: 404, body: `{"error":{"message":"model m not found","code":"model_not_found"}}`, kind: KindNoModel, attempts: 1, says: []string{"model m not found", "model.name"}},
		"a model that is not there, as 400": {status: 400, body: `{"error":{"message":"no m","code":"model_not_found"}}`, kind: KindNoModel, attempts: 1, says: []string{"no m"}},
		"a path that is not there":          {status: 404, body: "404 page not found\n", kind: KindNoModel, attempts: 1, says: []string{"404 page not found", "model.base_url"}},
		"a transcript too long":             {status: 400, body: `{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}`, kind: KindTooLong, attempts: 1, says: []string{"8192"}},
		"an account that is exhausted":      {status: 429, body: `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}`, kind: KindQuota, attempts: 1, says: []string{"quota"}},
		"a rate limit that does not end":    {status: 429, body: `{"message":"slow down"}`, kind: KindRateLimited, attempts: maxAttempts, says: []string{"slow down", "6 attempts"}},
		"an endpoint that stays broken":     {status: 503, body: `<html><body>nginx</body></html>`, kind: KindUnavailable, attempts: maxAttempts, says: []string{"503 Service Unavailable (6 attempts)"}},
		"another refusal":                   {status: 422, body: `{"detail":[{"msg":"bad temperature"}]}`, kind: KindRefused, attempts: 1, says: []string{"bad temperature"}},
		"hostile words":                     {status: 400, body: "{\"error\":{\"message\":\"a\\u001b]52;c;x\\u0007\\nb\\u202e" + strings.Repeat("x", 5000) + "\"}}", kind: KindRefused, attempts: 1, says: []string{"a]52;c;x b"}},
		"an error inside the stream":        {status: 200, body: sse(`{"error":{"message":"engine died"}}`), kind: KindUnavailable, attempts: maxAttempts, says: []string{"engine died"}},
		"an error inside a chunk":           {status: 200, body: sse(`{"id":"x","error":"engine died","choices":[]}`), kind: KindUnavailable, attempts: maxAttempts, says: []string{"engine died"}},
		"an error without framing":          {status: 200, body: `{"error":{"message":"maximum context length exceeded"}}` + "\n", kind: KindTooLong, attempts: 1, says: []string{"maximum context"}},
		"a chunk that is not JSON":          {status: 200, body: sse(`{"choices":}`), kind: KindBroken, attempts: 1, says: []string{"broken answer"}},
		"a stream that is cut":              {status: 200, body: "data: {\"choices\":[{\"ind", kind: KindUnavailable, attempts: maxAttempts, says: []string{"closed the connection before"}},
		"too many tool calls":               {status: 200, body: sse(`{"choices":[{"index":0,"delta":{"tool_calls":[` + strings.TrimSuffix(strings.Repeat(`{"id":"x","function":{}},`, maxCalls+1), ",") + `]}}]}`), kind: KindBroken, attempts: 1, says: []string{"128 tool calls"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, n := clientOver(t, time.Hour, func(int, *http.Request) (*http.Response, error) {
					return respond(tt.status, nil, tt.body), nil
				})
				_, err := c.Complete(t.Context(), hi, nil)
				e, ok := errors.AsType[*Error](err)
				if !ok {
					t.Fatalf("error %v, want a *model.Error", err)
				}
				wantStatus := tt.status
				if wantStatus == 200 {
					wantStatus = 0
				}
				if e.Kind != tt.kind || e.Status != wantStatus || n.Load() != tt.attempts {
					t.Errorf("kind %s, status %d after %d attempts, want %s, %d after %d (%v)", e.Kind, e.Status, n.Load(), tt.kind, wantStatus, tt.attempts, err)
				}
				for _, want := range append(tt.says, `model "m" at http://model.test/v1`) {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error %q does not say %q", err, want)
					}
				}
				if strings.Contains(err.Error(), testKey) {
					t.Errorf("error %q tells the key", err)
				}
				if len(err.Error()) > 600 || strings.ContainsAny(err.Error(), "\x1b\n\u202e") {
					t.Errorf("error %q is not clean and short", err)
				}
			})
		})
	}
}

func TestWhatMayBeRetriedIsRetriedWithBackoff(t *testing.T) {
	ok := func() *http.Response { return respond(200, nil, sse(text("ok"), stopChunk, "[DONE]")) }
	for name, tt := range map[string]struct {
		first    func() (*http.Response, error)
		min, max time.Duration
	}{
		"a 503":                {func() (*http.Response, error) { return respond(503, nil, ""), nil }, 200 * time.Millisecond, time.Second},
		"a failed connection":  {func() (*http.Response, error) { return nil, errors.New("connection refused") }, 200 * time.Millisecond, time.Second},
		"a stream cut at once": {func() (*http.Response, error) { return respond(200, nil, ""), nil }, 200 * time.Millisecond, time.Second},
		"a 429 that says when": {func() (*http.Response, error) { return respond(429, map[string]string{"Retry-After": "7"}, ""), nil }, 7 * time.Second, 7 * time.Second},
		"a 503 that says when, as a date": {func() (*http.Response, error) {
			return respond(503, map[string]string{"Retry-After": time.Now().Add(9 * time.Second).UTC().Format(http.TimeFormat)}, ""), nil
		}, 8 * time.Second, 9 * time.Second},
		"a 429 that asks for too much waits a minute (E8)": {func() (*http.Response, error) { return respond(429, map[string]string{"Retry-After": "600"}, ""), nil }, time.Minute, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := clientOver(t, time.Hour, func(attempt int, _ *http.Request) (*http.Response, error) {
					if attempt == 1 {
						return tt.first()
					}
					return ok(), nil
				})
				start := time.Now()
				got, err := c.Complete(t.Context(), hi, func(string) {})
				if err != nil || got.Message.Content != "ok" {
					t.Fatalf("Complete = %+v, %v", got, err)
				}
				if waited := time.Since(start); waited < tt.min || waited > tt.max {
					t.Errorf("waited %s, want %s to %s", waited, tt.min, tt.max)
				}
			})
		})
	}
}

func TestDeliveredTextIsNeverRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut := func(attempt int, _ *http.Request) (*http.Response, error) {
			if attempt == 1 {
				return respond(200, nil, sse(text("half"))), nil
			}
			return respond(200, nil, sse(text("whole"), "[DONE]")), nil
		}
		c, n := clientOver(t, time.Hour, cut)
		var got strings.Builder
		_, err := c.Complete(t.Context(), hi, func(s string) { got.WriteString(s) })
		if err == nil || got.String() != "half" || n.Load() != 1 {
			t.Errorf("delivered %q in %d attempts, error %v; want half, 1 and an error", &got, n.Load(), err)
		}
		c, n = clientOver(t, time.Hour, cut)
		resp, err := c.Complete(t.Context(), hi, nil)
		if err != nil || resp.Message.Content != "whole" || n.Load() != 2 {
			t.Errorf("without a listener: %q in %d attempts, error %v; want whole, 2 and none", resp.Message.Content, n.Load(), err)
		}
	})
}

func TestARetryThatTheTimeoutWouldCutIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, n := clientOver(t, 5*time.Second, func(int, *http.Request) (*http.Response, error) {
			return respond(429, map[string]string{"Retry-After": "30"}, ""), nil
		})
		start := time.Now()
		_, err := c.Complete(t.Context(), hi, nil)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Kind != KindRateLimited || n.Load() != 1 || time.Since(start) != 0 {
			t.Fatalf("after %s and %d attempts: %v; want the 429 at once", time.Since(start), n.Load(), err)
		}
		if want := "asks to wait 30s; not waited for, because 5s are left of model.timeout"; e.RetryAfter != 30*time.Second || !strings.Contains(e.Message, want) {
			t.Errorf("it says %q with %s, want %q and 30s", e.Message, e.RetryAfter, want)
		}
	})
}
