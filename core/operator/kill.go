package operator

import (
	"context"
	"fmt"
	"strings"

	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/text"
)

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
