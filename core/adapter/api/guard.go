package api

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"gatewaytui/core/text"
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

// Guard slows guessing at the key. It knows the sources of wrong keys: a user of this machine or an address, see sourceOf. Its
// zero value is ready for use, and it may be used from any goroutine. The listener of the metrics, which has the same key, shares
// the one of the API.
//
// A source that sent maxWrong wrong keys within wrongWindow has its wrong keys answered with 429 and not with 401 for lockout. If
// they were different keys the source is guessing, and the right key is answered with 429 as well: otherwise a guess would be
// as good as before. A client that sends one wrong key again and again does not lock out the clients with the right key behind
// the same address. Nothing that a source does while it is locked out makes its lockout longer.
type Guard struct {
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

// Check is called for each request that sends a key: from is its source, right says whether key is the right one. It returns how
// long the source is locked out; 0: it is not. A source that is locked out does not learn whether the key was right: the right key of one that is guessing has to wait as well.
func (g *Guard) Check(from, key string, right bool, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.sources[from]
	if s == nil && right {
		return 0
	}
	if s == nil {
		s = g.add(from)
	}
	if left := s.guessing.Sub(now); left > 0 || right {
		return max(left, 0)
	}
	old := func(at time.Time) bool { return now.Sub(at) >= wrongWindow }
	maps.DeleteFunc(s.different, func(_ [sha256.Size]byte, at time.Time) bool { return old(at) })
	s.different[sha256.Sum256([]byte(key))] = now
	if len(s.different) >= maxWrong {
		s.guessing = now.Add(lockout)
		clear(s.different)
	}
	if now.Before(s.until) {
		return s.until.Sub(now)
	}
	s.wrong = append(slices.DeleteFunc(s.wrong, old), now)
	if len(s.wrong) >= maxWrong {
		s.until, s.wrong = now.Add(lockout), nil
	}
	return 0
}

// add remembers a source. g.mu is held.
func (g *Guard) add(from string) *source {
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

// slow is what a request is answered with that authorize answered with p: its source may be locked out. A program that is
// served without a key is never locked out, whichever key it sends: it does not need the key of the home. The key of a
// process that the kernel identifies as a tool is not read.
func (c *conn) slow(r *http.Request, p *problem) *problem {
	token, given := bearer(r)
	if !given || c.platform.key == nil {
		return p
	}
	who := peerOf(r).who()
	keyless := c.platform.options.Key == "" && c.platform.fromPage(r) == nil
	if who.own() && (keyless || p != nil && p.code == codeTool) {
		return p
	}
	wait := c.platform.guard.Check(sourceOf(r, who), token, c.platform.isKey(token), time.Now())
	if wait <= 0 {
		return p
	}
	return &problem{
		status: http.StatusTooManyRequests, code: "too_many_wrong_keys", retryAfter: wait,
		message: fmt.Sprintf("%d wrong API keys came from this user or address within %s: send the right key after %s", maxWrong, text.Exact(wrongWindow), text.Exact(wait.Round(time.Second))),
	}
}

// sourceOf is where a request came from: the user, if the kernel knows the caller, so that one user of this machine cannot
// lock out another, or else the address.
func sourceOf(r *http.Request, who caller) string {
	if who.UID != unknownUID {
		return who.String()
	}
	return SourceOf(r.RemoteAddr)
}

// SourceOf is the source of a request from remote, which is host:port: the address, for an IPv6 address its network: see prefixOf.
func SourceOf(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return hostname(remote)
	}
	return prefixOf(at.Addr()).String()
}

// refused answers a request that may not ask. Its log line has no port, so that equal refusals are one line with a count, and
// beyond maxNamed sources a minute no address (HF17).
func (c *conn) refused(w http.ResponseWriter, r *http.Request, p *problem) {
	c.platform.refused.Add(1)
	c.log.Warn("api request refused", "code", p.code, "caller", peerOf(r).who().String(), "remote", c.platform.named.name(hostname(r.RemoteAddr), time.Now()))
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
