package api

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/fixtures/pipenet"
)

// fill streams to a client that does not read: until the server is stuck in a write, and then until it has given the
// stream up. No call of the gateway waits for the client, and what is kept for it stays bounded.
func fill(t *testing.T, r adapter.Responder, c *conn) {
	t.Helper()
	x := r.(*exchange)
	piece := strings.Repeat("x", 64<<10)
	stands := func() (waiting int, tooSlow bool) {
		x.mu.Lock()
		defer x.mu.Unlock()
		total := x.dropped + len(x.text)
		for _, r := range x.readers {
			waiting = total - r.at
		}
		if len(x.text) > 2*maxPending {
			t.Fatalf("%d bytes are kept", len(x.text))
		}
		return waiting, waiting > maxPending
	}
	var slowest time.Duration
	stuck := false
	for sent := 0; ; sent += len(piece) {
		// As fast as the socket takes it, so that what overflows in the end is not only a burst.
		for limit := time.Now().Add(200 * time.Millisecond); !stuck; runtime.Gosched() {
			if waiting, _ := stands(); waiting == 0 {
				break
			}
			stuck = time.Now().After(limit)
		}
		if _, tooSlow := stands(); tooSlow {
			break
		}
		if sent > 256<<20 {
			t.Fatalf("%d MiB went to a client that does not read", sent>>20)
		}
		begin := time.Now()
		r.Delta(piece)
		slowest = max(slowest, time.Since(begin))
	}
	r.Done("the end", nil)
	if slowest > 5*time.Second {
		t.Errorf("a call waited for %s", slowest)
	}
	if n := underWay(c); n != 1 {
		t.Errorf("%d requests are under way; want the one that is stuck", n)
	}
}

func open(c *conn) int {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	return c.listener.open
}

func underWay(c *conn) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.active
}

func TestAReaderThatDoesNotKeepUpLearnsThatItMissedSomething(t *testing.T) {
	take, held := holds()
	f := start(t, Options{}, take)
	nc := f.dial()
	if _, err := io.WriteString(nc, raw(streaming("hi"))); err != nil {
		t.Fatal(err)
	}
	fill(t, receive(t, "the message", held), f.conn)
	resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
	if err != nil {
		t.Fatal(err)
	}
	all := events(t, f.read(resp).body)
	if e := failure(t, []byte(all[len(all)-1])); *e.Code != "slow_reader" {
		t.Errorf("the stream ends with %.200s", all[len(all)-1])
	}
}

func TestRequestsUnderWayAreBounded(t *testing.T) {
	f := start(t, Options{}, echo)
	for range DefaultRequests {
		if p := f.conn.enter(); p != nil {
			t.Fatal(p.message)
		}
	}
	a := f.chat(saying("hi"))
	a.refused(t, http.StatusTooManyRequests, "too_many_requests")
	if a.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
	}
	for range DefaultRequests {
		f.conn.leave()
	}
	f.chat(saying("hi")).whole(t)
}

// virtual runs f in virtual time against a platform on pipes. dial makes a connection to it.
func virtual(t *testing.T, take func(context.Context, adapter.Inbound) error, f func(t *testing.T, c *conn, dial func() net.Conn)) {
	t.Helper()
	virtualWith(t, Options{Model: "agent"}, take, f)
}

func virtualWith(t *testing.T, o Options, take func(context.Context, adapter.Inbound) error, f func(t *testing.T, c *conn, dial func() net.Conn)) {
	t.Helper()
	virtualRoom(t, o, 64, take, f)
}

// virtualRoom is virtual with a bound on the connections.
func virtualRoom(t *testing.T, o Options, most int, take func(context.Context, adapter.Inbound) error, f func(t *testing.T, c *conn, dial func() net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := pipenet.Listen()
		p := New(o)
		p.lookUp = func(context.Context, net.Conn) (adapter.Socket, error) {
			return adapter.Socket{UID: os.Geteuid(), Inode: 1}, nil
		}
		c := p.serve(p.bounded(l, most), &gateway{take: take})
		f(t, c, func() net.Conn {
			client, err := l.Dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { client.Close() })
			return client
		})
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(c.CancelTasks(ctx), c.Disconnect(ctx)); err != nil {
			t.Error(err)
		}
	})
}

func send(t *testing.T, nc net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(nc, text); err != nil {
		t.Fatal(err)
	}
}

