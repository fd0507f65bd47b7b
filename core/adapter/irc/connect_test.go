package irc

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/core/adapter/irc/irctest"
	"gatewaytui/fixtures/eventually"
)

func TestWhatAFailedConnectSays(t *testing.T) {
	modern := irctest.Options{Caps: irctest.Modern, Password: password}
	for _, tc := range []struct {
		name   string
		server irctest.Options
		spoil  func(w *world)
		want   string
		kind   func(error) bool
	}{
		{"a password that SASL refuses", modern, func(w *world) { w.o.Password = "wrong" }, "refuses the login", is[*adapter.CredentialsError]},
		{"a password that the server refuses", irctest.Options{Password: password}, func(w *world) { w.o.Password = "wrong" }, "refuses the password", is[*adapter.CredentialsError]},
		{"no password where one is needed", irctest.Options{Password: password}, func(w *world) { w.o.Password = "" }, "IRC_PASSWORD", is[*adapter.CredentialsError]},
		{"a nick that is in use", modern, func(w *world) { w.server.Fail(irctest.Faults{NickTaken: true}) }, "the nick bot is in use", is[*adapter.ConflictError]},
		{"an address without a port", modern, func(w *world) { w.o.Server = "irc.example" }, "is not host:port", nil},
		{"a password in the clear", modern, func(w *world) { w.o.Server = "irc.example:6667" }, "in the clear", nil},
		{"a server that hangs up", modern, func(w *world) { w.server.Fail(irctest.Faults{Gone: true}) }, "", nil},
		{"silence", modern, func(w *world) { w.server.Fail(irctest.Faults{Silent: true}) }, "no answer in time", nil},
		{"no network", modern, func(w *world) { w.net.Close() }, "refused", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulateWith(t, tc.server, func(w *world) {
				tc.spoil(w)
				ctx, cancel := context.WithTimeout(w.Context(), 30*time.Second)
				defer cancel()
				began := time.Now()
				_, err := w.Connect(ctx, w.in)
				if err == nil || !strings.Contains(err.Error(), tc.want) || tc.kind != nil && !tc.kind(err) {
					w.Fatalf("connect returned %v (%T)", err, err)
				}
				if strings.Contains(err.Error(), password) || time.Since(began) > 32*time.Second {
					w.Errorf("after %s it said %q", time.Since(began), err)
				}
			})
		})
	}
}

func TestTheLoginIsTheOneThatTheServerKnows(t *testing.T) {
	for _, tc := range []struct {
		name  string
		o     irctest.Options
		begin string
	}{
		{"SASL", irctest.Options{Caps: irctest.Modern, Password: password}, "CAP LS 302|CAP REQ :account-tag echo-message message-tags server-time sasl|AUTHENTICATE PLAIN|AUTHENTICATE Ym90AGJvdABjNG5hcnljNG5hcnljNG5hcnk=|NICK bot|USER bot 0 * :bot|CAP END|"},
		{"capabilities without SASL", irctest.Options{Caps: []string{"multi-prefix", "server-time"}, Password: password}, "CAP LS 302|CAP REQ :server-time|PASS :" + password + "|NICK bot|USER bot 0 * :bot|CAP END|"},
		{"no capability that is wanted", irctest.Options{Caps: []string{"multi-prefix", "batch"}}, "CAP LS 302|NICK bot|USER bot 0 * :bot|CAP END|"},
		{"no capabilities", irctest.Options{Password: password}, "CAP LS 302|PASS :" + password + "|NICK bot|USER bot 0 * :bot|"},
		{"a server that is deaf to CAP", irctest.Options{Deaf: true}, "CAP LS 302|NICK bot|USER bot 0 * :bot|"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulateWith(t, tc.o, func(w *world) {
				w.up(func(*conn) {
					w.after(time.Second)
					if got := strings.Join(w.server.Lines(), "|"); !strings.HasPrefix(got, tc.begin) || !strings.Contains(got, "|MODE bot +B|") || !strings.Contains(got, "|PONG :cookie|") {
						w.Errorf("the bot said %q", got)
					}
				})
			})
		})
	}
}

