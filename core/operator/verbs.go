package operator

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"gatewaytui/core/conversation"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// verb is how the operator does one of ops.Verbs. Either run or begin is set.
type verb struct {
	// check says at once whether the command can be taken; nil: always.
	check func(op *Operator, cmd ops.Command) error
	// preview adds what the command would do now; nil: nothing is worth a word.
	preview func(op *Operator, p *ops.Preview, cmd ops.Command)
	// run does it, on a tracked task, and says in one line what was done and what was not.
	run func(op *Operator, ctx context.Context, cmd ops.Command) (detail string, result any, err error)
	// begin is for a command that ends with a turn or with the gateway: it does all of Do from the request on.
	begin func(op *Operator, ctx context.Context, req ops.Request, cmd ops.Command) (ops.Request, error)
}

// verbs is the other half of ops.Verbs: a new verb is an entry there and one here. A test holds that none is missing.
var verbs = map[ops.Verb]verb{
	ops.VerbMessage: {begin: (*Operator).message},
	ops.VerbStop:    {preview: (*Operator).previewStop, begin: (*Operator).requestStop},
	ops.VerbRestart: {preview: (*Operator).previewStop, begin: (*Operator).requestStop},
	ops.VerbReset: {
		check: checkSession,
		preview: func(op *Operator, p *ops.Preview, cmd ops.Command) {
			op.previewTurn(p, cmd.Target)
			op.previewProcesses(p, cmd.Target)
			op.previewWaiting(p, cmd.Target)
			p.Closes = append(p.Closes, "the agent of "+term.Clean(cmd.Target, 80))
			p.Keeps = append(p.Keeps, "the old transcript, for /sessions and /resume")
		},
		run: func(op *Operator, ctx context.Context, cmd ops.Command) (string, any, error) {
			if err := checkSession(op, cmd); err != nil { // another reset may have come first
				return "", nil, err
			}
			done, err := op.o.Conversations.End(ctx, cmd.Target, conversation.Reset(reason(cmd, "reset by an operator")))
			return done, nil, err
		},
	},
	ops.VerbEvict: {
		check: checkSession,
		preview: func(op *Operator, p *ops.Preview, cmd ops.Command) {
			if cmd.Interrupt {
				op.previewTurn(p, cmd.Target)
			}
			p.Closes = append(p.Closes, "the cached agent of "+term.Clean(cmd.Target, 80))
			p.Keeps = append(p.Keeps, "the session and its history; the next message makes a new agent")
			if n := op.o.Processes.CountSession(cmd.Target); n > 0 {
				p.Keeps = append(p.Keeps, fmt.Sprintf("%d %s of %s", n, text.Plural(n, "process tree", "process trees"), term.Clean(cmd.Target, 80)))
			}
		},
		run: func(op *Operator, ctx context.Context, cmd ops.Command) (string, any, error) {
			evict := op.o.Conversations.Evict
			if cmd.Interrupt {
				evict = op.o.Conversations.InterruptAndEvict
			}
			done, err := evict(ctx, cmd.Target)
			return done, nil, err
		},
	},
	ops.VerbInterrupt: {
		check: checkSession,
		preview: func(op *Operator, p *ops.Preview, cmd ops.Command) {
			if cmd.Child != "" {
				p.Interrupt = append(p.Interrupt, "child agent "+term.Clean(cmd.Child, 20)+" of "+term.Clean(cmd.Target, 80))
				p.Keeps = append(p.Keeps, "the turn and its other child agents")
				return
			}
			op.previewTurn(p, cmd.Target)
			p.Keeps = append(p.Keeps, "the session, its agent and its background processes")
		},
		run: func(op *Operator, ctx context.Context, cmd ops.Command) (string, any, error) {
			if cmd.Child != "" {
				done, err := op.o.Conversations.InterruptChild(cmd.Target, cmd.Child)
				return done, nil, err
			}
			done, err := op.o.Conversations.InterruptCurrent(ctx, cmd.Target, cmd.Expect)
			return done, nil, err
		},
	},
	ops.VerbTitle: {
		check: checkSession,
		run: func(op *Operator, ctx context.Context, cmd ops.Command) (string, any, error) {
			title, err := op.o.Conversations.Title(ctx, cmd.Target, cmd.Text)
			return "named", ops.TitleResult{Title: title}, err
		},
	},
	ops.VerbKill: {check: checkProcess, preview: (*Operator).previewKill, run: (*Operator).kill},
	ops.VerbPause: {
		check: checkAdapter, preview: (*Operator).previewDisconnect,
		run: func(op *Operator, ctx context.Context, cmd ops.Command) (string, any, error) {
			return cmd.Target + " paused; `gatewaytui adapter resume " + cmd.Target + "` resumes it", nil, op.o.Adapters.Pause(ctx, cmd.Target)
		},
	},
	ops.VerbResume: {
		check: checkAdapter,
		run: func(op *Operator, _ context.Context, cmd ops.Command) (string, any, error) {
			return "connecting", nil, op.o.Adapters.Resume(cmd.Target)
		},
	},
	ops.VerbReconnect: {
		check: checkAdapter, preview: (*Operator).previewDisconnect,
		run: func(op *Operator, _ context.Context, cmd ops.Command) (string, any, error) {
			return "the old connection is being taken down, a new one made", nil, op.o.Adapters.Reconnect(cmd.Target)
		},
	},
	ops.VerbDrain:   {check: checkLife, preview: (*Operator).previewDrain, run: (*Operator).drain},
	ops.VerbUndrain: {check: checkLife, run: (*Operator).undrain},
	ops.VerbSkip: {
		check: checkStopping, preview: (*Operator).previewSkip,
		run: func(op *Operator, _ context.Context, cmd ops.Command) (string, any, error) {
			return "skipped", nil, op.o.Lifecycle.Run().Skip(cmd.Phase, cmd.Item, actor(cmd.By))
		},
	},
	ops.VerbExtend: {check: checkStopping, run: (*Operator).extend},
	ops.VerbForce: {
		check: checkStopping, preview: (*Operator).previewSkip,
		run: func(op *Operator, _ context.Context, cmd ops.Command) (string, any, error) {
			if cmd.Phase != "" || cmd.Item != "" {
				return "forced", nil, op.o.Lifecycle.Run().ForceItem(cmd.Phase, cmd.Item, actor(cmd.By))
			}
			op.o.Lifecycle.Run().Escalate(ops.ModeImmediate, actor(cmd.By))
			return "the stop is immediate now", nil, nil
		},
	},
	ops.VerbReload:        {check: checkReload, preview: (*Operator).previewReload, run: (*Operator).reload},
	ops.VerbBackup:        {run: (*Operator).backup},
	ops.VerbForget:        {check: checkPerson, preview: (*Operator).previewForget, run: (*Operator).forget},
	ops.VerbLetIn:         {run: (*Operator).letIn},
	ops.VerbAddPerson:     {check: checkPerson, run: (*Operator).addPerson},
	ops.VerbRemovePerson:  {check: checkPerson, preview: (*Operator).previewRemoval, run: (*Operator).removePerson},
	ops.VerbSetRole:       {check: checkPerson, run: (*Operator).setRole},
	ops.VerbApprove:       {check: checkInbox, run: (*Operator).answerInbox},
	ops.VerbDeny:          {check: checkInbox, run: (*Operator).answerInbox},
	ops.VerbAnswer:        {check: checkInbox, run: (*Operator).answerInbox},
	ops.VerbRemoveRule:    {run: (*Operator).removeRule},
	ops.VerbRaise:         {check: checkRaise, run: (*Operator).raiseBudget},
	ops.VerbRestartServer: {check: checkServer, preview: (*Operator).previewServer, run: (*Operator).restartServer},
	ops.VerbRunJob:        {check: checkJob, run: onJob(Jobs.Run, says("its run has begun; `gatewaytui jobs` shows how it ends"))},
	ops.VerbPauseJob:      {check: checkJob, run: onJob(Jobs.Pause, func(name string) string { return "paused; `gatewaytui jobs resume " + name + "` resumes it" })},
	ops.VerbResumeJob:     {check: checkJob, run: onJob(Jobs.Resume, says("it runs by its schedule again"))},
	ops.VerbDeleteJob:     {check: checkJob, preview: (*Operator).previewDelete, run: onJob(Jobs.Delete, says("deleted"))},
	ops.VerbForgetNote:    {preview: (*Operator).previewForgetNote, run: (*Operator).forgetNote},
	ops.VerbDiagnose: {
		run: func(op *Operator, ctx context.Context, _ ops.Command) (string, any, error) {
			path, err := op.diagnose(ctx)
			return "written to " + path, ops.DiagnoseResult{Path: path}, err
		},
	},
}

// defaultExtension is what an extension without a time adds.
const defaultExtension = 30 * time.Second

// extend gives a phase of the running stop, or one of its items, more time.
func (op *Operator) extend(_ context.Context, cmd ops.Command) (string, any, error) {
	by := cmp.Or(time.Duration(cmd.ByMS)*time.Millisecond, defaultExtension)
	got, err := op.o.Lifecycle.Run().Extend(cmd.Phase, cmd.Item, by)
	if err == nil {
		op.o.Lifecycle.Extended(got)
	}
	return "extended by " + text.Exact(got.Round(time.Millisecond)), nil, err
}
