package proxy

import (
	"net"
	"sync"
)

// bounded accepts a connection and returns it when the proxy has room for it.
type bounded struct {
	net.Listener
	proxy *Proxy
}

func (b *bounded) Accept() (net.Conn, error) {
	conn, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	select {
	case b.proxy.slots <- struct{}{}:
		return &slot{Conn: conn, free: func() { <-b.proxy.slots }}, nil
	case <-b.proxy.ctx.Done():
		conn.Close()
		return nil, net.ErrClosed
	}
}

// slot is a connection that frees its place when it is closed.
type slot struct {
	net.Conn
	once sync.Once
	free func()
}

func (s *slot) Close() error {
	err := s.Conn.Close()
	s.once.Do(s.free)
	return err
}

// CloseWrite ends the answer and leaves the question open.
func (s *slot) CloseWrite() error {
	half, ok := s.Conn.(interface{ CloseWrite() error })
	if !ok {
		return net.ErrClosed
	}
	return half.CloseWrite()
}
