package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// moreTime is what + asks for.
const moreTime = 30 * time.Second

var (
	ofSessions = []views.View{views.Sessions, views.Agents}
	ofStop     = []views.View{views.Shutdown}
	ofAdapters = []views.View{views.Overview, views.Adapters}
	ofCached   = []views.View{views.Sessions, views.Agents, views.Held}
	ofHeld     = []views.View{views.Held}
	ofTurns    = []views.View{views.Overview, views.Sessions, views.Agents}
	onStopNow  = []views.StopPage{views.StopNow}
)

// actionBindings are the rows that act on the gateway: capitals and signs. What a row leaves out is in ops.Verbs.
func actionBindings() []binding {
	return append([]binding{
		// on a session, a process or an adapter
		{
			action: "reset", keys: []string{"R"}, label: "reset", help: "end a session's turn, agent and processes, start it fresh", in: ofTurns,
			verb: ops.VerbReset, asks: bySession, marks: true,
		},
		{
			action: "evict", keys: []string{"E"}, label: "evict", help: "drop a session's cached agent, keep session and processes; a running turn is interrupted first", in: ofCached,
			verb: ops.VerbEvict, asks: byProcesses, disabledReason: needsAgent, marks: true,
			target: func(f keyContext) ops.Command {
				cmd := aim(ops.VerbEvict, f)
				cmd.Interrupt = f.busy()
				return cmd
			},
		},
		{action: "interrupt", keys: []string{"I"}, label: "interrupt", in: ofTurns, verb: ops.VerbInterrupt, disabledReason: needsTurn, marks: true},
		{
			action: "kill", keys: []string{"X"}, label: "end process", help: "end one process tree: TERM, then KILL", in: []views.View{views.Overview, views.Processes},
			verb: ops.VerbKill, marks: true,
		},
		{action: "pause-adapter", keys: []string{"P"}, label: "pause", in: ofAdapters, verb: ops.VerbPause, disabledReason: adapterIs(false)},
		{action: "resume-adapter", keys: []string{"c"}, label: "resume", in: ofAdapters, verb: ops.VerbResume, disabledReason: adapterIs(true)},
		{action: "reconnect", keys: []string{"C"}, label: "reconnect", in: ofAdapters, verb: ops.VerbReconnect, disabledReason: adapterIs(false)},

		// on the running stop
		{
			action: "abandon", keys: []string{"A"}, label: "abandon", help: "stop waiting for the selected item of the stop", in: ofStop,
			verb: ops.VerbSkip, cliEquivalent: "gatewaytui shutdown skip --phase P --item I", disabledReason: needsItem,
			target: func(f keyContext) ops.Command {
				return ops.Command{Verb: ops.VerbSkip, Phase: f.phase.Name, Item: f.item.Key()}
			},
		},
		{
			action: "next-phase", keys: []string{">"}, label: "next phase", help: "end the running phase of the stop, go to the next", in: ofStop, pages: onStopNow,
			verb: ops.VerbSkip, cliEquivalent: "gatewaytui shutdown skip --phase P", disabledReason: needsPhase(true),
			target: func(f keyContext) ops.Command {
				return ops.Command{Verb: ops.VerbSkip, Phase: runningPhase(f.stop).Name}
			},
		},
		{
			action: "more-time", keys: []string{"+"}, label: "30s more", help: "30 s more for the running phase, within the service manager's limit", in: ofStop, pages: onStopNow,
			verb: ops.VerbExtend, cliEquivalent: "gatewaytui shutdown extend --by 30s", disabledReason: needsPhase(false),
			target: func(f keyContext) ops.Command {
				return ops.Command{Verb: ops.VerbExtend, Phase: runningPhase(f.stop).Name, ByMS: moreTime.Milliseconds()}
			},
		},
		{action: "force", keys: []string{"F"}, label: "force", help: "end the stop as fast as the stores can be closed", in: ofStop, verb: ops.VerbForce},

		// on the gateway; the palette alone reaches those without a key
		{action: "drain", keys: []string{"D"}, label: "drain", verb: ops.VerbDrain, disabledReason: needsState(ops.StateRunning, "already draining; U resumes")},
		{action: "undrain", keys: []string{"U"}, label: "undrain", verb: ops.VerbUndrain, disabledReason: needsState(ops.StateDraining, "not draining; D drains")},
		{
			action: "stop", keys: []string{"S"}, label: "stop", help: "stop the gateway; m in the dialog changes the mode, and immediate asks for a typed word",
			verb: ops.VerbStop, disabledReason: needsNoStop,
		},
		{
			action: "restart", help: "stop, and start again: by the service manager, or without one as a gateway without a console",
			verb: ops.VerbRestart, disabledReason: needsNoStop,
			target: func(f keyContext) ops.Command {
				cmd := aim(ops.VerbRestart, f)
				cmd.Respawn = true
				return cmd
			},
		},
		{action: "send", help: "send a message to a session's agent: send KEY TEXT", verb: ops.VerbMessage, cliEquivalent: "gatewaytui send TEXT --session KEY"},
		{action: "reload", help: "apply the config file without a restart: the dialog shows what changes", verb: ops.VerbReload, disabledReason: needsNoStop},
		{action: "backup", help: "write a copy of the database into the folder backups of the home", verb: ops.VerbBackup, disabledReason: needsNoStop},
		{action: "title", help: "name a session's conversation: title KEY TEXT", verb: ops.VerbTitle},
		{action: "approve", help: "allow what a request of the inbox asks for: approve ID [turn|session|always]", verb: ops.VerbApprove, disabledReason: needsNoStop},
		{action: "deny", help: "refuse what a request of the inbox asks for: deny ID [REASON]", verb: ops.VerbDeny, disabledReason: needsNoStop},
		{action: "answer", help: "answer a question of the inbox: answer ID TEXT", verb: ops.VerbAnswer, disabledReason: needsNoStop},
		{action: "remove-rule", help: "remove a rule that an approval made: remove-rule ID", verb: ops.VerbRemoveRule, disabledReason: needsNoStop},
		{action: "raise-budget", help: "lift a budget for a time: raise-budget NAME N [UNTIL]", verb: ops.VerbRaise, disabledReason: needsNoStop},
		{action: "diagnose", keys: []string{"d"}, label: "diagnose", verb: ops.VerbDiagnose},
	}, append(peopleBindings(), heldBindings()...)...)
}

