package control

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
)

// FuzzRequests gives the handler any request that has a path: it answers in JSON with a code that fits its status, or
// takes a command that has a known form, and never panics.
func FuzzRequests(f *testing.F) {
	for _, s := range []struct{ method, path, body string }{
		{"GET", "/v1/status", ""},
		{"GET", "/v1/sessions?limit=5&filter=a", ""},
		{"GET", "/v1/preview?verb=stop&mode=fast", ""},
		{"GET", "/v1/requests/r1?wait_ms=0", ""},
		{"POST", "/v1/sessions/api:user:..%2F%2e%2e/reset", `{"reason":"x"}`},
		{"POST", "/v1/sessions/a/message", `{"text":"hi"}`},
		{"POST", "/v1/shutdown/extend", `{"phase":"drain","by_ms":5}`},
		{"POST", "/v1/stop", `{"mode":"immediate"}{}`},
		{"PUT", "//..//", `null`},
	} {
		f.Add(s.method, s.path, []byte(s.body), false)
	}
	console := newFake()
	s := NewServer(Options{Console: console, Path: "unused"})
	self := &peer{cred: &ucred{Uid: uint32(os.Geteuid()), Pid: 1}}
	f.Fuzz(func(t *testing.T, method, path string, body []byte, readOnly bool) {
		u, err := url.ParseRequestURI(path)
		if err != nil || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "/debug/") ||
			strings.HasPrefix(path, "/v1/events") || strings.HasPrefix(path, "/metrics") {
			return // streams, profiles and metrics have formats and tests of their own
		}
		ctx := context.WithValue(context.Background(), peerKey{}, self)
		r := (&http.Request{Method: method, URL: u, Header: http.Header{}, Body: http.NoBody}).WithContext(ctx)
		if method == "POST" {
			r = httptest.NewRequestWithContext(ctx, method, "/", bytes.NewReader(body))
			r.URL = u
		}
		if readOnly {
			r.Header.Set(HeaderReadOnly, "1")
		}
		before := len(console.commands())
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		did := console.commands()[before:]
		switch {
		case len(did) > 1 || len(did) == 1 && (readOnly || w.Code != http.StatusAccepted):
			t.Fatalf("%s %q did %+v and answered %d", method, path, did, w.Code)
		case len(did) == 1 && did[0].Parse() != nil:
			t.Fatalf("a command of wrong form was taken: %+v", did[0])
		case w.Code == http.StatusInternalServerError:
			t.Fatalf("%s %q: %s", method, path, w.Body)
		case w.Code >= 400:
			var e failure
			if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Error == nil || e.Error.Message == "" || e.Error.Hint == "" {
				t.Fatalf("%s %q answered %d with %s", method, path, w.Code, w.Body)
			}
			if w.Code != http.StatusMethodNotAllowed && e.Error.HTTPStatus() != w.Code {
				t.Fatalf("%s %q answered %d with code %s", method, path, w.Code, e.Error.Code)
			}
		}
	})
}
