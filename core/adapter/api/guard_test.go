package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/logs"
	"gatewaytui/fixtures/soak"
	"gatewaytui/fixtures/syncbuf"
)

func TestHF17_GuessingAtTheKeyIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Guard
		refused := func(from, key string) bool { return g.Check(from, key, false, time.Now()) != 0 }
		for i := range maxWrong {
			if refused("1.2.3.4/32", fmt.Sprint("guess", i)) {
				t.Fatalf("guess %d was refused as one too many", i)
			}
			time.Sleep(time.Second)
		}
		if wait := g.Check("1.2.3.4/32", "one more", false, time.Now()); wait <= 0 || wait > lockout {
			t.Fatalf("the guess after them is locked out for %s", wait)
		}
		if g.Check("1.2.3.4/32", "right", true, time.Now()) == 0 {
			t.Error("a guess that is right is taken from an address that is guessing")
		}
		if refused("1.2.3.5/32", "wrong") || g.Check("1.2.3.5/32", "right", true, time.Now()) != 0 {
			t.Error("another address is locked out as well")
		}
		for range 100 { // it does not make the lockout longer
			time.Sleep(lockout / 100)
			refused("1.2.3.4/32", "again")
		}
		if refused("1.2.3.4/32", "wrong") || g.Check("1.2.3.4/32", "right", true, time.Now()) != 0 {
			t.Errorf("after %s the address is still locked out", lockout)
		}
	})
}

// One client with an old key does not lock out the others at its address, and cannot be used to guess faster.
func TestHF17_TheSameWrongKeyLocksOutItselfAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Guard
		for range maxWrong {
			g.Check("h", "old key", false, time.Now())
		}
		if g.Check("h", "old key", false, time.Now()) == 0 {
			t.Error("the wrong key is not refused as one too many")
		}
		if wait := g.Check("h", "right", true, time.Now()); wait != 0 {
			t.Errorf("the right key of the same address is locked out for %s", wait)
		}
		for i := range maxWrong {
			g.Check("h", fmt.Sprint("guess", i), false, time.Now())
		}
		if g.Check("h", "right", true, time.Now()) == 0 {
			t.Error("after ten guesses the right key is taken")
		}
	})
}

func TestHF17_AFewWrongKeysAMinuteLockNoClientOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Guard
		for i := range 100 {
			if g.Check("h", fmt.Sprint(i), false, time.Now()) != 0 || g.Check("h", "right", true, time.Now()) != 0 {
				t.Fatalf("locked out after %d wrong keys", i)
			}
			time.Sleep(wrongWindow/maxWrong + time.Second)
		}
	})
}

func TestHF17_TheSourcesThatAreRememberedAreBounded(t *testing.T) {
	var g Guard
	for i := range 2 * maxSources {
		g.Check(fmt.Sprint(i), "wrong", false, time.Now())
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

// HF17: the reproduction: refused requests within 20 s, each from another port; under make soak the 36,000 of the report.
func TestHF17_RefusedRequestsFoldToFewLines(t *testing.T) {
	for name, host := range map[string]func(i int) string{
		"of one address":         func(int) string { return "192.0.2.1" },
		"of as many as they are": func(i int) string { return fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				out := &syncbuf.Buffer{}
				l, err := logs.Open(logs.Options{Stderr: out, Format: "json"})
				if err != nil {
					t.Fatal(err)
				}
				p := New(Options{Key: "the-key", Log: l.Logger()})
				c := &conn{platform: p, log: p.log}
				at := &peer{
					nc:  &counted{to: p.bounded(nil, 8)},
					who: func() caller { return caller{Socket: adapter.Socket{UID: unknownUID}} }, tool: func() toolCheck { return toolCheck{} },
				}
				n := soak.Count(t, 6_000, 36_000)
				for i := range n {
					r := httptest.NewRequest(http.MethodGet, "/v1/models", http.NoBody)
					r.RemoteAddr = fmt.Sprintf("%s:%d", host(i), 1024+i%60_000)
					r.Header.Set("Authorization", fmt.Sprint("Bearer wrong", i))
					w := httptest.NewRecorder()
					c.route(w, r.WithContext(context.WithValue(r.Context(), peerKey{}, at)))
					if w.Code != http.StatusUnauthorized && w.Code != http.StatusTooManyRequests {
						t.Fatalf("answered %d", w.Code)
					}
					if i%100 == 0 {
						time.Sleep(20 * time.Second / time.Duration(n/100))
					}
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				if err := l.Close(ctx); err != nil {
					t.Error(err)
				}
				if got := out.Count("\n"); got >= 100 || got < 2 {
					t.Errorf("%d refused requests are %d lines, want fewer than 100", n, got)
				}
				if got := p.Counters()[0].Value(); got != uint64(n) {
					t.Errorf("%d are counted", got)
				}
			})
		})
	}
}

