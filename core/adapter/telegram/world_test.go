package telegram

import (
	"io"
	"log"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bottest"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/core/adapter/telegram/botapitest"
	"gatewaytui/fixtures/pipenet"
	"gatewaytui/fixtures/syncbuf"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	token = "4242:c4naryc4naryc4naryc4naryc4naryc4nary"
	owner = 4711
	other = 666
)

// world is a bot and its server on a network of pipes, in a bubble of virtual time.
type world struct {
	*testing.T
	*Platform
	api *botapitest.Server
	in  *conformance.Receiver
	log *syncbuf.Buffer
}

// simulate runs f in a bubble. At its end nothing may be left over, and the token must not have been logged.
func simulate(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, api: botapitest.Unstarted(token), in: &conformance.Receiver{}, log: &syncbuf.Buffer{}}
		w.Platform = New(Options{
			Token: token, TokenSource: "TELEGRAM_BOT_TOKEN", BaseURL: "http://127.0.0.1:80", Groups: []int64{-100},
			Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		w.in.Only([]string{strconv.Itoa(owner)})
		wire := pipenet.Listen()
		w.Platform.dial = wire.Dial
		server := &http.Server{Handler: w.api, ErrorLog: log.New(io.Discard, "", 0)}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = server.Serve(wire) // it ends with the listener
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

// connected is a connection that is taken down when the test ends.
func (w *world) connected(c adapter.Conn, err error) *conn {
	w.Helper()
	if err != nil {
		w.Fatalf("connect: %v", err)
	}
	return c.(*conn)
}

// connect makes a connection. The caller takes it down.
func (w *world) dialUp() *conn {
	w.Helper()
	return w.connected(w.Connect(w.Context(), w.in))
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

// say is a message of the owner to the bot.
func (w *world) say(text string) {
	w.api.Inject(botapitest.Update{User: owner, UserName: "alice", Text: text})
}

// after lets d pass, and everything that can run run.
func (w *world) after(d time.Duration) {
	time.Sleep(d) // virtual
	synctest.Wait()
}

// crowd is n unknown users, of whom each writes to the bot once.
func (w *world) crowd(n int) {
	for i := range n {
		w.api.Inject(botapitest.Update{User: int64(10_000 + i), Text: "hello"})
	}
}

// wantUnconfirmed fails the test unless n updates would come again.
func (w *world) wantUnconfirmed(n int) {
	w.Helper()
	if got := w.api.Unconfirmed(); got != n {
		w.Errorf("%d updates are unconfirmed, want %d", got, n)
	}
}

func (w *world) wantTexts(want ...string) {
	w.Helper()
	w.in.WantTexts(w, want...)
}

// wantSent looks at the beginnings of what was sent.
func (w *world) wantSent(want ...string) {
	w.Helper()
	bottest.WantSent(w, w.api.Sent(), func(m botapitest.Sent) string { return m.Text }, want...)
}