// heldBindings are the rows of the verbs that act on a server, a job or a note.
func heldBindings() []binding {
	return []binding{
		{action: "restart-server", keys: []string{"R"}, label: "restart", help: "end an MCP server and start it again with the next call", in: ofHeld, verb: ops.VerbRestartServer},
		{action: "run-job", keys: []string{"t"}, label: "run now", help: "run a job now, in addition to its schedule", in: ofHeld, verb: ops.VerbRunJob, disabledReason: jobRuns},
		{action: "pause-job", keys: []string{"P"}, label: "pause", help: "start no run of a job until it is resumed", in: ofHeld, verb: ops.VerbPauseJob, disabledReason: jobIs(false)},
		{action: "resume-job", keys: []string{"c"}, label: "resume", help: "run a paused job by its schedule again", in: ofHeld, verb: ops.VerbResumeJob, disabledReason: jobIs(true)},
		{action: "delete-job", keys: []string{"X"}, label: "delete", help: "delete a job that an agent or a person made", in: ofHeld, verb: ops.VerbDeleteJob},
		{action: "forget-note", help: "delete a note of an agent's memory: forget-note ID", verb: ops.VerbForgetNote, disabledReason: needsNoStop},
	}
}

// peopleBindings are the rows of the verbs that act on a person.
func peopleBindings() []binding {
	return []binding{
		{action: "forget", help: "delete what is kept of a person: forget telegram:4711", verb: ops.VerbForget, disabledReason: needsNoStop},
		{action: "let-in", help: "let in the person who has a code, as a guest: let-in CODE", verb: ops.VerbLetIn, disabledReason: needsNoStop},
		{action: "add-person", help: "let in a person by id: add-person telegram:4711 [owner|member|guest]", verb: ops.VerbAddPerson, disabledReason: needsNoStop},
		{action: "remove-person", help: "let a person speak no more: remove-person telegram:4711", verb: ops.VerbRemovePerson, disabledReason: needsNoStop},
		{action: "set-role", help: "change what a person may do: set-role telegram:4711 owner|member|guest", verb: ops.VerbSetRole, disabledReason: needsNoStop},
	}
}

// tableBindings are rows for the verbs of ops.Verbs that none of these has: they are reached by the palette.
func tableBindings(levers []binding) (out []binding) {
	for _, spec := range ops.Verbs {
		if !slices.ContainsFunc(levers, func(b binding) bool { return b.verb == spec.Verb }) {
			out = append(out, binding{action: spec.ConsoleName(), verb: spec.Verb})
		}
	}
	return out
}

// fromTable completes a row by what ops.Verbs says: what it does and aims at, what that takes, the command line, and how much is
// asked.
func fromTable(b binding) binding {
	spec, _ := b.verb.Spec()
	b.help, b.cliEquivalent = cmp.Or(b.help, spec.Summary), cmp.Or(b.cliEquivalent, spec.CommandLine())
	if b.target == nil {
		b.target = func(f keyContext) ops.Command { return aim(spec.Verb, f) }
	}
	own := b.disabledReason
	b.disabledReason = func(f keyContext) string {
		if why := missing(spec, f); why != "" || own == nil {
			return why
		}
		return own(f)
	}
	switch {
	case spec.Word != "":
		b.confirm = withWord
	case spec.Ends || spec.DryRun:
		b.confirm = withDialog
	}
	return b
}

