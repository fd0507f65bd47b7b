package gateway

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// Preview implements ops.Console: what cmd would wait for, interrupt, close, kill and lose now. It does nothing.
func (g *Gateway) Preview(_ context.Context, cmd ops.Command) (ops.Preview, error) {
	spec, known := cmd.Verb.Spec()
	if !known {
		return ops.Preview{}, &ops.Error{Code: ops.CodeInvalid, Message: "no verb " + term.Quote(string(cmd.Verb))}
	}
	if v := verbs[cmd.Verb]; v.check != nil {
		if err := v.check(g, cmd); err != nil {
			return ops.Preview{}, err
		}
	}
	p := ops.Preview{
		Verb: cmd.Verb, Target: cmd.Target,
		WaitsFor: []string{}, Interrupt: []string{}, Closes: []string{}, Kills: []string{}, Keeps: []string{}, Loses: []string{},
	}
	switch cmd.Verb {
	case ops.VerbReset:
		g.previewTurn(&p, cmd.Target)
		g.previewProcesses(&p, cmd.Target)
		g.previewWaiting(&p, cmd.Target)
		p.Closes = append(p.Closes, "the agent of "+term.Clean(cmd.Target, 80))
		p.Keeps = append(p.Keeps, "the old transcript, for /sessions and /resume")
	case ops.VerbEvict:
		if cmd.Interrupt {
			g.previewTurn(&p, cmd.Target)
		}
		p.Closes = append(p.Closes, "the cached agent of "+term.Clean(cmd.Target, 80))
		p.Keeps = append(p.Keeps, "the session and its history; the next message makes a new agent")
		if n := g.procs.CountSession(cmd.Target); n > 0 {
			p.Keeps = append(p.Keeps, fmt.Sprintf("%d %s of %s", n, text.Plural(n, "process tree", "process trees"), term.Clean(cmd.Target, 80)))
		}
	case ops.VerbInterrupt:
		g.previewTurn(&p, cmd.Target)
		p.Keeps = append(p.Keeps, "the session, its agent and its background processes")
	case ops.VerbKill:
		for _, row := range g.procs.Rows() {
			if strconv.Itoa(row.PID) == cmd.Target {
				p.Kills = append(p.Kills, processLine(row))
			}
		}
	case ops.VerbPause, ops.VerbReconnect:
		p.Closes = append(p.Closes, "the connection of "+term.Clean(cmd.Target, 80))
		for _, v := range g.table.Turns() {
			if session.Platform(v.Session.Key) == cmd.Target {
				p.Loses = append(p.Loses, "the reply of "+turnLine(v)+", if it ends while the adapter is down")
			}
		}
	case ops.VerbDrain:
		g.previewDrain(&p)
	case ops.VerbStop, ops.VerbRestart:
		g.previewStop(&p, cmd.Mode)
	case ops.VerbSkip, ops.VerbForce:
		g.previewLever(&p, cmd)
	}
	p.EndsWork = spec.Ends && len(p.Interrupt)+len(p.Kills)+len(p.WaitsFor)+len(p.Loses) > 0
	return p, nil
}

func (g *Gateway) previewTurn(p *ops.Preview, key string) {
	if v, running := g.table.Running(key); running {
		p.Interrupt = append(p.Interrupt, turnLine(v))
	}
}

func (g *Gateway) previewProcesses(p *ops.Preview, key string) {
	for _, row := range g.procs.Rows() {
		if row.Session == key || key == "" {
			p.Kills = append(p.Kills, processLine(row))
		}
	}
}

func (g *Gateway) previewWaiting(p *ops.Preview, key string) {
	for _, row := range g.table.Waiting() {
		if key == "" && row.Queued > 0 && !asksAndWaits(row.Platform) {
			p.Keeps = append(p.Keeps, fmt.Sprintf("%d waiting %s of %s, for the next life", row.Queued, text.Plural(row.Queued, "message", "messages"), term.Clean(row.Key, 80)))
			continue
		}
		if row.Queued > 0 && (row.Key == key || key == "") {
			p.Loses = append(p.Loses, fmt.Sprintf("%d waiting %s of %s, each sender told", row.Queued, text.Plural(row.Queued, "message", "messages"), term.Clean(row.Key, 80)))
		}
	}
}

// asksAndWaits says that the senders on a platform wait for their answers: there is no chat to tell them in later.
func asksAndWaits(platform string) bool { return platform == "api" || platform == "cli" }

func (g *Gateway) previewStop(p *ops.Preview, mode ops.Mode) {
	plan, _ := g.phases.plan().Fit(g.phases.limit())
	if mode == "" {
		mode = ops.ModeGraceful
	}
	p.WorstCaseMS = ops.Millis(plan.WorstCaseIn(mode))
	for _, v := range g.table.Turns() {
		if mode == ops.ModeGraceful {
			p.WaitsFor = append(p.WaitsFor, turnLine(v))
		} else {
			p.Interrupt = append(p.Interrupt, turnLine(v))
		}
	}
	g.previewProcesses(p, "")
	g.previewWaiting(p, "")
	p.Closes = append(p.Closes, strconv.Itoa(g.cache.Len())+" agents")
	for _, a := range g.adapters.Rows() {
		p.Closes = append(p.Closes, "adapter "+a.Name)
	}
	p.Keeps = append(p.Keeps, "every session with its history")
}

// previewDrain lists what a drain lets finish, and the messages that then wait until it is undone or until the next life.
func (g *Gateway) previewDrain(p *ops.Preview) {
	for _, v := range g.table.Turns() {
		p.WaitsFor = append(p.WaitsFor, turnLine(v))
	}
	for _, row := range g.table.Waiting() {
		p.Keeps = append(p.Keeps, fmt.Sprintf("%d waiting %s of %s, until undrain", row.Queued, text.Plural(row.Queued, "message", "messages"), term.Clean(row.Key, 80)))
	}
	p.Keeps = append(p.Keeps, "every connection, session and process")
}

func (g *Gateway) previewLever(p *ops.Preview, cmd ops.Command) {
	run := g.lifecycle.Run()
	if run == nil {
		return
	}
	for _, b := range run.Report().Blockers() {
		if cmd.Item == "" || cmd.Item == b.ID || cmd.Item == b.Key() {
			p.Loses = append(p.Loses, skippedLine(b))
		}
	}
}

// skippedLine says what is lost when the stop no longer waits for an item.
func skippedLine(b ops.Item) string {
	line := fmt.Sprintf("stops waiting for %s %s", b.Kind, term.Clean(b.ID, 80))
	if b.Detail != "" {
		line += " (" + term.Clean(b.Detail, 80) + ")"
	}
	if b.Kind == "turn" {
		line += "; its answer is lost"
	}
	return line
}

func turnLine(v session.TurnView) string {
	return fmt.Sprintf("%s (%s, %s)", term.Clean(v.Session.Key, 80), time.Since(v.Started).Round(time.Second), ops.StepWords(v.Doing))
}

func processLine(p ops.Process) string {
	return fmt.Sprintf("pid %d %s (%d in its tree, %s)", p.PID, p.Command, p.TreeSize, term.Clean(p.Session, 80))
}
