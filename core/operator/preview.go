package operator

import (
	"cmp"
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
func (op *Operator) Preview(_ context.Context, cmd ops.Command) (ops.Preview, error) {
	cmd.Text = cmp.Or(cmd.Text, "-") // what a message says does not change what it does
	if err := cmd.Parse(); err != nil {
		return ops.Preview{}, err
	}
	spec, _ := cmd.Verb.Spec() // Parse found it
	v := verbs[cmd.Verb]
	if v.check != nil {
		if err := v.check(op, cmd); err != nil {
			return ops.Preview{}, err
		}
	}
	p := ops.Preview{
		Verb: cmd.Verb, Target: cmd.Target,
		WaitsFor: []string{}, Interrupt: []string{}, Closes: []string{}, Kills: []string{}, Keeps: []string{}, Loses: []string{},
	}
	if v.preview != nil {
		v.preview(op, &p, cmd)
	}
	p.EndsWork = spec.Ends && len(p.Interrupt)+len(p.Kills)+len(p.WaitsFor)+len(p.Loses) > 0
	return p, nil
}

func (op *Operator) previewKill(p *ops.Preview, cmd ops.Command) {
	for _, row := range op.o.Processes.Rows() {
		if row.PID == cmd.PID {
			p.Kills = append(p.Kills, processLine(row))
		}
	}
}

// previewDisconnect is the preview of a verb that ends the connection of an adapter.
func (op *Operator) previewDisconnect(p *ops.Preview, cmd ops.Command) {
	p.Closes = append(p.Closes, "the connection of "+term.Clean(cmd.Target, 80))
	for _, v := range op.o.Table.Turns() {
		if session.Platform(v.Session.Key) == cmd.Target {
			p.Loses = append(p.Loses, "the reply of "+turnLine(v)+", if it ends while the adapter is down")
		}
	}
}

func (op *Operator) previewTurn(p *ops.Preview, key string) {
	if v, running := op.o.Table.Running(key); running {
		p.Interrupt = append(p.Interrupt, turnLine(v))
	}
}

func (op *Operator) previewProcesses(p *ops.Preview, key string) {
	for _, row := range op.o.Processes.Rows() {
		if row.Session == key || key == "" {
			p.Kills = append(p.Kills, processLine(row))
		}
	}
}

func (op *Operator) previewWaiting(p *ops.Preview, key string) {
	for _, row := range op.o.Table.Waiting() {
		// A sender on api or cli waits for the answer: there is no chat to tell it in later.
		if key == "" && row.Queued > 0 && row.Platform != "api" && row.Platform != "cli" {
			p.Keeps = append(p.Keeps, waitingLine(row)+", for the next life")
			continue
		}
		if row.Queued > 0 && (row.Key == key || key == "") {
			p.Loses = append(p.Loses, waitingLine(row)+", each sender told")
		}
	}
}

func (op *Operator) previewStop(p *ops.Preview, cmd ops.Command) {
	mode := cmp.Or(cmd.Mode, ops.ModeGraceful)
	plan, _ := op.o.Lifecycle.Plan().Fit(op.o.Lifecycle.Budget())
	p.WorstCaseMS = ops.Millis(plan.WorstCaseIn(mode))
	for _, v := range op.o.Table.Turns() {
		if mode == ops.ModeGraceful && v.Approval == "" { // what waits for a person is not awaited (TR5)
			p.WaitsFor = append(p.WaitsFor, turnLine(v))
		} else {
			p.Interrupt = append(p.Interrupt, turnLine(v))
		}
	}
	op.previewProcesses(p, "")
	op.previewWaiting(p, "")
	p.Closes = append(p.Closes, strconv.Itoa(op.o.Cache.Len())+" agents")
	for _, a := range op.o.Adapters.Rows() {
		p.Closes = append(p.Closes, "adapter "+a.Name)
	}
	p.Keeps = append(p.Keeps, "every session with its history")
}

// previewDrain lists what a drain lets finish, and the messages that then wait until it is undone or until the next life.
func (op *Operator) previewDrain(p *ops.Preview, _ ops.Command) {
	for _, v := range op.o.Table.Turns() {
		p.WaitsFor = append(p.WaitsFor, turnLine(v))
	}
	for _, row := range op.o.Table.Waiting() {
		p.Keeps = append(p.Keeps, waitingLine(row)+", until undrain")
	}
	p.Keeps = append(p.Keeps, "every connection, session and process")
}

func (op *Operator) previewSkip(p *ops.Preview, cmd ops.Command) {
	run := op.o.Lifecycle.Run()
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

func waitingLine(row ops.Session) string {
	return fmt.Sprintf("%d waiting %s of %s", row.Queued, text.Plural(row.Queued, "message", "messages"), term.Clean(row.Key, 80))
}

func turnLine(v session.TurnView) string {
	return fmt.Sprintf("%s (%s, %s)", term.Clean(v.Session.Key, 80), time.Since(v.Started).Round(time.Second), ops.StepWords(v.Doing))
}

func processLine(p ops.Process) string {
	return fmt.Sprintf("pid %d %s (%d in its tree, %s)", p.PID, p.Command, p.TreeSize, term.Clean(cmp.Or(p.Session, string(p.Owner)), 80))
}
