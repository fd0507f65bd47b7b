package api

import (
	"net/http"
	"testing"
)

const page = "https://app.example"

// TF27: a listed origin and a listed host are served, and every other one is refused as before.
func TestTF27_OnlyListedOriginsAndHostsAreServed(t *testing.T) {
	preflight := []string{"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type,x-stainless-retry-count"}
	for _, c := range []struct {
		name, key, method string
		header            []string
		status            int
		code              string
		shared            bool
	}{
		{"a preflight of a listed origin", "", "OPTIONS", append([]string{"Origin", page}, preflight...), 204, "", true},
		{"a preflight of a listed origin where a key is needed", "secret", "OPTIONS", append([]string{"Origin", page}, preflight...), 204, "", true},
		{"a preflight of another origin", "", "OPTIONS", append([]string{"Origin", "https://evil.example"}, preflight...), 403, "origin_refused", false},
		{"a preflight of another origin where a key is needed", "secret", "OPTIONS", append([]string{"Origin", "https://evil.example"}, preflight...), 403, "origin_refused", false},
		{"a preflight of an origin that begins like a listed one", "", "OPTIONS", append([]string{"Origin", page + ".evil.example"}, preflight...), 403, "origin_refused", false},
		{"a preflight for another host", "", "OPTIONS", append([]string{"Origin", page, "Host", "evil.example"}, preflight...), 403, "host_refused", true},
		{"OPTIONS of a program", "", "OPTIONS", nil, 405, "method_not_allowed", false},
		{"a request of a listed origin", "", "POST", []string{"Origin", page}, 200, "", true},
		{"a request of a listed origin with the key", "secret", "POST", []string{"Origin", page, "Authorization", "Bearer secret"}, 200, "", true},
		{"a request of a listed origin without the key", "secret", "POST", []string{"Origin", page}, 401, "missing_api_key", true},
		{"a request of another origin", "", "POST", []string{"Origin", "https://evil.example"}, 403, "origin_refused", false},
		{"a request of the origin null", "", "POST", []string{"Origin", "null"}, 403, "origin_refused", false},
		{"a request of another origin with the key", "secret", "POST", []string{"Origin", "https://evil.example", "Authorization", "Bearer secret"}, 200, "", false},
		{"a request of a listed origin for another host", "", "POST", []string{"Origin", page, "Host", "evil.example"}, 403, "host_refused", true},
		{"a request for a listed host", "", "POST", []string{"Host", "gateway.internal:80"}, 200, "", false},
		{"a request for a listed host in capitals", "", "POST", []string{"Host", "Gateway.Internal."}, 200, "", false},
		{"a request for another host", "", "POST", []string{"Host", "internal"}, 403, "host_refused", false},
		{"a request for a host below a listed one", "", "POST", []string{"Host", "x.gateway.internal"}, 403, "host_refused", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, Options{Key: c.key, AllowOrigins: []string{page}, AllowHosts: []string{"gateway.internal"}}, echo)
			body := saying("hi")
			if c.method == http.MethodOptions {
				body = ""
			}
			a := f.do(f.request(c.method, "/v1/chat/completions", body, c.header...))
			if a.status != c.status {
				t.Fatalf("answered %d %s, want %d", a.status, a.body, c.status)
			}
			if c.code != "" {
				a.refused(t, c.status, c.code)
			}
			want := ""
			if c.shared {
				want = page
			}
			if got := a.header.Get("Access-Control-Allow-Origin"); got != want {
				t.Errorf("the answer may be read by %q, want %q", got, want)
			}
			if a.header.Get("Access-Control-Allow-Credentials") != "" {
				t.Error("credentials are allowed")
			}
			if a.header.Get("Vary") != "Origin" {
				t.Error("a cache may give the answer to another origin")
			}
			if c.status == http.StatusNoContent && (a.header.Get("Access-Control-Allow-Methods") != "POST" || a.header.Get("Access-Control-Allow-Headers") != preflight[3]) {
				t.Errorf("the preflight allows %v", a.header)
			}
			if n := len(f.gateway.messages()); (n == 1) != (c.status == 200) {
				t.Errorf("the gateway got %d messages", n)
			}
		})
	}
}

func TestWithoutListedOriginsNoAnswerIsShared(t *testing.T) {
	f := start(t, Options{}, echo)
	a := f.do(f.request(http.MethodOptions, "/v1/chat/completions", "", "Origin", page, "Access-Control-Request-Method", "POST"))
	a.refused(t, http.StatusForbidden, "origin_refused")
	if a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("the answer may be read by a page")
	}
}
