package discord

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/core/adapter/discord/discordtest"
	"gatewaytui/fixtures/eventually"
)

func TestWhatAFailedConnectSays(t *testing.T) {
	credentials := func(err error) bool { return is[*adapter.CredentialsError](err) }
	for _, tc := range []struct {
		name  string
		spoil func(w *world)
		want  string
		kind  func(error) bool
	}{
		{"no token", func(w *world) { w.o.Token = "" }, "DISCORD_TOKEN", credentials},
		{"not a token", func(w *world) { w.o.Token = "a b" }, "it holds no bot token", credentials},
		{"a token that Discord does not know", func(w *world) { w.o.Token = "x.y.z" }, "does not know this bot", credentials},
		{"a token that the gateway does not know", func(w *world) { w.api.Refuse(4004) }, "does not know this bot", credentials},
		{"a bot that may not read", func(w *world) { w.api.Refuse(4014) }, "switch on \"Message Content Intent\"", credentials},
		{"intents that Discord does not know", func(w *world) { w.api.Refuse(4013) }, "switch on \"Message Content Intent\"", credentials},
		{"too many guilds", func(w *world) { w.api.Refuse(4011) }, "too many guilds", nil},
		{"a version that has ended", func(w *world) { w.api.Refuse(4012) }, "use a newer gatewaytui", nil},
		{"a rate limit", func(w *world) { w.api.Fail("GET /gateway/bot", discordtest.Fault{Status: 429, RetryAfter: 7.5}) }, "rate-limited", func(err error) bool {
			l, is := errors.AsType[*adapter.RateLimitError](err)
			return is && l.RetryAfter == 7500*time.Millisecond
		}},
		{"an outage", func(w *world) { w.api.Fail("GET /gateway/bot", discordtest.Fault{Status: 503}) }, "error 503", nil},
		{"silence", func(w *world) { w.api.Fail("GET /gateway/bot", discordtest.Fault{Hang: true}) }, "no answer in time", nil},
		{"a gateway that closes", func(w *world) { w.api.Refuse(4000) }, "code 4000", nil},
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

func TestE1_AGatewayThatNoLongerAnswersHeartbeatsIsStale(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.after(10 * time.Minute)
			w.api.Deafen(true)
			w.after(3 * time.Minute)
			if age := time.Since(c.LastInbound()); age < w.StaleAfter() {
				w.Errorf("the last frame is %s old, want the connection stale after %s", age, w.StaleAfter())
			}
			if c.Err() == nil {
				w.Error("the connection did not end without a Disconnect either")
			}
		})
	})
}

func TestTheNextConnectionGoesOnWhereTheLastOneEnded(t *testing.T) {
	for _, tc := range []struct {
		name       string
		end        func(w *world)
		identifies int // of both connections
		lost       bool
	}{
		{"Discord asks for another", func(w *world) { w.api.Reconnect() }, 1, false},
		{"the socket breaks", func(w *world) { w.api.Drop(0) }, 1, false},
		{"Discord closes", func(w *world) { w.api.Drop(4000) }, 1, false},
		{"the session is invalid", func(w *world) { w.api.Drop(4009) }, 2, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				c := w.dialUp()
				w.say("one")
				w.after(time.Second)
				tc.end(w)
				<-c.Done()
				if c.Err() == nil {
					w.Error("the connection has no reason for its end")
				}
				w.say("in the gap")
				w.down(c)
				w.up(func(c *conn) {
					w.say("two")
					w.after(time.Second)
				})
				if tc.lost {
					w.wantTexts("one", "two")
				} else {
					w.wantTexts("one", "in the gap", "two")
				}
				if n := len(w.api.Identifies()); n != tc.identifies {
					w.Errorf("the bot identified %d times, want %d", n, tc.identifies)
				}
			})
		})
	}
}

func TestASessionThatDiscordForgotIsBegunAgain(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) { w.after(time.Second) })
		w.api.Forget()
		if _, err := w.Connect(w.Context(), w.in); err == nil {
			w.Fatal("a session was resumed that is not there")
		}
		w.up(func(c *conn) {
			w.say("hello")
			w.after(time.Second)
			w.wantTexts("hello")
		})
	})
}

