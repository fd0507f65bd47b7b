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
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/pipenet"
)

// unreadStream is a stream whose client does not read: the server is stuck in a write, and has given up the rest of the stream. No call
// of the gateway waited for the client, and what is kept for it stays bounded.
func unreadStream(t *testing.T) (f *fixture, client net.Conn) {
	t.Helper()
	const buffer = 64 << 10 // of each socket: both hold far less than the text that one write has
	take, held := holds()
	f = start(t, Options{}, take)
	// A connection that is accepted has the listener's buffer.
	raws, err := f.conn.listener.Listener.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var refused error
	if err := raws.Control(func(fd uintptr) {
		refused = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF, buffer)
	}); err != nil || refused != nil {
		t.Fatal(err, refused)
	}
	client = f.dial()
	if err := client.(*net.TCPConn).SetReadBuffer(buffer); err != nil {
		t.Fatal(err)
	}
	send(t, client, raw(streaming("hi")))
	r := receive(t, "the message", held)
	x := r.(*exchange)
	r.Delta(strings.Repeat("x", maxPending))
	eventually.True(t, "the server writes it", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return len(x.readers) == 1 && x.readers[0].at == maxPending
	})
	for sent := 0; sent < 4*maxPending; sent += buffer {
		r.Delta(strings.Repeat("y", buffer))
		if size := x.size() - exchangeBytes; size > 4*maxPending { // the text may have grown to twice its length
			t.Fatalf("%d bytes are kept", size)
		}
	}
	r.Done("the end", nil)
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.readers) != 1 || !x.readers[0].behind || len(x.text) > 2*maxPending {
		t.Fatalf("%d clients wait for an answer of which %d bytes are kept", len(x.readers), len(x.text))
	}
	if n := underWay(f.conn); n != 1 {
		t.Errorf("%d requests are under way; want the one that is stuck", n)
	}
	return f, client
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
	f, nc := unreadStream(t)
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
