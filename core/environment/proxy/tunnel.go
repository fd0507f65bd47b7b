package proxy

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"gatewaytui/core/environment/proxy/hosts"
)

// tunnel answers a CONNECT: it connects to t and copies until both sides have ended, a bound is reached or the proxy is closed. The context of
// the request does not serve here: it ends when the client has sent its last byte, which may be before it has its answer.
func (p *Proxy) tunnel(w http.ResponseWriter, t hosts.Target) {
	ctx, cancelAll := context.WithTimeout(p.ctx, p.opts.Times.Total)
	defer cancelAll()
	dialling, cancel := context.WithTimeout(ctx, p.opts.Times.Header)
	host, err := p.connect(dialling, t)
	cancel()
	if err != nil {
		p.fail(w, err)
		return
	}
	defer host.Close()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		p.fail(w, err)
		return
	}
	defer client.Close()
	_ = client.SetDeadline(time.Time{})
	end := func() { client.Close(); host.Close() }
	defer context.AfterFunc(ctx, end)()
	idle := time.AfterFunc(p.opts.Times.Idle, end)
	defer idle.Stop()
	moved := func(of *atomic.Uint64, n int) {
		of.Add(uint64(n))
		idle.Reset(p.opts.Times.Idle)
	}
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	up := make(chan struct{})
	go func() { // ends with one of the connections, which this function closes and waits for
		defer close(up)
		copyAll(host, buffered.Reader, func(n int) { moved(&p.counters.up, n) })
	}()
	copyAll(client, host, func(n int) { moved(&p.counters.down, n) })
	<-up
}

// copyAll copies until from ends, and then ends to in this direction.
func copyAll(to net.Conn, from io.Reader, moved func(int)) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			moved(n)
			if _, err := to.Write(buf[:n]); err != nil {
				to.Close()
				return
			}
		}
		if err == io.EOF {
			if half, ok := to.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
				return
			}
		}
		if err != nil {
			to.Close()
			return
		}
	}
}
