package api

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/fixtures/eventually"
)

// pending is a response that is still coming, or why there is none.
type pending struct {
	resp *http.Response
	err  error
}

// ask sends r and hands over its response when the header is there.
func (f *fixture) ask(r *http.Request) <-chan pending {
	ch := make(chan pending, 1)
	go func() {
		resp, err := f.client.Do(r)
		ch <- pending{resp, err}
	}()
	return ch
}

// keep opens a connection that is kept alive, to ask over while a stop waits.
func (f *fixture) keep() (over func(request string) answer) {
	f.t.Helper()
	kept := f.dial()
	lines := bufio.NewReader(kept)
	return func(request string) answer {
		f.t.Helper()
		if _, err := io.WriteString(kept, request); err != nil {
			f.t.Fatal(err)
		}
		resp, err := http.ReadResponse(lines, nil)
		if err != nil {
			f.t.Fatal(err)
		}
		return f.read(resp)
	}
}

// short ends soon, but not before a busy machine has had a chance.
func short(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// gone fails the test unless the other side ends nc.
func gone(t *testing.T, what string, nc net.Conn) {
	t.Helper()
	if _, err := io.Copy(io.Discard, nc); err != nil {
		if e, ok := err.(net.Error); ok && e.Timeout() {
			t.Errorf("still open: %s", what)
		}
	}
}

func TestA18_AStopClosesTheListenerFirst(t *testing.T) {
	release, inside := make(chan struct{}), make(chan struct{})
	f := start(t, Options{}, func(_ context.Context, m adapter.Inbound) error {
		if m.Text == "ping" {
			return echo(t.Context(), m)
		}
		close(inside)
		<-release // also after its context has ended
		m.Responder.Done("late", nil)
		return nil
	})
	over := f.keep()
	over(raw(saying("ping"))).whole(t)

	asked := f.ask(f.request(http.MethodPost, "/v1/chat/completions", saying("hi")))
	receive(t, "the message", inside)
	cancelled := make(chan error, 1)
	go func() { cancelled <- f.conn.CancelTasks(t.Context()) }()

	eventually.True(t, "a refused connection while the stop still waits", func() bool {
		nc, err := net.Dial("tcp", strings.TrimPrefix(f.base, "http://"))
		if err == nil {
			nc.Close()
		}
		return err != nil
	})
	if f.platform.Addr() != "" {
		t.Errorf("it says that it listens on %s", f.platform.Addr())
	}
	var a answer
	eventually.True(t, "a refusal over the connection that was kept", func() bool {
		a = over(raw(saying("ping")))
		return a.status != http.StatusOK
	})
	a.refused(t, http.StatusServiceUnavailable, "stopping")
	if a.header.Get("Retry-After") != "10" || a.header.Get("X-Should-Retry") != "" {
		t.Errorf("Retry-After %q, X-Should-Retry %q", a.header.Get("Retry-After"), a.header.Get("X-Should-Retry"))
	}
	select {
	case err := <-cancelled:
		t.Fatalf("it did not wait for the request: %v", err)
	default:
	}
	close(release)
	if err := receive(t, "the end of the requests", cancelled); err != nil {
		t.Error(err)
	}
	p := receive(t, "the answer", asked)
	if p.err != nil {
		t.Fatal(p.err)
	}
	f.read(p.resp)
}

func TestS4_AStopAnswersWhatIsUnderWay(t *testing.T) {
	take, held := holds()
	f := start(t, Options{}, take)

	plain := f.ask(f.request(http.MethodPost, "/v1/chat/completions", saying("hi")))
	silent := f.ask(f.request(http.MethodPost, "/v1/chat/completions", streaming("hi")))
	responders := []adapter.Responder{receive(t, "a message", held), receive(t, "a message", held)}
	begun := f.ask(f.request(http.MethodPost, "/v1/chat/completions", streaming("hi")))
	talking := receive(t, "a message", held)
	talking.Delta("It is ")
	stream := receive(t, "the header of the stream", begun)
	if stream.err != nil {
		t.Fatal(stream.err)
	}
	if err := f.conn.CancelTasks(short(t, patience)); err != nil {
		t.Fatal(err)
	}
	for name, asked := range map[string]<-chan pending{"a plain one": plain, "a stream without a word": silent} {
		p := receive(t, name, asked)
		if p.err != nil {
			t.Fatalf("%s: %v", name, p.err)
		}
		a := f.read(p.resp)
		a.refused(t, http.StatusServiceUnavailable, "stopping")
		if a.header.Get("X-Should-Retry") != "false" {
			t.Errorf("%s may be sent again, though the gateway has it", name)
		}
	}
	all := events(t, f.read(stream.resp).body)
	if got := spoken(t, all); got != "It is " {
		t.Errorf("the stream said %q", got)
	}
	if e := failure(t, []byte(all[len(all)-1])); *e.Code != "stopping" {
		t.Errorf("the stream ends with %s", all[len(all)-1])
	}
	// What the turns still say goes nowhere, and blocks nothing.
	for _, r := range append(responders, talking) {
		r.Delta("more")
		r.Done("late", nil)
	}
	if err := f.conn.Disconnect(short(t, patience)); err != nil {
		t.Error(err)
	}
}

func TestAStopLeavesNoConnection(t *testing.T) {
	f := start(t, Options{Key: "the-key"}, echo)
	var checks []func()
	for _, c := range []struct{ name, sent, answer string }{
		{"one over which nothing came", "", ""},
		{"one with half a header", "POST /v1/chat/completions HTTP/1.1\r\nHost: ", ""},
		{"one with half a body", "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer the-key\r\nContent-Length: 100\r\n\r\n{", "503"},
		{"one that was refused and still owes its body", "POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{", "404"},
		{"one that was answered", "GET /health HTTP/1.1\r\nHost: x\r\n\r\n", "200"},
	} {
		nc := f.dial()
		if _, err := io.WriteString(nc, c.sent); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(nc)
		if c.answer == "200" { // it is kept alive, with nothing under way
			resp, err := http.ReadResponse(lines, nil)
			if err != nil {
				t.Fatal(err)
			}
			f.read(resp)
			c.answer = ""
		}
		checks = append(checks, func() {
			head, err := lines.ReadString('\n')
			// Whether a refusal still goes out before the rest of its request came is net/http's to say; nothing else may.
			if c.answer == "404" && err != nil {
				head = c.answer
			}
			if !strings.Contains(head, c.answer) || c.answer == "" && err == nil {
				t.Errorf("%s: answered %q, %v; want %q", c.name, head, err, c.answer)
			}
			gone(t, c.name, nc)
		})
	}
	eventually.True(t, "five connections, one of them with a request under way", func() bool {
		return open(f.conn) == 5 && underWay(f.conn) == 1
	})
	begin := time.Now()
	if err := f.conn.CancelTasks(short(t, patience)); err != nil {
		t.Error(err)
	}
	if err := f.conn.Disconnect(short(t, patience)); err != nil {
		t.Error(err)
	}
	// The second that lingering connections have, and slack. The default teardown has 5 s.
	if took := time.Since(begin); took > patience/2 {
		t.Errorf("it took %s", took)
	}
	if n := open(f.conn); n != 0 {
		t.Errorf("%d connections are left", n)
	}
	for _, check := range checks {
		check()
	}
}

func TestS5_AReaderThatStandsStillDoesNotHoldUpAStop(t *testing.T) {
	f, _ := unreadStream(t)
	begin := time.Now()
	if err := f.conn.CancelTasks(short(t, patience)); err != nil {
		t.Error(err)
	}
	if err := f.conn.Disconnect(short(t, patience)); err != nil {
		t.Error(err)
	}
	// One second for the last write and slack.
	if took := time.Since(begin); took > patience/2 {
		t.Errorf("the stop took %s", took)
	}
}

func TestS5_AStopThatMayNotWaitDoesNot(t *testing.T) {
	release, inside := make(chan struct{}), make(chan struct{})
	f := start(t, Options{}, func(context.Context, adapter.Inbound) error {
		close(inside)
		<-release // also after its context has ended
		return nil
	})
	asked := f.ask(f.request(http.MethodPost, "/v1/chat/completions", saying("hi")))
	receive(t, "the message", inside)
	for name, call := range map[string]func(context.Context) error{"cancel tasks": f.conn.CancelTasks, "disconnect": f.conn.Disconnect} {
		begin := time.Now()
		if err := call(short(t, 50*time.Millisecond)); err == nil {
			t.Errorf("%s says that nothing is left", name)
		}
		if took := time.Since(begin); took > patience/2 {
			t.Errorf("%s took %s of its 50 ms", name, took)
		}
	}
	if p := receive(t, "the cut connection", asked); p.err == nil {
		p.resp.Body.Close()
		t.Errorf("answered %s by a gateway that was gone", p.resp.Status)
	}
	close(release)
}

func TestADisconnectLetsARequestEndByItself(t *testing.T) {
	take, held := holds()
	f := start(t, Options{}, take)
	over := f.keep()
	over("GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
	asked := f.ask(f.request(http.MethodPost, "/v1/chat/completions", saying("hi")))
	r := receive(t, "the message", held)
	disconnected := make(chan error, 1)
	go func() { disconnected <- f.conn.Disconnect(t.Context()) }()
	eventually.True(t, "no new requests", func() bool {
		f.conn.mu.Lock()
		defer f.conn.mu.Unlock()
		return f.conn.refusing
	})
	over(raw(saying("another"))).refused(t, http.StatusServiceUnavailable, "stopping")
	r.Done("in time", nil)
	p := receive(t, "the answer", asked)
	if p.err != nil {
		t.Fatal(p.err)
	}
	if got := f.read(p.resp).whole(t); got != "in time" {
		t.Errorf("answered %q", got)
	}
	if err := receive(t, "the disconnect", disconnected); err != nil {
		t.Error(err)
	}
	if err := f.conn.Err(); err != nil {
		t.Errorf("a connection that was ended says that it ended without a Disconnect: %v", err)
	}
}

func TestAListenerThatBreaksEndsTheConnection(t *testing.T) {
	f := start(t, Options{}, echo)
	at := f.platform.Addr()
	if err := f.conn.Err(); err != nil {
		t.Fatalf("before: %v", err)
	}
	f.conn.listener.Close()
	receive(t, "the end of the connection", f.conn.Done())
	if err := f.conn.Err(); err == nil || !strings.Contains(err.Error(), at) {
		t.Errorf("it ended with %v, which does not name %s", err, at)
	}
	if f.platform.Addr() != "" {
		t.Errorf("it says that it listens on %s", f.platform.Addr())
	}
}

func TestANewConnectionWorksWhileTheOldOneIsTakenDown(t *testing.T) {
	f := start(t, Options{}, echo)
	c, err := f.platform.Connect(t.Context(), f.gateway)
	if err != nil {
		t.Fatal(err)
	}
	at := f.platform.Addr()
	if err := f.conn.Disconnect(short(t, patience)); err != nil {
		t.Error(err)
	}
	if got := f.platform.Addr(); got != at {
		t.Errorf("after the old one went the new one listens on %q, not %q", got, at)
	}
	if err := c.Disconnect(short(t, patience)); err != nil {
		t.Error(err)
	}
}

func TestASendToAnAPIUserIsRefused(t *testing.T) {
	f := start(t, Options{}, echo)
	_, err := f.conn.Send(t.Context(), adapter.Outgoing{Target: "api:user:alice", Text: "hi"})
	if _, refused := err.(*adapter.RefusedError); !refused {
		t.Errorf("a send that is pointless to repeat returned %v", err)
	}
}
