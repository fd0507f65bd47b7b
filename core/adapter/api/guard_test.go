package api

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/logs"
)

func TestHF17_GuessingAtTheKeyIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g guard
		refused := func(from, key string) bool { return g.wrong(from, key, time.Now()) != nil }
		for i := range maxWrong {
			if refused("1.2.3.4/32", fmt.Sprint("guess", i)) {
				t.Fatalf("guess %d was refused as one too many", i)
			}
			time.Sleep(time.Second)
		}
		p := g.wrong("1.2.3.4/32", "one more", time.Now())
		if p == nil || p.status != http.StatusTooManyRequests || p.code != "too_many_wrong_keys" || p.retryAfter <= 0 || p.retryAfter > lockout {
			t.Fatalf("the guess after them is answered with %+v", p)
		}
		if g.right("1.2.3.4/32", time.Now()) == nil {
			t.Error("a guess that is right is taken from an address that is guessing")
		}
		if refused("1.2.3.5/32", "wrong") || g.right("1.2.3.5/32", time.Now()) != nil {
			t.Error("another address is locked out as well")
		}
		for range 100 { // it does not make the lockout longer
			time.Sleep(lockout / 100)
			refused("1.2.3.4/32", "again")
		}
		if refused("1.2.3.4/32", "wrong") || g.right("1.2.3.4/32", time.Now()) != nil {
			t.Errorf("after %s the address is still locked out", lockout)
		}
	})
}

// One client with an old key does not lock out the others behind its address, and cannot be used to guess faster.
func TestHF17_TheSameWrongKeyLocksOutItselfAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g guard
		for range maxWrong {
			g.wrong("h", "old key", time.Now())
		}
		if g.wrong("h", "old key", time.Now()) == nil {
			t.Error("the wrong key is not refused as one too many")
		}
		if p := g.right("h", time.Now()); p != nil {
			t.Errorf("the right key of the same address is answered with %+v", p)
		}
		for i := range maxWrong {
			g.wrong("h", fmt.Sprint("guess", i), time.Now())
		}
		if g.right("h", time.Now()) == nil {
			t.Error("after ten guesses the right key is taken")
		}
	})
}

func TestHF17_AFewWrongKeysAMinuteAreNoLockout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g guard
		for i := range 100 {
			if g.wrong("h", fmt.Sprint(i), time.Now()) != nil || g.right("h", time.Now()) != nil {
				t.Fatalf("locked out after %d wrong keys", i)
			}
			time.Sleep(wrongWindow/maxWrong + time.Second)
		}
	})
}

func TestHF17_TheSourcesThatAreRememberedAreBounded(t *testing.T) {
	var g guard
	for i := range 2 * maxSources {
		g.wrong(fmt.Sprint(i), "wrong", time.Now())
	}
	if len(g.sources) != maxSources || len(g.order) != maxSources {
		t.Errorf("%d sources are remembered, %d in order; want %d", len(g.sources), len(g.order), maxSources)
	}
}

func TestHF17_AWrongKeyTooManyIsAnsweredWithTheTimeToWait(t *testing.T) {
	f := start(t, Options{Key: "the-key"}, echo)
	for i := range maxWrong {
		f.chat(saying("hi"), "Authorization", fmt.Sprint("Bearer wrong", i)).refused(t, http.StatusUnauthorized, "invalid_api_key")
	}
	a := f.chat(saying("hi"), "Authorization", "Bearer wrong")
	if e := a.refused(t, http.StatusTooManyRequests, "too_many_wrong_keys"); *e.Type != "rate_limit_error" || a.header.Get("Retry-After") != "300" {
		t.Errorf("type %q, Retry-After %q", *e.Type, a.header.Get("Retry-After"))
	}
	f.chat(saying("hi"), "Authorization", "Bearer the-key").refused(t, http.StatusTooManyRequests, "too_many_wrong_keys")
	f.chat(saying("hi")).refused(t, http.StatusUnauthorized, "missing_api_key")
	if a := f.do(f.request(http.MethodGet, "/health", "")); a.status != http.StatusOK {
		t.Errorf("/health is answered with %d", a.status)
	}
}

// stderr is a log that counts its lines.
type stderr struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *stderr) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(b)
}

func (s *stderr) lines() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.buf.String(), "\n")
}

// HF17: the reproduction: 36,000 refused requests within 20 s, each from another port.
func TestHF17_RefusedRequestsFoldToFewLines(t *testing.T) {
	for name, host := range map[string]func(i int) string{
		"of one address":         func(int) string { return "192.0.2.1" },
		"of as many as they are": func(i int) string { return fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				out := &stderr{}
				l, err := logs.Open(logs.Options{Stderr: out, Format: "json"})
				if err != nil {
					t.Fatal(err)
				}
				p := New(Options{Key: "the-key", Log: l.Logger()})
				c := &conn{platform: p, log: p.log}
				const n = 36_000
				for i := range n {
					r := httptest.NewRequest(http.MethodGet, "/v1/models", http.NoBody)
					r.RemoteAddr = fmt.Sprintf("%s:%d", host(i), 1024+i%60_000)
					r.Header.Set("Authorization", fmt.Sprint("Bearer wrong", i))
					w := httptest.NewRecorder()
					c.route(w, r)
					if w.Code != http.StatusUnauthorized && w.Code != http.StatusTooManyRequests {
						t.Fatalf("answered %d", w.Code)
					}
					if i%100 == 0 {
						time.Sleep(20 * time.Second / (n / 100))
					}
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				if err := l.Close(ctx); err != nil {
					t.Error(err)
				}
				if got := out.lines(); got >= 100 || got < 2 {
					t.Errorf("%d refused requests are %d lines, want fewer than 100", n, got)
				}
				if got := p.Counters()[0].Value(); got != n {
					t.Errorf("%d are counted", got)
				}
			})
		})
	}
}
