package control

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

func listenPlain(t *testing.T, path string) *net.UnixListener {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	return l.(*net.UnixListener)
}

// patience is short where a test waits for it to end.
func patience(short bool) time.Duration {
	if short {
		return 100 * time.Millisecond
	}
	return 10 * time.Second
}

// open begins a stream and returns its lines.
func (r *running) open(t *testing.T, path string, header ...string) *bufio.Reader {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://gw"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := r.client.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("the stream is %q", got)
	}
	return bufio.NewReader(resp.Body)
}

func TestAStreamHasIdsNamesAndData(t *testing.T) {
	f := newFake()
	f.emit(ops.EventTurnStarted, "api:user:\x1bx\n", "turn began")
	f.emit(ops.EventAdapterState, "api", "connected")
	r := serve(t, f)
	lines := r.open(t, "/v1/events")
	want := "retry: 1000\n\n" +
		"id: 1\nevent: session.turn.started\ndata: {\"seq\":1,\"at\":\"2026-11-21T12:04:05.006Z\",\"type\":\"session.turn.started\",\"subject\":\"api:user:\\u001bx\\n\",\"text\":\"turn began\"}\n\n" +
		"id: 2\nevent: adapter.state\n"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(lines, got); err != nil || string(got) != want {
		t.Fatalf("got\n%s\n%v; promised\n%s", got, err, want)
	}
}

func TestAStreamResumesWhereItsReaderWas(t *testing.T) {
	f := newFake()
	for i := range 5 {
		f.emit(ops.EventWarning, "x", fmt.Sprint(i))
	}
	r := serve(t, f)
	for _, tc := range []struct {
		name, path string
		header     []string
		first      string
	}{
		{"from the oldest", "/v1/events", nil, "id: 1"},
		{"after a number", "/v1/events?after=2", nil, "id: 3"},
		{"after the last one seen", "/v1/events", []string{"Last-Event-ID", "3"}, "id: 4"},
		{"the last one seen goes before where it once began", "/v1/events?after=1", []string{"Last-Event-ID", "4"}, "id: 5"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lines := r.open(t, tc.path, tc.header...)
			for {
				line, err := lines.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(line, "id:") {
					if strings.TrimSpace(line) != tc.first {
						t.Errorf("began with %q, promised %q", line, tc.first)
					}
					return
				}
			}
		})
	}
}

func TestAReaderThatDoesNotReadIsCutAndCostsTheOthersNothing(t *testing.T) {
	f := newFake()
	r := serve(t, f)
	slow, err := net.Dial("unix", r.path)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if _, err := io.WriteString(slow, "GET /v1/events HTTP/1.1\r\nHost: gw\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	const events = 200
	seen := make(chan int)
	go func() {
		n := 0
		for _, err := range r.client.Events(context.Background(), 0) {
			if err != nil {
				break
			}
			if n++; n == events {
				break
			}
		}
		seen <- n
	}()
	big := strings.Repeat("x", 16<<10) // 200 of them are more than any socket buffer holds
	for range events {
		f.emit(ops.EventWarning, "x", big)
	}
	if n := <-seen; n != events {
		t.Errorf("the reader that reads got %d of %d", n, events)
	}
	for range 2 { // the good reader left by itself, the slow one was cut
		select {
		case <-f.left:
		case <-time.After(10 * time.Second):
			t.Fatal("the slow reader was not cut")
		}
	}
}

func TestAClosingServerGivesWhatIsPendingAndEnds(t *testing.T) {
	f := newFake()
	f.emit(ops.EventGatewayState, "gateway", "running")
	r := serve(t, f)
	var got []ops.EventType
	var last error
	for ev, err := range r.client.Events(context.Background(), 0) {
		if err != nil {
			last = err
			break
		}
		got = append(got, ev.Type)
		if ev.Type == ops.EventGatewayState {
			f.emit(ops.EventShutdownPhase, "stores", "done")
			f.emit(ops.EventShutdownEnded, "x1", "clean")
			r.stop()
		}
	}
	if len(got) != 3 || got[2] != ops.EventShutdownEnded {
		t.Errorf("got %v, promised everything up to the end", got)
	}
	if !ops.HasCode(last, ops.CodeUnavailable) {
		t.Errorf("a gateway that is gone ended the sequence with %v", last)
	}
	if err := r.ended(); err != nil {
		t.Error(err)
	}
}

// relay stands between a client and a server and can cut.
type relay struct {
	l     net.Listener
	to    string
	mu    sync.Mutex
	conns map[net.Conn]bool
	wg    sync.WaitGroup
}

func newRelay(t *testing.T, path, to string) *relay {
	r := &relay{l: listenPlain(t, path), to: to, conns: map[net.Conn]bool{}}
	r.wg.Go(func() {
		for {
			c, err := r.l.Accept()
			if err != nil {
				return
			}
			r.mu.Lock()
			to := r.to
			r.mu.Unlock()
			s, err := net.Dial("unix", to)
			if err != nil {
				c.Close()
				continue
			}
			r.mu.Lock()
			r.conns[c], r.conns[s] = true, true
			r.mu.Unlock()
			r.wg.Go(func() { io.Copy(s, c); s.Close() })
			r.wg.Go(func() { io.Copy(c, s); c.Close() })
		}
	})
	t.Cleanup(func() {
		r.l.Close()
		r.cut()
		r.wg.Wait()
	})
	return r
}

func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		c.Close()
	}
	clear(r.conns)
}