func TestTheServerIsSpokenToWithTLS(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"irc.example"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := irctest.Unstarted(irctest.Options{Caps: irctest.Modern, Password: password})
	s.Serve(tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}}))
	defer s.Close()
	bare := irctest.New(irctest.Options{})
	defer bare.Close()
	if _, err := New(Options{Server: bare.Addr, Nick: "bot"}).Connect(t.Context(), &conformance.Receiver{}); err == nil || !strings.Contains(err.Error(), "does not speak TLS") {
		t.Errorf("a server without TLS: %v", err)
	}
	for _, tc := range []struct {
		name, server string
		roots        *x509.CertPool
		want         string // the error; empty: it works
	}{
		{"a certificate that is trusted", "irc.example:6697", roots, ""},
		{"a certificate of a stranger", "irc.example:6697", x509.NewCertPool(), "certificate"},
		{"a certificate of another host", "other.example:6697", roots, "certificate"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := New(Options{Server: tc.server, Nick: "bot", Password: password})
			p.tls.RootCAs = tc.roots
			p.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, l.Addr().String())
			}
			c, err := p.Connect(t.Context(), &conformance.Receiver{})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("connect returned %v", err)
			}
			if c != nil {
				if err := conformance.TakeDown(c); err != nil {
					t.Error(err)
				}
				eventually.True(t, "the server is left", func() bool { return s.Connections() == 0 })
			}
		})
	}
}

// S20: the kernel takes what is written to a server that hangs.
func TestS20_AServerThatFallsSilentIsAskedAndLeft(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.after(10 * time.Minute)
			if c.Err() != nil || time.Since(c.LastInbound()) > w.quiet+w.look || !slices.Contains(w.server.Lines(), "PING :gatewaytui") {
				w.Fatalf("a server that merely has nothing to say: %v, heard %s ago", c.Err(), time.Since(c.LastInbound()))
			}
			w.server.Fail(irctest.Faults{Silent: true})
			began := time.Now()
			if _, err := w.send(c, "alice", "lost"); err == nil || is[*adapter.UnsentError](err) || time.Since(began) > w.call+time.Second {
				w.Errorf("after %s the send to a silent server returned %v", time.Since(began), err)
			}
			w.after(w.stale + w.quiet)
			if c.Err() == nil || !strings.Contains(c.Err().Error(), "read at 127.0.0.1:6667") {
				w.Errorf("the connection ended with %v", c.Err())
			}
		})
	})
}

func TestTheBotReturnsToAChannelThatItWasPutOutOf(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			if !w.server.In(help) || len(w.Lacks()) != 0 {
				t.Fatalf("the bot is in the channel: %t; it lacks %q", w.server.In(help), w.Lacks())
			}
			w.server.Fail(irctest.Faults{NoJoin: true})
			w.server.Kick(help, "out \x1b[1m")
			w.after(time.Second)
			if lacks := w.Lacks(); len(lacks) != 1 || !strings.Contains(lacks[0], "op put the bot out of it (out") || strings.Contains(lacks[0], "\x1b") {
				t.Errorf("after a kick it lacks %q", lacks)
			}
			w.after(time.Hour)
			joins := 0
			for _, l := range w.server.Lines() {
				if l == "JOIN #help" {
					joins++
				}
			}
			if joins < 6 || joins > 15 {
				t.Errorf("in an hour it tried %d times", joins)
			}
			if lacks := w.Lacks(); len(lacks) != 1 || !strings.Contains(lacks[0], "Cannot join channel (+i)") {
				t.Errorf("it lacks %q", lacks)
			}
			w.server.Fail(irctest.Faults{})
			w.after(w.most + w.look)
			if !w.server.In(help) || len(w.Lacks()) != 0 || c.Err() != nil {
				t.Errorf("the bot is in the channel: %t; it lacks %q (%v)", w.server.In(help), w.Lacks(), c.Err())
			}
		})
	})
}

func TestHowAServerEndsAConnection(t *testing.T) {
	for _, tc := range []struct {
		line, want string
		conflict   bool
	}{
		{"ERROR :Closing Link: (Excess Flood)", "Excess Flood", false},
		{":services KILL bot :GHOST command used by alice", "another client took the nick", true},
		{"ERROR :Closing Link: Nickname collision", "another client took the nick", true},
		{":bot!bot@gateway.example NICK :Guest42", "took the nick bot", true},
	} {
		simulate(t, func(w *world) {
			w.up(func(c *conn) {
				w.server.Raw(tc.line)
				w.after(time.Second)
				if err := c.Err(); err == nil || !strings.Contains(err.Error(), tc.want) || is[*adapter.ConflictError](err) != tc.conflict {
					t.Errorf("%q ended it with %v", tc.line, err)
				}
			})
		})
	}
}

func TestS20_AnAttemptAtASilentServerEndsWithItsContext(t *testing.T) {
	simulate(t, func(w *world) {
		w.server.Fail(irctest.Faults{Silent: true})
		ctx, cancel := context.WithTimeout(w.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		if _, err := w.Connect(ctx, w.in); err == nil || time.Since(began) != 100*time.Millisecond {
			w.Errorf("it returned %v after %s", err, time.Since(began))
		}
	})
}
