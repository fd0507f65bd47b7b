// Package proxy is the network of an environment whose definition lists hosts (TR6): an HTTP proxy of the gateway, and the way to it from a
// network namespace that has no other.
//
// What it promises:
//
//   - It connects to the hosts of its list, at the ports 80 and 443 or the port that an entry names, and to hosts that Ask allows. Everything
//     else is answered 403 with a sentence that names the host and the key of the config.
//   - It resolves names itself. A name with one address that is private, of this machine or otherwise not public is refused, and the
//     address that was checked is dialled. The gateway's own ports are never reached.
//   - Where a request goes is read once, from the target of its first line; the Host header is written new from it. A target with a user, a path
//     after CONNECT, a zone or letters outside of ASCII is refused.
//   - It is bounded: connections at once, size of headers, time without a byte, total time of a connection.
//   - Close ends everything that it holds.
//
// It does not look into TLS: a host of the list that serves other names, such as a large CDN, serves them through it as well.
//
// A command reaches it without a helper next to it: before exec the command's own first step listens on 127.0.0.1 in its namespace and
// hands that listener over (handover_linux.go; package offer has the other side). The gateway accepts from it until the command has ended.
// There is no helper to pass signals and exit codes on,
// and a command in an environment without a list pays nothing.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"

	"gatewaytui/core/environment/proxy/hosts"
)

// Bounds of one proxy, which serves one session.
const (
	// connectionsMost is how many connections of commands are served at once; further ones wait in the listener's queue.
	connectionsMost = 64
	// listenersMost is how many commands may have it at once.
	listenersMost = 64
	// headerMost is the size of a request's header, in bytes.
	headerMost = 32 << 10
)

// Times are the bounds in time of a connection. The zero value has the defaults.
type Times struct {
	// Header is for the header of a request to arrive, and for a connection to its host; default: 30 s.
	Header time.Duration
	// Idle is the longest time without a byte; default: 2 min.
	Idle time.Duration
	// Total is that of one request or tunnel; default: 1 h.
	Total time.Duration
}

// Options are what a Proxy works with.
type Options struct {
	// Hosts are allowed without a question.
	Hosts hosts.List
	// Key is the key of the config that has the list, for refusals: environments.box.network.
	Key string
	// Ask decides on a host that is not listed, which it gets as a list would name it; nil: such a host is refused. Its error is
	// shown to the command.
	Ask func(ctx context.Context, host string) error
	// Resolve returns the addresses of a name; nil: the system's resolver. Dial connects; nil: by TCP.
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)
	Dial    func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
	// Check decides on an address of a host in place of the rule above, and its error is shown to the command; nil: the rule holds. A Check
	// has to know the gateway's own ports.
	Check func(host hosts.Target, addr netip.Addr) error
	// OwnPorts are those on which the gateway listens.
	OwnPorts []uint16
	Times    Times
}

// Proxy serves the commands of one session. Its methods may be called from any goroutine.
type Proxy struct {
	opts   Options
	server *http.Server
	// way is the socket on which listeners are handed over; folder contains it and nothing else.
	way    *net.UnixListener
	folder string
	ctx    context.Context
	cancel context.CancelFunc
	// slots has an element for each connection of a command.
	slots chan struct{}

	counters counters

	mu        sync.Mutex // leaf
	closed    bool
	listeners int
	work      sync.WaitGroup // what Close waits for; Add under mu, unless closed
}

// socketName is the name of the socket in the folder of Open.
const socketName = "proxy"

// Open makes folder, which only this user can enter, with the socket of a new proxy in it, and serves until Close.
func Open(folder string, opts Options) (*Proxy, error) {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the proxy: %w", err)
	}
	way, err := listen(folder)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the proxy of an environment: %w", err), os.RemoveAll(folder))
	}
	p := newProxy(opts)
	p.way, p.folder = way, folder
	p.work.Go(p.takeListeners)
	return p, nil
}

// newProxy is a proxy without its socket.
func newProxy(opts Options) *Proxy {
	orElse := func(d *time.Duration, other time.Duration) {
		if *d <= 0 {
			*d = other
		}
	}
	orElse(&opts.Times.Header, 30*time.Second)
	orElse(&opts.Times.Idle, 2*time.Minute)
	orElse(&opts.Times.Total, time.Hour)
	if opts.Resolve == nil {
		opts.Resolve = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name+".")
		}
	}
	if opts.Dial == nil {
		opts.Dial = func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr.String())
		}
	}
	p := &Proxy{opts: opts, slots: make(chan struct{}, connectionsMost)}
	p.ctx, p.cancel = context.WithCancel(context.Background()) // ends with Close
	p.server = &http.Server{
		Handler: p.handler(), MaxHeaderBytes: headerMost, ReadHeaderTimeout: opts.Times.Header, IdleTimeout: opts.Times.Idle,
		BaseContext: func(net.Listener) context.Context { return p.ctx },
		ErrorLog:    log.New(io.Discard, "", 0), // it would repeat what a command sent
	}
	return p
}

// Close ends every connection and removes the folder. It may be called again. The error says what is left when ctx ends.
func (p *Proxy) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	if p.way != nil {
		_ = p.way.Close() // again: it is closed
	}
	_ = p.server.Close()
	done := make(chan struct{})
	go func() { p.work.Wait(); close(done) }() // ends with the last connection, of which each is cut and bounded
	select {
	case <-done:
	case <-ctx.Done():
		return fmt.Errorf("close the proxy of an environment: %d connections did not end: %w", p.Row().Open, context.Cause(ctx))
	}
	if p.folder == "" {
		return nil
	}
	return os.RemoveAll(p.folder)
}

// begin counts a task that Close waits for. It reports false after Close.
func (p *Proxy) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.work.Add(1)
	}
	return !p.closed
}
