package slack

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
	"gatewaytui/core/adapter/slack/slacktest"
	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
)

func TestWhatAFailedConnectSays(t *testing.T) {
	names := func(variable string) func(error) bool {
		return func(err error) bool {
			wrong, is := errors.AsType[*adapter.CredentialsError](err)
			return is && wrong.Variable == variable
		}
	}
	bot, app := names("SLACK_BOT_TOKEN"), names("SLACK_APP_TOKEN")
	for _, tc := range []struct {
		name  string
		spoil func(w *world)
		want  string
		kind  func(error) bool
	}{
		{"no bot token", func(w *world) { w.o.BotToken = "" }, "SLACK_BOT_TOKEN is not set", bot},
		{"no app token", func(w *world) { w.o.AppToken = "" }, "SLACK_APP_TOKEN is not set", app},
		{"the tokens are swapped", func(w *world) { w.o.AppToken, w.o.BotToken = botToken, appToken }, "one begins with xoxb-", bot},
		{"not a token", func(w *world) { w.o.AppToken = "xapp-a b" }, "only letters, digits and hyphens", app},
		{"a bot token that Slack does not know", func(w *world) { w.o.BotToken += "x" }, "Slack does not know it", bot},
		{"an app token that Slack does not know", func(w *world) { w.o.AppToken += "x" }, "Slack does not know it", app},
		{"a revoked token", func(w *world) { w.api.Fail("auth.test", slacktest.Fault{Error: "token_revoked"}) }, "it was revoked", bot},
		{"an app token without its scope", func(w *world) { w.api.Fail("apps.", slacktest.Fault{Error: "missing_scope"}) }, "lacks the scope", app},
		{"a rate limit", func(w *world) { w.api.Fail("apps.", slacktest.Fault{Status: 429, RetryAfter: 7}) }, "rate-limited", func(err error) bool {
			l, is := errors.AsType[*adapter.RateLimitError](err)
			return is && l.RetryAfter == 7*time.Second
		}},
		{"an outage", func(w *world) { w.api.Fail("auth.test", slacktest.Fault{Status: 503}) }, "HTTP 503", nil},
		{"a fault of Slack's", func(w *world) { w.api.Fail("auth.test", slacktest.Fault{Error: "internal_error"}) }, "internal_error", nil},
		{"silence", func(w *world) { w.api.Fail("auth.test", slacktest.Fault{Hang: true}) }, "no answer in time", nil},
		{"a header and then silence", func(w *world) { w.api.Fail("apps.", slacktest.Fault{Header: true}) }, "no answer in time", nil},
		{"a socket that is refused", func(w *world) { w.api.Fail("link", slacktest.Fault{Status: 403}) }, "403", nil},
		{"a socket that is silent in its handshake", func(w *world) { w.api.Fail("link", slacktest.Fault{Hang: true}) }, "no answer in time", nil},
		{"a socket that says no hello", func(w *world) { w.api.Mute(true) }, "deadline", nil},
		{"no network", func(w *world) { w.wire.Close() }, "refused", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				tc.spoil(w)
				ctx, cancel := context.WithTimeout(w.Context(), 30*time.Second)
				defer cancel()
				_, err := w.Connect(ctx, w.in)
				if err == nil || !strings.Contains(err.Error(), tc.want) || tc.kind != nil && !tc.kind(err) {
					w.Fatalf("connect returned %v (%T)", err, err)
				}
				if strings.Contains(err.Error(), "c4nary") || strings.Contains(err.Error(), "ticket") {
					w.Errorf("a secret stands in %q", err)
				}
			})
		})
	}
}

func TestAnAddressOfASocketInTheClearIsRefused(t *testing.T) {
	p := New(Options{})
	for address, fine := range map[string]bool{"wss://x.slack.com/link": true, "ws://x.slack.com/link": false, "https://x.slack.com": false, "": false, "::": false} {
		if _, err := p.address(address); (err == nil) != fine {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestE1_ASocketThroughWhichNothingComesEnds(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.after(10 * time.Minute)
			if c.Err() != nil || time.Since(c.LastInbound()) > w.beat {
				w.Fatalf("after ten minutes: %v, the last frame %s ago", c.Err(), time.Since(c.LastInbound()))
			}
			w.api.Deafen(true)
			w.after(time.Minute)
			if c.Err() == nil || !strings.Contains(c.Err().Error(), "ping") {
				w.Errorf("the connection goes on: %v", c.Err())
			}
		})
	})
}

