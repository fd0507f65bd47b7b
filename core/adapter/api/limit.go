package api

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// maxConns bounds the open connections; half of the process's descriptors bound them too, so that clients can never
// take those that the control socket, the store and the tools need (F5).
const maxConns = 4096

// shortIdle is how long a connection may be idle while connections are short, which they are above three quarters of their
// bound (HF11).
const shortIdle = 5 * time.Second

func connLimit() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return maxConns
	}
	return int(min(max(limit.Cur/2, 1), maxConns))
}

// connState is what a connection is doing, as far as it matters for who has to leave when connections run short.
type connState int

const (
	// connIdle: it is between two requests.
	connIdle connState = iota
	// connFresh: no whole header of a request has come yet.
	connFresh
	// connSending: its client sends a body.
	connSending
	// connBusy: its request is being served. It is not closed to make room.
	connBusy
)

// limited is a listener with room for so many connections at once. When they run short it closes connections on which
// nothing happens, the oldest first, so that clients which hold connections keep no other client out (HF11): those that are
// idle, then those whose header is not complete, then those whose body comes most slowly. Only where all connections serve
// requests does the next client wait.
//
// An address that is not loopback has half of the room. What is more has to fit in place of its own connections.
type limited struct {
	net.Listener
	most int
	// closedForRoom counts the connections that were closed to make room.
	closedForRoom *atomic.Uint64
	// ranShort is called, with no lock held, when a connection is closed to make room.
	ranShort func()

	// freed has room for one: a connection was closed, or can be closed now.
	freed  chan struct{}
	closed chan struct{}
	once   sync.Once

	mu    sync.Mutex
	open  int
	hosts map[netip.Prefix]int
	// quiet are the connections that may be closed to make room, by state, the one that was quiet longest first.
	quiet [connBusy][]*counted
	timer *time.Timer // closes what is idle for too long while connections are short
}

func newLimited(l net.Listener, most int, closedForRoom *atomic.Uint64, ranShort func()) *limited {
	return &limited{
		Listener: l, most: most, closedForRoom: closedForRoom, ranShort: ranShort,
		freed: make(chan struct{}, 1), closed: make(chan struct{}), hosts: map[netip.Prefix]int{},
	}
}

// Accept implements net.Listener. The server calls it from one goroutine.
func (l *limited) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &counted{Conn: nc, to: l, host: hostOf(nc.RemoteAddr())}
		in, err := l.admit(c)
		if err != nil {
			nc.Close()
			return nil, err
		}
		if in {
			return c, nil
		}
		nc.Close() // its address has its share
	}
}

// admit makes room for c, for which it waits if there is nothing to close. in is false where the address of c has its share
// of the room, all of it in use.
func (l *limited) admit(c *counted) (in bool, err error) {
	for {
		l.mu.Lock()
		var leaves *counted
		switch {
		case l.full(c.host):
			if leaves = l.quietest(c.host); leaves == nil {
				l.mu.Unlock()
				return false, nil
			}
		case l.open >= l.most:
			leaves = l.quietest(netip.Prefix{})
		}
		if leaves != nil {
			l.leave(leaves)
			l.closedForRoom.Add(1)
		}
		if l.open < l.most {
			l.open++
			l.hosts[c.host]++
			l.wait(c, connFresh)
			l.mu.Unlock()
			if leaves != nil {
				leaves.Conn.Close()
				l.ranShort()
			}
			return true, nil
		}
		l.mu.Unlock()
		select {
		case <-l.freed:
		case <-l.closed:
			return false, net.ErrClosed
		}
	}
}

// full reports whether host has its share. l.mu is held.
func (l *limited) full(host netip.Prefix) bool {
	return host.IsValid() && !host.Addr().IsLoopback() && l.hosts[host] >= max(l.most/2, 1)
}

// quietest is the connection that has to leave first, of host if that is valid; nil if there is none. l.mu is held.
func (l *limited) quietest(host netip.Prefix) *counted {
	for _, quiet := range l.quiet {
		if i := slices.IndexFunc(quiet, func(c *counted) bool { return !host.IsValid() || c.host == host }); i >= 0 {
			return quiet[i]
		}
	}
	return nil
}

