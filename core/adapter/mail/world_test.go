package mail

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bottest"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/core/adapter/mail/mailtest"
	"gatewaytui/fixtures/pipenet"
	"gatewaytui/fixtures/syncbuf"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	password = "c4naryc4naryc4nary"
	owner    = "alice@people.example"
	stranger = "mallory@people.example"
	team     = "team@people.example"
)

// world is a mailbox and its server on a network of pipes, in a bubble of virtual time.
type world struct {
	*testing.T
	*Platform
	mails *mailtest.Server
	in    *conformance.Receiver
	log   *syncbuf.Buffer
	// nets are the two networks, by the ports of the servers.
	nets map[string]*pipenet.Listener
	// last is the Message-ID of the first mail of the owner, which the others answer; refs is what it answers.
	last string
}

// simulate runs f in a bubble. At its end nothing may be left over, and the password must not have been logged.
func simulate(t *testing.T, f func(w *world)) {
	t.Helper()
	simulateWith(t, mailtest.Options{}, f)
}

func simulateWith(t *testing.T, o mailtest.Options, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			T: t, mails: mailtest.Unstarted(password, o), in: &conformance.Receiver{}, log: &syncbuf.Buffer{},
			nets: map[string]*pipenet.Listener{"143": pipenet.Listen(), "587": pipenet.Listen()},
		}
		w.Platform = New(Options{
			IMAP: "127.0.0.1:143", SMTP: "127.0.0.1:587", User: mailtest.Bot, Password: password, PasswordSource: "MAIL_PASSWORD", Groups: []string{team},
			Folder: o.Folder, Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		w.in.Only([]string{owner})
		w.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			_, port, _ := net.SplitHostPort(address)
			return w.nets[port].Dial(ctx, network, address)
		}
		w.mails.Serve(w.nets["143"], w.nets["587"])
		defer func() {
			w.mails.Close()
			if strings.Contains(w.log.String(), password) {
				t.Errorf("the password stands in the log:\n%s", w.log)
			}
		}()
		f(w)
	})
}

// dialUp makes a connection. The caller takes it down.
func (w *world) dialUp() *conn {
	w.Helper()
	return bottest.Dial[*conn](w, w.Platform, w.in)
}

// up runs f with a connection, and takes that down.
func (w *world) up(f func(c *conn)) {
	w.Helper()
	c := w.dialUp()
	defer w.down(c)
	f(c)
}

// down takes a connection down.
func (w *world) down(c *conn) {
	w.Helper()
	bottest.Down(w, c)
}

// say is a mail of the owner to the bot in one thread.
func (w *world) say(text string) { w.write(mailtest.Says{Text: text}) }

func (w *world) write(m mailtest.Says) {
	m.From, m.Name, m.Answers = owner, "Alice", w.last
	id := w.mails.Say(m)
	if w.last == "" {
		w.last = id
	}
}

// after lets d pass, and everything that can run run.
func (w *world) after(d time.Duration) {
	time.Sleep(d) // virtual
	synctest.Wait()
}

func (w *world) wantTexts(want ...string) {
	w.Helper()
	w.in.WantTexts(w, want...)
}

// texts are the texts of the mails that the bot sent.
func (w *world) texts() (out []string) {
	for _, m := range w.mails.Sent() {
		out = append(out, strings.TrimSuffix(m.Text, "\n"))
	}
	return out
}

func (w *world) send(c *conn, text string) error {
	_, err := c.Send(w.Context(), adapter.Outgoing{Target: owner, Text: text})
	return err
}

func is[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}
