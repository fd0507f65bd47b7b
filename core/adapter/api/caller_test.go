package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
)

// startAs is start with a kernel that says who asks.
func startAs(t testing.TB, o Options, r *toolGateway, kernel func() (socket, error)) *fixture {
	t.Helper()
	return startWith(t, o, &r.gateway, r, func(p *Platform) {
		p.lookUp = func(context.Context, net.Conn) (socket, error) { return kernel() }
	})
}

// toolGateway is a gateway that knows its tools.
type toolGateway struct {
	gateway
	asked atomic.Int64
	tool  func(adapter.Socket) (string, bool, error)

	refused []string // guarded by gateway.mu; who and what was recorded for the audit
}

func (g *toolGateway) ToolRefused(by ops.Actor, call string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refused = append(g.refused, fmt.Sprint(by.Via, " uid ", by.UID, " tool ", by.Tool, " ", by.Session, ": ", call))
}

func (g *toolGateway) ToolSocket(_ context.Context, s adapter.Socket) (string, bool, error) {
	g.asked.Add(1)
	if g.tool == nil {
		return "", false, nil
	}
	return g.tool(s)
}

var localKey = Options{LocalKey: "the-local-key-0123456789", LocalKeyFile: "/home/of/gateway/api.key"}

func TestHF1_WithoutAKeyInTheConfigTheUIDDecides(t *testing.T) {
	us := os.Geteuid()
	other := us + 1000
	const right, wrong = "Bearer the-local-key-0123456789", "Bearer sk-anything"
	for _, tt := range []struct {
		name   string
		socket socket
		err    error
		key    string
		code   string // of the refusal; empty: served
		by     ops.Caller
		says   string
	}{
		{name: "our own user", socket: socket{uid: us, inode: 1}, by: ops.Caller{UID: us, By: ops.ByKernel}},
		{name: "our own user with a key that means nothing", socket: socket{uid: us, inode: 1}, key: wrong, by: ops.Caller{UID: us, By: ops.ByKernel}},
		{name: "our own user with the key", socket: socket{uid: us, inode: 1}, key: right, by: ops.Caller{UID: us, By: ops.ByKey}},
		{name: "root", socket: socket{uid: 0, inode: 1}, by: ops.Caller{UID: 0, By: ops.ByKernel}},
		{name: "another user", socket: socket{uid: other, inode: 1}, code: "missing_api_key", says: "/home/of/gateway/api.key"},
		{name: "another user with another key", socket: socket{uid: other, inode: 1}, key: wrong, code: "invalid_api_key", says: "/home/of/gateway/api.key"},
		{name: "another user with the key", socket: socket{uid: other, inode: 1}, key: right, by: ops.Caller{UID: other, By: ops.ByKey}},
		{name: "a socket that is gone", err: errNoSocket, code: "missing_api_key", says: "/home/of/gateway/api.key"},
		{name: "a socket that is gone, with the key", err: errNoSocket, key: right, by: ops.Caller{UID: -1, By: ops.ByKey}},
		{name: "a kernel that does not answer", err: context.DeadlineExceeded, code: "missing_api_key", says: "deadline"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &toolGateway{gateway: gateway{take: echo}}
			f := startAs(t, localKey, r, func() (socket, error) { return tt.socket, tt.err })
			a := f.chat(saying("hi"), "Authorization", tt.key)
			if tt.code != "" {
				e := a.refused(t, http.StatusUnauthorized, tt.code)
				if !strings.Contains(*e.Message, tt.says) || strings.Contains(*e.Message, localKey.LocalKey) {
					t.Errorf("the message is %q", *e.Message)
				}
				if n := len(r.messages()); n != 0 {
					t.Errorf("the gateway got %d messages", n)
				}
				f.do(f.request(http.MethodGet, "/v1/models", "", "Authorization", tt.key)).refused(t, http.StatusUnauthorized, tt.code)
				return
			}
			a.whole(t)
			if got := r.messages()[0].Caller; got != tt.by {
				t.Errorf("the message came from %+v, want %+v", got, tt.by)
			}
		})
	}
}

func TestHF1_WithoutAKeyForOthersTheErrorSaysSo(t *testing.T) {
	r := &toolGateway{gateway: gateway{take: echo}}
	f := startAs(t, Options{LocalKeyFile: "/the/api.key"}, r, func() (socket, error) { return socket{uid: os.Geteuid() + 1, inode: 1}, nil })
	e := f.chat(saying("hi"), "Authorization", "Bearer ").refused(t, http.StatusUnauthorized, "missing_api_key")
	if !strings.Contains(*e.Message, "/the/api.key") {
		t.Errorf("the message is %q", *e.Message)
	}
	f.chat(saying("hi"), "Authorization", "Bearer x").refused(t, http.StatusUnauthorized, "invalid_api_key")
}