func TestTheNextConnectionGoesOnWhereTheLastOneEnded(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  func(w *world)
	}{
		{"Slack warns", func(w *world) { w.api.Ask("warning") }},
		{"Slack asks for another", func(w *world) { w.api.Ask("refresh_requested") }},
		{"the socket breaks", func(w *world) { w.api.Drop() }},
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
				w.up(func(*conn) {
					w.say("two")
					w.after(time.Second)
				})
				w.wantTexts("one", "in the gap", "two")
				if n := w.api.Unacked(); n != 0 || w.api.Acked() != 3 {
					w.Errorf("%d were not acknowledged, %d were", n, w.api.Acked())
				}
			})
		})
	}
}

func TestAnAppWhoseSocketModeIsSwitchedOffIsNamed(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Ask("link_disabled")
			<-c.Done()
			if !is[*adapter.CredentialsError](c.Err()) || !strings.Contains(c.Err().Error(), "Socket Mode") {
				w.Errorf("the connection ended with %v", c.Err())
			}
		})
	})
}

// What is before the request for another connection in the queue is handled and acknowledged.
func TestWhatCameBeforeTheEndOfASocketIsHandled(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			slow := make(chan struct{})
			w.in.Decide(func(ctx context.Context, _ adapter.Inbound) error { <-slow; return nil })
			for _, text := range []string{"one", "two", "three"} {
				w.say(text)
			}
			w.api.Ask("warning")
			w.after(time.Second)
			close(slow)
			<-c.Done()
			w.wantTexts("one", "two", "three")
			if n := w.api.Acked(); n != 3 {
				w.Errorf("%d messages were acknowledged", n)
			}
		})
	})
}

func TestE9_AnotherProgramWithASocketOfTheAppIsNamed(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(*conn) { w.after(time.Second) })
		w.api.Others(1)
		w.up(func(*conn) { w.after(time.Minute) }) // Slack may still count the last one
		if n := w.log.Count(string(ops.LogSlackShared)); n != 0 || len(w.Lacks()) != 0 {
			w.Errorf("the gateway's own last socket was taken for another program: %q\n%s", w.Lacks(), w.log)
		}
		w.after(5 * time.Minute)
		w.up(func(*conn) { w.after(time.Second) })
		if n := w.log.Count(string(ops.LogSlackShared)); n != 1 {
			w.Errorf("the log names the other program %d times:\n%s", n, w.log)
		}
		w.up(func(*conn) {}) // it may be the gateway's own last socket, so that what is known stays
		if lacks := w.Lacks(); len(lacks) != 1 || !strings.Contains(lacks[0], "it has 1 of the app's sockets") {
			w.Errorf("the row says %q", lacks)
		}
		w.api.Others(0)
		w.after(time.Second) // Slack sees the end of the gateway's own last socket
		w.up(func(*conn) {})
		if lacks := w.Lacks(); len(lacks) != 0 {
			w.Errorf("after the other program has gone, the row says %q", lacks)
		}
	})
}

func TestMissingScopesAreNamedOnce(t *testing.T) {
	simulate(t, func(w *world) {
		w.api.Scopes("chat:write,im:history,users:read")
		for range 2 {
			w.up(func(*conn) {})
		}
		if n := w.log.Count(string(ops.LogSlackScopes)); n != 1 || !strings.Contains(w.log.String(), "files:read (files that people send)") {
			w.Errorf("the log names the scopes %d times:\n%s", n, w.log)
		}
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
		w.up(func(*conn) { w.after(time.Second) })
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
	for _, hole := range []slacktest.Fault{{Hang: true}, {Header: true}} {
		simulate(t, func(w *world) {
			c := w.dialUp()
			w.api.Fail("", hole)
			w.api.Deafen(true)
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					if err := w.send(c, "into the hole"); err == nil {
						w.Error("a send into the hole came through")
					}
				})
			}
			w.say("hello") // whose name is asked for
			w.after(time.Second)
			began := time.Now()
			w.down(c)
			if took := time.Since(began); took > time.Second {
				w.Errorf("the teardown took %s", took)
			}
			wg.Wait()
		})
	}
}

func TestS20_TheEndFromAllSidesIsOne(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.dialUp()
		w.say("taken")
		w.after(time.Second)
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
		w.api.Fail("link", slacktest.Fault{Hang: true})
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
	s := slacktest.New(appToken, botToken)
	defer s.Close()
	p := New(Options{AppToken: appToken, BotToken: botToken, BaseURL: s.URL})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	before := descriptors(t)
	for i := range 200 {
		s.Heal()
		switch i % 4 {
		case 0:
			s.Fail("auth.test", slacktest.Fault{Error: "invalid_auth"})
		case 1:
			s.Fail("apps.connections.open", slacktest.Fault{Status: 502})
		case 2:
			s.Fail("link", slacktest.Fault{Status: 403})
		case 3:
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
