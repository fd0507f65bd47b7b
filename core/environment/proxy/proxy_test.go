package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gatewaytui/core/environment/proxy/hosts"
	"gatewaytui/fixtures/eventually"
)

// world is a made-up internet: names with addresses of the public internet, of which every port leads to one server.
type world struct {
	mu     sync.Mutex
	names  map[string][]string
	server *httptest.Server
	dialed []netip.AddrPort
	asked  []string
}

func newWorld(t testing.TB, tls bool) *world {
	t.Helper()
	w := &world{names: map[string][]string{
		"pypi.org": {"151.101.0.223"}, "api.github.com": {"140.82.112.6"}, "evil.example": {"93.184.215.14"},
		"inside.example": {"10.0.0.1"}, "both.example": {"93.184.215.14", "127.0.0.1"}, "meta.example": {"169.254.169.254"}, "none.example": {},
	}}
	handler := http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		out.Header().Set("X-Served", "yes")
		fmt.Fprintf(out, "%s %s %s%s %q", r.Method, r.Host, r.URL, body, r.Header["Proxy-Authorization"])
	})
	if tls {
		w.server = httptest.NewTLSServer(handler)
	} else {
		w.server = httptest.NewServer(handler)
	}
	t.Cleanup(w.server.Close)
	return w
}

func (w *world) resolve(_ context.Context, name string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, name)
	texts, ok := w.names[name]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	var out []netip.Addr
	for _, text := range texts {
		out = append(out, netip.MustParseAddr(text))
	}
	return out, nil
}

func (w *world) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	w.dialed = append(w.dialed, to)
	w.mu.Unlock()
	return new(net.Dialer).DialContext(ctx, "tcp", w.server.Listener.Addr().String())
}

// connections are the addresses that were dialled so far.
func (w *world) connections() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Trim(fmt.Sprint(w.dialed), "[]")
}

// open serves a proxy on an address of this machine. change may change its options.
func (w *world) open(t testing.TB, change func(*Options)) (p *Proxy, address string) {
	t.Helper()
	listed, err := hosts.Parse([]string{"pypi.org", "*.github.com", "both.example", "inside.example", "meta.example", "none.example", "unknown.example", "10.0.0.5:8080", "127.0.0.1:8642"})
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Hosts: listed, Key: "environments.box.network", Resolve: w.resolve, Dial: w.dial, OwnPorts: []uint16{8642}}
	if change != nil {
		change(&opts)
	}
	p = newProxy(opts)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = p.server.Serve(&bounded{Listener: l, proxy: p}) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			t.Error(err)
		}
		<-done
	})
	return p, l.Addr().String()
}

// say sends raw bytes and returns the first answer, with the body of an error.
func say(t testing.TB, address, raw string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(conn, raw); err != nil {
		t.Fatal(err)
	}
	head := bufio.NewReader(conn)
	answer, err := http.ReadResponse(head, nil)
	if err != nil {
		return "closed"
	}
	defer answer.Body.Close()
	if answer.StatusCode == 200 && answer.ContentLength < 0 && len(answer.TransferEncoding) == 0 {
		return answer.Status
	}
	body, _ := io.ReadAll(answer.Body)
	return answer.Status + ": " + strings.TrimSpace(string(body))
}

