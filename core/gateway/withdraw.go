package gateway

import (
	"context"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
)

var _ adapter.Withdrawer = (*Gateway)(nil)

// Withdraw implements adapter.Withdrawer, on a tracked task: an interrupt may take a moment. A command and what it started
// go on.
func (g *Gateway) Withdraw(key, id string) {
	g.background.Start(g.turns, "client left", key, func(ctx context.Context) {
		waiting, turn, found := g.table.Withdraw(key, id)
		switch {
		case !found:
		case turn == "":
			g.withdrawn(key, waiting, session.ErrLeft)
		default:
			if _, err := g.interrupt(ctx, key, turn, session.ErrLeft); err != nil && !ops.HasCode(err, ops.CodeConflict) {
				g.log.Warn("turn not interrupted though its client has left", "session", key, "turn", turn, "error", term.Clean(err.Error(), 300))
			}
		}
	})
}

// withdrawn tells the sender of a message that was taken out of its mailbox, on a tracked task: a platform may be slow.
func (g *Gateway) withdrawn(key string, m session.Message, cause error) {
	g.log.Info("waiting message withdrawn", "session", key, "message", m.ID, "reason", cause.Error())
	tell := func(context.Context) { m.Deliver("", answer(cause)) }
	if !g.background.Start(g.turns, "notice", key, tell) {
		tell(g.turns)
	}
}
