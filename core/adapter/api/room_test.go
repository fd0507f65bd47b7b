package api

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/fixtures/pipenet"
)

// fewConns is the bound on connections in the tests of this file.
const fewConns = 8

// ask sends a request over nc and reads the answer. The connection stays.
func ask(t *testing.T, nc net.Conn, request string) *http.Response {
	t.Helper()
	send(t, nc, request)
	resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp
}

// answered reads the answer that comes over nc.
func answered(t *testing.T, nc net.Conn) answer {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, body}
}

// isOpen reports whether the server still holds its end of nc.
func isOpen(nc net.Conn) bool {
	synctest.Wait()
	if err := nc.SetReadDeadline(time.Now().Add(time.Nanosecond)); err != nil {
		return false
	}
	_, err := nc.Read(make([]byte, 1))
	return !errors.Is(err, io.EOF)
}

const healthRequest = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"

// HF11: for any state of the connections that are held, the next client is answered at once, and the connection that was quiet
// longest makes room for it.
func TestHF11_AFullListenerMakesRoomForANewClient(t *testing.T) {
	for name, hold := range map[string]func(t *testing.T, nc net.Conn){
		"idle after a request":   func(t *testing.T, nc net.Conn) { ask(t, nc, raw(saying("hi"))) },
		"without a byte":         func(*testing.T, net.Conn) {},
		"with half a header":     func(t *testing.T, nc net.Conn) { send(t, nc, "POST /v1/chat") },
		"with a body that stops": func(t *testing.T, nc net.Conn) { send(t, nc, raw(saying("a long message"))[:170]) },
		"with a body that is not read": func(t *testing.T, nc net.Conn) {
			send(t, nc, "POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
		},
	} {
		t.Run(name, func(t *testing.T) {
			virtualRoom(t, Options{Model: "agent"}, fewConns, echo, func(t *testing.T, c *conn, dial func() net.Conn) {
				var held []net.Conn
				for range fewConns {
					nc := dial()
					hold(t, nc)
					held = append(held, nc)
					synctest.Wait()
					time.Sleep(time.Millisecond)
				}
				began := time.Now()
				nc := dial()
				if resp := ask(t, nc, raw(saying("hi"))); resp.StatusCode != http.StatusOK {
					t.Errorf("answered %s", resp.Status)
				}
				if took := time.Since(began); took > 100*time.Millisecond {
					t.Errorf("the new client waited %s", took)
				}
				if isOpen(held[0]) {
					t.Error("the connection that was quiet longest is still open")
				}
				if !isOpen(held[1]) && name != "with a body that is not read" {
					t.Error("more than one connection was closed")
				}
				if n := c.platform.closedForRoom.Load(); n != 1 {
					t.Errorf("%d connections were counted as closed to make room, want 1", n)
				}
			})
		})
	}
}

func TestHF11_AConnectionThatIsServedIsNotClosedToMakeRoom(t *testing.T) {
	take, held := holds()
	virtualRoom(t, Options{Model: "agent"}, fewConns, take, func(t *testing.T, _ *conn, dial func() net.Conn) {
		first := make(chan int, fewConns) // the status codes; 0: no answer
		for range fewConns {
			nc := dial()
			send(t, nc, raw(saying("hi")))
			go func() {
				resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
				if err != nil {
					first <- 0
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				first <- resp.StatusCode
			}()
		}
		synctest.Wait()
		next := dial()
		answered := make(chan *http.Response, 1)
		go func() { answered <- ask(t, next, healthRequest) }()
		time.Sleep(time.Minute)
		select {
		case <-answered:
			t.Error("there was room for one more")
		default:
		}
		(<-held).Done("done", nil)
		if resp := <-answered; resp.StatusCode != http.StatusOK {
			t.Errorf("answered %s", resp.Status)
		}
		for range fewConns - 1 {
			(<-held).Done("done", nil)
		}
		for range fewConns {
			if status := <-first; status != http.StatusOK {
				t.Errorf("a request that was under way got %d", status)
			}
		}
	})
}

// Above three quarters a connection is idle for 5 s at most, and one whose request needed no key is closed with the answer.
func TestHF11_WhereConnectionsAreShortAnIdleOneEndsSoon(t *testing.T) {
	for _, tc := range []struct {
		n     int
		short bool
	}{{fewConns * 3 / 4, false}, {fewConns*3/4 + 1, true}} {
		t.Run(fmt.Sprintf("%d of %d", tc.n, fewConns), func(t *testing.T) {
			virtualRoom(t, Options{Model: "agent"}, fewConns, echo, func(t *testing.T, _ *conn, dial func() net.Conn) {
				var all []net.Conn
				for range tc.n {
					all = append(all, dial())
				}
				for _, nc := range all[1:] {
					ask(t, nc, raw(saying("hi")))
				}
				if resp := ask(t, all[0], healthRequest); resp.Close != tc.short {
					t.Errorf("/health closes the connection: %v", resp.Close)
				}
				time.Sleep(shortIdle - time.Second)
				ask(t, all[1], raw(saying("again")))
				time.Sleep(2 * time.Second)
				open := 0
				for _, nc := range all {
					if isOpen(nc) {
						open++
					}
				}
				// In the short listener the one that /health closed leaves three quarters, which are not short.
				if want := fewConns * 3 / 4; open != want {
					t.Errorf("%d connections are open, want %d", open, want)
				}
			})
		})
	}
	t.Run("all idle", func(t *testing.T) {
		virtualRoom(t, Options{Model: "agent"}, fewConns, echo, func(t *testing.T, c *conn, dial func() net.Conn) {
			for range fewConns {
				ask(t, dial(), raw(saying("hi")))
			}
			room := c.listener
			time.Sleep(shortIdle - time.Second)
			if !room.short() {
				t.Error("connections were closed early")
			}
			time.Sleep(2 * time.Second)
			if room.short() {
				t.Error("connections are still short after an idle time of 5 s")
			}
		})
	})
}

// dialFrom connects to l from an address. It returns once l has accepted.
func dialFrom(t *testing.T, l *pipenet.Listener, ip string) net.Conn {
	client, err := l.DialFrom(t.Context(), &net.TCPAddr{IP: net.ParseIP(ip), Port: 1})
	if err != nil {
		t.Error(err)
		return nil
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// HF11: an address that is not loopback has half of the room, in place of whose connections its own next one comes.
func TestHF11_OneAddressHasHalfOfTheRoom(t *testing.T) {
	for _, tc := range []struct {
		name, first, second string
		same                bool
	}{
		{"one IPv4 address", "192.0.2.1", "192.0.2.1", true},
		{"two IPv4 addresses", "192.0.2.1", "192.0.2.2", false},
		{"an IPv4 address in both its forms", "192.0.2.1", "::ffff:192.0.2.1", true},
		{"two addresses of an IPv6 network", "2001:db8:1:2::1", "2001:db8:1:2:3::4", true},
		{"two IPv6 networks", "2001:db8:1:2::1", "2001:db8:1:3::1", false},
		{"loopback", "127.0.0.1", "127.0.0.1", false},
		{"loopback of IPv6", "::1", "::1", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := pipenet.Listen()
			var closed atomic.Uint64
			room := newLimited(l, fewConns, &closed, func() {})
			defer room.Close()
			accept := func(ip string) net.Conn {
				go dialFrom(t, l, ip)
				nc, err := room.Accept()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { nc.Close() })
				return nc
			}
			for range fewConns / 2 {
				accept(tc.first)
			}
			accept(tc.second)
			if got := closed.Load() == 1; got != tc.same {
				t.Errorf("%d connections were closed for the next one, want that: %v", closed.Load(), tc.same)
			}
		})
	}
}

func TestHF11_AnAddressWhoseShareIsServedGetsNoMore(t *testing.T) {
	l := pipenet.Listen()
	var closed atomic.Uint64
	room := newLimited(l, 2, &closed, func() {})
	defer room.Close()
	var clients []net.Conn
	dial := func(ip string) { clients = append(clients, dialFrom(t, l, ip)) }
	var all sync.WaitGroup
	all.Go(func() { dial("192.0.2.1") })
	nc, err := room.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	all.Wait()
	nc.(*counted).become(connBusy)
	all.Go(func() { dial("192.0.2.1"); dial("192.0.2.2") })
	other, err := room.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	all.Wait()
	if at := netip.MustParseAddrPort(other.RemoteAddr().String()).Addr().String(); at != "192.0.2.2" {
		t.Errorf("the second connection is from %s", at)
	}
	if _, err := clients[1].Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection over the share: %v, want its end", err)
	}
}