func TestTR6_OnlyHostsOfTheListAreReached(t *testing.T) {
	for _, tt := range []struct{ name, request, answer, dialed string }{
		{"a listed name by CONNECT", "CONNECT pypi.org:443 HTTP/1.1\r\nHost: pypi.org:443\r\n\r\n", "200 Connection established", "151.101.0.223:443"},
		{"a listed name by its whole address", "GET http://pypi.org/simple HTTP/1.1\r\nHost: pypi.org\r\n\r\n", "200 OK: GET pypi.org /simple []", "151.101.0.223:80"},
		{"a name below a listed one", "GET http://api.github.com/x HTTP/1.1\r\nHost: api.github.com\r\n\r\n", "200 OK: GET api.github.com /x []", "140.82.112.6:80"},
		{"an address that the list names", "CONNECT 10.0.0.5:8080 HTTP/1.1\r\n\r\n", "200 Connection established", "10.0.0.5:8080"},
		{"an unlisted name", "CONNECT evil.example:443 HTTP/1.1\r\n\r\n", "403 the host evil.example is not on the list of this environment; its owner can add it to environments.box.network", ""},
		{"an unlisted name by its whole address", "GET http://evil.example/ HTTP/1.1\r\nHost: pypi.org\r\n\r\n", "403 the host evil.example is not on the list", ""},
		{"another port of a listed name", "CONNECT pypi.org:22 HTTP/1.1\r\n\r\n", "403 the host pypi.org:22 is not on the list", ""},
		{"an address of a listed name", "CONNECT 151.101.0.223:443 HTTP/1.1\r\n\r\n", "403 the host 151.101.0.223 is not on the list", ""},
		{"the loopback address", "CONNECT 127.0.0.1:443 HTTP/1.1\r\n\r\n", "403 the host 127.0.0.1 is not on the list", ""},
		{"the loopback address of IPv6", "CONNECT [::1]:443 HTTP/1.1\r\n\r\n", "403 the host [::1] is not on the list", ""},
		{"the loopback address as a number", "CONNECT 2130706433:443 HTTP/1.1\r\n\r\n", "400 ", ""},
		{"the loopback address in short", "CONNECT 127.1:443 HTTP/1.1\r\n\r\n", "400 ", ""},
		{"a listed name with a private address", "CONNECT inside.example:443 HTTP/1.1\r\n\r\n", "403 inside.example has the private address 10.0.0.1", ""},
		{"a listed name with a private address by its whole address", "GET http://inside.example/ HTTP/1.1\r\nHost: x\r\n\r\n", "403 inside.example has the private address 10.0.0.1", ""},
		{"a listed name with one private address of two", "CONNECT both.example:443 HTTP/1.1\r\n\r\n", "403 both.example has the private address 127.0.0.1", ""},
		{"a listed name of a cloud's metadata", "GET http://meta.example/latest HTTP/1.1\r\nHost: x\r\n\r\n", "403 meta.example has the private address 169.254.169.254", ""},
		{"a port of the gateway, even if it is listed", "GET http://127.0.0.1:8642/v1/models HTTP/1.1\r\nHost: x\r\n\r\n", "403 the gateway itself answers there", ""},
		{"a listed name without an address", "CONNECT none.example:443 HTTP/1.1\r\n\r\n", "502 Bad Gateway: the host cannot be reached: look up none.example: it has no address", ""},
		{"a listed name that does not exist", "CONNECT unknown.example:443 HTTP/1.1\r\n\r\n", "502 Bad Gateway: the host cannot be reached: look up unknown.example", ""},

		{"CONNECT with a user", "CONNECT pypi.org:443@evil.example:443 HTTP/1.1\r\n\r\n", "400 ", ""},
		{"CONNECT with a listed name as the user", "CONNECT pypi.org@evil.example:443 HTTP/1.1\r\n\r\n", "400 ", ""},
		{"CONNECT with a path", "CONNECT pypi.org:443/x HTTP/1.1\r\n\r\n", "400 ", ""},
		{"CONNECT to a whole address", "CONNECT http://pypi.org:443 HTTP/1.1\r\n\r\n", "400 ", ""},
		{"CONNECT without a port", "CONNECT pypi.org HTTP/1.1\r\n\r\n", "400 ", ""},
		{"CONNECT with an encoded dot", "CONNECT pypi%2eorg:443 HTTP/1.1\r\n\r\n", "400 ", ""},
		{"CONNECT with letters outside of ASCII", "CONNECT pypı.org:443 HTTP/1.1\r\n\r\n", "400 ", ""},
		{"CONNECT with a dot of another script", "CONNECT pypi。org:443 HTTP/1.1\r\n\r\n", "400 ", ""},
		{"CONNECT with a zero byte", "CONNECT pypi.org\x00.evil.example:443 HTTP/1.1\r\n\r\n", "400 ", ""},
		{"CONNECT with a zone", "CONNECT [fe80::1%25eth0]:443 HTTP/1.1\r\n\r\n", "400 ", ""},
		{"CONNECT with a final dot", "CONNECT pypi.org.:443 HTTP/1.1\r\n\r\n", "200 Connection established", "151.101.0.223:443"},
		{"CONNECT with two final dots", "CONNECT pypi.org..:443 HTTP/1.1\r\n\r\n", "400 ", ""},
		{"CONNECT whose Host is a listed name", "CONNECT evil.example:443 HTTP/1.1\r\nHost: pypi.org:443\r\n\r\n", "403 the host evil.example is not", ""},
		{"a user in the address", "GET http://pypi.org@evil.example/ HTTP/1.1\r\nHost: pypi.org\r\n\r\n", "400 ", ""},
		{"a backslash in the address", "GET http://evil.example\\@pypi.org/ HTTP/1.1\r\nHost: x\r\n\r\n", "400", ""},
		{"https as the scheme", "GET https://pypi.org/ HTTP/1.1\r\nHost: pypi.org\r\n\r\n", "400 ", ""},
		{"another scheme", "GET ftp://pypi.org/ HTTP/1.1\r\nHost: pypi.org\r\n\r\n", "400 ", ""},
		{"a path alone", "GET / HTTP/1.1\r\nHost: pypi.org\r\n\r\n", "400 ", ""},
		{"a path with two slashes", "GET //pypi.org/ HTTP/1.1\r\nHost: pypi.org\r\n\r\n", "400 ", ""},
		{"a Host header that differs", "GET http://pypi.org/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", "200 OK: GET pypi.org / []", "151.101.0.223:80"},
		{"two Host headers", "GET http://pypi.org/ HTTP/1.1\r\nHost: pypi.org\r\nHost: evil.example\r\n\r\n", "400", ""},
		{"two lengths", "POST http://pypi.org/ HTTP/1.1\r\nHost: pypi.org\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "400", ""},
		{"a length and chunks: the chunks count", "POST http://pypi.org/ HTTP/1.1\r\nHost: pypi.org\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "200 OK: POST pypi.org /hello []", "151.101.0.223:80"},
		{"a space before a colon", "GET http://pypi.org/ HTTP/1.1\r\nHost: pypi.org\r\nX : y\r\n\r\n", "400", ""},
		{"credentials for the proxy go no further", "GET http://pypi.org/ HTTP/1.1\r\nHost: pypi.org\r\nProxy-Authorization: Basic eDp5\r\n\r\n", "200 OK: GET pypi.org / []", "151.101.0.223:80"},
		{"an upgrade is an ordinary request", "GET http://pypi.org/ HTTP/1.1\r\nHost: pypi.org\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "200 OK: GET pypi.org / []", "151.101.0.223:80"},
		{"a header that is too large", "GET http://pypi.org/ HTTP/1.1\r\nHost: pypi.org\r\nX: " + strings.Repeat("y", 2*headerMost) + "\r\n\r\n", "431", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, false)
			_, address := w.open(t, nil)
			if got := say(t, address, tt.request); !strings.HasPrefix(got, tt.answer) {
				t.Errorf("answered %q, want %q", got, tt.answer)
			}
			if got := w.connections(); got != tt.dialed {
				t.Errorf("connected to %q, want %q", got, tt.dialed)
			}
		})
	}
}

func TestTR6_TheAddressThatWasCheckedIsDialled(t *testing.T) {
	w := newWorld(t, false)
	_, address := w.open(t, func(o *Options) {
		o.Resolve = func(ctx context.Context, name string) ([]netip.Addr, error) {
			addrs, err := w.resolve(ctx, name)
			w.mu.Lock()
			w.names[name] = []string{"127.0.0.1"} // the next answer of a server that rebinds
			w.mu.Unlock()
			return addrs, err
		}
	})
	if got := say(t, address, "CONNECT pypi.org:443 HTTP/1.1\r\n\r\n"); !strings.HasPrefix(got, "200") {
		t.Errorf("the first is answered %s", got)
	}
	if got := say(t, address, "CONNECT pypi.org:443 HTTP/1.1\r\n\r\n"); !strings.HasPrefix(got, "403 pypi.org has the private address 127.0.0.1") {
		t.Errorf("the second is answered %s", got)
	}
	if got := w.connections(); got != "151.101.0.223:443" {
		t.Errorf("dialled %s", got)
	}
}

func TestTR6_AnUnlistedHostIsAskedFor(t *testing.T) {
	w := newWorld(t, false)
	var asked []string
	p, address := w.open(t, func(o *Options) {
		o.Ask = func(_ context.Context, host string) error {
			if asked = append(asked, host); host != "evil.example" {
				return errors.New("a person denied it")
			}
			return nil
		}
	})
	if got := say(t, address, "CONNECT evil.example:443 HTTP/1.1\r\n\r\n"); !strings.HasPrefix(got, "200") {
		t.Errorf("what a person allows is answered %s", got)
	}
	want := "403 the host evil.example:22 was not allowed: a person denied it"
	if got := say(t, address, "CONNECT evil.example:22 HTTP/1.1\r\n\r\n"); !strings.HasPrefix(got, want) {
		t.Errorf("what a person denies is answered %s", got)
	}
	if got := strings.Join(asked, " "); got != "evil.example evil.example:22" {
		t.Errorf("asked for %s", got)
	}
	row := p.Row()
	if row.Served != 1 || row.Refused != 1 || row.LastHost != "evil.example" || !strings.HasPrefix(want, "403 "+row.LastRefusal) {
		t.Errorf("the row is %+v", row)
	}
}

func TestTR6_ATunnelCopiesBothWaysAndHalfCloses(t *testing.T) {
	w := newWorld(t, false)
	p, address := w.open(t, nil)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// The request goes with the CONNECT, as a client may do that does not wait.
	_, _ = io.WriteString(conn, "CONNECT pypi.org:443 HTTP/1.1\r\n\r\nPOST / HTTP/1.0\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")
	_ = conn.(*net.TCPConn).CloseWrite()
	all, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(all), "HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.0 200 OK") || !strings.HasSuffix(string(all), "POST x /abc []") {
		t.Errorf("%q, %v", all, err)
	}
	eventually.True(t, "the connection is counted and over", func() bool {
		row := p.Row()
		return row.Up == 50 && row.Down > 50 && row.Open == 0
	})
}

