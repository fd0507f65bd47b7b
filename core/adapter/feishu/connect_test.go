package feishu

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/core/adapter/feishu/feishutest"
	"gatewaytui/fixtures/eventually"
)

const auth = "POST /open-apis/auth/"

func TestWhatAFailedConnectSays(t *testing.T) {
	credentials := is[*adapter.CredentialsError]
	conflict := is[*adapter.ConflictError]
	for _, tc := range []struct {
		name  string
		spoil func(w *world)
		want  string
		kind  func(error) bool
	}{
		{"no secret", func(w *world) { w.o.Secret = "" }, "FEISHU_SECRET", credentials},
		{"no app", func(w *world) { w.o.AppID = "a/b" }, "adapters.feishu.app_id", credentials},
		{"a secret that Feishu does not know", func(w *world) { w.o.Secret = "wrong" }, "does not know this app", credentials},
		{"an app without a bot", func(w *world) { w.api.Fail("GET /open-apis/bot/", feishutest.Fault{Status: 400, Code: 11205}) }, "error 11205", nil},
		{"an app that may not connect", func(w *world) { w.api.Refuse(&feishutest.Refusal{Endpoint: authFailed}) }, "refuses the long connection", credentials},
		{"an app that may not connect, in the handshake", func(w *world) { w.api.Refuse(&feishutest.Refusal{Handshake: 403}) }, "refuses the long connection", credentials},
		{"too many connections, says the endpoint", func(w *world) { w.api.Refuse(&feishutest.Refusal{Endpoint: tooManyOpen}) }, "other programs use it", conflict},
		{"too many connections, says the handshake", func(w *world) { w.api.Refuse(&feishutest.Refusal{Handshake: authFailed, Auth: tooManyOpen}) }, "other programs use it", conflict},
		{"a busy service", func(w *world) { w.api.Refuse(&feishutest.Refusal{Endpoint: busy}) }, "busy", nil},
		{"a rate limit", func(w *world) { w.api.Fail(auth, feishutest.Fault{Status: 429, Code: 99991400, RetryAfter: 7}) }, "rate-limited", func(err error) bool {
			l, is := errors.AsType[*adapter.RateLimitError](err)
			return is && l.RetryAfter == 7*time.Second
		}},
		{"an outage", func(w *world) { w.api.Fail(auth, feishutest.Fault{Status: 503}) }, "503", nil},
		{"silence", func(w *world) { w.api.Fail(auth, feishutest.Fault{Hang: true}) }, "no answer in time", nil},
		{"a long connection without an answer to a ping", func(w *world) { w.api.Deafen(true) }, "nothing came", nil},
		{"no network", func(w *world) { w.wire.Close() }, "refused", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				tc.spoil(w)
				_, err := w.Connect(w.Context(), w.in)
				if err == nil || !strings.Contains(err.Error(), tc.want) || tc.kind != nil && !tc.kind(err) {
					w.Fatalf("connect returned %v (%T)", err, err)
				}
				if strings.Contains(err.Error(), secret) {
					w.Errorf("the secret stands in %q", err)
				}
			})
		})
	}
}

func TestE1_AConnectionOnWhichNothingComesEnds(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.after(30 * time.Minute)
			if c.Err() != nil || time.Since(c.LastInbound()) > w.ping {
				w.Fatalf("after half an hour: %v, last frame %s ago", c.Err(), time.Since(c.LastInbound()))
			}
			w.api.Deafen(true)
			w.after(w.StaleAfter() + time.Second)
			if c.Err() == nil || !strings.Contains(c.Err().Error(), "nothing came from Feishu") {
				w.Errorf("the connection ended with %v", c.Err())
			}
		})
	})
}

func TestPingsComeAsOftenAsFeishuAsks(t *testing.T) {
	for _, tc := range []struct{ asked, want time.Duration }{{30 * time.Second, 30 * time.Second}, {time.Second, leastPing}, {time.Hour, usual.ping}} {
		simulate(t, func(w *world) {
			w.api.Every(tc.asked)
			w.up(func(c *conn) {
				w.after(tc.want - time.Second)
				if age := time.Since(c.LastInbound()); age != tc.want-time.Second {
					w.Errorf("asked for a ping in %s: the last frame is %s old before it", tc.asked, age)
				}
				w.after(2 * time.Second)
				if age := time.Since(c.LastInbound()); age != time.Second {
					w.Errorf("asked for a ping in %s: the last frame is %s old after it", tc.asked, age)
				}
				w.api.Every(10 * time.Second) // the next answer says so
				w.after(10 * tc.want)
				w.after(11 * time.Second)
				if age := time.Since(c.LastInbound()); age > 10*time.Second || c.Err() != nil {
					w.Errorf("asked for pings in 10 s, the last frame is %s old: %v", age, c.Err())
				}
			})
		})
	}
}