func TestE15_AMessageThatWasNotTakenComesAgain(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.dialUp()
		w.in.Decide(func(ctx context.Context, _ adapter.Inbound) error {
			<-ctx.Done()
			return ctx.Err()
		})
		w.say("stuck")
		w.say("behind it")
		w.after(time.Second)
		w.down(c)
		w.in.Decide(nil)
		w.up(func(c *conn) { w.after(time.Second) })
		w.wantTexts("stuck", "behind it")
	})
}

func TestS4_AfterDisconnectNothingIsSentOrReceived(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.dialUp()
		synctest.Wait()
		w.down(c)
		calls := len(w.api.Calls(""))
		w.say("too late")
		if err := w.send(c, "too late"); err == nil || adapter.MayHaveArrived(err) {
			w.Errorf("a send after the end returned %v", err)
		}
		w.after(10 * time.Minute)
		w.wantTexts()
		if n := len(w.api.Calls("")); n != calls || w.api.Connections() != 0 {
			w.Errorf("%d calls were made after the end, %d connections are open", n-calls, w.api.Connections())
		}
		if c.Err() != nil {
			w.Error("Done is closed, as if the connection had ended without a Disconnect")
		}
	})
}

func TestS20_DisconnectIsBoundedInABlackHole(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.dialUp()
		w.api.Fail("", discordtest.Fault{Hang: true})
		w.api.Deafen(true)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if err := w.send(c, "into the hole"); err == nil {
					w.Error("a send into the hole came through")
				}
			})
		}
		w.after(time.Second)
		began := time.Now()
		w.down(c)
		if took := time.Since(began); took > 10*time.Millisecond {
			w.Errorf("the teardown took %s", took)
		}
		wg.Wait()
	})
}

func TestTeardownIsIdempotentAndSafeFromEverywhere(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.dialUp()
		w.say("taken")
		synctest.Wait()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if err := c.CancelTasks(w.Context()); err != nil {
					w.Errorf("cancel tasks: %v", err)
				}
			})
			wg.Go(func() {
				if err := c.Disconnect(w.Context()); err != nil {
					w.Errorf("disconnect: %v", err)
				}
			})
			wg.Go(func() { _ = w.send(c, "hi") }) // before the end or after it
			wg.Go(func() { c.LastInbound() })
		}
		wg.Wait()
		w.wantTexts("taken")
	})
}

func TestS20_AConnectIsGivenUpInASilentHandshake(t *testing.T) {
	simulate(t, func(w *world) {
		var dials int
		w.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if dials++; dials == 1 {
				return w.wire.Dial(ctx, network, address)
			}
			here, there := net.Pipe()
			go func() { // it reads and is silent until the end
				buf := make([]byte, 4096)
				for {
					if _, err := there.Read(buf); err != nil {
						return
					}
				}
			}()
			return here, nil
		}
		ctx, cancel := context.WithCancel(w.Context())
		ended := make(chan error)
		go func() { _, err := w.Connect(ctx, w.in); ended <- err }()
		w.after(time.Second)
		began := time.Now()
		cancel()
		if err := <-ended; err == nil || time.Since(began) > 0 {
			w.Errorf("the connect returned %v after %s", err, time.Since(began))
		}
	})
}

// S20: over real sockets, with the descriptors counted.
func TestS20_NothingIsLeftOfFailedConnects(t *testing.T) {
	s := discordtest.New(token)
	defer s.Close()
	p := New(Options{Token: token, BaseURL: s.URL})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	before := descriptors(t)
	for i := range 200 {
		switch i % 4 {
		case 0:
			s.Refuse(4014)
		case 1:
			s.Refuse(4000)
		case 2:
			s.Refuse(0)
			s.Fail("GET /gateway/bot", discordtest.Fault{Status: 502})
		case 3:
			s.Heal()
			short, stop := context.WithTimeout(ctx, time.Duration(i)*10*time.Microsecond)
			c, err := p.Connect(short, &conformance.Receiver{})
			stop()
			if err == nil {
				if err := c.Disconnect(ctx); err != nil {
					t.Fatal(err)
				}
			}
			continue
		}
		if _, err := p.Connect(ctx, &conformance.Receiver{}); err == nil {
			t.Fatalf("connect %d succeeded", i)
		}
		s.Heal()
		p.session.drop(p.session.get().id)
	}
	eventually.True(t, "the descriptors are closed", func() bool { return descriptors(t) <= before+10 })
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("runs where /proc lists descriptors: %v", err)
	}
	return len(entries)
}
