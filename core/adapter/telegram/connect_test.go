package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/core/adapter/telegram/botapitest"
)

func TestConnectSaysWhatIsWrong(t *testing.T) {
	credential := func(err error) bool {
		c, ok := errors.AsType[*adapter.CredentialsError](err)
		return ok && c.Variable == "TELEGRAM_BOT_TOKEN"
	}
	for _, tc := range []struct {
		name  string
		set   func(w *world)
		want  func(error) bool
		limit time.Duration
	}{
		{"an unset token is a credential", func(w *world) { w.o.Token = "" }, credential, 0},
		{"a token that would change the path is a credential", func(w *world) { w.o.Token = token + "/../x" }, credential, 0},
		{"a token that Telegram does not know is a credential", func(w *world) { w.o.Token = "1:" + token[5:] }, credential, time.Second},
		{"a token without the form of one is a credential", fault("getMe", botapitest.Fault{Code: 404}), credential, time.Second},
		{"E9: another poller is a conflict", fault("getUpdates", botapitest.Fault{Code: 409}), is[*adapter.ConflictError], time.Second},
		{"E8: a rate limit is one", fault("getMe", botapitest.Fault{Code: 429, RetryAfter: 7}), func(err error) bool {
			l, ok := errors.AsType[*adapter.RateLimitError](err)
			return ok && l.RetryAfter == 7*time.Second
		}, time.Second},
		{"a fault of the server is worth a retry", fault("getMe", botapitest.Fault{Code: 502}), is[*callError], time.Second},
		{"a lost connection is worth a retry", fault("getMe", botapitest.Fault{Drop: true}), is[*callError], time.Second},
		{"E7: a server that never answers costs no more than a call may", fault("", botapitest.Fault{Hang: true}), func(err error) bool {
			return errors.Is(err, context.DeadlineExceeded)
		}, 11 * time.Second},
		{"E7: so does a first poll that is never answered", fault("getUpdates", botapitest.Fault{Hang: true}), func(err error) bool {
			return errors.Is(err, context.DeadlineExceeded)
		}, 11 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				tc.set(w)
				began := time.Now()
				c, err := w.Connect(w.Context(), w.in)
				if err == nil {
					w.down(c.(*conn))
					w.Fatal("connected")
				}
				if !tc.want(err) {
					w.Errorf("got %#v", err)
				}
				if took := time.Since(began); took > tc.limit {
					w.Errorf("it took %s, want at most %s", took, tc.limit)
				}
				wantNoToken(w.T, err)
			})
		})
	}
}

func fault(method string, f botapitest.Fault) func(w *world) {
	return func(w *world) { w.api.Fail(method, f) }
}

// wantNoToken looks for the token in everything that an error can be made to say.
func wantNoToken(t *testing.T, err error) {
	t.Helper()
	for ; err != nil; err = errors.Unwrap(err) {
		for _, format := range []string{"%v", "%+v", "%q"} {
			if s := fmt.Sprintf(format, err); strings.Contains(s, token) || strings.Contains(s, token[5:]) {
				t.Errorf("the token stands in %s", s)
			}
		}
	}
}

func TestConnectEndsWithItsContext(t *testing.T) {
	simulate(t, func(w *world) {
		w.api.Fail("", botapitest.Fault{Hang: true})
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		if c, err := w.Connect(ctx, w.in); !errors.Is(err, context.DeadlineExceeded) {
			w.Errorf("got %v, %v", c, err)
		}
	})
}

func TestAWebhookIsRemovedAndItsUpdatesAreKept(t *testing.T) {
	simulate(t, func(w *world) {
		w.api.SetWebhook()
		w.say("sent to the webhook")
		w.up(func(c *conn) {
			w.after(time.Second)
			w.wantTexts("sent to the webhook")
		})
		if n := w.log.Count("telegram.webhook.removed"); n != 1 {
			w.Errorf("%d lines say that the webhook was removed, want 1", n)
		}
	})
}

// What stands between us and Telegram may answer anything, on a real network.
func TestI3_TheTokenIsInNoErrorForAnyAnswer(t *testing.T) {
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
	}{
		{"a page that repeats the URL", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprintf(w, "<html>no route to %s</html>", r.URL)
		}},
		{"a description that repeats the URL", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"ok":false,"error_code":500,"description":%q}`, r.URL.String())
		}},
		{"a refusal that repeats the URL", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"ok":false,"error_code":401,"description":%q}`, r.URL.String())
		}},
		{"a connection that is cut", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		{"an answer of another shape", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"ok":true,"result":%q}`, r.URL.String())
		}},
		{"an answer that ends early", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{"ok":`)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := httptest.NewServer(tc.handler)
			defer server.Close()
			p := New(Options{Token: token, BaseURL: server.URL + "/"})
			_, err := p.Connect(t.Context(), &conformance.Receiver{})
			if err == nil {
				t.Fatal("connected")
			}
			wantNoToken(t, err)
			api, err := p.open()
			if err != nil {
				t.Fatal(err)
			}
			defer api.close()
			_, err = api.updates(t.Context(), 0, 0)
			if err == nil {
				t.Fatal("got updates")
			}
			wantNoToken(t, err)
			if _, err = api.send(t.Context(), address{chat: 1}, formatted{text: "hi"}); err == nil {
				t.Fatal("sent")
			}
			wantNoToken(t, err)
		})
	}
	t.Run("no server at all", func(t *testing.T) {
		for _, base := range []string{"http://127.0.0.1:1", "http://host.invalid:port", "no url at all\x7f"} {
			_, err := New(Options{Token: token, BaseURL: base}).Connect(t.Context(), &conformance.Receiver{})
			if err == nil {
				t.Fatalf("connected to %q", base)
			}
			wantNoToken(t, err)
			if strings.Contains(err.Error(), "/bot") {
				t.Errorf("the URL stands in %s, want the reason alone", err)
			}
		}
	})
}

// The address of the page before would go with it, and that holds the token.
func TestI3_ARedirectIsNotFollowed(t *testing.T) {
	var hits atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { hits.Add(1) }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	api, err := New(Options{Token: token, BaseURL: server.URL}).open()
	if err != nil {
		t.Fatal(err)
	}
	defer api.close()
	_, err = api.updates(t.Context(), 0, 0)
	if err == nil || hits.Load() != 0 {
		t.Errorf("the other host was asked %d times, and the call ended with %v, want none and an error", hits.Load(), err)
	}
	wantNoToken(t, err)
}

func TestTheBotWorksOverRealSockets(t *testing.T) {
	api := botapitest.New(token)
	defer api.Close()
	in := &conformance.Receiver{}
	p := New(Options{Token: token, BaseURL: api.URL})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, err := p.Connect(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Disconnect(ctx); err != nil {
			t.Errorf("disconnect: %v", err)
		}
	}()
	api.Inject(botapitest.Update{User: owner, Text: "ping"})
	if err := api.Await(ctx, func(s *botapitest.Server) bool { return s.Unconfirmed() == 0 }); err != nil {
		t.Fatal(err)
	}
	got := in.Messages()
	if len(got) != 1 || got[0].Text != "ping" {
		t.Fatalf("the gateway got %+v, want ping", got)
	}
	if _, err := c.Send(ctx, adapter.Outgoing{Target: got[0].Target, Text: "pong"}); err != nil {
		t.Fatal(err)
	}
	if got := api.Sent(); len(got) != 1 || got[0] != (botapitest.Sent{ChatID: owner, Text: "pong"}) {
		t.Errorf("sent %+v, want pong", got)
	}
}
