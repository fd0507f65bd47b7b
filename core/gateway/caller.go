package gateway

import (
	"context"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

var _ adapter.ToolFinder = (*Gateway)(nil)

// ToolSocket implements adapter.ToolFinder: what the registry tracks is a tool, or was started by one.
func (g *Gateway) ToolSocket(ctx context.Context, s adapter.Socket) (session string, tool bool, err error) {
	owner, tracked, err := g.procs.SocketOwner(ctx, s.UID, s.Inode, s.Group)
	return owner.Session, tracked, err
}

// withCaller adds who sent a message over the API to the keys of a log line.
func withCaller(c ops.Caller, args ...any) []any {
	if c.By == "" {
		return args
	}
	return append(args, "caller", c.String())
}
