package mail

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/emersion/go-smtp"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/core/adapter/mail/mailtest"
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
		{"no password", func(w *world) { w.o.Password = "" }, "MAIL_PASSWORD is not set", credentials},
		{"a name that is not an address", func(w *world) { w.o.Address = "bot" }, "set adapters.mail.address", nil},
		{"a password that both refuse", func(w *world) { w.o.Password = "wrong" }, "the SMTP server refuses the login", credentials},
		{"a password that IMAP refuses", func(w *world) { w.mails.Fail(mailtest.Faults{BadMailbox: true}) }, "the IMAP server refuses the login", credentials},
		{"a password that SMTP refuses", func(w *world) { w.mails.Fail(mailtest.Faults{BadSubmission: true}) }, "the SMTP server refuses the login", credentials},
		{"a folder that is not there", func(w *world) { w.o.Folder = "None" }, `open the folder "None"`, nil},
		{"an address without a port", func(w *world) { w.o.IMAP = "imap.example" }, "is not host:port", nil},
		{"silence", func(w *world) { w.mails.Fail(mailtest.Faults{Silent: true}) }, "no answer in time", nil},
		{"a greeting and silence", func(w *world) { w.mails.Fail(mailtest.Faults{Silent: true, Words: 1}) }, "no answer in time", nil},
		{"a server that hangs up", func(w *world) { w.mails.Fail(mailtest.Faults{Gone: true}) }, "EOF", nil},
		{"no network", func(w *world) { w.nets["587"].Close() }, "refused", nil},
		{"no IMAP server", func(w *world) { w.nets["143"].Close() }, "refused", nil},
		{"a server without encryption", func(w *world) { w.o.SMTP = "smtp.example:587" }, "offers no encryption", nil},
		{"a mailbox without encryption", func(w *world) { w.o.IMAP = "imap.example:143" }, "offers no encryption", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				tc.spoil(w)
				began := time.Now()
				_, err := w.Connect(w.Context(), w.in)
				if err == nil || !strings.Contains(err.Error(), tc.want) || tc.kind != nil && !tc.kind(err) {
					w.Fatalf("connect returned %v (%T)", err, err)
				}
				if strings.Contains(err.Error(), password) || time.Since(began) > w.call {
					w.Errorf("after %s it said %q", time.Since(began), err)
				}
			})
		})
	}
}

// certificate is one for the names of the two servers, and who trusts it.
func certificate(t *testing.T) (server *tls.Config, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mail"}, DNSNames: []string{"imap.example", "smtp.example"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	roots = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(parsed)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}}, roots
}