// TestH10_ACutStreamIsResumedAndEachEventComesOnce holds H10.
func TestH10_ACutStreamIsResumedAndEachEventComesOnce(t *testing.T) {
	f := newFake()
	r := serve(t, f)
	path := filepath.Join(filepath.Dir(r.path), "relay")
	rl := newRelay(t, path, r.path)
	c := NewClient(path, ClientOptions{})
	defer c.Close()
	const events = 12
	f.emit(ops.EventWarning, "x", "1")
	next := uint64(0)
	for ev, err := range c.Events(context.Background(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if next++; ev.Seq != next {
			t.Fatalf("event %d came, %d was due", ev.Seq, next)
		}
		if ev.Seq == events {
			break
		}
		if ev.Seq%3 == 0 {
			rl.cut()
		}
		f.emit(ops.EventWarning, "x", "more")
	}
	if next != events {
		t.Fatalf("the sequence ended after %d of %d", next, events)
	}
}

func TestASequenceEndsWhenAnotherLifeAnswers(t *testing.T) {
	f := newFake()
	f.emit(ops.EventWarning, "x", "1")
	r := serve(t, f)
	path := filepath.Join(filepath.Dir(r.path), "relay")
	rl := newRelay(t, path, r.path)
	second := newFake()
	second.emit(ops.EventWarning, "x", "1")
	second.emit(ops.EventWarning, "x", "2")
	r2 := start(t, Options{Console: second, Path: r.path + "2", Life: "02LIFE"})
	c := NewClient(path, ClientOptions{})
	defer c.Close()
	var last error
	n := 0
	for _, err := range c.Events(context.Background(), 0) {
		if last = err; err != nil {
			break
		}
		n++
		rl.mu.Lock()
		rl.to = r2.path
		rl.mu.Unlock()
		rl.cut()
	}
	if n != 1 || !ops.HasCode(last, ops.CodeUnavailable) || !strings.Contains(last.Error(), "01LIFE") {
		t.Fatalf("%d events, then %v; promised one, then word that the life ended", n, last)
	}
}

func TestAnEventsReaderThatStopsLeavesNothingBehind(t *testing.T) {
	f := newFake()
	f.emit(ops.EventWarning, "x", "1")
	r := serve(t, f)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for ev, err := range r.client.Events(ctx, 0) {
		if err != nil || ev.Seq != 1 {
			t.Errorf("got %+v, %v", ev, err)
		}
		cancel() // the end of the context ends the sequence without an error
	}
	select {
	case <-f.left:
	case <-time.After(10 * time.Second):
		t.Fatal("the server still reads for a client that left")
	}
}

func TestASequenceThatTheGatewayEndsAgainAndAgainEndsWithAnError(t *testing.T) {
	f := newFake()
	f.emit(ops.EventShutdownEnded, "x1", "clean")
	f.end()
	r := serve(t, f)
	var got []ops.EventType
	var last error
	for ev, err := range r.client.Events(context.Background(), 0) {
		if last = err; err == nil {
			got = append(got, ev.Type)
		}
	}
	if len(got) != 1 || !ops.HasCode(last, ops.CodeUnavailable) {
		t.Fatalf("got %v, then %v", got, last)
	}
}

func FuzzReadEvent(f *testing.F) {
	f.Add("id: 1\nevent: x\ndata: {\"seq\":1}\n\n")
	f.Add(": c\n\ndata:\ndata: {}\r\n\r\n")
	f.Add("data: {\n\n")
	f.Fuzz(func(t *testing.T, s string) {
		r := linesOf(strings.NewReader(s), maxLine)
		for range len(s) + 2 {
			if _, err := readEvent(r, func() {}); err != nil {
				return
			}
		}
		t.Errorf("%d bytes gave more events than bytes", len(s))
	})
}
