package proxy

import (
	"fmt"
	"net"
)

// Listen serves a new proxy at a port of 127.0.0.1 until Close, for a program that shares the network of the gateway, and returns its host:port.
func Listen(opts Options) (*Proxy, string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("open a proxy: %w", err)
	}
	p := newProxy(opts)
	p.work.Go(func() { _ = p.server.Serve(&bounded{Listener: l, proxy: p}) }) // until Close closes the server, and l with it
	return p, l.Addr().String(), nil
}
