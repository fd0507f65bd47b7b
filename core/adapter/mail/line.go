package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
)

// security is how a connection to a server is encrypted.
type security int

const (
	upgraded security = iota // by STARTTLS, or not at all: an error
	implicit                 // from the beginning
	local                    // not at all: it does not leave this machine
)

// securityOf is how a connection to address is encrypted. direct is the port of the protocol for TLS from the beginning.
func securityOf(host, port, direct string) security {
	ip := net.ParseIP(host)
	switch {
	case port == direct:
		return implicit
	case host == "localhost" || ip != nil && ip.IsLoopback():
		return local
	}
	return upgraded
}

// dialed connects to a server, with TLS where its port has it from the beginning.
func (p *Platform) dialed(ctx context.Context, address, direct string) (conn net.Conn, host string, s security, err error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, "", s, fmt.Errorf("%q is not host:port: %w", address, err)
	}
	s = securityOf(host, port, direct)
	dial := p.dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	if conn, err = dial(ctx, "tcp", address); err != nil {
		return nil, "", s, err
	}
	if s == implicit {
		secure := tls.Client(conn, p.tlsFor(host))
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close() // the handshake says what is wrong
			return nil, "", s, fmt.Errorf("begin the encryption: %w", err)
		}
		conn = secure
	}
	return conn, host, s, nil
}

// tlsFor is how a connection to a server of this name is encrypted.
func (p *Platform) tlsFor(host string) *tls.Config {
	c := p.tls.Clone()
	c.ServerName = host
	return c
}

// heard notes when a connection last heard something.
type heard struct {
	net.Conn
	at *atomic.Int64 // in Unix nanoseconds
}

func (h heard) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	if n > 0 {
		h.at.Store(time.Now().UnixNano())
	}
	return n, err
}

// failed is the error of a call to a server of this name.
func (p *Platform) failed(call, server string, err error) error {
	why := bot.NewWords(p.o.Password).Why(err)
	return &bot.CallError{Call: call + " at " + bot.NewWords(p.o.Password).Clean(server), Why: why, Cause: err}
}

// unsent is the error of a send that certainly did not arrive.
func unsent(err error) error { return &adapter.UnsentError{Err: err} }

// ended is err, or the end of ctx where that is what ended the call.
func ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	return err
}

var errBlank = errors.New("the text is blank")