func TestHF1_TheCallerIsLookedUpOncePerConnection(t *testing.T) {
	var looked atomic.Int64
	r := &toolGateway{gateway: gateway{take: echo}}
	f := startAs(t, localKey, r, func() (socket, error) {
		looked.Add(1)
		return socket{uid: os.Geteuid(), inode: 7}, nil
	})
	f.do(f.request(http.MethodGet, "/health", ""))
	if n := looked.Load(); n != 0 {
		t.Errorf("/health looked %d callers up", n)
	}
	for range 5 {
		f.chat(saying("hi")).whole(t)
	}
	if looked.Load() != 1 || r.asked.Load() != 1 {
		t.Errorf("five requests over one connection cost %d looks at the kernel and %d at the processes", looked.Load(), r.asked.Load())
	}
	f.client.CloseIdleConnections()
	f.chat(saying("hi")).whole(t)
	if looked.Load() != 2 {
		t.Errorf("a second connection was looked up %d times", looked.Load()-1)
	}
}

func TestHF1_AToolIsRefusedWithAKeyOrWithout(t *testing.T) {
	us := os.Geteuid()
	is := func(adapter.Socket) (string, bool, error) { return "api:user:bob", true, nil }
	for _, tt := range []struct {
		name string
		o    Options
		uid  int
		key  string
	}{
		{"without a key", localKey, us, ""},
		{"with the key of the home", localKey, us, "Bearer the-local-key-0123456789"},
		{"of another user with the key of the home", localKey, us + 1, "Bearer the-local-key-0123456789"},
		{"without the key of the config", Options{Key: "the-key"}, us, ""},
		{"with the key of the config", Options{Key: "the-key"}, us, "Bearer the-key"},
		{"of another user with the key of the config", Options{Key: "the-key"}, us + 1, "Bearer the-key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &toolGateway{gateway: gateway{take: echo}, tool: is}
			f := startAs(t, tt.o, r, func() (socket, error) { return socket{uid: tt.uid, inode: 1}, nil })
			for range 2 {
				e := f.chat(saying("hi"), "Authorization", tt.key).refused(t, http.StatusForbidden, "tool_caller")
				if *e.Type != "permission_error" || !strings.Contains(*e.Message, "api:user:bob") {
					t.Errorf("%s: %s", *e.Type, *e.Message)
				}
			}
			if n := len(r.messages()); n != 0 {
				t.Errorf("the gateway got %d messages", n)
			}
			row := fmt.Sprintf("api uid %d tool true api:user:bob: POST /v1/chat/completions", tt.uid)
			if !slices.Equal(r.refused, []string{row, row}) {
				t.Errorf("recorded for the audit: %q", r.refused)
			}
			if a := f.do(f.request(http.MethodGet, "/health", "")); a.status != http.StatusOK {
				t.Errorf("/health answered %d", a.status)
			}
		})
	}
	t.Run("an unidentified caller needs the key", func(t *testing.T) {
		r := &toolGateway{gateway: gateway{take: echo}, tool: func(adapter.Socket) (string, bool, error) { return "", false, errors.New("no look") }}
		f := startAs(t, localKey, r, func() (socket, error) { return socket{uid: us, inode: 1}, nil })
		f.chat(saying("hi")).refused(t, http.StatusUnauthorized, "missing_api_key")
		f.chat(saying("hi"), "Authorization", "Bearer the-local-key-0123456789").whole(t)
	})
}

func TestTheAnswersOfOneUserAreNotThoseOfAnother(t *testing.T) {
	var uid atomic.Int64
	r := &toolGateway{gateway: gateway{take: echo}}
	f := startAs(t, localKey, r, func() (socket, error) { return socket{uid: int(uid.Load()), inode: 1}, nil })
	send := func(as int) {
		uid.Store(int64(as))
		f.client.CloseIdleConnections()
		f.chat(saying("hi"), "Authorization", "Bearer the-local-key-0123456789", "Idempotency-Key", "once").whole(t)
	}
	send(4001)
	send(4001)
	if n := len(r.messages()); n != 1 {
		t.Errorf("one user's request that is sent again was %d turns", n)
	}
	send(4002)
	if n := len(r.messages()); n != 2 {
		t.Errorf("another user's was %d", n-1)
	}
}

