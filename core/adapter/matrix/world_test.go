package matrix

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
	"gatewaytui/core/adapter/matrix/matrixtest"
	"gatewaytui/fixtures/pipenet"
	"gatewaytui/fixtures/syncbuf"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	token    = "syt_c4nary_c4naryc4naryc4nary_1aBcD"
	owner    = "@alice:example.org"
	stranger = "@mallory:example.org"
	dm       = "!dm-alice:example.org" // the owner's room with the bot
	listed   = matrixtest.Room
)

// Prefixes of the calls that tests make fail.
const (
	anyRoom  = "PUT /_matrix/client/v3/rooms/"
	anySync  = "GET /_matrix/client/v3/sync"
	anyCall  = ""
	accounts = "PUT /_matrix/client/v3/user/"
)

// world is a bot and its server on a network of pipes, in a bubble of virtual time.
type world struct {
	*testing.T
	*Platform
	api  *matrixtest.Server
	wire *pipenet.Listener
	in   *conformance.Receiver
	log  *syncbuf.Buffer
}

// simulate runs f in a bubble. At its end nothing may be left over, and the token must not have been logged.
func simulate(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, api: matrixtest.Unstarted(token), in: &conformance.Receiver{}, log: &syncbuf.Buffer{}, wire: pipenet.Listen()}
		w.restart()
		w.in.Only([]string{owner})
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
			if strings.Contains(w.log.String(), token) {
				t.Errorf("the token stands in the log:\n%s", w.log)
			}
		}()
		f(w)
	})
}

// restart makes the platform of the next life.
func (w *world) restart() {
	w.Platform = New(Options{
		Homeserver: w.api.URL, User: matrixtest.BotID, Token: token, TokenSource: "MATRIX_TOKEN", Groups: []string{listed},
		Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	w.dial = w.wire.Dial
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

// say is a message of the owner to the bot alone, and returns its id.
func (w *world) say(text string) string {
	return w.api.Say(matrixtest.Says{User: owner, Name: "alice", Text: text})
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

// wantSent looks at the beginnings of what was sent.
func (w *world) wantSent(want ...string) {
	w.Helper()
	bottest.WantSent(w, w.api.Sent(), func(m matrixtest.Message) string { return m.Text }, want...)
}

func (w *world) send(c *conn, text string) error {
	_, err := c.Send(w.Context(), adapter.Outgoing{Target: dm, Text: text})
	return err
}

func is[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}
