package gateway

import (
	"context"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// showMenu shows the chat commands in the menu of a platform that has just connected, on a task. A failure is logged: the
// commands work without a menu.
func (g *Gateway) showMenu(a ops.Adapter) {
	if a.State != ops.AdapterConnected || !g.adapters.Can(a.Name, adapter.AbilityMenu) {
		return
	}
	var commands []adapter.MenuCommand
	for _, c := range g.conversations.Menu() {
		commands = append(commands, adapter.MenuCommand(c))
	}
	g.background.StartUpTo(context.Background(), 1, "menu of "+a.Name, "", func(ctx context.Context) {
		if err := g.adapters.SetMenu(ctx, a.Name, commands); err != nil && ctx.Err() == nil {
			g.opts.Log.Warn(ops.LogAdapterMenu, "adapter", a.Name, "error", term.Clean(err.Error(), 300))
		}
	})
}
