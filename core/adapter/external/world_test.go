package external

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bottest"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/fixtures/syncbuf"
)

// TestMain lets the test binary be the program of an adapter.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == programArgument {
		beProgram(os.Args[2])
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

const (
	owner    = "u4711"
	stranger = "u666"
	listed   = "g1"
)

// world is a platform and its program in this process, in a bubble of virtual time.
type world struct {
	*testing.T
	*Platform
	there *platform
	in    *conformance.Receiver
	log   *syncbuf.Buffer
}

// simulate runs f in a bubble. At its end nothing may be left over.
func simulate(t *testing.T, f func(w *world)) {
	t.Helper()
	simulateWith(t, able, f)
}

func simulateWith(t *testing.T, r ready, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, there: newPlatform(r), in: &conformance.Receiver{}, log: &syncbuf.Buffer{}}
		w.Platform = New(Options{
			Name: "mattermost", Command: []string{"gatewaytui-mattermost"}, Settings: map[string]any{"url": "https://mattermost.example"}, Groups: []string{listed},
			KillGrace: 2 * time.Second, Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		w.Platform.start = w.there.start
		w.in.Only([]string{owner})
		f(w)
		w.there.over(t)
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

// after lets d pass, and everything that can run run.
func (w *world) after(d time.Duration) {
	time.Sleep(d) // virtual
	synctest.Wait()
}

// texts are the texts of the bot's messages.
func (w *world) texts() (out []string) {
	for _, o := range w.there.sent() {
		out = append(out, o.text)
	}
	return out
}

// wantSent looks at the beginnings of what was sent.
func (w *world) wantSent(want ...string) {
	w.Helper()
	bottest.WantSent(w, w.texts(), func(m string) string { return m }, want...)
}

func (w *world) send(c *conn, text string) (adapter.Sent, error) {
	ctx, cancel := context.WithTimeout(w.Context(), 30*time.Second)
	defer cancel()
	return c.Send(ctx, adapter.Outgoing{Target: "d-" + owner, Text: text})
}

func is[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}