func TestAClientThatSendsTooSlowlyIsCutOff(t *testing.T) {
	t.Run("in the header", func(t *testing.T) {
		virtual(t, echo, func(t *testing.T, _ *conn, dial func() net.Conn) {
			nc := dial()
			send(t, nc, "POST /v1/chat")
			begin := time.Now()
			_, _ = io.Copy(io.Discard, nc)
			if took := time.Since(begin); took > headerTimeout+time.Second {
				t.Errorf("after %s", took)
			}
		})
	})
	t.Run("in the body", func(t *testing.T) {
		virtual(t, echo, func(t *testing.T, c *conn, dial func() net.Conn) {
			nc := dial()
			send(t, nc, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
			begin := time.Now()
			resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			if e := failure(t, body); resp.StatusCode != http.StatusRequestTimeout || *e.Code != "request_timeout" {
				t.Errorf("answered %s: %s", resp.Status, body)
			}
			if took := time.Since(begin); took > readTimeout+time.Second {
				t.Errorf("after %s", took)
			}
		})
	})
	t.Run("in a body that is not wanted", func(t *testing.T) {
		virtual(t, echo, func(t *testing.T, _ *conn, dial func() net.Conn) {
			nc := dial()
			send(t, nc, "POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
			begin := time.Now()
			_, _ = io.Copy(io.Discard, nc)
			if took := time.Since(begin); took > readTimeout+5*time.Second {
				t.Errorf("after %s", took)
			}
		})
	})
	t.Run("between requests", func(t *testing.T) {
		virtual(t, echo, func(t *testing.T, _ *conn, dial func() net.Conn) {
			nc := dial()
			send(t, nc, raw(saying("hi")))
			begin := time.Now()
			_, _ = io.Copy(io.Discard, nc)
			if took := time.Since(begin); took > idleTimeout+time.Second {
				t.Errorf("after %s", took)
			}
		})
	})
}

// The limits for sending and for reading are not limits of the turn.
func TestATurnMayTakeLong(t *testing.T) {
	const long = 25 * time.Minute
	take := func(_ context.Context, m adapter.Inbound) error {
		time.AfterFunc(long, func() { m.Responder.Done("at last", nil) })
		return nil
	}
	for name, b := range map[string]string{"plain": saying("hi"), "stream": streaming("hi")} {
		t.Run(name, func(t *testing.T) {
			virtual(t, take, func(t *testing.T, _ *conn, dial func() net.Conn) {
				nc := dial()
				begin := time.Now()
				send(t, nc, raw(b))
				resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body)
				if err != nil || !bytes.Contains(got, []byte("at last")) || time.Since(begin) < long {
					t.Errorf("after %s: %v, %s", time.Since(begin), err, got)
				}
			})
		})
	}
}

func TestASilentStreamShowsThatItLives(t *testing.T) {
	take := func(_ context.Context, m adapter.Inbound) error {
		time.AfterFunc(time.Minute, func() { m.Responder.Done("at last", nil) })
		return nil
	}
	virtual(t, take, func(t *testing.T, _ *conn, dial func() net.Conn) {
		nc := dial()
		begin := time.Now()
		send(t, nc, raw(streaming("hi")))
		resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took > headerPatience {
			t.Errorf("the header came after %s", took)
		}
		lines, last, stream := bufio.NewReader(resp.Body), time.Now(), strings.Builder{}
		for {
			line, err := lines.ReadString('\n')
			if gap := time.Since(last); gap > keepAlive {
				t.Errorf("nothing came for %s", gap)
			}
			last = time.Now()
			stream.WriteString(line)
			if err != nil {
				break
			}
		}
		// Every line is an event: see the comment in reply.stream.
		all := events(t, []byte(stream.String()))
		if got := spoken(t, all); got != "at last" || all[len(all)-1] != "[DONE]" {
			t.Errorf("the stream said %q and ended with %s", got, all[len(all)-1])
		}
	})
}

func TestAReaderThatStandsStillIsCutOffAndTheTurnGoesOn(t *testing.T) {
	take, held := holds()
	virtual(t, take, func(t *testing.T, c *conn, dial func() net.Conn) {
		nc := dial()
		send(t, nc, raw(streaming("hi")))
		r := <-held
		r.Delta("a word that is not read") // a pipe holds nothing
		time.Sleep(writeTimeout - time.Second)
		synctest.Wait()
		if underWay(c) != 1 {
			t.Fatal("it was cut off early")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if underWay(c) != 0 {
			t.Errorf("%s after its last byte the client still holds a request", writeTimeout)
		}
		r.Delta("more")
		r.Done("the end", nil)
	})
}

func TestS5_AReaderThatStandsStillGetsOneMoreSecondOfAStop(t *testing.T) {
	take, held := holds()
	virtual(t, take, func(t *testing.T, c *conn, dial func() net.Conn) {
		nc := dial()
		send(t, nc, raw(streaming("hi")))
		r := <-held
		r.Delta("a word that is not read")
		synctest.Wait()
		begin := time.Now()
		if err := c.CancelTasks(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != stopWriteTimeout {
			t.Errorf("it took %s", took)
		}
	})
}

func TestAStopDoesNotWaitForAConnectionThatWasNeverUsed(t *testing.T) {
	virtual(t, echo, func(t *testing.T, c *conn, dial func() net.Conn) {
		dial()
		synctest.Wait()
		begin := time.Now()
		if err := c.Disconnect(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > lingerTimeout/10 {
			t.Errorf("it took %s", took)
		}
	})
}

func TestAGatewayThatDoesNotTakeAMessageIsNotWaitedForForEver(t *testing.T) {
	stuck := func(ctx context.Context, _ adapter.Inbound) error {
		<-ctx.Done()
		return fmt.Errorf("save the message: %w", ctx.Err())
	}
	virtual(t, stuck, func(t *testing.T, _ *conn, dial func() net.Conn) {
		nc := dial()
		begin := time.Now()
		send(t, nc, raw(saying("hi")))
		resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		if e := failure(t, body); resp.StatusCode != http.StatusServiceUnavailable || *e.Code != "unavailable" || resp.Header.Get("Retry-After") != "5" {
			t.Errorf("answered %s: %s", resp.Status, body)
		}
		if took := time.Since(begin); took != receiveTimeout {
			t.Errorf("after %s", took)
		}
	})
}

func TestAStopWhileAMessageIsOnItsWayInSaysThatItWasNotTaken(t *testing.T) {
	stuck := func(ctx context.Context, _ adapter.Inbound) error {
		<-ctx.Done()
		return ctx.Err()
	}
	virtual(t, stuck, func(t *testing.T, c *conn, dial func() net.Conn) {
		nc := dial()
		send(t, nc, raw(saying("hi")))
		synctest.Wait()
		go func() { _ = c.CancelTasks(t.Context()) }()
		resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		if e := failure(t, body); resp.StatusCode != http.StatusServiceUnavailable || *e.Code != "stopping" || resp.Header.Get("Retry-After") == "" {
			t.Errorf("answered %s: %s", resp.Status, body)
		}
	})
}
