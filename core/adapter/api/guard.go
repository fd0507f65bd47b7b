package api

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// The bound on wrong keys (HF17).
const (
	// maxWrong is how many wrong keys a source may send within wrongWindow before it is locked out for lockout.
	maxWrong    = 10
	wrongWindow = time.Minute
	lockout     = 5 * time.Minute
	// maxSources bounds the sources that are remembered; the one that was seen first is forgotten for the next.
	maxSources = 4096
)

// guard slows guessing at the key. It knows the sources of wrong keys: an address, see sourceOf.
//
// A source that sent maxWrong wrong keys within wrongWindow has its wrong keys answered with 429 and not with 401 for lockout. If
// they were different keys the source is guessing, and the right key is answered with 429 as well: otherwise a guess would be
// as good as before. A client that sends one wrong key again and again does not lock out the clients with the right key behind
// the same address. Nothing that a source does while it is locked out makes its lockout longer.
type guard struct {
	mu      sync.Mutex
	sources map[string]*source
	order   []string // as they were seen first
}

// source is one address from which wrong keys came.
type source struct {
	// wrong are the times of its last wrong keys, different the sums of those that differ, with when each came last; both of
	// the last wrongWindow and at most maxWrong.
	wrong     []time.Time
	different map[[sha256.Size]byte]time.Time
	// until is the end of the lockout of its wrong keys, guessing that of all its keys; zero: none.
	until, guessing time.Time
}

// wrong notes a wrong key of from, and returns what it is answered with if it is locked out.
func (g *guard) wrong(from, key string, now time.Time) *problem {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.sources[from]
	if s == nil {
		s = g.add(from)
	}
	if now.Before(s.guessing) {
		return lockedOut(s.guessing.Sub(now))
	}
	old := func(at time.Time) bool { return now.Sub(at) >= wrongWindow }
	maps.DeleteFunc(s.different, func(_ [sha256.Size]byte, at time.Time) bool { return old(at) })
	s.different[sha256.Sum256([]byte(key))] = now
	if len(s.different) >= maxWrong {
		s.guessing = now.Add(lockout)
		clear(s.different)
	}
	if now.Before(s.until) {
		return lockedOut(s.until.Sub(now))
	}
	s.wrong = append(slices.DeleteFunc(s.wrong, old), now)
	if len(s.wrong) >= maxWrong {
		s.until, s.wrong = now.Add(lockout), nil
	}
	return nil
}

// right returns what the right key of from is answered with if its source is locked out for guessing.
func (g *guard) right(from string, now time.Time) *problem {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.sources[from]; s != nil && now.Before(s.guessing) {
		return lockedOut(s.guessing.Sub(now))
	}
	return nil
}

// add remembers a source. g.mu is held.
func (g *guard) add(from string) *source {
	if g.sources == nil {
		g.sources = map[string]*source{}
	}
	if len(g.order) >= maxSources {
		delete(g.sources, g.order[0])
		g.order = g.order[1:]
	}
	s := &source{different: map[[sha256.Size]byte]time.Time{}}
	g.sources[from] = s
	g.order = append(g.order, from)
	return s
}

func lockedOut(wait time.Duration) *problem {
	return &problem{
		status: http.StatusTooManyRequests, code: "too_many_wrong_keys", retryAfter: wait,
		message: fmt.Sprintf("%d wrong API keys came from this address within %s: send the right key after %s", maxWrong, wrongWindow, wait.Round(time.Second)),
	}
}

// slow is what a request is answered with that authorize answered with p: its source may be locked out.
func (c *conn) slow(r *http.Request, p *problem) *problem {
	token, given := bearer(r)
	switch {
	case !given || c.platform.options.Key == "":
		return p
	case p == nil:
		return c.platform.guard.right(sourceOf(r), time.Now())
	case p.code == codeWrongKey:
		return cmp.Or(c.platform.guard.wrong(sourceOf(r), token, time.Now()), p)
	}
	return p
}

// sourceOf is the address that a request came from, for an IPv6 address its network: see prefixOf.
func sourceOf(r *http.Request) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return hostname(r.RemoteAddr)
	}
	return prefixOf(at.Addr()).String()
}

// refused answers a request that may not ask. Its log line has no port, so that equal refusals are one line with a count, and
// beyond maxNamed sources a minute no address (HF17).
func (c *conn) refused(w http.ResponseWriter, r *http.Request, p *problem) {
	c.platform.refused.Add(1)
	c.log.Warn("api request refused", "code", p.code, "caller", c.callerOf(r.Context()).String(), "remote", c.platform.named.name(hostname(r.RemoteAddr), time.Now()))
	unread(w, r)
	leaveIfShort(w, r)
	p.write(w)
}

// maxNamed is how many sources of refused requests are named in the log in a minute.
const maxNamed = 32

// names are the sources of refused requests that the log names in this minute.
type names struct {
	mu    sync.Mutex
	since time.Time
	seen  map[string]bool
}

// name is host, or others if enough have been named in this minute.
func (n *names) name(host string, now time.Time) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil || now.Sub(n.since) >= time.Minute {
		n.since, n.seen = now, map[string]bool{}
	}
	if !n.seen[host] {
		if len(n.seen) >= maxNamed {
			return "others"
		}
		n.seen[host] = true
	}
	return host
}
