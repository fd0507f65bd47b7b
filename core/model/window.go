package model

import (
	"context"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Unbounded is the window of a model without one.
const Unbounded = math.MaxInt32

// discoverTimeout bounds the question for a model's window.
const discoverTimeout = 3 * time.Second

// Discoverer is a Provider that may be able to ask for a window that it does not know. Discover asks once in a life, is bounded,
// and may be called from any goroutine; Window has what it found.
type Discoverer interface {
	Discover(ctx context.Context)
}

// Limited is a Provider that may bound the tokens of an answer; 0: it does not.
type Limited interface {
	MaxOutput() int
}

// Pricer is a Provider that may know prices. Price gives usage its cost, unless it has one or the prices are not known.
type Pricer interface {
	Price(u Usage) Usage
}

// contextWindow is the window of one endpoint's model: that of the config, or a smaller one that the endpoint told.
type contextWindow struct {
	configured int
	learned    atomic.Int64
	asked      atomic.Bool
}

// tokens is the window; 0: it is not known.
func (w *contextWindow) tokens() int {
	learned := int(w.learned.Load())
	if w.configured > 0 && (learned == 0 || w.configured < learned) {
		return w.configured
	}
	return learned
}

func (w *contextWindow) learn(tokens int) {
	if tokens > 0 {
		w.learned.Store(int64(tokens))
	}
}

// Bounds of a window that an endpoint tells, in tokens: other numbers are something else.
const (
	leastWindow = 256
	mostWindow  = 100_000_000
)

// windowWords find the window in what endpoints say of a request that is too long.
var windowWords = []*regexp.Regexp{
	regexp.MustCompile(`(?i)context (?:length|window|size)(?: is| of| only| limit|:|=|\s|\()*([0-9][0-9,_]*)`),
	regexp.MustCompile(`(?i)n_ctx\W{1,4}([0-9]+)`),
	regexp.MustCompile(`(?i)> ?([0-9][0-9,]*)(?: maximum|$)`),
	regexp.MustCompile(`(?i)([0-9][0-9,]*)[- ]tokens? (?:context|limit)`),
}

// windowIn is the window that an endpoint's words name; 0: they name none.
func windowIn(said string) int {
	for _, words := range windowWords {
		if found := words.FindStringSubmatch(said); found != nil {
			n, err := strconv.Atoi(strings.NewReplacer(",", "", "_", "").Replace(found[1]))
			if err == nil && n >= leastWindow && n <= mostWindow {
				return n
			}
		}
	}
	return 0
}

// Discover implements Discoverer: it reads the window from the list of models, if the endpoint names it there.
func (p *openAI) Discover(ctx context.Context) {
	if p.window.tokens() > 0 || p.window.asked.Swap(true) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, discoverTimeout)
	defer cancel()
	list, err := p.list(ctx)
	if err != nil {
		return // a call will say what is wrong
	}
	for _, m := range list.Data {
		if m.ID != p.name {
			continue
		}
		for _, n := range []int{m.Loaded, m.ContextLength, m.ContextWindow, m.MaxModelLen} {
			if n >= leastWindow && n <= mostWindow {
				p.window.learn(n)
				return
			}
		}
	}
}

// Discover implements Discoverer for the first model, whose window is the chain's.
func (c *chain) Discover(ctx context.Context) {
	if d, can := c.links[0].Provider.(Discoverer); can {
		d.Discover(ctx)
	}
}

// Price implements Pricer with the prices of the first model.
func (c *chain) Price(u Usage) Usage { return c.links[0].price(u) }

// MaxOutput implements Limited for the first model.
func (c *chain) MaxOutput() int {
	if l, is := c.links[0].Provider.(Limited); is {
		return l.MaxOutput()
	}
	return 0
}
