package operator

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

// drain ends the intake of turns and lets running ones finish; the gateway keeps running and connected (J11). What waits in a
// mailbox keeps waiting.
func (op *Operator) drain(_ context.Context, cmd ops.Command) (string, any, error) {
	by, why := actor(cmd.By), reason(cmd, "")
	began, err := op.o.Lifecycle.Drain(ops.DrainState{By: by, Reason: why, Since: ops.At(time.Now())})
	if err != nil {
		return "", nil, err
	}
	if !began {
		return "already draining", nil, nil
	}
	_, running := op.o.Table.Len()
	op.o.Log.Info("draining", "by", by, "reason", why, "running_turns", running)
	op.o.Events.Emit(ops.EventGatewayState, "gateway", strings.TrimSuffix("draining: "+why, ": "), ops.GatewayChange{By: by, State: ops.StateDraining})
	return text.Plural(running, "1 running turn may finish", strconv.Itoa(running)+" running turns may finish") + "; no new ones begin", nil, nil
}

// undrain takes new turns again, those that waited first.
func (op *Operator) undrain(context.Context, ops.Command) (string, any, error) {
	if err := op.o.Lifecycle.Undrain(); err != nil {
		return "", nil, err
	}
	held := op.o.Conversations.Resume()
	op.o.Log.Info("taking turns again", "held", held)
	op.o.Events.Emit(ops.EventGatewayState, "gateway", "running", ops.GatewayChange{State: ops.StateRunning})
	if held == 0 {
		return "accepting new turns; no messages were waiting", nil, nil
	}
	return fmt.Sprintf("accepting new turns; %d waiting %s", held, text.Plural(held, "session continues", "sessions continue")), nil, nil
}
