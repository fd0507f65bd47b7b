package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"

	"gatewaytui/core/environment/proxy/hosts"
)

// refusal is a reason that is the command's to know, answered 403.
type refusal string

func (r refusal) Error() string { return string(r) }

// wants returns where a request goes. It reads the first line of the request alone.
func wants(r *http.Request) (hosts.Target, error) {
	if r.Method == http.MethodConnect {
		t, err := hosts.ParseTarget(r.RequestURI, 0)
		if err == nil && t.Port == 0 {
			err = hosts.ErrPort
		}
		return t, err
	}
	switch u := r.URL; {
	case u.Host == "":
		return hosts.Target{}, errors.New("this is a proxy: the request must name its whole address")
	case u.Scheme != "http":
		return hosts.Target{}, fmt.Errorf("the scheme is not http; for https, a client sends CONNECT")
	case u.User != nil, u.Opaque != "":
		return hosts.Target{}, errors.New("the address has a user")
	default:
		return hosts.ParseTarget(u.Host, 80)
	}
}

// decide returns nil if t may be reached.
func (p *Proxy) decide(ctx context.Context, t hosts.Target) error {
	if p.opts.Hosts.Allow(t) {
		return nil
	}
	if p.opts.Ask == nil {
		return refusal(fmt.Sprintf("the host %s is not on the list of this environment; its owner can add it to %s", t, p.opts.Key))
	}
	if err := p.opts.Ask(ctx, t.String()); err != nil {
		return refusal(fmt.Sprintf("the host %s was not allowed: %v", t, err))
	}
	return nil
}

// handler serves one request of a command.
func (p *Proxy) handler() http.Handler {
	transport := &http.Transport{
		// The address of a request was written by wants, so that this reads the same target again. The context is that of the proxy, because a
		// transport goes on to connect when the request that wanted it has ended.
		DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
			t, err := hosts.ParseTarget(address, 0)
			if err != nil {
				return nil, err
			}
			if !p.begin() {
				return nil, net.ErrClosed
			}
			defer p.work.Done()
			ctx, cancel := context.WithTimeout(p.ctx, p.opts.Times.Header)
			defer cancel()
			return p.connect(ctx, t)
		},
		DisableCompression: true, IdleConnTimeout: p.opts.Times.Header, MaxIdleConnsPerHost: 2, MaxIdleConns: 16,
		ResponseHeaderTimeout: p.opts.Times.Idle, MaxResponseHeaderBytes: 8 * headerMost,
	}
	context.AfterFunc(p.ctx, transport.CloseIdleConnections)
	forward := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.Host = strings.TrimSuffix(r.Out.URL.Host, ":80")
			r.Out.Header.Del("Upgrade") // a tunnel that its bounds would not hold
			r.Out.Header.Del("Connection")
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { p.fail(w, err) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.begin() {
			return
		}
		defer p.work.Done()
		t, err := wants(r)
		if err != nil {
			p.refuse(w, http.StatusBadRequest, "the proxy of the gateway cannot read where this request goes: "+err.Error())
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), p.opts.Times.Total)
		defer cancel()
		if err := p.decide(ctx, t); err != nil {
			p.fail(w, err)
			return
		}
		p.counters.served(t)
		if r.Method == http.MethodConnect {
			p.tunnel(w, t)
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(p.opts.Times.Total))
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(p.opts.Times.Total))
		out := r.Clone(ctx)
		out.URL.Host = t.Authority()
		forward.ServeHTTP(counted{w, &p.counters}, out)
	})
}

// fail answers a request whose host cannot be reached.
func (p *Proxy) fail(w http.ResponseWriter, err error) {
	var why refusal
	if errors.As(err, &why) {
		p.refuse(w, http.StatusForbidden, string(why))
		return
	}
	http.Error(w, "the host cannot be reached: "+err.Error(), http.StatusBadGateway)
}

// refuse answers with why, also in the status line: pip shows nothing else of an answer to CONNECT.
func (p *Proxy) refuse(w http.ResponseWriter, code int, why string) {
	why = line(why)
	p.counters.refused(why)
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, why, code)
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(p.opts.Times.Header))
	_, _ = fmt.Fprintf(buffered, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n", code, why, len(why)+1, why)
	_ = buffered.Flush()
}

// line is text as one line of ASCII, of at most 300 bytes.
func line(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
	return text[:min(len(text), 300)]
}