// ends is both ends of a connection to a listener.
func ends(t *testing.T, listen, dial string) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", listen)
	if err != nil {
		t.Skipf("runs where %s can be listened on: %v", listen, err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	client, err = net.Dial("tcp", net.JoinHostPort(dial, port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return client, server
}

func inodeOf(t *testing.T, nc net.Conn) uint64 {
	t.Helper()
	raw, err := nc.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	var statErr error
	if err := errors.Join(raw.Control(func(fd uintptr) { statErr = unix.Fstat(int(fd), &st) }), statErr); err != nil {
		t.Fatal(err)
	}
	return st.Ino
}

func TestTheKernelKnowsTheClientsSocket(t *testing.T) {
	ways := map[string]func(context.Context, netip.AddrPort, netip.AddrPort) (socket, error){
		"netlink": func(_ context.Context, client, server netip.AddrPort) (socket, error) {
			return diagnose(client, server)
		},
		"proc":   readNet,
		"either": lookUpSocket,
	}
	for way, look := range ways {
		for _, tt := range []struct{ name, listen, dial string }{
			{"IPv4", "127.0.0.1:0", "127.0.0.1"},
			{"IPv6", "[::1]:0", "::1"},
			{"IPv4 to a socket of both", "[::]:0", "127.0.0.1"},
		} {
			t.Run(way+" "+tt.name, func(t *testing.T) {
				client, server := ends(t, tt.listen, tt.dial)
				from, to, ok := endsOf(server)
				if !ok {
					t.Fatal("the connection has no addresses")
				}
				check := func(when string) {
					t.Helper()
					s, err := look(t.Context(), from, to)
					if err != nil || s.uid != os.Geteuid() || s.inode != inodeOf(t, client) {
						t.Errorf("%s: %+v, %v; the socket is %d", when, s, err, inodeOf(t, client))
					}
				}
				check("connected")
				if !connected(server) {
					t.Error("the connection is not there")
				}
				if err := client.(*net.TCPConn).CloseWrite(); err != nil {
					t.Fatal(err)
				}
				check("half closed")
				client.Close()
				eventually.True(t, "the client's socket is gone", func() bool {
					_, err := look(t.Context(), from, to)
					return errors.Is(err, errNoSocket)
				})
				server.(*net.TCPConn).SetLinger(0)
				server.Close()
				if connected(server) {
					t.Error("a closed connection is there")
				}
			})
		}
	}
}

// A client that listens where it had connected from leaves a socket that the kernel finds by half of the addresses.
func TestASocketThatListensIsNotTheClient(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := l.Addr().(*net.TCPAddr).AddrPort()
	to := netip.AddrPortFrom(at.Addr(), 1)
	for name, look := range map[string]func(context.Context, netip.AddrPort, netip.AddrPort) (socket, error){"netlink and proc": lookUpSocket, "proc": readNet} {
		if s, err := look(t.Context(), at, to); !errors.Is(err, errNoSocket) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

func TestAClientOfAnIPv6SocketThatTalksIPv4IsKnown(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Skipf("runs where there is IPv6: %v", err)
	}
	defer unix.Close(fd)
	to := &unix.SockaddrInet6{Port: l.Addr().(*net.TCPAddr).Port, Addr: netip.MustParseAddr("::ffff:127.0.0.1").As16()}
	if err := unix.Connect(fd, to); err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		t.Fatal(err)
	}
	from, at, _ := endsOf(server)
	for name, look := range map[string]func(context.Context, netip.AddrPort, netip.AddrPort) (socket, error){"netlink": lookUpSocket, "proc": readNet} {
		if s, err := look(t.Context(), from, at); err != nil || s.inode != st.Ino || s.uid != os.Geteuid() {
			t.Errorf("%s: %+v, %v; the socket is %d", name, s, err, st.Ino)
		}
	}
}

func TestALookUpEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	nowhere := netip.MustParseAddrPort("127.0.0.1:1")
	if _, err := readNet(ctx, nowhere, nowhere); !errors.Is(err, context.Canceled) {
		t.Errorf("the table was read to its end: %v", err)
	}
}

func TestMapsAll(t *testing.T) {
	for _, tt := range []struct {
		name, uidMap string
		want         bool
	}{
		{"the first namespace", "         0          0 4294967295\n", true},
		{"one user as root", "         0       1000          1\n", false},
		{"a container", "         0     100000      65536\n", false},
		{"two ranges", "0 1000 1\n1 100000 65536\n", false},
		{"none yet", "", false},
	} {
		if got := mapsAll(tt.uidMap); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func FuzzTheKernelsAnswer(f *testing.F) {
	local, remote := netip.MustParseAddrPort("127.0.0.1:40000"), netip.MustParseAddrPort("127.0.0.1:8642")
	f.Add(diagRequestOf(local, remote))
	f.Add([]byte("  sl  local_address rem_address   st\n   0: 0100007F:9C40 0100007F:21C2 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := parseDiag(b, local, remote); err == nil && s.inode == 0 {
			t.Errorf("a socket without an owner: %+v", s)
		}
		if s, err := scanNet(t.Context(), strings.NewReader(string(b)), local, remote); err == nil && s.inode == 0 {
			t.Errorf("a socket without an owner: %+v", s)
		}
	})
}
