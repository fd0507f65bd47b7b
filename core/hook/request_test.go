package hook

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/signature"
)

func TestHR9_ARequestIsSignedAndRepeatedOnceWhereTheReceiverFails(t *testing.T) {
	for _, tc := range []struct {
		name    string
		answers []int
		calls   int32
		failure string
	}{
		{"a receiver that takes it", []int{204}, 1, ""},
		{"a receiver that fails once", []int{500, 200}, 2, ""},
		{"a receiver that is busy once", []int{429, 202}, 2, ""},
		{"a receiver that goes on failing", []int{503, 502}, 2, "answered HTTP 502"},
		{"a receiver that refuses it", []int{400}, 1, "answered HTTP 400"},
		{"a redirect, which is not followed", []int{302}, 1, "answered HTTP 302"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			var names [2]string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := calls.Add(1)
				body, _ := io.ReadAll(r.Body)
				name, err := signature.Check(signature.Gateway, "secret", signature.Request{Header: r.Header, Body: body}, time.Now())
				if err != nil || string(body) != `{"seq":1}` || r.Header.Get("X-Gateway-Event") != "job.ended" || r.Header.Get("Content-Type") != "application/json" {
					t.Errorf("the request is %q with %v: %v", body, r.Header, err)
				}
				names[n-1] = name
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(tc.answers[n-1])
			}))
			defer s.Close()
			r := newRequest(Spec{URL: s.URL + "/token-in-the-path", Secret: "secret"})
			defer r.close()
			err := r.send(t.Context(), "job.ended", []byte(`{"seq":1}`))
			if calls.Load() != tc.calls || (err == nil) != (tc.failure == "") || err != nil && !strings.Contains(err.Error(), tc.failure) {
				t.Errorf("after %d calls it is %v", calls.Load(), err)
			}
			if err != nil && strings.Contains(err.Error(), "token-in-the-path") {
				t.Errorf("the error has the address: %v", err)
			}
			if tc.calls == 2 && names[0] != names[1] {
				t.Error("the repetition is another message for its receiver")
			}
		})
	}
}

func TestARequestToNoServerEndsWithItsTime(t *testing.T) {
	r := newRequest(Spec{URL: "http://127.0.0.1:1/token-in-the-path"})
	defer r.close()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := r.send(ctx, ops.EventJobEnded, nil)
	if err == nil || !strings.Contains(err.Error(), "send to 127.0.0.1:1") || strings.Contains(err.Error(), "token-in-the-path") {
		t.Errorf("it is %v", err)
	}
}
