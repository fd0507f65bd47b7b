package operator

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gatewaytui/core/conversation"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// Do implements ops.Console. Every command that is taken has an id, an outcome and one audit row (B5, H11).
func (op *Operator) Do(ctx context.Context, cmd ops.Command) (ops.Request, error) {
	spec, known := cmd.Verb.Spec()
	if known && cmd.By.Tool {
		if err := op.allowTool(spec); err != nil {
			op.ToolRefused(cmd.By, string(cmd.Verb), cmd.Target)
			return ops.Request{}, err
		}
	}
	if err := cmd.Parse(); err != nil {
		return ops.Request{}, err
	}
	if run := op.o.Lifecycle.Run(); run != nil && !spec.WhileStopping {
		return ops.Request{}, &ops.Error{Code: ops.CodeStopping, Message: "the gateway is stopping; it takes only status and the levers of the shutdown", Hint: "`gatewaytui watch` follows it"}
	}
	if op.store() == nil {
		return ops.Request{}, &ops.Error{Code: ops.CodeUnavailable, Message: "the gateway is starting", Hint: "try again in a moment"}
	}
	if spec.Target == ops.TargetSession {
		if err := op.o.Recovery.EnsureLoaded(ctx, cmd.Target); err != nil {
			return ops.Request{}, err
		}
	}
	v := verbs[cmd.Verb]
	if v.check != nil {
		if err := v.check(op, cmd); err != nil {
			return ops.Request{}, err
		}
	}
	req := ops.Request{ID: op.o.NewID(), State: ops.RequestAccepted, Verb: cmd.Verb, Target: cmd.Target, By: actor(cmd.By), At: ops.At(time.Now())}
	op.o.Log.Info("request", "request", req.ID, "verb", string(cmd.Verb), "target", term.Clean(cmd.Target, 120), "by", req.By, "reason", term.Clean(cmd.Reason, 120))

	if v.begin != nil {
		return v.begin(op, ctx, req, cmd)
	}
	op.requests.add(req)
	task := func(ctx context.Context) {
		op.audit(ctx, req, cmd, "")
		detail, result, err := v.run(op, ctx, cmd)
		if err != nil {
			op.finishRequest(ctx, req.ID, cmd, ops.RequestFailed, "", nil, err)
			return
		}
		op.finishRequest(ctx, req.ID, cmd, ops.RequestDone, detail, result, nil)
	}
	if !op.o.Background.Start(ctx, "request "+string(cmd.Verb), cmd.Target, task) {
		// The background phase is over, and the levers still act: they take no time of their own.
		task(context.WithoutCancel(ctx))
	}
	return req, nil
}

// message hands a message to a session on behalf of an operator; the request ends with the turn.
func (op *Operator) message(ctx context.Context, req ops.Request, cmd ops.Command) (_ ops.Request, err error) {
	defer func() { op.o.Metrics.Received(cmd.Target, err) }()
	if err := session.CheckKey(cmd.Target); err != nil {
		return ops.Request{}, err
	}
	if cmd.Child != "" {
		return op.tellChild(ctx, req, cmd)
	}
	m := session.Message{ID: req.ID, User: actor(cmd.By), Role: ops.RoleOwner, Text: cmd.Text, At: time.Now(), Instant: true, Operator: true}
	m.Watch = func(turn, _ string) { op.requests.began(req.ID, turn) }
	m.Deliver = func(text string, err error) {
		state, result := ops.RequestDone, ops.MessageResult{Message: req.ID, Session: cmd.Target, Reply: op.reply(text), Withheld: !op.o.Texts.All()}
		if err != nil {
			state = ops.RequestFailed
		}
		op.o.Metrics.Sent(cmd.Target, err)
		// The audit row is written in the background: the session's next turn does not wait for it.
		if !op.o.Background.Start(ctx, "request session.message", cmd.Target, func(ctx context.Context) {
			op.finishRequest(ctx, req.ID, cmd, state, "", result, err)
		}) {
			op.requests.update(req.ID, state, "", result, err)
		}
	}
	op.requests.add(req)
	if err := op.o.Intake.Submit(ctx, cmd.Target, m); err != nil {
		op.requests.update(req.ID, ops.RequestFailed, "", nil, err)
		return ops.Request{}, err
	}
	op.o.Background.Start(ctx, "audit", cmd.Target, func(ctx context.Context) { op.audit(ctx, req, cmd, "") })
	return req, nil
}

// tellChild hands a message to a child agent. The request ends at once, because a child gives no reply.
func (op *Operator) tellChild(ctx context.Context, req ops.Request, cmd ops.Command) (ops.Request, error) {
	detail, err := op.o.Conversations.TellChild(cmd.Target, cmd.Child, cmd.Text)
	if err != nil {
		return ops.Request{}, err
	}
	op.requests.add(req)
	op.finishRequest(ctx, req.ID, cmd, ops.RequestDone, detail, ops.MessageResult{Message: req.ID, Session: cmd.Target}, nil)
	return op.requests.get(ctx, req.ID, false)
}

// finishRequest ends a request, wakes the callers that wait for it, and ends its audit row.
func (op *Operator) finishRequest(ctx context.Context, id string, cmd ops.Command, state ops.RequestState, detail string, result any, err error) {
	row, first := op.requests.update(id, state, term.Clean(detail, 400), result, err)
	if !first {
		return
	}
	text := detail
	if err != nil {
		text = err.Error()
	}
	op.o.Log.Info("request ended", "request", id, "verb", string(row.Verb), "target", term.Clean(row.Target, 120), "state", string(state), "detail", term.Clean(text, 300))
	op.o.Events.Emit(ops.EventRequest, id, string(row.Verb)+" "+string(state), ops.RequestChange{By: row.By, State: state, Verb: row.Verb})
	op.audit(ctx, row, cmd, text)
}

