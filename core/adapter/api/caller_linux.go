package api

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"gatewaytui/core/adapter"
)

var errClosed = errors.New("the connection was closed meanwhile")

// clientOf asks the kernel for the socket at the other end of nc.
func clientOf(ctx context.Context, nc net.Conn) (adapter.Socket, error) {
	client, server, ok := endsOf(nc)
	if !ok {
		return adapter.Socket{}, errNoSocket
	}
	s, err := lookUpSocket(ctx, client, server)
	if err == nil && !connected(nc) {
		// The client's address is its own only while our end of the connection is there. After that another program can
		// have it, and connect to us from it.
		return adapter.Socket{}, errClosed
	}
	return s, err
}

// endsOf are the addresses of the client and of our end of nc, mapped IPv4 addresses as IPv4.
func endsOf(nc net.Conn) (client, server netip.AddrPort, ok bool) {
	plain := func(a net.Addr) (netip.AddrPort, bool) {
		at, ok := a.(*net.TCPAddr)
		if !ok {
			return netip.AddrPort{}, false
		}
		p := at.AddrPort()
		return netip.AddrPortFrom(p.Addr().Unmap(), p.Port()), p.IsValid()
	}
	client, clientOK := plain(nc.RemoteAddr())
	server, serverOK := plain(nc.LocalAddr())
	return client, server, clientOK && serverOK
}

// connected reports whether our end of nc still holds its addresses: it is open, or half closed by the client.
func connected(nc net.Conn) bool {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	holds := false
	err = raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		holds = err == nil && (info.State == unix.BPF_TCP_ESTABLISHED || info.State == unix.BPF_TCP_CLOSE_WAIT)
	})
	return err == nil && holds
}

// unmapped reports whether uid stands for those that have no number in our user namespace.
func unmapped(uid int) bool { return uid == overflowUID() && !allMapped() }

// overflowUID is the uid that the kernel shows for those which have no number in our user namespace (user_namespaces(7)).
var overflowUID = sync.OnceValue(func() int {
	b, _ := os.ReadFile("/proc/sys/kernel/overflowuid")
	if n, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
		return n
	}
	return 65534 // the kernel's default
})

// allMapped reports whether every uid has a number in our user namespace, so that the overflow uid is that of a real user.
var allMapped = sync.OnceValue(func() bool {
	b, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && mapsAll(string(b))
})

// mapsAll reads the content of a uid_map: first uid inside, first uid outside, how many (user_namespaces(7)).
func mapsAll(uidMap string) bool {
	const every = 1<<32 - 1
	fields := strings.Fields(uidMap)
	return len(fields) == 3 && fields[0] == "0" && fields[2] == strconv.Itoa(every)
}
