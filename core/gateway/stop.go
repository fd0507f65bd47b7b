package gateway

import (
	"context"
	"io"
	"runtime/pprof"
	"time"

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

// abortBound is what a start may take to end once a stop was asked for; the executor's watchdog is not armed yet.
const abortBound = 10 * time.Second

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
}

// stopRequest is a request to stop with its id and, if it came as a command, its audit row.
type stopRequest struct {
	StopRequest
	id    string
	audit *store.Audit
}

// Stop begins the shutdown and returns its id at once. A stop that is asked for while one runs joins it: it can only make
// it stronger, never begin a second one; began is then false. During a start it ends the start first.
func (g *Gateway) Stop(rq StopRequest) (id string, began bool) {
	return g.beginStop(stopRequest{StopRequest: rq, id: g.newID()})
}

func (g *Gateway) beginStop(rq stopRequest) (id string, began bool) {
	g.mu.Lock()
	if run := g.run; run != nil {
		id = g.stop.id
		g.mu.Unlock()
		g.join(run, rq.StopRequest)
		return id, false
	}
	defer g.mu.Unlock()
	if g.state == ops.StateStarting && !g.startOver && g.early == nil {
		g.early = &rq
		if g.abort != nil {
			g.abort()
		}
		time.AfterFunc(abortBound, g.abortStart)
		return rq.id, true
	}
	if g.early != nil && g.early.id != rq.id {
		return g.early.id, false
	}
	g.state, g.stop, g.drain = ops.StateStopping, rq, nil
	exit := exitPlanned
	switch {
	case rq.ExitCode != 0:
		exit = rq.ExitCode
	case rq.Restart:
		exit = exitRestart
	}
	g.run = shutdown.Start(g.plan(), shutdown.Options{
		ID: rq.id, Life: g.life, Reason: rq.Reason, By: rq.By, Mode: rq.Mode, Restart: rq.Restart, ExitCode: exit, Limit: g.limit(),
		Save: g.opts.SaveReport, Observe: g.observe, Log: g.log, Exit: g.opts.Exit, Dump: g.opts.Dump,
		Stacks: func(w io.Writer) error { return pprof.Lookup("goroutine").WriteTo(w, 1) },
	})
	close(g.began)
	return rq.id, true
}

// join makes a running shutdown as strong as rq asks for.
func (g *Gateway) join(run *shutdown.Run, rq StopRequest) {
	if rq.ExitCode != 0 {
		run.SetExit(rq.ExitCode)
	}
	run.Escalate(rq.Mode, rq.By)
	g.log.Warn("stop asked for again", "mode", string(rq.Mode), "by", rq.By, "reason", rq.Reason)
}

// endStart ends the start, which failed with err or not, and reports whether a shutdown runs now, because one was asked for
// meanwhile. One that is asked for later, until serve, begins at once.
func (g *Gateway) endStart(err error) bool {
	g.mu.Lock()
	early := g.early
	g.abort, g.startOver = nil, early == nil && err == nil
	if early != nil {
		g.state = ops.StateStopping
	}
	g.mu.Unlock()
	if early == nil {
		return false
	}
	g.beginStop(*early)
	return true
}

// abortStart ends the process if a start that was told to end has not come to its shutdown.
func (g *Gateway) abortStart() {
	if g.stopping() != nil {
		return
	}
	g.log.Error("the start did not end when it was told to")
	if g.opts.Dump != nil {
		g.opts.Dump()
	}
	if g.opts.Exit != nil {
		g.opts.Exit(shutdown.ExitWatchdog)
	}
}

// stopping is the shutdown that runs, or nil.
func (g *Gateway) stopping() *shutdown.Run {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.run
}

// StartsNext reports whether the stop that runs, or ran, is a restart after which nobody but this process would start the
// next life: no service manager does, and who asked left it to us, or is a tool of ours, which the stop ends (B7).
func (g *Gateway) StartsNext() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.run != nil && g.stop.Restart && g.stop.Respawn && g.opts.SupervisorName == ""
}

// restarts reports whether the stop that runs is a restart.
func (g *Gateway) restarts() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stop.Restart
}

// stopAudit is the audit row of the command that began the stop; nil: it was a signal.
func (g *Gateway) stopAudit() *store.Audit {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stop.audit
}

func (g *Gateway) stopAsker() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stop.Asker
}

// requestStop is the stop as a command. Its request is the shutdown's id; who asks again is told that one.
func (g *Gateway) requestStop(req ops.Request, cmd ops.Command) (ops.Request, error) {
	if err := checkLife(g, cmd); err != nil {
		return ops.Request{}, err
	}
	rq := stopRequest{id: req.ID, StopRequest: StopRequest{
		Mode: cmd.Mode, Reason: reason(cmd, "stopped by "+asker(cmd.By)), By: req.By, Restart: cmd.Verb == ops.VerbRestart, Asker: cmd.By.Session,
		Respawn: cmd.Respawn || cmd.By.Tool || process.Descends(cmd.By.PID, g.opts.PID),
	}}
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
	rq.audit = &row
	req.State, req.Detail = ops.RequestRunning, "the shutdown has begun"
	g.requests.add(req)
	id, began := g.beginStop(rq)
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
		if g.restarts() {
			joined.Verb = ops.VerbRestart
		}
	}
	joined.State, joined.Detail, joined.Joined = ops.RequestRunning, detail, true
	return joined, nil
}

// observe passes the transitions of the shutdown on to who follows events, and to the service manager.
func (g *Gateway) observe(e shutdown.Event) {
	g.notifyPhase(e)
	switch e.Type {
	case ops.EventShutdownPhase:
		g.events.Emit(e.Type, e.Phase.Name, "phase "+e.Phase.Name+" "+string(e.Phase.State), map[string]any{"phase": e.Phase, "blockers": e.Blockers})
		if e.Phase.Name == shutdown.PhaseSurrender && e.Phase.State == ops.StepRunning {
			close(g.eventsFlushed)
		}
	case ops.EventShutdownItem:
		g.events.Emit(e.Type, e.Phase.Name, e.Item.Kind+" "+e.Item.ID+" "+string(e.Item.State), map[string]any{"phase": e.Phase.Name, "item": e.Item})
	}
}

// RefuseWaiting implements health.Gateway: it answers the senders who wait for the answer to a waiting message. A chat's
// message stays in the inbox, for the next life.
func (g *Gateway) RefuseWaiting(why error) {
	for key, waiting := range g.table.Drop() {
		for _, m := range waiting {
			if !m.Instant {
				g.log.Info("waiting message left to the next life", "session", key, "message", m.ID)
				continue
			}
			g.log.Warn("waiting message dropped", "session", key, "message", m.ID, "reason", term.Clean(why.Error(), 300))
			g.outbox.Refuse(key, answer(why), m)
		}
	}
}
