package control

import (
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/ops"
)

// Connections is how many connections the control socket has at once, and what is kept of them (HF12).
type Connections struct {
	// Most bounds them all; 0 is 128. No more than a quarter of the process's descriptors are taken in any case, so that
	// callers never take those that the store, the tools and the api need. Reached is called when one is refused for it.
	Most    int
	Reached func()
}

const (
	defaultConnections = 128
	// keptConnections are for callers that are not tools and have no other connection: so that an operator gets in while one
	// program, or many tools, have all the others.
	keptConnections = 8
	// refusedAtOnce is how many connections beyond the bound get an answer that says why they are refused, at most
	// refusedEach of one process. Each has refusedTime to send its request. The others are closed without an answer.
	refusedAtOnce = 16
	refusedEach   = 2
	refusedTime   = time.Second
)

// gate is a listener that bounds the connections. Those that it lets in only to be refused have the reason in their peer.
type gate struct {
	net.Listener
	isTool  func(pid int) (session string, tool bool, err error)
	reached func()
	// most bounds all, share those of one process, kept are left to callers without any.
	most, share, kept int
	lobby             int // bounds the connections that get a refusal as answer

	mu      sync.Mutex // guards what follows
	open    int
	refused int
	byPID   map[int32]int // open ones
	told    map[int32]int // refused ones
}

func newGate(l net.Listener, c Connections, isTool func(int) (string, bool, error)) *gate {
	most := MostConnections(c.Most)
	return &gate{
		Listener: l, isTool: isTool, reached: c.Reached,
		most: most, share: max(most/4, 2), kept: min(keptConnections, most/2), lobby: min(refusedAtOnce, max(most/4, 1)),
		byPID: map[int32]int{}, told: map[int32]int{},
	}
}

// MostConnections is the bound that holds for a configured one: at most a quarter of the process's descriptors.
func MostConnections(configured int) int {
	if configured <= 0 {
		configured = defaultConnections
	}
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err == nil && files.Cur/4 < uint64(configured) {
		return max(int(files.Cur/4), 4)
	}
	return configured
}

// used is how many connections are open.
func (g *gate) used() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

// Accept returns the next connection that is served, or told why it is not.
func (g *gate) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		p := newPeer(c, g.isTool)
		leave, in := g.enter(p)
		if !in {
			c.Close() // it gets no answer, because enough like it did
			continue
		}
		gc := &gated{Conn: c, peer: p, leave: sync.OnceFunc(leave)}
		if p.full != nil {
			gc.end = time.AfterFunc(refusedTime, func() { gc.Close() })
		}
		return gc, nil
	}
}

// enter takes a place for p; leave gives it back. Without one, in is false, or p.full says why it is refused.
func (g *gate) enter(p *peer) (leave func(), in bool) {
	pid := p.pid()
	tool := p.tool()
	g.mu.Lock()
	defer g.mu.Unlock()
	why := ""
	share := g.share
	if pid == 0 { // all processes outside of our pid namespace
		share = g.most - g.kept
	}
	switch {
	case g.open >= g.most:
		why = fmt.Sprintf("the control socket has %d connections, and no more are taken", g.open)
	case g.byPID[pid] >= share:
		why = fmt.Sprintf("process %d has %d of the control socket's %d connections, and gets no more", pid, g.byPID[pid], g.most)
	case g.open >= g.most-g.kept && (tool || g.byPID[pid] > 0):
		why = fmt.Sprintf("the control socket has %d connections; the last %d are for callers without any that are not tools", g.open, g.kept)
	}
	if why == "" {
		g.open++
		g.byPID[pid]++
		return func() { g.drop(&g.open, g.byPID, pid) }, true
	}
	if g.reached != nil {
		g.reached()
	}
	if g.refused >= g.lobby || g.told[pid] >= refusedEach {
		return nil, false
	}
	g.refused++
	g.told[pid]++
	p.full = &ops.Error{
		Code: ops.CodeLimit, Message: why + " (limits.control_connections)",
		Hint: "close connections that are not needed and ask again, or raise limits.control_connections", RetryAfter: refusedTime,
	}
	return func() { g.drop(&g.refused, g.told, pid) }, true
}

func (g *gate) drop(count *int, of map[int32]int, pid int32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	*count--
	if of[pid]--; of[pid] <= 0 {
		delete(of, pid)
	}
}

// gated is a connection with its place.
type gated struct {
	net.Conn
	peer  *peer
	leave func()
	end   *time.Timer // of one that is refused
}

func (c *gated) Close() error {
	defer c.leave()
	if c.end != nil {
		c.end.Stop()
	}
	return c.Conn.Close()
}