func TestBothServersAreSpokenToWithTLS(t *testing.T) {
	config, roots := certificate(t)
	for _, tc := range []struct {
		name, imap, smtp string
		trusts           *x509.CertPool
		want             string // the error; empty: it works
	}{
		{"STARTTLS", "imap.example:143", "smtp.example:587", roots, ""},
		{"TLS from the beginning", "imap.example:993", "smtp.example:465", roots, ""},
		{"a certificate of a stranger", "imap.example:143", "smtp.example:587", x509.NewCertPool(), "certificate"},
		{"a certificate of another host", "imap.example:143", "other.example:587", roots, "certificate"},
		{"a certificate of another IMAP host", "other.example:993", "smtp.example:465", roots, "certificate"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := mailtest.Unstarted(password, mailtest.Options{TLS: config})
			defer s.Close()
			p := New(Options{IMAP: tc.imap, SMTP: tc.smtp, User: mailtest.Bot, Password: password})
			p.tls.RootCAs = tc.trusts
			where := map[string]string{}
			var listeners []net.Listener
			for _, address := range []string{tc.imap, tc.smtp} {
				l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				where[address] = l.Addr().String()
				if strings.HasSuffix(address, "993") || strings.HasSuffix(address, "465") {
					l = tls.NewListener(l, config)
				}
				listeners = append(listeners, l)
			}
			p.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, where[address])
			}
			s.Serve(listeners[0], listeners[1])
			c, err := p.Connect(t.Context(), &conformance.Receiver{})
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("connect returned %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Send(t.Context(), adapter.Outgoing{Target: owner, Text: "answer"}); err != nil || len(s.Sent()) != 1 {
				t.Errorf("sent %d mails: %v", len(s.Sent()), err)
			}
			if err := conformance.TakeDown(c); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestHowAServerIsSpokenTo(t *testing.T) {
	for address, want := range map[string]security{
		"mail.example:993": implicit, "127.0.0.1:993": implicit, "mail.example:143": upgraded, "127.0.0.1:143": local, "[::1]:143": local,
		"localhost:2525": local, "localhost.eve.example:143": upgraded, "10.0.0.1:143": upgraded, "127.0.0.1.eve.example:143": upgraded,
	} {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := securityOf(host, port, "993"); got != want {
			t.Errorf("%s is spoken to as %d, want %d", address, got, want)
		}
	}
}

func TestWhatTheServerSaysToAMail(t *testing.T) {
	answer := func(code, subject, detail int, text string) *smtp.SMTPError {
		return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, subject, detail}, Message: text}
	}
	for _, tc := range []struct {
		name  string
		fault mailtest.Faults
		want  func(error) bool
		sent  int
	}{
		{"there is no such mailbox", mailtest.Faults{Recipient: answer(550, 1, 1, "no")}, is[*adapter.RefusedError], 0},
		{"spam", mailtest.Faults{Content: answer(554, 7, 1, "no")}, is[*adapter.RefusedError], 0},
		{"too many mails", mailtest.Faults{Recipient: answer(450, 7, 1, "later")}, is[*adapter.RateLimitError], 0},
		{"a limit after the text", mailtest.Faults{Content: answer(452, 3, 1, "daily limit")}, is[*adapter.RateLimitError], 0},
		{"a full mailbox", mailtest.Faults{Recipient: answer(452, 2, 2, "full")}, is[*adapter.UnsentError], 0},
		{"the server is about to stop", mailtest.Faults{Recipient: answer(421, 3, 2, "later")}, is[*adapter.RateLimitError], 0},
		{"a login that is refused since", mailtest.Faults{BadSubmission: true}, is[*adapter.UnsentError], 0},
		{"nothing is acknowledged", mailtest.Faults{Unacknowledged: true}, adapter.MayHaveArrived, 1},
		{"silence", mailtest.Faults{Silent: true}, is[*adapter.UnsentError], 0},
		{"no server", mailtest.Faults{Gone: true}, is[*adapter.UnsentError], 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.up(func(c *conn) {
					w.mails.Fail(tc.fault)
					ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
					defer cancel()
					_, err := c.Send(ctx, adapter.Outgoing{Target: owner, Text: "answer"})
					if err == nil || !tc.want(err) || len(w.mails.Sent()) != tc.sent {
						w.Errorf("the send returned %v (%T), the server has %q", err, err, w.texts())
					}
					if strings.Contains(err.Error(), password) {
						w.Errorf("the password stands in %q", err)
					}
					w.mails.Fail(mailtest.Faults{})
				})
			})
		})
	}
}

// S20: the server falls silent after each of its words once. A send that says that nothing arrived is right.
func TestS20_ASendIsGivenUpWhereverTheServerFallsSilent(t *testing.T) {
	stages := map[string]bool{}
	for words := 0; ; words++ {
		var err error
		simulate(t, func(w *world) {
			w.up(func(c *conn) {
				w.mails.Fail(mailtest.Faults{Silent: true, Words: words})
				ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				_, err = c.Send(ctx, adapter.Outgoing{Target: owner, Text: "answer"})
				if arrived := len(w.mails.Sent()) == 1; arrived != adapter.MayHaveArrived(err) || time.Since(began) > time.Minute {
					w.Errorf("after %d words and %s the send returned %v, it arrived: %t", words, time.Since(began), err, arrived)
				}
				w.mails.Fail(mailtest.Faults{})
			})
		})
		if err == nil {
			break
		}
		step, _, _ := strings.Cut(err.Error(), " at ")
		stages[step] = true
	}
	for _, step := range []string{"log in", "name the sender", "name the recipient", "begin the mail", "end the mail"} {
		if !stages[step] {
			t.Errorf("no server fell silent at %q: %v", step, stages)
		}
	}
}

// S20: the same of a Connect.
func TestS20_AConnectIsGivenUpWhereverTheServerFallsSilent(t *testing.T) {
	for words, connected := 0, false; !connected; words++ {
		simulate(t, func(w *world) {
			w.mails.Fail(mailtest.Faults{Silent: true, Words: words})
			began := time.Now()
			c, err := w.Connect(w.Context(), w.in)
			if took := time.Since(began); took > 2*w.call || err != nil && !strings.Contains(err.Error(), "no answer in time") {
				w.Errorf("after %d words and %s connect returned %v", words, took, err)
			}
			if connected = err == nil; connected {
				w.down(c.(*conn))
			}
		})
	}
}

