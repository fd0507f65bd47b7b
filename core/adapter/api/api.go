// Package api is the platform of programs: an OpenAI-compatible HTTP server (CONTRACT.md, 4), so that each program that can
// call a model can call an agent.
//
// What it promises: a request is answered or refused, also while the gateway stops, and never holds the gateway up: a
// client that reads slowly, sends slowly or goes away costs bounded memory and time, and neither connections that are held
// (limit.go) nor bodies that stall (budget.go) keep another client out. A client that closes its stream ends the
// turn that no other request waits for; a plain request that closes leaves its turn Options.LeaveGrace, in which the same request
// joins it (answers.go). Without a key in the config only
// programs of the gateway's user and of root are served, as the kernel tells (HF1). Others need the key of the home, and no web
// page that a browser shows is served (I5). A tool of the gateway is never served. A port that is taken is an error of Connect, which is
// tried again (B3). Guessing at either key is slow (guard.go). The listener is the first thing that a stop closes (A18).
package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/limit"
	"gatewaytui/core/text"
)

// The defaults of Options.BodyMax and Options.BodyBytes.
const (
	DefaultBodyMax   = 16 << 20
	DefaultBodyBytes = 64 << 20
)

// DefaultRequests is Options.Requests at the default of limits.model_calls.
const DefaultRequests = 1024

// Options is what New needs.
type Options struct {
	// Listen is host:port; port 0 picks one.
	Listen string
	// Key is what clients send as a bearer token. Without one the address must be loopback.
	Key string
	// KeySource is where Key should come from, for error texts: the name of the variable.
	KeySource string
	// LocalKey is the key of the home (LocalKey), for callers of other users, and LocalKeyFile where they can read it. It is
	// not used where there is a Key; empty: only our own user and root are served.
	LocalKey, LocalKeyFile string
	// Model is the name of the agent that answers a request which names none, as clients see it. Agents are the names of all
	// agents, from which a request chooses by its model.
	Model  string
	Agents []string
	// Requests is how many requests may be under way at once; 0 is DefaultRequests. It is twice limits.model_calls, so that
	// as many wait for a model slot, with a row, before one is refused.
	Requests int
	// BodyMax is the longest body, in bytes, and BodyBytes how many bytes of bodies may be under way at once, over all requests
	// (adapters.api.body_max, limits.body_bytes); 0 is DefaultBodyMax and DefaultBodyBytes. BodyMax is at most BodyBytes.
	BodyMax, BodyBytes int64
	// Limits takes the bound BodyBytes; nil: no bound is published.
	Limits *limit.Set
	// LeaveGrace is how long a plain request whose client has gone keeps its turn; less than 0 is for ever.
	LeaveGrace time.Duration
	// Approval says what becomes of a turn that asks a person for an approval: ApprovalWait, ApprovalRefuse, or empty: a stream
	// waits and a plain request is refused (adapters.api.approval).
	Approval string
	// UserIsSession lets a body's user name the session, as the first edition did (adapters.api.session_from).
	UserIsSession bool
	// AllowOrigins are the web origins whose pages are served, AllowHosts the names other than the loopback ones that a request
	// without a key may be for.
	AllowOrigins, AllowHosts []string
	// Guard slows guessing at the key; nil: New makes one.
	Guard *Guard
	// Log takes one line for each refused client and for the server's own troubles; nil discards them.
	Log *slog.Logger
}

// Platform serves the API. It implements adapter.Platform.
type Platform struct {
	options Options
	// key is the sum of the key that opens, which is Key, or LocalKey without one; nil: there is none.
	key *[sha256.Size]byte
	log *slog.Logger
	// lookUp asks the kernel for the client's socket (clientOf); tests replace it before Connect.
	lookUp func(context.Context, net.Conn) (adapter.Socket, error)
	// live is the connection that listens; nil while none does.
	live atomic.Pointer[conn]

	// What outlives a listener: the bodies under way, the sources of wrong keys, the listener's connections for the metrics.
	bodies *budget
	// known are the names of the agents that a request may name.
	known         atomic.Pointer[[]string]
	guard         *Guard
	named         names
	closedForRoom atomic.Uint64
	// labelled says that the warning of a user who is a label now was logged.
	labelled atomic.Bool
	refused  atomic.Uint64
}

// New returns a platform that listens from Connect on. It does no I/O.
func New(o Options) *Platform {
	p := &Platform{options: o, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), lookUp: clientOf, guard: cmp.Or(o.Guard, &Guard{})}
	if key := cmp.Or(o.Key, o.LocalKey); key != "" {
		sum := sha256.Sum256([]byte(key))
		p.key = &sum
	}
	p.options.Requests = cmp.Or(o.Requests, DefaultRequests)
	p.options.BodyMax = cmp.Or(o.BodyMax, DefaultBodyMax)
	p.options.BodyBytes = cmp.Or(o.BodyBytes, max(DefaultBodyBytes, p.options.BodyMax))
	p.SetAgents(o.Agents)
	p.bodies = newBudget(p.options.BodyBytes)
	if o.Limits != nil {
		p.bodies.bound = o.Limits.Add(limit.Spec{
			Name: limit.BodyBytes, Bytes: true, Most: p.options.BodyBytes, Used: p.bodies.inUse, Waiting: p.bodies.waiters,
			Hint: "lower adapters.api.body_max",
		})
	}
	return p
}

// Counters implements adapter.Counting.
func (p *Platform) Counters() []adapter.Counter {
	return []adapter.Counter{{
		Name: "gatewaytui_api_requests_refused_total",
		Help: "API requests that were refused for who sent them: a missing or wrong key, too many wrong keys (too_many_wrong_keys), a tool, a web page, a host name.", Value: p.refused.Load,
	}, {
		Name: "gatewaytui_api_connections_closed_for_room_total",
		Help: "API connections that were closed because connections ran short and nothing happened on them.", Value: p.closedForRoom.Load,
	}}
}

// Name implements adapter.Platform.
func (p *Platform) Name() string { return "api" }

// Addr is host:port of the listener, empty while there is none. It may be called at any time.
func (p *Platform) Addr() string {
	if c := p.live.Load(); c != nil {
		return c.listener.Addr().String()
	}
	return ""
}

// Connect implements adapter.Platform: it binds the address and serves it. The error names the address, or is an
// *adapter.CredentialsError where a key is missing.
func (p *Platform) Connect(ctx context.Context, r adapter.Receiver) (adapter.Conn, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, text.ListenNetwork(p.options.Listen), p.options.Listen)
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err // what is around it says the address again
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", p.options.Listen, err)
	}
	// The bound address is asked, not the configured one: a name may mean anything.
	if at, ok := listener.Addr().(*net.TCPAddr); p.options.Key == "" && (!ok || !at.IP.IsLoopback()) {
		listener.Close()
		return nil, p.keyMissing()
	}
	return p.serve(p.bounded(listener, connLimit()), r), nil
}

// bounded bounds the connections of a listener.
func (p *Platform) bounded(listener net.Listener, most int) *limited {
	return newLimited(listener, most, &p.closedForRoom, func() {
		p.log.Warn("api connections are short: the oldest of those without a request are closed", "most", most)
	})
}

func (p *Platform) keyMissing() error {
	return &adapter.CredentialsError{
		Variable: cmp.Or(p.options.KeySource, "adapters.api.key_env"),
		Why:      fmt.Sprintf("no key is set, and %s is not loopback: everyone who reaches it could run commands", p.options.Listen),
	}
}
