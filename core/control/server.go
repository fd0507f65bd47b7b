package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gatewaytui/core/ops"
)

// Options are what a Server needs.
type Options struct {
	// Console is what is shown and steered. Required.
	Console ops.Console
	// Path is where the socket is made. Required.
	Path string
	// Life is this life's id. Every answer carries it, so that a client does not resume one life's sequence on the next.
	Life string
	// Tool reports whether the process pid is a tool of this gateway, or was started by one, and the session that it belongs
	// to, empty if that is not known (HF7). The error says that it is unknown; such a process is refused. It is called
	// for each connection and must be quick. Nil: no process is a tool.
	Tool func(pid int) (session string, tool bool, err error)
	// ToolRefused is called for each call that was refused because a tool made it, for the audit. It must not wait. call is
	// a method and the pattern of a path, target what stands for {target} in it. Nil: only the log has it.
	ToolRefused func(by ops.Actor, call, target string)
	// Connections bounds the connections (HF12).
	Connections Connections
	// Log takes what the server has to say; nil is silence.
	Log *slog.Logger
	// Gatherer adds metrics of the program to those of the console; nil adds none.
	Gatherer prometheus.Gatherer
	// Ready is why the gateway takes no work, nil if it does. Its text is shown: no paths, no argv, no secrets
	// (H13). Nil is ready.
	Ready func(context.Context) error
}

// Server answers the control socket. Listen makes the socket, Serve answers it until its context ends, and then the
// socket is gone. A Server is used once.
type Server struct {
	opt     Options
	routes  []route
	metrics http.Handler
	log     *slog.Logger

	refusals refusals

	listener *gate
	closing  context.Context // ends when the server begins to leave
	close    func()
	inFlight sync.WaitGroup

	mu    sync.Mutex
	fresh map[net.Conn]struct{} // connections that have not asked anything yet
	ended bool                  // no request is begun any more
}

// NewServer returns a server that does nothing yet.
func NewServer(opt Options) *Server {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Ready == nil {
		opt.Ready = func(context.Context) error { return nil }
	}
	s := &Server{opt: opt, log: opt.Log, fresh: map[net.Conn]struct{}{}}
	s.closing, s.close = context.WithCancel(context.Background())
	s.metrics = metricsHandler(opt.Console, opt.Gatherer)
	s.routes = s.table()
	return s
}

// Listen makes the socket. From its return on clients can connect; they are answered once Serve runs.
func (s *Server) Listen() error {
	l, err := listen(s.opt.Path)
	if err != nil {
		return err
	}
	s.listener = newGate(l, s.opt.Connections, s.opt.Tool)
	return nil
}

// Used is how many connections are served now. It may be called after Listen.
func (s *Server) Used() int { return s.listener.used() }

// Serve answers until ctx ends. Then no new connection is taken, streams are given what is pending, requests in flight
// have leaveTime to end, and the socket is removed. The error is nil unless the socket broke or a request had to be
// abandoned because the console did not return.
func (s *Server) Serve(ctx context.Context) error {
	if s.listener == nil {
		return errors.New("serve the control socket: listen was not called")
	}
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	srv := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    256 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, peerKey{}, c.(*gated).peer)
		},
		ConnState: s.track,
	}
	broken := make(chan error, 1)
	go func() { broken <- srv.Serve(s.listener) }()

	var err error
	select {
	case <-ctx.Done():
		err = s.leave(srv, cut)
		<-broken // Serve returns as soon as its listener is closed
	case err = <-broken:
		err = errors.Join(fmt.Errorf("serve the control socket %s: %w", s.opt.Path, err), s.leave(srv, cut))
	}
	return err
}

// leave ends the connections. It costs at most twice leaveTime.
func (s *Server) leave(srv *http.Server, cut func()) error {
	s.close()
	s.dropFresh()
	// Shutdown must run though the context that asked for it has ended.
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	if srv.Shutdown(ctx) == nil {
		return nil
	}
	cut()
	err := srv.Close()
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	ended := make(chan struct{})
	// This goroutine outlives leave only together with the request that is reported as abandoned.
	go func() { s.inFlight.Wait(); close(ended) }()
	select {
	case <-ended:
		if err != nil {
			return fmt.Errorf("close the control socket %s: %w", s.opt.Path, err)
		}
		return nil
	case <-time.After(leaveTime):
		return fmt.Errorf("close the control socket %s: a request did not end within %v", s.opt.Path, 2*leaveTime)
	}
}

// track keeps the connections that net/http would hold a shutdown up for: it gives one that has asked nothing yet five
// seconds to do so.
func (s *Server) track(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state == http.StateNew {
		s.fresh[c] = struct{}{}
	} else {
		delete(s.fresh, c)
	}
}

func (s *Server) dropFresh() {
	s.mu.Lock()
	conns := slices.Collect(maps.Keys(s.fresh))
	s.mu.Unlock()
	for _, c := range conns {
		c.Close() // it sent no request, so no answer is due
	}
}

// ServeHTTP answers one request. It is exported for net/http.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		return // the connection is closed already
	}
	defer s.inFlight.Done()
	defer s.recovered(w, r)
	// A connection keeps the deadline of its last answer; each handler that can be quicker sets its own.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(longAnswer))

	p, _ := r.Context().Value(peerKey{}).(*peer)
	if err := p.refused(); err != nil {
		s.log.Warn("control peer refused", "error", err)
		w.Header().Set("Connection", "close")
		s.fail(w, err)
		return
	}
	if p.full != nil {
		w.Header().Set("Connection", "close")
		w.Header().Set("Retry-After", strconv.Itoa(int(p.full.RetryAfter/time.Second)))
		s.fail(w, p.full)
		return
	}
	w.Header().Set(HeaderLife, s.opt.Life)
	s.dispatch(w, r)
}

func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.inFlight.Add(1)
	return true
}

// recovered turns a panic into an answer: a fault in one request must not end the gateway, nor look like silence.
func (s *Server) recovered(w http.ResponseWriter, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	s.log.Error("control request panicked", "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(v))
	s.fail(w, &ops.Error{
		Code: ops.CodeInternal, Message: "the gateway panicked over this request",
		Hint: "its log has the line \"control request panicked\"; please report it",
	})
}
