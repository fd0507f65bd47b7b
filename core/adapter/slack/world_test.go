package slack

import (
	"errors"
	"io"
	"log"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bottest"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/core/adapter/slack/slacktest"
	"gatewaytui/fixtures/pipenet"
	"gatewaytui/fixtures/syncbuf"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	appToken = "xapp-1-A1-4711-c4narycanarycanary"
	botToken = "xoxb-4711-4712-c4narycanarycanary"
	owner    = "U4711"
	stranger = "U666"
	dm       = "DU4711" // the owner's chat with the bot
	channel  = slacktest.Channel
)

// world is a bot and its server on a network of pipes, in a bubble of virtual time.
type world struct {
	*testing.T
	*Platform
	api  *slacktest.Server
	wire *pipenet.Listener
	in   *conformance.Receiver
	log  *syncbuf.Buffer
}

// simulate runs f in a bubble. At its end nothing may be left over, and no token may have been logged.
func simulate(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, api: slacktest.Unstarted(appToken, botToken), in: &conformance.Receiver{}, log: &syncbuf.Buffer{}, wire: pipenet.Listen()}
		w.Platform = New(Options{
			AppToken: appToken, AppTokenSource: "SLACK_APP_TOKEN", BotToken: botToken, BotTokenSource: "SLACK_BOT_TOKEN", BaseURL: w.api.URL,
			Groups: []string{channel},
			Log:    slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		w.in.Only([]string{owner})
		w.dial = w.wire.Dial
		server := &http.Server{Handler: w.api, ErrorLog: log.New(io.Discard, "", 0)}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = server.Serve(w.wire) // it ends with the listener
		}()
		defer func() {
			w.api.Close()
			server.Close()
			<-served
			if strings.Contains(w.log.String(), "c4nary") {
				t.Errorf("a token stands in the log:\n%s", w.log)
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

// say is a message of the owner to the bot alone.
func (w *world) say(text string) { w.api.Say(slacktest.Says{User: owner, Text: text}) }

// after lets d pass, and everything that can run run.
func (w *world) after(d time.Duration) {
	time.Sleep(d) // virtual
	synctest.Wait()
}

func (w *world) wantTexts(want ...string) {
	w.Helper()
	w.in.WantTexts(w, want...)
}

// wantSent looks at the beginnings of what was sent.
func (w *world) wantSent(want ...string) {
	w.Helper()
	bottest.WantSent(w, w.api.Sent(), func(m slacktest.Message) string { return m.Text }, want...)
}

func (w *world) send(c *conn, text string) error {
	_, err := c.Send(w.Context(), adapter.Outgoing{Target: dm, Text: text})
	return err
}

func is[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}