// HF17 with the key of the home: other users have to know it, and their guesses are as slow as those at a key of the config.
func TestHF17_GuessingAtTheKeyOfTheHomeIsSlow(t *testing.T) {
	us := os.Geteuid()
	var uid atomic.Int64
	start := func(t *testing.T, o Options) (*fixture, func(as int, key string, headers ...string) answer) {
		t.Helper()
		r := &toolGateway{gateway: gateway{take: echo}}
		f := startAs(t, o, r, func() (adapter.Socket, error) {
			if uid.Load() == unknownUID {
				return adapter.Socket{}, errNoSocket
			}
			return adapter.Socket{UID: int(uid.Load()), Inode: 1}, nil
		})
		return f, func(as int, key string, headers ...string) answer {
			uid.Store(int64(as))
			f.client.CloseIdleConnections() // each look at the kernel is for one connection
			return f.chat(saying("hi"), append([]string{"Authorization", "Bearer " + key}, headers...)...)
		}
	}
	guess := func(t *testing.T, ask func(int, string, ...string) answer, as int, headers ...string) {
		t.Helper()
		for i := range maxWrong {
			ask(as, fmt.Sprint("guess", i), headers...)
		}
	}
	t.Run("of another user", func(t *testing.T) {
		_, ask := start(t, localKey)
		guess(t, ask, us+1)
		ask(us+1, "one-more").refused(t, http.StatusTooManyRequests, "too_many_wrong_keys")
		ask(us+1, localKey.LocalKey).refused(t, http.StatusTooManyRequests, "too_many_wrong_keys")
		ask(us+2, localKey.LocalKey).whole(t)
		ask(us+2, "wrong").refused(t, http.StatusUnauthorized, "invalid_api_key")
		ask(us, "sk-anything").whole(t)
	})
	t.Run("of a user whom the kernel does not tell", func(t *testing.T) {
		_, ask := start(t, localKey)
		guess(t, ask, unknownUID)
		ask(unknownUID, localKey.LocalKey).refused(t, http.StatusTooManyRequests, "too_many_wrong_keys")
		ask(us+1, localKey.LocalKey).whole(t)
		ask(us, "sk-anything").whole(t)
	})
	t.Run("of our own programs there are none: any key is served", func(t *testing.T) {
		_, ask := start(t, localKey)
		for i := range 2 * maxWrong {
			ask(us, fmt.Sprint("sk-anything", i)).whole(t)
		}
		ask(us, localKey.LocalKey).whole(t)
	})
	t.Run("of a web page in our own user's browser", func(t *testing.T) {
		_, ask := start(t, localKey)
		guess(t, ask, us, "Host", "evil.example")
		ask(us, localKey.LocalKey, "Host", "evil.example").refused(t, http.StatusTooManyRequests, "too_many_wrong_keys")
		ask(us, localKey.LocalKey).whole(t)
		ask(us, "sk-anything").whole(t)
	})
	t.Run("of another user, at the key of the config", func(t *testing.T) {
		_, ask := start(t, Options{Key: "the-key"})
		guess(t, ask, us+1)
		ask(us+1, "the-key").refused(t, http.StatusTooManyRequests, "too_many_wrong_keys")
		ask(us, "the-key").whole(t)
	})
}

// A tool that changed its user is refused with the right key, and must not learn from that which key is right.
func TestHF17_TheRefusalOfAToolTellsNoGuesserThatItsKeyIsRight(t *testing.T) {
	r := &toolGateway{gateway: gateway{take: echo}, tool: func(adapter.Socket) (string, bool, error) { return "api:user:bob", true, nil }}
	f := startAs(t, localKey, r, func() (adapter.Socket, error) { return adapter.Socket{UID: os.Geteuid() + 1, Inode: 1}, nil })
	for i := range maxWrong {
		f.chat(saying("hi"), "Authorization", fmt.Sprint("Bearer guess", i)).refused(t, http.StatusUnauthorized, "invalid_api_key")
	}
	f.chat(saying("hi"), "Authorization", "Bearer "+localKey.LocalKey).refused(t, http.StatusTooManyRequests, "too_many_wrong_keys")
}
