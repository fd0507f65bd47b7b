package model

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gatewaytui/core/ops"
)

// The time for which a model that failed is left alone: what its endpoint asked for, at most longestRest, else firstRest,
// doubling with each further failure up to mostRest. A success ends it.
const (
	firstRest   = 15 * time.Second
	mostRest    = 5 * time.Minute
	longestRest = time.Hour
)

// Default is the name of the model that [model] is.
const Default = "default"

// Spec is one model of a Pool: its name in the config, its provider, and its prices for a million tokens. Prices that are all
// 0 are not known; Cached at 0 is In.
type Spec struct {
	Name            string
	Provider        Provider
	In, Cached, Out float64
}

// Priced reports whether the model's prices are known.
func (s Spec) Priced() bool { return s.In > 0 || s.Cached > 0 || s.Out > 0 }

// Label is the model's name for people: that of the config, but for the one that [model] is, whose own name says more.
func (s Spec) Label() string {
	if s.Name == Default {
		return s.Provider.Name()
	}
	return s.Name
}

// price gives u its cost, unless the endpoint told it or the prices are not known.
func (s Spec) price(u Usage) Usage {
	if u.Priced || !s.Priced() {
		return u
	}
	cached := s.Cached
	if cached == 0 {
		cached = s.In
	}
	u.Cost = (float64(u.In-u.Cached)*s.In + float64(u.Cached)*cached + float64(u.Out)*s.Out) / 1e6
	u.Priced = true
	return u
}

// Pool is the models of a config. How a model does is known to all chains that it is in. Its methods may be called from any
// goroutine.
type Pool struct {
	links []*link
	log   *slog.Logger
}

// link is one model of a pool.
type link struct {
	Spec

	mu sync.Mutex
	// rests is until when calls go to other models, and failures how many failed since the last answer.
	rests    time.Time
	failures int
}

// NewPool makes a pool of models with different names. log gets a line for each call that moves on to another model.
func NewPool(log *slog.Logger, models ...Spec) *Pool {
	p := &Pool{log: log}
	for _, s := range models {
		p.links = append(p.links, &link{Spec: s})
	}
	return p
}

// Models are the models of the pool, in the order of NewPool.
func (p *Pool) Models() []Spec {
	specs := make([]Spec, len(p.links))
	for i, m := range p.links {
		specs[i] = m.Spec
	}
	return specs
}

// Find is the model with this name.
func (p *Pool) Find(name string) (Spec, bool) {
	if m := p.link(name); m != nil {
		return m.Spec, true
	}
	return Spec{}, false
}