func TestE1_AMailboxThatNoLongerAnswersEndsTheConnection(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.after(time.Hour)
			if age := time.Since(c.LastInbound()); age > w.StaleAfter()/2 || c.Err() != nil {
				w.Errorf("a quiet server was last heard %s ago: %v", age, c.Err())
			}
			w.mails.Fail(mailtest.Faults{Silent: true})
			w.after(w.StaleAfter())
			if c.Err() == nil || !strings.Contains(c.Err().Error(), "no answer in time") {
				w.Errorf("the connection ended with %v", c.Err())
			}
		})
	})
}

func TestS4_AfterDisconnectNothingIsSentOrReceived(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.dialUp()
		synctest.Wait()
		w.down(c)
		w.say("too late")
		if err := w.send(c, "too late"); err == nil || adapter.MayHaveArrived(err) {
			w.Errorf("a send after the end returned %v", err)
		}
		if _, err := c.Fetch(w.Context(), "1/1/1", 10); err == nil {
			w.Error("a file was fetched after the end")
		}
		w.after(10 * time.Minute)
		w.wantTexts()
		if n := w.mails.Connections(); n != 0 || len(w.mails.Sent()) != 0 {
			w.Errorf("%d connections are open, the server has %q", n, w.texts())
		}
		if c.Err() != nil {
			w.Error("Done is closed, as if the connection had ended without a Disconnect")
		}
	})
}

func TestS20_DisconnectIsBoundedInABlackHole(t *testing.T) {
	for name, fault := range map[string]mailtest.Faults{
		"a greeting and silence": {Silent: true, Words: 1}, "silence": {Silent: true}, "nothing is acknowledged": {Unacknowledged: true},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				c := w.dialUp()
				w.mails.Fail(fault)
				var wg sync.WaitGroup
				for range 3 {
					wg.Go(func() {
						if err := w.send(c, "into the hole"); err == nil {
							w.Error("a send into the hole came through")
						}
					})
				}
				wg.Go(func() { _, _ = c.Fetch(w.Context(), "1/1/1", 10) }) // the same
				w.after(time.Second)
				began := time.Now()
				w.down(c)
				if took := time.Since(began); took > 10*time.Millisecond {
					w.Errorf("the teardown took %s", took)
				}
				wg.Wait()
			})
		})
	}
}

func TestTeardownIsIdempotentAndSafeFromEverywhere(t *testing.T) {
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

// S20: a mail whose reading ends the connection each time must not keep those behind it from being read.
func TestS20_AMailThatEndsTheConnectionIsReadInPart(t *testing.T) {
	p := New(Options{User: mailtest.Bot})
	for i, want := range []int64{maxMail, maxMail, beginning, beginning} {
		if got := p.handled.most("1/7"); got != want {
			t.Errorf("at the reading %d it reads %d bytes, want %d", i+1, got, want)
		}
	}
	if got := p.handled.most("1/8"); got != maxMail {
		t.Errorf("of another mail it reads %d bytes", got)
	}
}

// S20: over real sockets, with the descriptors counted.
func TestS20_NothingIsLeftOfFailedConnects(t *testing.T) {
	s := mailtest.New(password, mailtest.Options{})
	defer s.Close()
	p := New(Options{IMAP: s.IMAP, SMTP: s.SMTP, User: mailtest.Bot, Password: password})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	before := descriptors(t)
	for i := range 200 {
		s.Fail([]mailtest.Faults{{BadPassword: true}, {Gone: true}, {BadSubmission: true}, {}}[i%4])
		short, stop := ctx, context.CancelFunc(func() {})
		if i%4 == 3 {
			short, stop = context.WithTimeout(ctx, time.Duration(i)*10*time.Microsecond)
		}
		c, err := p.Connect(short, &conformance.Receiver{})
		stop()
		switch {
		case err == nil && i%4 != 3:
			t.Fatalf("connect %d succeeded", i)
		case err == nil:
			if err := c.Disconnect(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually.True(t, "the descriptors are closed", func() bool { return descriptors(t) <= before+5 && s.Connections() == 0 })
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("runs where /proc lists descriptors: %v", err)
	}
	return len(entries)
}

// S20: the server takes the connection, reads, and is silent in the handshake of TLS.
func TestS20_AConnectIsGivenUpInASilentHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{IMAP: "imap.example:993", SMTP: "smtp.example:465", User: mailtest.Bot, Password: password})
		p.dial = func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, there) }() // until the end
			return here, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() { _, err := p.Connect(ctx, &conformance.Receiver{}); failed <- err }()
		time.Sleep(time.Second) // virtual
		began := time.Now()
		cancel()
		if err := <-failed; err == nil || time.Since(began) > 0 {
			t.Errorf("the connect returned %v after %s", err, time.Since(began))
		}
	})
}