// checkSession refuses a command for a session that is not there, or that means another conversation or turn.
func checkSession(op *Operator, cmd ops.Command) error {
	s, ok := op.o.Table.Get(cmd.Target)
	if !ok {
		return conversation.NoSession(cmd.Target)
	}
	// A conversation stays the same while turns begin and end in it: a session that loops can be reset and interrupted.
	if cmd.Expect == "" || cmd.Expect == s.ID {
		return nil
	}
	if v, running := op.o.Table.Running(cmd.Target); running && v.ID == cmd.Expect {
		return nil
	}
	return &ops.Error{Code: ops.CodeConflict, Message: "the conversation or turn that you saw in " + term.Clean(cmd.Target, 80) + " has ended", Hint: "look again"}
}

// checkLife refuses a command that means another life than this one. The gateway's state and its turns do not matter.
func checkLife(op *Operator, cmd ops.Command) error {
	if cmd.Expect == "" || cmd.Expect == op.o.Identity.Life {
		return nil
	}
	return &ops.Error{Code: ops.CodeConflict, Message: "this is another life, " + op.o.Identity.Life, Hint: "look at it first, and ask again if you mean this one as well"}
}

// checkProcess refuses a command for what is not a tracked process.
func checkProcess(op *Operator, cmd ops.Command) error {
	if _, ok := op.o.Processes.Get(cmd.PID); !ok {
		return noProcess(cmd.PID)
	}
	return nil
}

// noProcess is the answer for a pid that is not that of a tracked process.
func noProcess(pid int) error {
	return &ops.Error{Code: ops.CodeNotFound, Message: fmt.Sprintf("no tracked process %d", pid), Hint: "`gatewaytui processes` lists them"}
}

// checkAdapter refuses a command for an adapter that is not there.
func checkAdapter(op *Operator, cmd ops.Command) error {
	var names []string
	for _, a := range op.o.Adapters.Rows() {
		if a.Name == cmd.Target {
			return nil
		}
		names = append(names, a.Name)
	}
	return &ops.Error{Code: ops.CodeNotFound, Message: "no adapter " + term.Quote(cmd.Target), Hint: "there are: " + strings.Join(names, ", ")}
}

// checkStopping refuses a lever without a shutdown, or for a phase that is not there.
func checkStopping(op *Operator, cmd ops.Command) error {
	run := op.o.Lifecycle.Run()
	if run == nil {
		return &ops.Error{Code: ops.CodeNotStopping, Message: "no shutdown is running", Hint: "`gatewaytui stop` begins one"}
	}
	if cmd.Phase == "" {
		return nil
	}
	var names []string
	for _, p := range run.Report().Phases {
		if p.Name == cmd.Phase {
			return nil
		}
		names = append(names, p.Name)
	}
	return &ops.Error{Code: ops.CodeInvalid, Message: "no phase " + term.Quote(cmd.Phase), Hint: "there are: " + strings.Join(names, ", ")}
}

// kill ends one tracked process tree.
func (op *Operator) kill(ctx context.Context, cmd ops.Command) (string, any, error) {
	ctx, cancel := context.WithTimeout(ctx, op.o.Conversations.CloseTimeout())
	defer cancel()
	report, err := op.o.Processes.KillPID(ctx, cmd.PID, op.o.KillGrace)
	if err != nil {
		return "", nil, err
	}
	res := ops.KillResult{
		PID: cmd.PID, Killed: []int{}, Survivors: []int{},
		TermAt: ops.At(report.TermAt), KillAt: ops.At(report.KillAt), Escalated: report.Escalated,
	}
	for _, id := range report.Killed {
		res.Killed = append(res.Killed, id.PID)
	}
	for _, s := range report.Survivors {
		res.Survivors = append(res.Survivors, s.PID)
	}
	op.o.Events.Emit(ops.EventProcessKilled, cmd.Target, "ended by an operator", ops.OperatorKill{Survivors: len(res.Survivors)})
	if !report.Verified {
		return "", res, &ops.Error{Code: ops.CodeConflict, Message: strings.TrimSuffix(report.Summary()+"; "+report.Steps(), "; "), Hint: "a process that ignores SIGKILL sleeps uninterruptibly or belongs to another user; see `ps -o pid,stat,wchan,cmd`"}
	}
	return killedLine(cmd.PID, report), res, nil
}

// killedLine says in one line how a process tree ended: how many processes, by which signals, and how many needed the
// second one. Where a tree ignored SIGTERM the line has the times of both signals (C7).
func killedLine(pid int, r process.Report) string {
	const clock = "15:04:05.000"
	line := fmt.Sprintf("process tree %d ended: %d %s", pid, len(r.Killed), text.Plural(len(r.Killed), "process", "processes"))
	switch {
	case r.KillAt.IsZero() && !r.TermAt.IsZero():
		line += ", SIGTERM"
	case !r.KillAt.IsZero() && !r.TermAt.IsZero():
		line += fmt.Sprintf(", SIGTERM %s, SIGKILL %s for %d of %d", r.TermAt.Format(clock), r.KillAt.Format(clock), r.Escalated, len(r.Signalled))
	case !r.KillAt.IsZero():
		line += fmt.Sprintf(", SIGKILL for %d of %d", r.Escalated, len(r.Signalled))
	}
	return line
}