func TestWhatWasNotAcknowledgedComesWithTheNextConnection(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.dialUp()
		w.say("one")
		w.after(time.Second)
		w.api.Drop()
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
		w.wantTexts("one", "in the gap", "two")
		if n := w.api.Pending(); n != 0 {
			w.Errorf("%d events were not acknowledged", n)
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
		w.up(func(c *conn) { w.after(time.Second) })
		w.wantTexts("stuck", "behind it")
	})
}

func TestAnEventThatComesTwiceIsTakenOnce(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.in.Decide(func(context.Context, adapter.Inbound) error {
				time.Sleep(20 * time.Second) // virtual: Feishu waits for three
				return nil
			})
			w.say("slow")
			w.after(time.Second)
			w.api.Again()
			w.after(time.Minute)
			w.wantTexts("slow")
			if n := w.api.Pending(); n != 0 {
				w.Errorf("%d events were not acknowledged", n)
			}
		})
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
		w.api.Fail("", feishutest.Fault{Hang: true})
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

// half is a peer that takes a connection, says what it has to say, and is silent then.
func (w *world) half(says string) net.Conn {
	here, there := net.Pipe()
	go func() {
		_, _ = io.Copy(io.Discard, there) // it ends with the connection
	}()
	go func() {
		_, _ = io.WriteString(there, says) // the same
	}()
	return here
}

func TestS20_APeerThatIsSilentInTheHandshakeHoldsNothingUp(t *testing.T) {
	for name, says := range map[string]string{
		"it accepts and is silent":         "",
		"it sends a header and is silent":  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n",
		"it answers and begins a frame":    "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 1000\r\n\r\nx",
		"it answers with half of a status": "HTTP/1.",
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				var dials int
				w.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					if dials++; dials == 1 { // the calls of the API go over one
						return w.wire.Dial(ctx, network, address)
					}
					return w.half(says), nil
				}
				began := time.Now()
				if _, err := w.Connect(w.Context(), w.in); err == nil || time.Since(began) > w.call {
					w.Errorf("the connect returned %v after %s", err, time.Since(began))
				}
				dials = 0
				ctx, cancel := context.WithCancel(w.Context())
				ended := make(chan error)
				go func() { _, err := w.Connect(ctx, w.in); ended <- err }()
				w.after(time.Second)
				began = time.Now()
				cancel()
				if err := <-ended; err == nil || time.Since(began) > 0 {
					w.Errorf("the connect returned %v %s after its end", err, time.Since(began))
				}
			})
		})
	}
}

// frozen is a connection whose peer reads nothing once it is frozen.
type frozen struct {
	net.Conn
	still chan struct{}
	gone  chan struct{}
	once  sync.Once
}

func (f *frozen) Write(b []byte) (int, error) {
	select {
	case <-f.still:
		<-f.gone
		return 0, net.ErrClosed
	default:
		return f.Conn.Write(b)
	}
}

func (f *frozen) Close() error {
	f.once.Do(func() { close(f.gone) })
	return f.Conn.Close()
}

func TestS20_APeerThatTakesNothingEndsTheConnection(t *testing.T) {
	simulate(t, func(w *world) {
		still := make(chan struct{})
		w.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := w.wire.Dial(ctx, network, address)
			return &frozen{Conn: conn, still: still, gone: make(chan struct{})}, err
		}
		w.up(func(c *conn) {
			close(still)
			w.say("hello") // it is taken without the name of its sender, and cannot be acknowledged
			w.after(w.notice + writeTimeout + time.Second)
			if c.Err() == nil {
				w.Error("the connection did not end")
			}
		})
		w.dial = w.wire.Dial
		w.up(func(c *conn) { w.after(time.Second) })
		w.wantTexts("hello")
	})
}

func TestI3_TheAddressOfTheLongConnectionIsNotInTheClearWhereTheAPIIsNot(t *testing.T) {
	simulate(t, func(w *world) {
		api, err := w.open()
		if err != nil {
			t.Fatal(err)
		}
		defer api.close()
		if at, err := api.endpoint(w.Context()); err != nil || at.service == 0 || at.ping != usual.ping {
			w.Fatalf("the endpoint is %+v: %v", at, err)
		}
		w.o.BaseURL = "https:" + strings.TrimPrefix(w.o.BaseURL, "http:")
		if err := w.checkScheme("ws"); err == nil {
			w.Error("an address in the clear was taken")
		}
		if err := w.checkScheme("wss"); err != nil {
			w.Error(err)
		}
	})
}

// S20: over real sockets, with the descriptors counted.
func TestS20_NothingIsLeftOfFailedConnects(t *testing.T) {
	s := feishutest.New(secret)
	defer s.Close()
	p := New(Options{AppID: feishutest.AppID, Secret: secret, BaseURL: s.URL})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	before := descriptors(t)
	for i := range 200 {
		switch i % 4 {
		case 0:
			s.Refuse(&feishutest.Refusal{Handshake: 403})
		case 1:
			s.Refuse(&feishutest.Refusal{Endpoint: busy})
		case 2:
			s.Refuse(nil)
			s.Fail("GET /open-apis/bot/", feishutest.Fault{Status: 502})
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
		s.Heal()
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
