package operator

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/shutdown"
	"gatewaytui/core/store"
	"gatewaytui/core/text"
)

// StopRequest asks for the end of the gateway.
type StopRequest struct {
	Mode   ops.Mode
	Reason string
	By     string
	// Restart asks for exit code 75, so that the service manager starts the next life.
	Restart bool
	// Asker is the session whose turn asked: the drain does not wait for it (A5).
	Asker string
	// Respawn says that this program starts the next life, if no service manager does: who asked leaves that to it, or is one
	// of its descendants and ends with it (B7).
	Respawn bool
	// ExitCode, if not 0, replaces the planned one: 128+n for a further signal n.
	ExitCode int
	// ID is the id of the shutdown; empty: a new one. Audit is the row of the command that asked; nil: a signal did.
	ID    string
	Audit *store.Audit
}

// requestStop is the stop as a command. Its request is the shutdown's id; who asks again gets that one.
func (op *Operator) requestStop(ctx context.Context, req ops.Request, cmd ops.Command) (ops.Request, error) {
	if op.asksToStop(cmd) {
		return op.askStop(ctx, req, cmd)
	}
	if err := checkLife(op, cmd); err != nil {
		return ops.Request{}, err
	}
	rq := op.stopOf(req, cmd)
	row := *rq.Audit
	req.State, req.Detail = ops.RequestRunning, "the shutdown has begun"
	op.requests.add(req)
	id, began := op.o.Lifecycle.Stop(rq)
	if began {
		return req, nil
	}
	// It joined: one shutdown, one id, and a word about it (B19).
	detail := "already stopping (" + id + ")"
	op.requests.update(req.ID, ops.RequestDone, detail, nil, nil)
	op.o.Background.Start(context.Background(), "audit", "", func(ctx context.Context) { op.putAudit(ctx, row) })
	joined, err := op.requests.get(context.Background(), id, false)
	if err != nil { // it began with a signal
		joined = ops.Request{ID: id, Verb: ops.VerbStop, At: req.At}
		if op.o.Lifecycle.Stopped().Restart {
			joined.Verb = ops.VerbRestart
		}
	}
	joined.State, joined.Detail, joined.Joined = ops.RequestRunning, detail, true
	return joined, nil
}

// stopOf is the stop that a command asks for.
func (op *Operator) stopOf(req ops.Request, cmd ops.Command) StopRequest {
	rq := StopRequest{
		ID: req.ID, Mode: cmp.Or(cmd.Mode, ops.ModeGraceful), Reason: reason(cmd, "stopped by "+asker(cmd.By)), By: req.By, Restart: cmd.Verb == ops.VerbRestart, Asker: cmd.By.Session,
		Respawn: cmd.Respawn || cmd.By.Tool || process.Descends(cmd.By.PID, op.o.Identity.PID),
	}
	if rq.Restart && cmd.Reason == "" {
		rq.Reason = "restarted by " + asker(cmd.By)
	}
	row := op.auditRow(req, cmd, rq.Reason)
	rq.Audit = &row
	return rq
}

// TightBudget is the warning that the service manager's limit for a stop takes time from the stop that the config asks for
// (A3); tight is false if it does not.
func TightBudget(plan shutdown.Plan, limit time.Duration) (w ops.Warning, tight bool) {
	rows := plan.Rows(limit)
	if len(rows.Shrunk) == 0 {
		return ops.Warning{}, false
	}
	var cuts []string
	for _, s := range rows.Shrunk {
		cuts = append(cuts, fmt.Sprintf("%s %s instead of %s", s.Name, text.Exact(time.Duration(s.GotMS)*time.Millisecond), text.Exact(time.Duration(s.WantedMS)*time.Millisecond)))
	}
	message := fmt.Sprintf("the service manager allows a stop %s and the config asks for %s: %s. Allow it %s, or ask for less",
		limit, plan.WorstCase().Round(time.Millisecond), strings.Join(cuts, ", "), plan.TimeoutStopSec())
	return ops.Warning{Code: "shutdown.budget", Message: message, Since: ops.At(time.Now())}, true
}

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
	running := op.o.Table.Counts().Turns
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
