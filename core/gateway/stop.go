package gateway

import (
	"context"
	"io"
	"runtime/pprof"

	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/shutdown"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// Exit codes of a planned end (CONTRACT.md, 1).
const (
	exitPlanned = 0
	exitRestart = 75
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
	// Respawn says that the next life is ours to start, if no service manager does: who asked leaves it to us, or is below
	// us and ends with us (B7).
	Respawn bool
	// ExitCode, if not 0, replaces the planned one: 128+n for a further signal n.
	ExitCode int
	// ID is the id of the shutdown; empty: a new one. Audit is the row of the command that asked; nil: a signal did.
	ID    string
	Audit *store.Audit
}

// Stop begins the shutdown and returns its id at once. A stop that is asked for while one runs joins it: it can make it
// stronger and never begins a second one; began is then false. During a start it ends the start first.
func (g *Gateway) Stop(rq StopRequest) (id string, began bool) {
	if rq.ID == "" {
		rq.ID = g.newID()
	}
	id, began = g.lifecycle.Stop(rq)
	if !began {
		g.log.Warn("stop asked for again", "mode", string(rq.Mode), "by", rq.By, "reason", rq.Reason)
	}
	return id, began
}

// beginShutdown starts the shutdown that rq asks for.
func (g *Gateway) beginShutdown(rq StopRequest) *shutdown.Run {
	exit := exitPlanned
	switch {
	case rq.ExitCode != 0:
		exit = rq.ExitCode
	case rq.Restart:
		exit = exitRestart
	}
	return shutdown.Start(g.phases.plan(), shutdown.Options{
		ID: rq.ID, Life: g.life, Reason: rq.Reason, By: rq.By, Mode: rq.Mode, Restart: rq.Restart, ExitCode: exit, Limit: g.phases.limit(),
		Save: g.opts.SaveReport, Observe: g.phases.observe, Log: g.log, Exit: g.opts.Exit, Dump: g.opts.Dump,
		Stacks: func(w io.Writer) error { return pprof.Lookup("goroutine").WriteTo(w, 1) },
	})
}

// endProcess ends the process because its start ignored its cancellation.
func (g *Gateway) endProcess() {
	g.log.Error("startup ignored cancellation")
	if g.opts.Dump != nil {
		g.opts.Dump()
	}
	if g.opts.Exit != nil {
		g.opts.Exit(shutdown.ExitWatchdog)
	}
}

// StartsNext reports whether the stop that runs, or ran, is a restart after which only this process would start the next
// life: no service manager does, and who asked left it to the gateway, or is a tool of the gateway, which the stop ends (B7).
func (g *Gateway) StartsNext() bool {
	rq := g.lifecycle.Stopped()
	return rq.Restart && rq.Respawn && g.opts.SupervisorName == ""
}

// requestStop is the stop as a command. Its request is the shutdown's id; who asks again is told that one.
func (g *Gateway) requestStop(req ops.Request, cmd ops.Command) (ops.Request, error) {
	if err := checkLife(g, cmd); err != nil {
		return ops.Request{}, err
	}
	rq := StopRequest{
		ID: req.ID, Mode: cmd.Mode, Reason: reason(cmd, "stopped by "+asker(cmd.By)), By: req.By, Restart: cmd.Verb == ops.VerbRestart, Asker: cmd.By.Session,
		Respawn: cmd.Respawn || cmd.By.Tool || process.Descends(cmd.By.PID, g.opts.PID),
	}
	switch cmd.Mode {
	case ops.ModeGraceful, ops.ModeFast, ops.ModeImmediate:
	case "":
		rq.Mode = ops.ModeGraceful
	default:
		return ops.Request{}, &ops.Error{Code: ops.CodeInvalid, Message: "no mode " + term.Quote(string(cmd.Mode)), Hint: "graceful, fast or immediate"}
	}
	if rq.Restart && cmd.Reason == "" {
		rq.Reason = "restarted by " + asker(cmd.By)
	}
	row := g.auditRow(req, cmd, rq.Reason)
	rq.Audit = &row
	req.State, req.Detail = ops.RequestRunning, "the shutdown has begun"
	g.requests.add(req)
	id, began := g.Stop(rq)
	if began {
		return req, nil
	}
	// It joined: one shutdown, one id, and a word about it (B19).
	detail := "already stopping (" + id + ")"
	g.requests.update(req.ID, ops.RequestDone, detail, nil, nil)
	g.background.Start(context.Background(), "audit", "", func(ctx context.Context) { g.putAudit(ctx, row) })
	joined, err := g.requests.get(context.Background(), id, false)
	if err != nil { // it began with a signal
		joined = ops.Request{ID: id, Verb: ops.VerbStop, At: req.At}
		if g.lifecycle.Stopped().Restart {
			joined.Verb = ops.VerbRestart
		}
	}
	joined.State, joined.Detail, joined.Joined = ops.RequestRunning, detail, true
	return joined, nil
}
