package agent

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"gatewaytui/core/ops"
)

// CacheOptions are the bounds of a Cache. Zero means no bound.
type CacheOptions struct {
	// Max is how many agents the cache keeps, idle and busy together.
	Max int
	// Idle is how long an agent stays without a turn.
	Idle time.Duration
	// Bytes is how much memory all transcripts together may use.
	Bytes int64
}

// Cache holds a gateway's agents, one for a session, idle and busy ones. Many goroutines may use it, and it never waits:
// it takes agents out and returns them to its caller, who releases or closes them.
//
// A turn takes its agent with Get or Put and gives it back with Done; in between the agent is held. The bounds remove the
// least recently used agents first, and never one that is held, busy or unsaved (D5, D7). The bound on bytes also keeps
// the most recently used one, since the next message would only load the same transcript again. If too many remain, the
// next Done or Sweep tries again.
//
// The caller releases the agents that Put, Done, Sweep and Evict return: they are gone from the cache, and no other
// caller has them. A reset or an expiry finds the agent with Peek, closes it, and then calls Remove (S12).
type Cache struct {
	mu       sync.Mutex // guards what follows
	opts     CacheOptions
	sessions map[string]*entry
	uses     int // how often an agent was used
	passing  int // the agents of single requests, which the bound on the count ignores
}

type entry struct {
	a *Agent
	// held means that a turn has it.
	held bool
	// used is the number of its last use, usedAt when it was last put in or given back.
	used   int
	usedAt time.Time
	// claim receives the agent when it is given back, and is closed when the entry goes; nil: no eviction waits for it.
	claim chan *Agent
}

// fixed reports whether the entry must stay. A closing agent leaves when its closer removes it.
func (e *entry) fixed() bool { return e.held || e.a.Busy() || e.a.Closed() || e.a.Unsaved() }

// NewCache returns an empty cache.
func NewCache(opts CacheOptions) *Cache { return &Cache{opts: opts, sessions: map[string]*entry{}} }

// Use gives the cache other bounds, which the next Put, Done and Sweep keep.
func (c *Cache) Use(opts CacheOptions) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opts = opts
}

// Get returns the session's agent for a turn, and holds it until Done. An agent that closes is not returned.
func (c *Cache) Get(session string) (*Agent, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.sessions[session]
	if e == nil || e.a.Closed() {
		return nil, false
	}
	e.held = true
	c.use(e)
	return e.a, true
}

// use makes e the most recently used one.
func (c *Cache) use(e *entry) {
	c.uses++
	e.used = c.uses
}

// Peek returns the session's agent, for inspection or for a close. It does not count as use.
func (c *Cache) Peek(session string) (*Agent, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.sessions[session]
	if e == nil {
		return nil, false
	}
	return e.a, true
}

// Put adds a new agent, held for a turn until Done. It returns the session's previous agent, if there was one, and the
// agents to remove for the bounds.
func (c *Cache) Put(a *Agent) []*Agent {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*Agent
	if e := c.sessions[a.Session()]; e != nil {
		out = append(out, c.drop(e))
	}
	e := &entry{a: a, held: true, usedAt: time.Now()}
	c.sessions[a.Session()] = e
	c.use(e)
	if a.cfg.Passing {
		c.passing++
	}
	return append(out, c.bound()...)
}

// Done gives an agent back after its turn and returns the agents to remove for the bounds. It ignores an agent that is no
// longer in the cache: that agent was abandoned, and another one may serve its session by now.
func (c *Cache) Done(a *Agent) []*Agent {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entryOf(a)
	if e == nil {
		return nil
	}
	e.held, e.usedAt = false, time.Now()
	c.use(e)
	if e.claim != nil && !e.a.Closed() && !e.a.Unsaved() {
		e.claim <- e.a // it has room for one
		c.drop(e)
	}
	return c.bound()
}

// Remove removes an agent in any state, after its Close or when its turn was abandoned. It reports whether the agent was
// there. Another agent of the same session is not touched.
func (c *Cache) Remove(a *Agent) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entryOf(a)
	if e != nil {
		c.drop(e)
	}
	return e != nil
}

// Evict removes the session's agent at an operator's request. Its error is an *ops.Error: CodeNotFound without an agent,
// CodeBusy while the agent is in use, closing or unsaved (D7).
func (c *Cache) Evict(session string) (*Agent, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.evict(session)
}