// short reports whether connections are short.
func (l *limited) short() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.isShort()
}

// isShort is short with l.mu held.
func (l *limited) isShort() bool { return l.open > l.most-l.most/4 }

// wait makes c the last of those that wait in state. l.mu is held.
func (l *limited) wait(c *counted, state connState) {
	c.state, c.since = state, time.Now()
	l.quiet[state] = append(l.quiet[state], c)
	l.arm()
	l.signal()
}

// arm has the idle connections looked at when the first of them is idle for too long, if connections are short. l.mu is held.
func (l *limited) arm() {
	if idle := l.quiet[connIdle]; l.timer == nil && len(idle) > 0 && l.isShort() {
		l.timer = time.AfterFunc(time.Until(idle[0].since.Add(shortIdle)), l.sweep)
	}
}

// sweep closes the connections that are idle for too long while connections are short.
func (l *limited) sweep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = nil
	select {
	case <-l.closed:
		return
	default:
	}
	for l.isShort() {
		idle := l.quiet[connIdle]
		if len(idle) == 0 || time.Since(idle[0].since) < shortIdle {
			break
		}
		c := idle[0]
		l.leave(c)
		l.closedForRoom.Add(1)
		c.Conn.Close() // it is a close of a socket without unsent data, which does not wait
	}
	l.arm()
}

// leave gives the room of c back. l.mu is held.
func (l *limited) leave(c *counted) {
	if c.left {
		return
	}
	c.left = true
	l.quietNoMore(c)
	l.open--
	if l.hosts[c.host]--; l.hosts[c.host] == 0 {
		delete(l.hosts, c.host)
	}
	l.signal()
}

// quietNoMore takes c out of those that may be closed. l.mu is held.
func (l *limited) quietNoMore(c *counted) {
	if c.state != connBusy {
		l.quiet[c.state] = slices.DeleteFunc(l.quiet[c.state], func(other *counted) bool { return other == c })
	}
}

// signal wakes Accept if it waits for room.
func (l *limited) signal() {
	select {
	case l.freed <- struct{}{}:
	default:
	}
}

// closeFresh closes the connections over which no request has come: http.Server.Shutdown waits 5 s for one, as if a request
// were under way.
func (l *limited) closeFresh() {
	l.mu.Lock()
	fresh := slices.Clone(l.quiet[connFresh])
	l.mu.Unlock()
	for _, c := range fresh {
		c.Close()
	}
}

// Close implements net.Listener. The connections stay.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	l.mu.Lock()
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	l.mu.Unlock()
	return l.Listener.Close()
}

// hostOf is the address that shares one part of the room: an IPv4 address, or the 64 bits of an IPv6 address that a network
// gives to one customer (RFC 6177). It is not valid for an address that is not TCP.
func hostOf(a net.Addr) netip.Prefix {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	return prefixOf(tcp.AddrPort().Addr())
}

func prefixOf(ip netip.Addr) netip.Prefix {
	ip = ip.Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() && !ip.IsLoopback() {
		bits = 64
	}
	p, _ := ip.Prefix(bits) // an address that is not valid has no prefix
	return p
}

// counted is a connection of a limited listener. It gives its room back when it is closed.
type counted struct {
	net.Conn
	to   *limited
	host netip.Prefix

	// What follows is guarded by to.mu.
	state connState
	since time.Time // of state
	left  bool
}

// become notes what the connection does now. For connSending that is a sign of life as well.
func (c *counted) become(state connState) {
	l := c.to
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.left {
		return
	}
	l.quietNoMore(c)
	if c.state = state; state != connBusy {
		l.wait(c, state)
	}
}

// become notes what the connection of r does now.
func become(r *http.Request, state connState) { peerOf(r).nc.become(state) }

// leaveIfShort has the connection of r closed after its answer if connections are short. It is for answers that need no key.
func leaveIfShort(w http.ResponseWriter, r *http.Request) {
	if peerOf(r).nc.to.short() {
		w.Header().Set("Connection", "close")
	}
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.to.mu.Lock()
	c.to.leave(c)
	c.to.mu.Unlock()
	return c.Conn.Close()
}
