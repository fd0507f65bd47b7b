package api

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"gatewaytui/core/adapter"
	"gatewaytui/fixtures/eventually"
)

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
	ways := map[string]func(context.Context, netip.AddrPort, netip.AddrPort) (adapter.Socket, error){
		"netlink": func(_ context.Context, client, server netip.AddrPort) (adapter.Socket, error) {
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
					if err != nil || s.UID != os.Geteuid() || s.Inode != inodeOf(t, client) {
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
	for name, look := range map[string]func(context.Context, netip.AddrPort, netip.AddrPort) (adapter.Socket, error){"netlink and proc": lookUpSocket, "proc": readNet} {
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
	for name, look := range map[string]func(context.Context, netip.AddrPort, netip.AddrPort) (adapter.Socket, error){"netlink": lookUpSocket, "proc": readNet} {
		if s, err := look(t.Context(), from, at); err != nil || s.Inode != st.Ino || s.UID != os.Geteuid() {
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
		if s, err := parseDiag(b, local, remote); err == nil && s.Inode == 0 {
			t.Errorf("a socket without an owner: %+v", s)
		}
		if s, err := scanNet(t.Context(), strings.NewReader(string(b)), local, remote); err == nil && s.Inode == 0 {
			t.Errorf("a socket without an owner: %+v", s)
		}
	})
}
