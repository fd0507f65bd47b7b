package gateway

import (
	"sync"

	"gatewaytui/core/model"
)

// connections holds a client that makes no call: as long as one is open the provider keeps its idle connections, also while no agent
// is cached. A reload replaces it, and the gateway's close ends it. They may come at the same time.
type connections struct {
	mu     sync.Mutex   // guards what follows; no client is made or closed under it
	client model.Client // nil before the first Use and after Close
	over   bool         // after Close
}

// Use keeps the connections of a pool, and no longer those of the pool before. After Close it keeps none.
func (c *connections) Use(p *model.Pool) error {
	unused := p.Chain(modelNames(p)...).New()
	c.mu.Lock()
	if !c.over {
		c.client, unused = unused, c.client
	}
	c.mu.Unlock()
	return closeClient(unused)
}

// Close keeps no connections from now on.
func (c *connections) Close() error {
	c.mu.Lock()
	unused := c.client
	c.client, c.over = nil, true
	c.mu.Unlock()
	return closeClient(unused)
}

func closeClient(c model.Client) error {
	if c == nil {
		return nil
	}
	return c.Close()
}