func (p *Pool) link(name string) *link {
	for _, m := range p.links {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// Chain is a provider of the models with these names, of which at least one is in the pool. A call goes to the first of them
// that does not rest. If it fails in a way that another model may not (see movesOn), and has delivered no text, it goes to the
// next one. If all rest, it goes to the one that rests the shortest. A request with pictures goes to models that can see, if there
// are some.
func (p *Pool) Chain(names ...string) Provider {
	c := &chain{log: p.log}
	for _, name := range names {
		if m := p.link(name); m != nil {
			c.links = append(c.links, m)
		}
	}
	return c
}

type chain struct {
	links []*link
	log   *slog.Logger
}

func (c *chain) Name() string { return c.links[0].Label() }

// Window is that of the first model: a request that is too long for another one fails there as such.
func (c *chain) Window() int { return c.links[0].Provider.Window() }

// Vision reports whether one of the models can see: a request with pictures goes to those.
func (c *chain) Vision() bool {
	return slices.ContainsFunc(c.links, func(l *link) bool { return l.Provider.Vision() })
}

func (c *chain) New() Client {
	client := &chainClient{chain: c}
	for _, m := range c.links {
		client.clients = append(client.clients, m.Provider.New())
	}
	return client
}

// chainClient is one agent's client of a chain, with a client of each of its models.
type chainClient struct {
	*chain
	clients []Client
	// answered is the model that answered last; nil: none has.
	answered atomic.Pointer[link]
}

// Name is the model that answered last, before the first answer the one that is asked first.
func (c *chainClient) Name() string {
	if m := c.answered.Load(); m != nil {
		return m.Label()
	}
	return c.chain.Name()
}

func (c *chainClient) Complete(ctx context.Context, req Request, delta func(string)) (Response, error) {
	var before []string
	order := c.seeing(req, c.order(time.Now()))
	for i, at := range order {
		m, last := c.links[at], i == len(order)-1
		req := m.visible(req)
		req.Fallback = !last
		delivered := false
		resp, err := c.clients[at].Complete(ctx, req, func(text string) {
			if delta != nil {
				delivered = delivered || text != ""
				delta(text)
			}
		})
		if err == nil {
			m.works()
			c.answered.Store(m)
			resp.Model, resp.Usage, resp.Failed = m.Label(), m.price(resp.Usage), before
			return resp, nil
		}
		failed, is := errors.AsType[*Error](err)
		if !is || !movesOn(failed.Kind) {
			return Response{Model: m.Label(), Failed: before}, err
		}
		rest := m.fails(failed.RetryAfter)
		// Text that was delivered cannot be taken back, and another model would say it again.
		if last || delivered {
			return Response{Model: m.Label(), Failed: before}, err
		}
		before = append(before, m.Label())
		c.log.Warn("model call goes to the next model", "event", ops.LogModelFallback, "model", m.Label(), "next", c.links[order[i+1]].Label(),
			"kind", string(failed.Kind), "status", failed.Status, "rest", rest.Round(time.Millisecond))
	}
	return Response{}, ErrClosed // a chain has a model
}

func (c *chainClient) Close() error {
	var errs []error
	for _, one := range c.clients {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}

// order is the places of the models in the order in which they are asked: those that do not rest in their own order, then the
// others, the one that rests the shortest first.
func (c *chain) order(now time.Time) []int {
	order, rest := make([]int, len(c.links)), make([]time.Duration, len(c.links))
	for i, m := range c.links {
		order[i], rest[i] = i, m.left(now)
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(rest[a]/time.Millisecond - rest[b]/time.Millisecond) })
	return order
}

// visible is a request without the pictures of results if m cannot see: the results name the files that have them.
func (m *link) visible(req Request) Request {
	if m.Provider.Vision() || !pictured(req.Messages) {
		return req
	}
	req.Messages = slices.Clone(req.Messages)
	for i := range req.Messages {
		if req.Messages[i].Role == RoleTool {
			req.Messages[i].Images = nil
		}
	}
	return req
}

// seeing is order without the models that cannot see, for a request in which a user shows pictures, where another one can.
func (c *chain) seeing(req Request, order []int) []int {
	if !slices.ContainsFunc(req.Messages, func(m Message) bool { return m.Role != RoleTool && len(m.Images) > 0 }) {
		return order
	}
	can := slices.DeleteFunc(slices.Clone(order), func(at int) bool { return !c.links[at].Provider.Vision() })
	if len(can) == 0 {
		return order
	}
	return can
}

// left is how long m rests from now on; 0: it does not.
func (m *link) left(now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(m.rests.Sub(now), 0)
}

func (m *link) works() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rests, m.failures = time.Time{}, 0
}

// fails lets m rest, for as long as its endpoint asked if it did.
func (m *link) fails(asked time.Duration) (rest time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rest = min(firstRest<<min(m.failures, 10), mostRest)
	if asked > 0 {
		rest = min(asked, longestRest)
	}
	m.failures++
	if until := time.Now().Add(rest); until.After(m.rests) {
		m.rests = until
	}
	return rest
}

// movesOn reports whether a call that failed in this way goes to the next model: what has to do with this endpoint alone does.
// A key that is refused, a name that does not exist and a redirect are mistakes of the config, which another model would hide.
// A request that is refused or too long would be so again, and its caller can do something about it.
func movesOn(k Kind) bool {
	switch k {
	case KindRateLimited, KindQuota, KindUnavailable, KindTimeout, KindNotAModel, KindBroken:
		return true
	}
	return false
}