// aim makes the command for the row under the cursor: at the conversation that a session holds now, and not at its current turn;
// at this life of the gateway, and not at what runs in it.
func aim(v ops.Verb, f keyContext) ops.Command {
	cmd := ops.Command{Verb: v}
	switch spec, _ := v.Spec(); {
	case spec.Target == ops.TargetSession:
		if cmd.Target = f.subject(); v != ops.VerbMessage && f.session != nil {
			cmd.Expect = f.session.ID
		}
	case spec.Target == ops.TargetProcess:
		cmd.Target = processKey(*f.process)
	case spec.Target == ops.TargetAdapter:
		cmd.Target = f.adapter.Name
	case ofName(spec.Target):
		cmd.Target = f.nameFor(spec.Target)
	case spec.OfLife:
		cmd.Expect = f.gateway
	}
	return cmd
}

// ofName reports whether what a verb acts on is named in the palette: it is no row of the views of sessions, processes and adapters.
func ofName(kind ops.TargetKind) bool {
	return kind != "" && kind != ops.TargetSession && kind != ops.TargetProcess && kind != ops.TargetAdapter
}

func bySession(f keyContext) tier {
	if running(f.session) || f.session != nil && f.session.Processes > 0 {
		return withDialog
	}
	return oneLine
}

func byProcesses(f keyContext) tier {
	if f.busy() || f.session != nil && f.session.Processes > 0 {
		return withDialog
	}
	return oneLine
}

// missing says why a verb has nothing to act on; "" if it has.
func missing(spec ops.VerbSpec, f keyContext) string {
	switch {
	case spec.Target == ops.TargetSession && f.subject() == "":
		return "no session is selected"
	case spec.Target == ops.TargetProcess && f.process == nil:
		return "no process is selected"
	case spec.Target == ops.TargetProcess && f.process.State == ops.ProcessKilling:
		return fmt.Sprintf("pid %d is being ended already", f.process.PID)
	case spec.Target == ops.TargetAdapter && f.adapter == nil:
		return "no adapter is selected"
	case spec.Target == ops.TargetPerson && f.named == "":
		return "name the person: " + spec.Name + " telegram:4711"
	case spec.Target == ops.TargetBudget && f.named == "":
		return "name the budget: " + spec.ConsoleName() + " default 5"
	case ofName(spec.Target) && f.nameFor(spec.Target) == "" && f.held != nil:
		return "the selected row is no " + string(spec.Target)
	case ofName(spec.Target) && f.nameFor(spec.Target) == "":
		return "name it: " + spec.ConsoleName() + " " + strings.TrimPrefix(spec.Usage(), spec.Name+" ")
	case spec.OfStop() && f.stop == nil:
		return "no shutdown is running"
	}
	return ""
}

func needsTurn(f keyContext) string {
	if !busy(f.session, f.now) {
		return f.subject() + " has no running turn"
	}
	return ""
}

func needsAgent(f keyContext) string {
	if !f.busy() && f.session != nil && !f.session.Cached && f.agent == nil {
		return f.subject() + " has no cached agent"
	}
	return ""
}

func adapterIs(paused bool) func(keyContext) string {
	return func(f keyContext) string {
		switch {
		case paused && f.adapter.State != ops.AdapterPaused:
			return f.adapter.Name + " is not paused"
		case !paused && f.adapter.State == ops.AdapterPaused:
			return f.adapter.Name + " is paused; c resumes it"
		}
		return ""
	}
}

// jobIs wants a job that is paused, or one that is not.
func jobIs(paused bool) func(keyContext) string {
	return func(f keyContext) string {
		switch {
		case f.held == nil:
			return ""
		case paused && f.held.State != ops.HeldState(ops.JobPaused):
			return f.held.ID + " is not paused"
		case !paused && f.held.State == ops.HeldState(ops.JobPaused):
			return f.held.ID + " is paused; c resumes it"
		}
		return ""
	}
}

func jobRuns(f keyContext) string {
	if f.held != nil && f.held.State == ops.HeldState(ops.JobRunning) {
		return f.held.ID + " runs already"
	}
	return ""
}

func needsState(want ops.State, otherwise string) func(keyContext) string {
	return func(f keyContext) string {
		switch f.state {
		case want:
			return ""
		case ops.StateStarting:
			return "the gateway is starting"
		case ops.StateStopping:
			return "the gateway is stopping"
		}
		return otherwise
	}
}

func needsNoStop(f keyContext) string {
	if f.stop != nil || f.state == ops.StateStopping {
		return "the gateway is stopping already; view 6 shows it, F forces it"
	}
	return ""
}

func needsPhase(skippable bool) func(keyContext) string {
	return func(f keyContext) string {
		switch p := runningPhase(f.stop); {
		case p == nil:
			return "no phase is running"
		case skippable && p.Vital:
			return "the phase " + p.Name + " is never skipped"
		}
		return ""
	}
}

func needsItem(f keyContext) string {
	switch {
	case f.item == nil:
		return "no item is selected"
	case f.item.State != ops.StepRunning:
		return f.item.ID + " is not waited for"
	case f.phase != nil && f.phase.Vital:
		return "the phase " + f.phase.Name + " is never skipped"
	}
	return ""
}
