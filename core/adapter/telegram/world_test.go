package telegram

import (
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/adapter"
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
	in  *receiver
	log *syncbuf.Buffer
}

// simulate runs f in a bubble. At its end nothing may be left over, and the token must not have been logged.
func simulate(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, api: botapitest.Unstarted(token), in: &receiver{}, log: &syncbuf.Buffer{}}
		w.Platform = New(Options{
			Token: token, TokenSource: "TELEGRAM_BOT_TOKEN", BaseURL: "http://127.0.0.1:80", Allow: []int64{owner}, Groups: []int64{-100},
			Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
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

// down takes a connection down as the Supervisor does. The context is not the test's, which may be over.
func (w *world) down(c *conn) {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = c.CancelTasks(ctx) // Disconnect waits for the same
	if err := c.Disconnect(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		w.Logf("disconnect: %v", err)
	}
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
	if got := w.in.texts(); !slices.Equal(got, want) {
		w.Errorf("the gateway got %q, want %q", got, want)
	}
}

// wantSent looks at the beginnings of what was sent.
func (w *world) wantSent(want ...string) {
	w.Helper()
	got := w.api.Sent()
	ok := len(got) == len(want)
	for i := 0; ok && i < len(got); i++ {
		ok = strings.HasPrefix(got[i].Text, want[i])
	}
	if !ok {
		w.Errorf("sent %+v, want texts that begin with %q", got, want)
	}
}

// receiver keeps what the platform hands on.
type receiver struct {
	adapter.Receiver
	mu  sync.Mutex
	got []adapter.Inbound
	// answer, if not nil, decides about a message.
	answer func(ctx context.Context, m adapter.Inbound) error
}

func (r *receiver) Receive(ctx context.Context, m adapter.Inbound) (string, error) {
	r.mu.Lock()
	answer := r.answer
	r.mu.Unlock()
	if answer != nil {
		if err := answer(ctx, m); err != nil {
			return "", err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, m)
	return "id", nil
}

func (r *receiver) decide(f func(ctx context.Context, m adapter.Inbound) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = f
}

func (r *receiver) messages() []adapter.Inbound {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

func (r *receiver) texts() []string {
	var out []string
	for _, m := range r.messages() {
		out = append(out, m.Text)
	}
	return out
}