// evict is Evict. The caller holds mu.
func (c *Cache) evict(session string) (*Agent, error) {
	e := c.sessions[session]
	if e == nil {
		return nil, &ops.Error{
			Code: ops.CodeNotFound, Message: fmt.Sprintf("no agent of session %q is cached", session),
			Hint: "`gatewaytui agents` lists the cached ones",
		}
	}
	busy := func(why, hint string) error {
		return &ops.Error{Code: ops.CodeBusy, Message: fmt.Sprintf("the agent of session %q is busy: %s", session, why), Hint: hint}
	}
	switch {
	case e.a.Closed():
		return nil, busy("it is closing", "")
	case e.held || e.a.Busy():
		return nil, busy("a turn runs", "wait for its end, or evict with --interrupt")
	case e.a.Unsaved():
		return nil, busy("part of its transcript is not saved", "see the store's warnings in `gatewaytui status`")
	}
	return c.drop(e), nil
}

// Claim is Evict for an agent that a turn holds. The channel delivers the agent, out of the cache, as soon as that turn
// gives it back, so that the session's next turn cannot take it. The channel is closed without an agent if the agent
// leaves the cache in another way, and by Unclaim. If no turn holds the agent, it is delivered at once, or the error is
// Evict's.
func (c *Cache) Claim(session string) (<-chan *Agent, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.sessions[session]; e != nil && e.held && !e.a.Closed() {
		if e.claim != nil {
			return nil, &ops.Error{Code: ops.CodeBusy, Message: fmt.Sprintf("the agent of session %q is being evicted already", session), Hint: "wait a moment"}
		}
		e.claim = make(chan *Agent, 1)
		return e.claim, nil
	}
	a, err := c.evict(session)
	if err != nil {
		return nil, err
	}
	claim := make(chan *Agent, 1)
	claim <- a
	close(claim)
	return claim, nil
}

// Unclaim cancels a Claim of the session. An agent that the channel holds already stays out of the cache.
func (c *Cache) Unclaim(session string, claim <-chan *Agent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.sessions[session]; e != nil && e.claim != nil && e.claim == claim {
		close(e.claim)
		e.claim = nil
	}
}

// Sweep returns the agents that were idle for too long at the time now, and those to remove for the other bounds.
func (c *Cache) Sweep(now time.Time) []*Agent {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*Agent
	if c.opts.Idle > 0 {
		out = c.take(func(e *entry) bool { return now.Sub(e.usedAt) >= c.opts.Idle })
	}
	return append(out, c.bound()...)
}

// All is every agent in the cache, held and closing ones included, in the order of their sessions.
func (c *Cache) All() []*Agent {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*Agent, 0, len(c.sessions))
	for _, session := range slices.Sorted(maps.Keys(c.sessions)) {
		all = append(all, c.sessions[session].a)
	}
	return all
}

// Rows is every agent as an operator sees it, in the order of their sessions.
func (c *Cache) Rows() []ops.Agent {
	all := c.All()
	rows := make([]ops.Agent, len(all))
	for i, a := range all {
		rows[i] = a.Row()
	}
	return rows
}

// Len is how many agents there are.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sessions)
}

// bound removes agents for the bounds on count and bytes. It runs at the end of every turn, and sorts the entries only where a
// bound is exceeded.
func (c *Cache) bound() []*Agent {
	var out []*Agent
	if c.opts.Max > 0 && len(c.sessions)-c.passing > c.opts.Max {
		out = c.take(func(*entry) bool { return len(c.sessions)-c.passing > c.opts.Max })
	}
	if c.opts.Bytes <= 0 {
		return out
	}
	// The agents are asked: a separate sum would drift (DESIGN.md, 4), and there are a few hundred of them.
	sum, newest := int64(0), 0
	for _, e := range c.sessions {
		sum, newest = sum+e.a.Bytes(), max(newest, e.used)
	}
	if sum <= c.opts.Bytes {
		return out
	}
	return append(out, c.take(func(e *entry) bool {
		if sum <= c.opts.Bytes || e.used == newest {
			return false
		}
		sum -= e.a.Bytes()
		return true
	})...)
}

// take drops the entries that want names, least recently used first, and never one that must stay.
func (c *Cache) take(want func(*entry) bool) []*Agent {
	var out []*Agent
	for _, e := range slices.SortedFunc(maps.Values(c.sessions), func(a, b *entry) int { return cmp.Compare(a.used, b.used) }) {
		if !e.fixed() && want(e) {
			out = append(out, c.drop(e))
		}
	}
	return out
}

func (c *Cache) drop(e *entry) *Agent {
	delete(c.sessions, e.a.Session())
	if e.a.cfg.Passing {
		c.passing--
	}
	if e.claim != nil {
		close(e.claim)
		e.claim = nil
	}
	return e.a
}

// entryOf is the entry of a; nil: a is not in the cache.
func (c *Cache) entryOf(a *Agent) *entry {
	if e := c.sessions[a.Session()]; e != nil && e.a == a {
		return e
	}
	return nil
}
