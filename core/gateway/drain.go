package gateway

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

// beginDrain takes no new turns and lets running ones finish; the gateway keeps running and connected (J11). What waits
// in a mailbox keeps waiting.
func (g *Gateway) beginDrain(by, why string) (string, any, error) {
	began, err := g.lifecycle.Drain(ops.DrainState{By: by, Reason: why, Since: ops.At(time.Now())})
	if err != nil {
		return "", nil, err
	}
	if !began {
		return "already draining", nil, nil
	}
	_, running := g.table.Len()
	g.log.Info("draining", "by", by, "reason", why, "running_turns", running)
	g.events.Emit(ops.EventGatewayState, "gateway", strings.TrimSuffix("draining: "+why, ": "), map[string]any{"state": ops.StateDraining, "by": by})
	return text.Plural(running, "1 running turn may finish", strconv.Itoa(running)+" running turns may finish") + "; no new ones begin", nil, nil
}

// endDrain takes new turns again, those that waited first.
func (g *Gateway) endDrain() (string, any, error) {
	if err := g.lifecycle.Undrain(); err != nil {
		return "", nil, err
	}
	held := g.conversations.Resume()
	g.log.Info("taking turns again", "held", held)
	g.events.Emit(ops.EventGatewayState, "gateway", "running", map[string]any{"state": ops.StateRunning})
	if held == 0 {
		return "accepting new turns; no messages were waiting", nil, nil
	}
	return fmt.Sprintf("accepting new turns; %d waiting %s", held, text.Plural(held, "session continues", "sessions continue")), nil, nil
}