func TestTR6_ConnectionsAreBounded(t *testing.T) {
	w := newWorld(t, false)
	p, address := w.open(t, nil)
	var held []net.Conn
	t.Cleanup(func() {
		for _, c := range held {
			c.Close()
		}
	})
	for range connectionsMost {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	eventually.True(t, "every place is taken", func() bool { return p.Row().Open == connectionsMost })
	late, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	_, _ = io.WriteString(late, "GET http://pypi.org/ HTTP/1.0\r\n\r\n")
	_ = late.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := late.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Fatal("one more than the bound is served")
	}
	held[0].Close()
	_ = late.SetReadDeadline(time.Now().Add(5 * time.Second))
	if n, err := late.Read(make([]byte, 1)); n != 1 {
		t.Errorf("with a free place it is not served: %v", err)
	}
}

func TestTR6_ASilentTunnelEnds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		times Times
	}{
		{"without a byte", Times{Idle: 30 * time.Millisecond}},
		{"at the end of its time", Times{Total: 30 * time.Millisecond}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, false)
			p, address := w.open(t, func(o *Options) { o.Times = tt.times })
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "CONNECT pypi.org:443 HTTP/1.1\r\n\r\n")
			_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
			if _, err := io.ReadAll(conn); err != nil && !errors.Is(err, net.ErrClosed) {
				t.Errorf("it was not closed: %v", err)
			}
			eventually.True(t, "its place is free", func() bool { return p.Row().Open == 0 })
		})
	}
}

