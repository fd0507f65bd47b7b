package matrix

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/matrix/matrixtest"
	"gatewaytui/fixtures/pipenet"
)

func TestWhatAFailedConnectSays(t *testing.T) {
	credentials := func(err error) bool { return is[*adapter.CredentialsError](err) }
	const whoami = "GET /_matrix/client/v3/account/whoami"
	for _, tc := range []struct {
		name  string
		spoil func(w *world)
		want  string
		kind  func(error) bool
	}{
		{"no token", func(w *world) { w.o.Token = "" }, "MATRIX_TOKEN", credentials},
		{"not a token", func(w *world) { w.o.Token = "a b" }, "it holds no access token", credentials},
		{"a token that the homeserver does not know", func(w *world) { w.o.Token = "x" }, "M_UNKNOWN_TOKEN", credentials},
		{"a session that the homeserver ended", func(w *world) {
			w.api.Fail(whoami, matrixtest.Fault{Status: 401, Code: "M_UNKNOWN_TOKEN", Soft: true})
		}, "log in again", credentials},
		{"an account that was closed", func(w *world) { w.api.Fail(whoami, matrixtest.Fault{Status: 403, Code: codeDeactivated}) }, codeDeactivated, credentials},
		{"the token of another user", func(w *world) { w.o.User = owner }, "it belongs to " + matrixtest.BotID, credentials},
		{"no homeserver", func(w *world) { w.o.Homeserver = "matrix.example.org" }, "adapters.matrix.homeserver is not an address", nil},
		{"an address where no homeserver is", func(w *world) { w.api.Fail(whoami, matrixtest.Fault{Status: 404, Body: "<html>"}) }, "does not answer as a homeserver", nil},
		{"a page in place of an answer", func(w *world) { w.api.Fail(whoami, matrixtest.Fault{Body: "<html>"}) }, "read the answer", nil},
		{"an answer without a user", func(w *world) { w.api.Fail(whoami, matrixtest.Fault{Body: "{}"}) }, "who the token belongs to", nil},
		{"a rate limit", func(w *world) {
			w.api.Fail(anySync, matrixtest.Fault{Status: 429, Code: codeLimit, RetryAfter: 7500 * time.Millisecond})
		}, "rate-limited", func(err error) bool {
			l, is := errors.AsType[*adapter.RateLimitError](err)
			return is && l.RetryAfter == 7500*time.Millisecond
		}},
		{"an outage", func(w *world) { w.api.Fail(anyCall, matrixtest.Fault{Status: 503}) }, "error 503", nil},
		{"silence", func(w *world) { w.api.Fail(anyCall, matrixtest.Fault{Hang: true}) }, "no answer in time", nil},
		{"a header and silence", func(w *world) { w.api.Fail(anyCall, matrixtest.Fault{Hang: true, Header: true}) }, "no answer in time", nil},
		{"no network", func(w *world) { w.wire.Close() }, "refused", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				tc.spoil(w)
				_, err := w.Connect(w.Context(), w.in)
				if err == nil || !strings.Contains(err.Error(), tc.want) || tc.kind != nil && !tc.kind(err) {
					w.Fatalf("connect returned %v (%T)", err, err)
				}
				if strings.Contains(err.Error(), token) {
					w.Errorf("the token stands in %q", err)
				}
			})
		})
	}
}

// S20: a peer that accepts and says nothing, and one that stops in the middle of an answer.
func TestS20_AHalfDeadHomeserverIsNoticedAndHoldsUpNoTeardown(t *testing.T) {
	for name, fault := range map[string]matrixtest.Fault{"silence": {Hang: true}, "a header and silence": {Hang: true, Header: true}} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				c := w.dialUp()
				w.api.Fail(anyCall, fault)
				w.after(w.StaleAfter() + time.Second)
				if age := time.Since(c.LastInbound()); age < w.StaleAfter() {
					w.Errorf("the last /sync is %s old, want the connection stale after %s", age, w.StaleAfter())
				}
				w.after(w.StaleAfter())
				if c.Err() == nil {
					w.Error("the connection did not end without a Disconnect either")
				}
				began := time.Now()
				w.down(c)
				if took := time.Since(began); took > w.last {
					w.Errorf("the teardown took %s", took)
				}
			})
		})
	}
}

func TestS20_ADisconnectEndsInHalfOfItsTimeAndSaysWhatItWaitedFor(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.dialUp()
		w.api.Fail("PUT /", matrixtest.Fault{Hang: true})
		w.say("the place of this batch is not kept")
		w.after(time.Second)
		w.api.Fail(anyCall, matrixtest.Fault{Hang: true})
		began := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := c.Disconnect(ctx); err == nil || !strings.Contains(err.Error(), "keep the place of the last batch") {
			w.Errorf("the disconnect returned %v", err)
		}
		if took := time.Since(began); took != 500*time.Millisecond {
			w.Errorf("the disconnect took %v", took)
		}
	})
}

func TestAPeerThatAcceptsAndIsSilentFailsTheConnect(t *testing.T) {
	simulate(t, func(w *world) {
		mute := pipenet.Listen()
		var conns []net.Conn
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				c, err := mute.Accept()
				if err != nil {
					return
				}
				conns = append(conns, c)
			}
		}()
		w.dial = mute.Dial
		if _, err := w.Connect(w.Context(), w.in); err == nil || !strings.Contains(err.Error(), "no answer in time") {
			w.Errorf("connect returned %v", err)
		}
		mute.Close()
		<-done
		for _, c := range conns {
			c.Close()
		}
	})
}

func TestTwoPollsThatFailDoNotCostTheConnection(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault matrixtest.Fault
		ends  bool
	}{
		{"two in a row", matrixtest.Fault{Status: 502, Times: 2}, false},
		{"three in a row", matrixtest.Fault{Status: 502, Times: 3}, true},
		{"a rate limit", matrixtest.Fault{Status: 429, Code: codeLimit, Times: 1}, true},
		{"a token that was taken back", matrixtest.Fault{Status: 401, Code: "M_UNKNOWN_TOKEN", Times: 1}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.up(func(c *conn) {
					w.api.Fail(anySync, tc.fault)
					w.after(time.Minute)
					if ended := c.Err() != nil; ended != tc.ends {
						w.Errorf("the connection ended: %v", c.Err())
					}
				})
			})
		})
	}
}

func TestAHomeserverThatAnswersAtOnceIsNotAskedWithoutAPause(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Fail(anySync, matrixtest.Fault{Body: `{"next_batch":"s1","rooms":{}}`})
			before := w.api.Syncs()
			w.after(time.Minute)
			if n := len(w.api.Calls(anySync)) - before; n > 65 {
				w.Errorf("it was asked %d times in a minute", n)
			}
		})
	})
}

func TestThePlaceThatCannotBeKeptIsKeptLater(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Fail(accounts, matrixtest.Fault{Status: 500})
			w.say("one")
			w.after(time.Second)
			w.api.Heal()
			w.say("two")
			w.after(time.Second)
			if kept := string(w.api.Kept(placeType)); !strings.Contains(kept, c.p.cursor.since()) {
				w.Errorf("the homeserver keeps %s, want %s", kept, c.p.cursor.since())
			}
			calls := len(w.api.Calls(accounts))
			w.after(time.Hour)
			if n := len(w.api.Calls(accounts)) - calls; n != 0 {
				w.Errorf("without a message it was kept %d times", n)
			}
		})
	})
}
