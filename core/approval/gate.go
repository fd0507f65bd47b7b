package approval

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/fence"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
	"gatewaytui/core/tool"
)

// Pass implements tool.Gate, by the terms in force. It returns nil at once for a step that asks nothing, and otherwise waits for a
// person.
func (b *Book) Pass(ctx context.Context, call tool.Call, step tool.Step) error {
	return b.pass(ctx, b.terms.Load(), call, step)
}

// pass is Pass by some terms.
func (b *Book) pass(ctx context.Context, t *Terms, call tool.Call, step tool.Step) error {
	if step.Environment == "" {
		step.Environment = fence.Local
	}
	j := t.judge(call.Agent, step)
	if j.Verdict == fence.Allowed {
		return nil
	}
	row := b.row(t, call, step)
	row.Reasons = j.Reasons
	if t.named(call.Agent, step) {
		row.Reasons = append(slices.Clone(row.Reasons), "for this session, or always, it is allowed with any arguments")
	}
	switch {
	case j.Verdict == fence.Never:
		b.refused(ctx, row, "it is never allowed")
		return &tool.WithheldError{Text: "this is never run, and no person can allow it: " + strings.Join(j.Reasons, "; ") + ". It was not run. Do not try it in another way."}
	case b.granted(t, row, step):
		b.o.Meter.Approval(Granted)
		return nil
	case call.Unattended:
		b.refused(ctx, row, "nothing waits for a person in this turn")
		return &tool.WithheldError{Text: "this needs the approval of a person, and the caller of this turn does not wait for one, so it was refused and not run (" + strings.Join(j.Reasons, "; ") + "). Do what is possible without it, and say what is missing."}
	}
	return b.ask(ctx, t, call, step, row)
}

// judge is the verdict on a step of an agent: command, environment and agent together.
func (t *Terms) judge(agent string, step tool.Step) fence.Judgement {
	j, mode := step.Judgement, t.mode(agent)
	if mode == ModeOff && step.Kind == tool.StepCommand { // its operator chose that no command is judged
		return fence.Judgement{Verdict: fence.Allowed}
	}
	if step.Kind == tool.StepCommand {
		j = t.judgeCommand(step)
	} else if j.Verdict == "" {
		j.Verdict = fence.Ask
	}
	if j.Verdict == fence.Never {
		return j
	}
	switch mode {
	case ModeOff:
		switch {
		case step.Kind == tool.StepStop:
		case step.Kind == tool.StepHost && contained(step.Environment): // its list is what the operator chose
			j.Verdict, j.Reasons = fence.Never, []string{"the network of the environment does not list the host, and approvals are off for this agent"}
		case step.Kind == tool.StepWrite: // it would leave the environment
			j.Verdict, j.Reasons = fence.Never, []string{"it is outside of the work folder, and approvals are off for this agent"}
		default:
			j.Verdict = fence.Allowed
		}
	case ModeStrict:
		if j.Verdict == fence.Allowed {
			j.Verdict, j.Reasons = fence.Ask, append([]string{"every step of this agent is asked"}, j.Reasons...)
		}
	}
	return j
}

// shell is a command that reads its input as commands.
var shell = regexp.MustCompile(`^(?:\S*/)?(?:bash|sh|dash|ksh|zsh)(?: -[A-Za-z-]+)*$`)

// judgeCommand judges a command, or the input of one. The folder of a shell that runs is not known, and the input of another program
// is not shell.
func (t *Terms) judgeCommand(step tool.Step) fence.Judgement {
	f := t.fences[step.Environment]
	if f == nil {
		f = t.fences[fence.Local]
	}
	if step.Into == "" {
		return f.Judge(step.Text, step.Folder)
	}
	j := f.Judge(step.Text, "/")
	why := ""
	switch {
	case j.Verdict != fence.Allowed || contained(step.Environment):
	case !shell.MatchString(step.Into):
		why = "what the program does with its input is not known"
	case !strings.HasSuffix(step.Text, "\n"):
		why = "its last line is not complete, and what follows is not known"
	}
	if why != "" {
		j.Verdict, j.Reasons = fence.Ask, append(j.Reasons, why)
	}
	return j
}

// contained reports whether an environment holds what a command does in it.
func contained(e fence.Environment) bool { return e == fence.Sandbox || e == fence.Container }

// row is the request for a step. It has no id yet.
func (b *Book) row(t *Terms, call tool.Call, step tool.Step) store.Approval {
	now := time.Now()
	s, _ := b.o.Table.Get(call.Session)
	return store.Approval{
		Session: call.Session, SessionID: s.ID, Turn: call.Turn, Agent: call.Agent, Who: call.Person,
		Kind: string(step.Kind), Command: step.Text, InputOf: step.Into, Folder: step.Folder, Environment: string(step.Environment),
		Asked: now, Expires: now.Add(t.expire), State: store.ApprovalWaiting,
	}
}

// refused writes the row of a step that no person is asked about.
func (b *Book) refused(ctx context.Context, row store.Approval, why string) {
	row.State, row.Reason, row.Ended = store.ApprovalRefused, why, row.Asked
	if err := b.put(ctx, &row); err != nil {
		b.o.Log.Warn("refused step not recorded", "event", ops.LogApproval, "session", row.Session, "error", term.Clean(err.Error(), 300))
	}
	b.over(row)
}

// put writes a row under a new id.
func (b *Book) put(ctx context.Context, row *store.Approval) error {
	if b.store == nil {
		return &ops.Error{Code: ops.CodeUnavailable, Message: "the gateway is starting"}
	}
	ctx, cancel := b.store.Patient(ctx)
	defer cancel()
	for range 8 {
		row.ID = newID()
		fresh, err := b.store.PutApproval(ctx, *row)
		if err != nil || fresh {
			return err
		}
	}
	return fmt.Errorf("every new id of an approval was in use")
}

// over says that a request has ended: in the log, as an event, in the metrics, and in the inbox.
func (b *Book) over(row store.Approval) {
	b.mu.Lock()
	b.recent = append(b.recent, row)
	if n := len(b.recent) - maxRecent; n > 0 {
		b.recent = append([]store.Approval(nil), b.recent[n:]...)
	}
	b.mu.Unlock()
	b.o.Meter.Approval(string(row.State))
	b.o.Log.Info("approval ended", "event", ops.LogApproval, "id", row.ID, "session", row.Session, "turn", row.Turn, "kind", row.Kind, "state", string(row.State), "by", row.By,
		"waited", text.Duration(row.Ended.Sub(row.Asked)))
	typ := ops.EventApprovalAnswered
	if row.State == store.ApprovalExpired || row.State == store.ApprovalWithdrawn {
		typ = ops.EventApprovalExpired
	}
	b.emit(typ, row)
}

func (b *Book) emit(typ ops.EventType, row store.Approval) {
	b.o.Events.Emit(typ, row.Session, "approval "+row.ID+" "+string(row.State), ops.ApprovalChange{
		By: row.By, ID: row.ID, Kind: ops.InboxKind(row.Kind), Scope: ops.Scope(row.Scope), State: ops.InboxState(row.State), Turn: root(row.Turn),
	})
}

// root is the turn of a session that a turn of a child agent belongs to.
func root(turn string) string {
	own, _, _ := strings.Cut(turn, "/")
	return own
}