func TestTR6_CloseEndsWhatHangs(t *testing.T) {
	w := newWorld(t, false)
	stuck := make(chan struct{})
	defer close(stuck)
	var hung atomic.Int32
	p, address := w.open(t, func(o *Options) {
		o.Resolve = func(ctx context.Context, _ string) ([]netip.Addr, error) {
			hung.Add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		o.Ask = func(ctx context.Context, _ string) error {
			hung.Add(1)
			<-ctx.Done()
			return ctx.Err()
		}
	})
	for _, raw := range []string{
		"CONNECT pypi.org:443 HTTP/1.1\r\n\r\n", "GET http://pypi.org/ HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT ask.example:443 HTTP/1.1\r\n\r\n",
		"CONNECT 10.0.0.5:8080 HTTP/1.1\r\n\r\n", "GET",
	} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, raw)
	}
	eventually.True(t, "all wait", func() bool { return hung.Load() == 3 && p.Row().Open == 5 && w.connections() != "" })
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := p.Close(ctx); err != nil {
		t.Error(err)
	}
}

// The proxy connects to nothing but what its list names, for any bytes of a client.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		"CONNECT pypi.org:443 HTTP/1.1\r\n\r\n", "GET http://pypi.org/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", "GET http://a@pypi.org/ HTTP/1.0\r\n\r\n",
		"POST http://evil.example/ HTTP/1.1\r\nHost: pypi.org\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nCONNECT evil.example:443 HTTP/1.1\r\n\r\n",
		"CONNECT [::ffff:127.0.0.1]:443 HTTP/1.1\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	w := newWorld(f, false)
	w.names = nil
	listed, err := hosts.Parse([]string{"pypi.org"})
	if err != nil {
		f.Fatal(err)
	}
	_, address := w.open(f, func(o *Options) {
		o.Hosts = listed
		o.Resolve = func(_ context.Context, name string) ([]netip.Addr, error) {
			if name == "pypi.org" {
				return []netip.Addr{netip.MustParseAddr("151.101.0.223")}, nil
			}
			panic("looked up " + name)
		}
		o.Dial = func(_ context.Context, to netip.AddrPort) (net.Conn, error) {
			if to != netip.MustParseAddrPort("151.101.0.223:443") && to != netip.MustParseAddrPort("151.101.0.223:80") {
				panic("dialled " + to.String())
			}
			return nil, errors.New("far away")
		}
	})
	f.Fuzz(func(t *testing.T, raw []byte) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		_, _ = conn.Write(raw)
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
	})
}
