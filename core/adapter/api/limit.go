package api

import (
	"net"
	"sync"

	"golang.org/x/sys/unix"
)

// maxConns bounds the open connections; half of the process's descriptors bound them too, so that clients can never
// take those that the control socket, the store and the tools need (field notes, F5).
const maxConns = 4096

func connLimit() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return maxConns
	}
	return int(min(max(limit.Cur/2, 1), maxConns))
}

// limited is a listener with room for so many connections at once. More wait in the kernel until one is closed.
type limited struct {
	net.Listener
	room   chan struct{} // a token for each open connection
	closed chan struct{}
	once   sync.Once
}

func limit(l net.Listener, n int) *limited {
	return &limited{Listener: l, room: make(chan struct{}, n), closed: make(chan struct{})}
}

func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.room
		return nil, err
	}
	return &counted{Conn: c, leave: sync.OnceFunc(func() { <-l.room })}, nil
}

func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// counted gives its room back when it is closed.
type counted struct {
	net.Conn
	leave func()
}

func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
