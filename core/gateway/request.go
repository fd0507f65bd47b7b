package gateway

import (
	"context"

	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// endTurn writes the end of a turn. Of a request's turn it deletes everything instead, in the same one commit.
func (g *Gateway) endTurn(ctx context.Context, s store.Session, row store.Turn, last []store.Message) error {
	if session.IsRequest(s.Key) {
		return g.store.ForgetSessions(ctx, s.ID)
	}
	return g.store.EndTurn(ctx, s, row, last)
}

// endRequest ends the session of a request whose turn has ended. Where no tool ran there is only the agent to let go of;
// otherwise a task ends the processes as well, so that the answer does not wait for their grace.
func (w *work) endRequest() {
	g, s := w.g, w.turn.Session
	if w.result.ToolsRan || g.procs.CountSession(s.Key) > 0 {
		g.endRequestLater(s.Key)
		return
	}
	if w.agent != nil {
		g.cache.Remove(w.agent)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.turn.Context()), g.closeTimeout())
		defer cancel()
		if err := w.agent.Release(ctx); err != nil {
			g.log.Warn("agent of a request not released", "session", s.Key, "error", term.Clean(err.Error(), 300))
		}
	}
	g.table.Forget(s.Key, s.ID)
}

func (g *Gateway) endRequestLater(key string) {
	g.background.Start(g.turns, "end request", key, func(ctx context.Context) { g.forget(ctx, key, "its request has ended") })
}
