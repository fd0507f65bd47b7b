package operator

import (
	"context"
	"slices"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// StopGate asks a person whether a tool of the session may do what to its gateway, "stop" or "restart", because of why. It waits for the
// answer, until ctx ends. nil: it may.
type StopGate func(ctx context.Context, session, what, why string) error

// askedAtOnce is how long a tool's request waits for an answer before it is said to wait: a refusal that needs no person comes at once.
const askedAtOnce = 250 * time.Millisecond

// askStop is the stop that a tool asks for where tools.may_stop is "ask": it begins when a person has allowed it (TR10). A session has
// one such request at a time; who asks again gets that one.
func (op *Operator) askStop(ctx context.Context, req ops.Request, cmd ops.Command) (ops.Request, error) {
	if err := checkLife(op, cmd); err != nil {
		return ops.Request{}, err
	}
	req.State, req.Detail = ops.RequestWaiting, "a person must allow it"
	if id, asks := op.requests.addAsking(cmd.By.Session, req); asks {
		joined, err := op.Request(ctx, id, false)
		joined.Joined = true
		return joined, err
	}
	refused := make(chan error, 1)
	task := func(ctx context.Context) {
		op.audit(ctx, req, cmd, req.Detail)
		err := op.o.AskStop(ctx, cmd.By.Session, stopName(cmd), cmd.Reason)
		refused <- err
		if err == nil {
			op.allowedStop(req, cmd)
		}
		op.requests.asksNoMore(cmd.By.Session) // before its end is seen: who sees it may ask again
		if err != nil {
			op.finishRequest(ctx, req.ID, cmd, ops.RequestFailed, "", nil, notAllowed(cmd, err))
		}
	}
	if !op.o.Background.Start(context.WithoutCancel(ctx), "request "+string(cmd.Verb), cmd.By.Session, task) {
		op.requests.asksNoMore(cmd.By.Session)
		return ops.Request{}, &ops.Error{Code: ops.CodeStopping, Message: "the gateway is stopping"}
	}
	select {
	case err := <-refused:
		if err != nil {
			return ops.Request{}, notAllowed(cmd, err)
		}
	case <-time.After(askedAtOnce):
	case <-ctx.Done():
	}
	return op.Request(ctx, req.ID, false)
}

// notAllowed is the answer to a tool whose request was refused, or has ended without an answer.
func notAllowed(cmd ops.Command, err error) error {
	return &ops.Error{
		Code: ops.CodeToolCaller, Message: "a tool of this gateway asked for a " + stopName(cmd) + ", and it was not allowed: " + term.Clean(err.Error(), 600),
		Hint: "the operator can, with gatewaytui " + stopName(cmd) + " in a terminal of their own",
	}
}

// allowedStop begins the stop that a person has allowed.
func (op *Operator) allowedStop(req ops.Request, cmd ops.Command) {
	rq := op.stopOf(req, cmd)
	op.requests.update(req.ID, ops.RequestRunning, "allowed; the shutdown has begun", nil, nil)
	if id, began := op.o.Lifecycle.Stop(rq); !began {
		op.requests.update(req.ID, ops.RequestDone, "already stopping ("+id+")", nil, nil)
	}
}

// asksToStop reports whether a command is a stop that a person must allow. A shutdown that runs needs no second permission: the
// command joins it.
func (op *Operator) asksToStop(cmd ops.Command) bool {
	_, ask := op.o.ToolsMayStop()
	return cmd.By.Tool && ask && (cmd.Verb == ops.VerbStop || cmd.Verb == ops.VerbRestart) && op.o.Lifecycle.Run() == nil
}

// stopName is the name of a stop or restart for people.
func stopName(cmd ops.Command) string {
	spec, _ := cmd.Verb.Spec() // Do found it
	return spec.Name
}

// waitingFor is what the request of a tool of a session waits for: the approval, by its id once it is in the inbox.
func (op *Operator) waitingFor(session string) string {
	rows := op.inboxRows()
	at := slices.IndexFunc(rows, func(i ops.InboxItem) bool {
		return i.Kind == ops.InboxStop && i.State == ops.InboxWaiting && i.Session == session
	})
	if at < 0 {
		return "approval"
	}
	return "approval " + rows[at].ID
}
