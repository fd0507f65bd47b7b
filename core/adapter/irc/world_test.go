package irc

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bottest"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/core/adapter/irc/irctest"
	"gatewaytui/fixtures/pipenet"
	"gatewaytui/fixtures/syncbuf"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	password = "c4naryc4naryc4nary"
	help     = "#help"
)

// The people: alice has an account, bob has none.
var (
	alice   = irctest.Person{Nick: "Alice", Host: "people.example", Account: "Alice"}
	bob     = irctest.Person{Nick: "bob", Host: "2001:db8::1"}
	mallory = irctest.Person{Nick: "mallory", Host: "evil.example", Account: "mallory"}
)

// world is a network and its server on a network of pipes, in a bubble of virtual time.
type world struct {
	*testing.T
	*Platform
	server *irctest.Server
	in     *conformance.Receiver
	log    *syncbuf.Buffer
	net    *pipenet.Listener
}

// simulate runs f in a bubble. At its end nothing may be left over, and the password must not have been logged.
func simulate(t *testing.T, f func(w *world)) {
	t.Helper()
	simulateWith(t, irctest.Options{Caps: irctest.Modern, Password: password}, f)
}

func simulateWith(t *testing.T, o irctest.Options, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, server: irctest.Unstarted(o), in: &conformance.Receiver{}, log: &syncbuf.Buffer{}, net: pipenet.Listen()}
		w.Platform = New(Options{
			Server: "127.0.0.1:6667", Plain: true, Nick: "bot", Channels: []string{help}, Password: o.Password, PasswordSource: "IRC_PASSWORD",
			Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		w.in.Only([]string{"alice", "alice!alice@people.example", "bob!bob@2001:db8::1"})
		w.dial = w.net.Dial
		w.server.Serve(w.net)
		defer func() {
			w.server.Close()
			if strings.Contains(w.log.String(), password) {
				t.Errorf("the password stands in the log:\n%s", w.log)
			}
		}()
		f(w)
	})
}

// dialUp makes a connection that is in its channels. The caller takes it down.
func (w *world) dialUp() *conn {
	w.Helper()
	c := bottest.Dial[*conn](w, w.Platform, w.in)
	synctest.Wait()
	return c
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

// after lets d pass, and everything that can run run.
func (w *world) after(d time.Duration) {
	time.Sleep(d) // virtual
	synctest.Wait()
}

// texts are the texts of the bot's messages.
func (w *world) texts() (out []string) {
	for _, m := range w.server.Sent() {
		out = append(out, m.Text)
	}
	return out
}

func (w *world) send(c *conn, target, text string) (adapter.Sent, error) {
	ctx, cancel := context.WithTimeout(w.Context(), 30*time.Second)
	defer cancel()
	return c.Send(ctx, adapter.Outgoing{Target: target, Text: text})
}

func is[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}
