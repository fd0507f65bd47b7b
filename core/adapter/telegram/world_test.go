package telegram

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
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
	log *logbook
}

// simulate runs f in a bubble. At its end nothing may be left over, and the token must not have been logged.
func simulate(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, api: botapitest.Unstarted(token), in: &receiver{}, log: &logbook{}}
		w.Platform = New(Options{
			Token: token, TokenSource: "TELEGRAM_BOT_TOKEN", BaseURL: "http://127.0.0.1:80", Allow: []int64{owner},
			Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		wire := newPipes()
		w.Platform.dial = wire.dial
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

// logbook keeps log lines.
type logbook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logbook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logbook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *logbook) count(s string) int { return strings.Count(b.String(), s) }

// pipes is a network of one listener.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	shut  chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), shut: make(chan struct{})} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.shut:
	case <-ctx.Done():
	}
	here.Close()
	there.Close()
	return nil, errors.New("connection refused")
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.shut:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.shut) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }
