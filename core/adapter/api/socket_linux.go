package api

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"gatewaytui/core/adapter"
)

// Sizes and numbers of linux/inet_diag.h and linux/netlink.h (sock_diag(7), netlink(7)).
const (
	nlHeader     = 16 // struct nlmsghdr
	diagID       = 48 // struct inet_diag_sockid
	diagRequest  = 8 + diagID
	diagAnswer   = 4 + diagID + 20
	diagCgroupID = 21 // INET_DIAG_CGROUP_ID, since Linux 5.9
	loopback     = 1  // the interface over which a machine talks to itself; its number is fixed
)

// The states in which a client's socket can be while our end has the connection. SYN_SENT is not one of them: such a socket
// has the addresses of a connection, but is not the one that we accepted. TIME_WAIT has no owner any more.
const clientStates = 1<<unix.BPF_TCP_ESTABLISHED | 1<<unix.BPF_TCP_FIN_WAIT1 | 1<<unix.BPF_TCP_FIN_WAIT2 | 1<<unix.BPF_TCP_CLOSE_WAIT |
	1<<unix.BPF_TCP_CLOSING | 1<<unix.BPF_TCP_LAST_ACK

// lookUpSocket asks the kernel for the socket with the local address client and the remote address server: by netlink, which
// finds it by its addresses, or by /proc/net/tcp where netlink is not to be had (a seccomp filter, a kernel without
// tcp_diag). The error is errNoSocket if there is none that has an owner.
func lookUpSocket(ctx context.Context, client, server netip.AddrPort) (adapter.Socket, error) {
	s, err := diagnose(client, server)
	switch {
	case err == nil:
		diagWorks.Store(true)
		return s, nil
	case !errors.Is(err, errNoSocket):
		return readNet(ctx, client, server)
	case diagWorks.Load():
		return adapter.Socket{}, err
	}
	// A kernel without tcp_diag says the same. It would also not know our own end.
	if _, own := diagnose(server, client); own == nil {
		diagWorks.Store(true)
		return adapter.Socket{}, err
	}
	return readNet(ctx, client, server)
}

// diagWorks says that netlink has found a socket. From then on the table in /proc, which takes milliseconds to read where there
// are many sockets, is not read for a client that has gone.
var diagWorks atomic.Bool

// diagnose asks by netlink. It never waits: the kernel answers within the call that sends the request.
func diagnose(local, remote netip.AddrPort) (adapter.Socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return adapter.Socket{}, fmt.Errorf("open a netlink socket: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, diagRequestOf(local, remote), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return adapter.Socket{}, fmt.Errorf("ask the kernel for a socket: %w", err)
	}
	var buf [4 << 10]byte
	n, from, err := unix.Recvfrom(fd, buf[:], 0)
	if err != nil {
		return adapter.Socket{}, fmt.Errorf("ask the kernel for a socket: %w", err)
	}
	if at, ok := from.(*unix.SockaddrNetlink); !ok || at.Pid != 0 {
		return adapter.Socket{}, errors.New("ask the kernel for a socket: the answer is not the kernel's")
	}
	return parseDiag(buf[:n], local, remote)
}

// diagRequestOf is the request for the TCP socket with these addresses (struct inet_diag_req_v2).
func diagRequestOf(local, remote netip.AddrPort) []byte {
	b := make([]byte, nlHeader+diagRequest)
	native := binary.NativeEndian
	native.PutUint32(b, uint32(len(b)))
	native.PutUint16(b[4:], unix.SOCK_DIAG_BY_FAMILY)
	native.PutUint16(b[6:], unix.NLM_F_REQUEST)
	req := b[nlHeader:]
	req[0] = unix.AF_INET6
	if local.Addr().Is4() && remote.Addr().Is4() {
		req[0] = unix.AF_INET
	}
	req[1] = unix.IPPROTO_TCP
	native.PutUint32(req[4:], clientStates)
	id := req[8:]
	binary.BigEndian.PutUint16(id, local.Port())
	binary.BigEndian.PutUint16(id[2:], remote.Port())
	copy(id[4:20], local.Addr().AsSlice())
	copy(id[20:36], remote.Addr().AsSlice())
	// With an interface the kernel finds sockets that are bound to it (SO_BINDTODEVICE) and those that are bound to none.
	native.PutUint32(id[36:], interfaceOf(local.Addr()))
	native.PutUint64(id[40:], ^uint64(0)) // INET_DIAG_NOCOOKIE, twice
	return b
}

// interfaceOf is the number of the interface that a is reached over on this machine.
func interfaceOf(a netip.Addr) uint32 {
	if zone := a.Zone(); zone != "" {
		if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
			return uint32(n)
		}
		if i, err := net.InterfaceByName(zone); err == nil {
			return uint32(i.Index)
		}
	}
	return loopback
}

var errDiag = errors.New("the kernel's answer about a socket cannot be read")

// parseDiag reads the kernel's answer (struct inet_diag_msg and its attributes). It must be about the requested addresses:
// if there is no such connection, the kernel answers with a socket that listens there.
func parseDiag(b []byte, local, remote netip.AddrPort) (adapter.Socket, error) {
	native := binary.NativeEndian
	if len(b) < nlHeader || int(native.Uint32(b)) < nlHeader || int(native.Uint32(b)) > len(b) {
		return adapter.Socket{}, errDiag
	}
	kind, msg := native.Uint16(b[4:]), b[nlHeader:native.Uint32(b)]
	switch {
	case kind == unix.NLMSG_ERROR && len(msg) >= 4:
		errno := unix.Errno(-int32(native.Uint32(msg)))
		if errno == unix.ENOENT {
			return adapter.Socket{}, errNoSocket
		}
		return adapter.Socket{}, fmt.Errorf("ask the kernel for a socket: %w", errno)
	case kind != unix.SOCK_DIAG_BY_FAMILY || len(msg) < diagAnswer:
		return adapter.Socket{}, errDiag
	}
	id := msg[4:]
	at := func(port, addr []byte) netip.AddrPort {
		n := 16
		if msg[0] == unix.AF_INET {
			n = 4
		}
		a, _ := netip.AddrFromSlice(addr[:n])
		return netip.AddrPortFrom(a.Unmap(), binary.BigEndian.Uint16(port))
	}
	noZone := func(p netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(p.Addr().WithZone(""), p.Port()) }
	if at(id, id[4:20]) != noZone(local) || at(id[2:], id[20:36]) != noZone(remote) || msg[1] > 31 || clientStates&(1<<msg[1]) == 0 {
		return adapter.Socket{}, errNoSocket
	}
	rest := msg[4+diagID:]
	s := adapter.Socket{UID: int(native.Uint32(rest[12:])), Inode: uint64(native.Uint32(rest[16:]))}
	if s.Inode == 0 {
		return adapter.Socket{}, errNoSocket // the socket has no owner any more, and its uid means nothing
	}
	for attrs := msg[diagAnswer:]; len(attrs) >= 4; {
		n := int(native.Uint16(attrs))
		if n < 4 || n > len(attrs) {
			break
		}
		if native.Uint16(attrs[2:]) == diagCgroupID && n >= 12 {
			s.Group = native.Uint64(attrs[4:])
		}
		attrs = attrs[min((n+3)&^3, len(attrs)):]
	}
	return s, nil
}
