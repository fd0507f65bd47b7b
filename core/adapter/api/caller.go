package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"gatewaytui/core/adapter"
)

// lookUpTimeout bounds the look-up of one connection's caller. Through netlink it takes some 20 us; reading /proc/net/tcp on
// a machine with very many sockets takes longer.
const lookUpTimeout = 2 * time.Second

// searchTimeout bounds the search for the process of one connection while tools run. It is generous: a tool that starts
// processes without end slows the search for everyone, and a caller who is not known is refused.
const searchTimeout = 10 * time.Second

// unknownUID is the uid of a caller that is not known.
const unknownUID = -1

var (
	errNoSocket = errors.New("the socket is gone, or is not of this machine")
	errUnmapped = errors.New("the uid has no number in the gateway's user namespace")
)

// caller is who is at the other end of one connection.
type caller struct {
	adapter.Socket // UID is unknownUID if it is not known
	// problem is why the caller cannot be trusted by its uid; nil: it can.
	problem error
}

// own reports whether the kernel says that the caller is our own user or root, as for the control socket.
func (w caller) own() bool {
	return w.problem == nil && (w.UID == 0 || w.UID == os.Geteuid())
}

// String is the caller for a log line.
func (w caller) String() string {
	if w.UID == unknownUID {
		return "unknown"
	}
	return "uid " + strconv.Itoa(w.UID)
}

// peer is the other end of one connection. who and tool find out who it is when its first request asks, and once.
type peer struct {
	nc   *counted
	who  func() caller
	tool func() toolCheck
}

// toolCheck says whether a caller is a tool of the gateway, and of which session, empty if that is not known. One whose socket is
// not known is not recognised.
type toolCheck struct {
	is      bool
	session string
	err     error // why it is not known
}

type peerKey struct{}

// peerOf is the peer of a request.
func peerOf(r *http.Request) *peer { return r.Context().Value(peerKey{}).(*peer) }

// withPeer is http.Server.ConnContext. It looks nothing up: the accept loop calls it.
func (c *conn) withPeer(ctx context.Context, nc net.Conn) context.Context {
	at := &peer{nc: nc.(*counted)}
	at.who = sync.OnceValue(func() caller {
		ctx, cancel := context.WithTimeout(c.tasks, lookUpTimeout)
		defer cancel()
		return c.lookUp(ctx, at.nc.Conn)
	})
	at.tool = sync.OnceValue(func() (t toolCheck) {
		if who := at.who(); who.Inode != 0 {
			ctx, cancel := context.WithTimeout(c.tasks, searchTimeout)
			defer cancel()
			t.session, t.is, t.err = c.receiver.ToolSocket(ctx, who.Socket)
		}
		return t
	})
	return context.WithValue(ctx, peerKey{}, at)
}

// lookUp asks the kernel who holds the other end of nc.
func (c *conn) lookUp(ctx context.Context, nc net.Conn) caller {
	s, err := c.platform.lookUp(ctx, nc)
	switch {
	case err != nil:
		return caller{Socket: adapter.Socket{UID: unknownUID}, problem: err}
	case unmapped(s.UID):
		s.UID = unknownUID
		return caller{Socket: s, problem: errUnmapped}
	}
	return caller{Socket: s}
}
