// Package webhook is the platform of programs that call when something happens: an HTTP server at which each route takes the
// signed requests of one sender (HR9).
//
// It promises, in addition to what package adapter requires of every platform:
//
//   - A request without a valid signature starts nothing. A repeated request has the id of the first one and starts nothing
//     either, also in a later life. Which requests are the same follows from what is signed alone (core/signature).
//   - A request is answered with 202 once its message is durable. It never waits for a turn.
//   - A route with a prompt has an agent work on each request, in a conversation of its own in which nothing waits for a
//     person. What the request says is data in the prompt (core/adapter/webhook/prompt). The answer goes to Route.Deliver.
//     A route without a prompt delivers the body there as it is.
//   - A route without its secret takes nothing and says so; the others serve.
//   - Connections, bodies, times and the rate of each route are bounded. What comes beyond a rate gets 429 with Retry-After.
//   - A secret and a body are in no error and no log line.
package webhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"gatewaytui/core/adapter"
	"gatewaytui/core/signature"
	"gatewaytui/core/text"
)

// Name is the name of the platform.
const Name = "webhook"

// Options is what New needs.
type Options struct {
	// Listen is host:port; port 0 picks one.
	Listen string
	// Routes are what is received, by their names; POST /NAME reaches a route.
	Routes map[string]Route
	// Log takes a line for refused requests, at most one in a minute for each route, and for the server's own troubles; nil
	// discards them.
	Log *slog.Logger
}

// Route is the requests of one sender.
type Route struct {
	Scheme signature.Scheme
	// Secret is what the sender signs with. SecretSource is where it should come from, for error texts: the name of the variable.
	Secret, SecretSource string
	// Unread is why the secret cannot be read; empty where it is only missing.
	Unread string
	// Address is the URL to which the sender sends, for a scheme that signs it; empty: the scheme does not.
	Address string
	// Prompt is a template of package prompt; empty: the body is delivered as it is.
	Prompt string
	// Agent is the name of the agent that works.
	Agent string
	// Deliver is the key of the session whose chat gets the answer; empty: the answer stays in the conversation.
	Deliver string
	// PerMinute is how many requests are taken in a minute; at most as many come at once. It is over 0.
	PerMinute int
}

// Platform receives webhooks. It implements adapter.Platform.
type Platform struct {
	o      Options
	log    *slog.Logger
	routes map[string]*route
	// live is the connection that listens; nil while none does.
	live atomic.Pointer[conn]
	// refused counts the requests without a valid signature, limited those beyond a rate.
	refused, limited atomic.Uint64
}

// route is a Route with what outlives a listener.
type route struct {
	Route
	name string
	rate *rate.Limiter
	// complaints lets one line about refused requests through in a minute.
	complaints rate.Sometimes
}

// New returns a platform that listens from Connect on. It does no I/O.
func New(o Options) *Platform {
	p := &Platform{o: o, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), routes: map[string]*route{}}
	for name, r := range o.Routes {
		p.routes[name] = &route{
			Route: r, name: name, rate: rate.NewLimiter(rate.Limit(float64(r.PerMinute)/60), r.PerMinute),
			complaints: rate.Sometimes{Interval: time.Minute},
		}
	}
	return p
}

// Name implements adapter.Platform.
func (p *Platform) Name() string { return Name }

// Counters implements adapter.Counting.
func (p *Platform) Counters() []adapter.Counter {
	return []adapter.Counter{
		{Name: "gatewaytui_webhook_requests_refused_total", Help: "Requests of webhooks without a valid signature.", Value: p.refused.Load},
		{Name: "gatewaytui_webhook_requests_limited_total", Help: "Requests of webhooks beyond the rate of their route.", Value: p.limited.Load},
	}
}

// Addr is host:port of the listener, empty while there is none. It may be called at any time.
func (p *Platform) Addr() string {
	if c := p.live.Load(); c != nil {
		return c.listener.Addr().String()
	}
	return ""
}

// lacks are the routes without a secret, by name.
func (p *Platform) lacks() (all []*route) {
	for _, name := range slices.Sorted(maps.Keys(p.routes)) {
		if r := p.routes[name]; r.Secret == "" {
			all = append(all, r)
		}
	}
	return all
}

// why is why a route that lacks its secret does not serve.
func (r *route) why() error {
	return fmt.Errorf("the route %s has no secret, %w", r.name, &adapter.CredentialsError{Variable: r.SecretSource, Why: r.Unread})
}

// Lacks implements adapter.Partial: a route without a secret takes no request, and the others do.
func (p *Platform) Lacks() (all []string) {
	for _, r := range p.lacks() {
		all = append(all, r.why().Error())
	}
	return all
}

// Connect implements adapter.Platform: it binds the address and serves it. The error names the address, or is an
// *adapter.CredentialsError where no route has its secret.
func (p *Platform) Connect(ctx context.Context, r adapter.Receiver) (adapter.Conn, error) {
	if lacks := p.lacks(); len(lacks) > 0 && len(lacks) == len(p.routes) {
		return nil, lacks[0].why()
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, text.ListenNetwork(p.o.Listen), p.o.Listen)
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err // what is around it says the address again
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", p.o.Listen, err)
	}
	return p.serve(listener, r), nil
}
