package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
)

// Process is the tool that shows and controls the session's processes.
type Process struct {
	processes *process.Registry
	opts      Options
}

// NewProcess returns the tool over the registry that owns the processes.
func NewProcess(processes *process.Registry, opts Options) *Process {
	return &Process{processes: processes, opts: opts}
}

type processArguments struct {
	Action  string   `json:"action"`
	PID     int      `json:"pid"`
	Data    string   `json:"data"`
	Timeout *float64 `json:"timeout"`
}

// action is one thing that the tool does with a process. about completes "action: …" for the model.
type action struct {
	name, about string
	run         func(t *Process, ctx context.Context, call Call, p *process.Process, args processArguments) (string, error)
}

// actions is every action on one process; list has none.
var actions = []action{
	{"poll", "whether it runs, and its last line of output", (*Process).poll},
	{"log", "its output", (*Process).log},
	{"wait", "wait for its end, at most timeout seconds; it keeps running after that", (*Process).wait},
	{"kill", "end it with everything that it started", (*Process).kill},
	{"write", "write data to its input, as it is: end a line with \\n", (*Process).write},
}

func actionNames() []string {
	names := []string{"list"}
	for _, a := range actions {
		names = append(names, a.name)
	}
	return names
}

// Spec implements Tool.
func (t *Process) Spec() model.ToolSpec {
	about := "Show and control the processes of this session. list: all of them"
	for _, a := range actions {
		about += ". " + a.name + ": " + a.about
	}
	return model.ToolSpec{
		Name: "process", Description: about,
		Schema: json.RawMessage(fmt.Sprintf(`{"type":"object","additionalProperties":false,"required":["action"],"properties":{
			"action":{"type":"string","enum":%s},
			"pid":{"type":"integer","description":"which process; for all but list"},
			"data":{"type":"string","description":"for write"},
			"timeout":{"type":"number","description":"for wait, in seconds"}}}`, encode(actionNames()))),
	}
}

// Run implements Tool.
func (t *Process) Run(ctx context.Context, call Call) (string, error) {
	var args processArguments
	if err := decode(call.Arguments, &args); err != nil {
		return "", err
	}
	if args.Action == "" {
		return "", required("action")
	}
	if args.Action == "list" {
		call.Progress("process: list")
		return t.list(call.Session), nil
	}
	i := slices.IndexFunc(actions, func(a action) bool { return a.name == args.Action })
	if i < 0 {
		return "", fmt.Errorf("argument %q must be one of %s, not %q", "action", strings.Join(actionNames(), ", "), args.Action)
	}
	if args.PID == 0 {
		return "", required("pid")
	}
	call.Progress(fmt.Sprintf("process: %s %d", args.Action, args.PID))
	if p, ok := t.processes.Get(args.PID); ok && p.Session() == call.Session {
		return actions[i].run(t, ctx, call, p, args)
	}
	// What a job of the session left has a row, and can only be ended.
	if args.Action == "kill" && slices.ContainsFunc(t.processes.SessionRows(call.Session), func(row ops.Process) bool { return row.PID == args.PID }) {
		return t.end(ctx, args.PID, func(ctx context.Context) (process.Report, error) {
			return t.processes.KillPID(ctx, args.PID, t.opts.KillGrace)
		})
	}
	// Another session's process does not exist for this model.
	return "", fmt.Errorf("this session has no process %d; list shows its processes", args.PID)
}

func (t *Process) list(session string) string {
	rows := t.processes.SessionRows(session)
	left := 0
	for {
		text := encode(struct {
			Processes []ops.Process `json:"processes"`
			// More is how many older ones did not fit.
			More int `json:"more,omitempty"`
		}{rows, left})
		if len(text) <= max(t.opts.OutputLimit, minLimit) || len(rows) == 0 {
			return text
		}
		drop := (len(rows) + 1) / 2
		rows, left = rows[drop:], left+drop
	}
}

// status is the state of a process, the head of several answers.
type status struct {
	PID      int    `json:"pid"`
	State    string `json:"state"` // running or exited: the leader's
	ExitCode *int   `json:"exit_code,omitempty"`
	// Limit names the limit of the machine that ended it.
	Limit string `json:"limit,omitempty"`
}

// statusOf is what the model reads of a process; of one that has ended it then knows.
func statusOf(p *process.Process) status {
	s := status{PID: p.PID(), State: "running"}
	if exit, exited := p.Exited(); exited {
		p.EndKnown().Store(true)
		s.State, s.Limit = "exited", exit.Limit
		if exit.Code != process.CodeUnknown {
			s.ExitCode = &exit.Code
		}
	}
	return s
}

func (t *Process) poll(_ context.Context, _ Call, p *process.Process, _ processArguments) (string, error) {
	return encode(struct {
		status
		AgeMS      int64  `json:"age_ms"`
		LastOutput string `json:"last_output"`
	}{statusOf(p), time.Since(p.StartedAt()).Milliseconds(), p.LastLine()}), nil
}

// shown is a process with its output.
type shown struct {
	status
	Output    string `json:"output"`
	TimedOut  bool   `json:"timed_out,omitempty"`
	Truncated bool   `json:"truncated"`
}

func (t *Process) show(p *process.Process, timedOut bool) string {
	res := shown{status: statusOf(p), TimedOut: timedOut}
	res.Output, res.Truncated = p.Output()
	return fitLimit(t.opts.OutputLimit, &res.Output, &res.Truncated, func() string { return encode(res) })
}

func (t *Process) log(_ context.Context, _ Call, p *process.Process, _ processArguments) (string, error) {
	return t.show(p, false), nil
}

func (t *Process) wait(ctx context.Context, call Call, p *process.Process, args processArguments) (string, error) {
	limit, err := within(args.Timeout, t.opts.Timeout)
	if err != nil {
		return "", err
	}
	bound, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err = watch(bound, p, func() { call.Progress(fmt.Sprintf("process: wait %d", p.PID())) })
	if cause := context.Cause(ctx); cause != nil {
		return "", cause
	}
	return t.show(p, err != nil), nil
}

// killed is the answer to kill. Verified is true only when a scan found nothing left (C5).
type killed struct {
	PID       int    `json:"pid"`
	Verified  bool   `json:"verified"`
	Killed    []int  `json:"killed"`
	Survivors []int  `json:"survivors"`
	Summary   string `json:"summary"`
}

func (t *Process) kill(ctx context.Context, _ Call, p *process.Process, _ processArguments) (string, error) {
	return t.end(ctx, p.PID(), func(ctx context.Context) (process.Report, error) { return p.Kill(ctx, t.opts.KillGrace), nil })
}

// end is the answer to a kill of pid.
func (t *Process) end(ctx context.Context, pid int, kill func(context.Context) (process.Report, error)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, t.opts.KillGrace+killSlack)
	defer cancel()
	report, err := kill(ctx)
	if err != nil {
		return "", err
	}
	res := killed{PID: pid, Verified: report.Verified, Killed: []int{}, Survivors: pids(report.Survivors), Summary: report.Summary()}
	for _, id := range report.Killed {
		res.Killed = append(res.Killed, id.PID)
	}
	return encode(res), nil
}

func (t *Process) write(ctx context.Context, call Call, p *process.Process, args processArguments) (string, error) {
	place, err := t.opts.place(ctx, call)
	if err != nil {
		return "", err
	}
	if err := t.opts.passCommand(ctx, call, place, args.Data, t.opts.Workdir, p.Command()); err != nil {
		return "", err
	}
	n, err := p.Write(ctx, []byte(args.Data))
	if err != nil {
		return "", fmt.Errorf("%d of %d bytes were written: %w", n, len(args.Data), err)
	}
	return encode(struct {
		status
		Written int `json:"written"`
	}{statusOf(p), n}), nil
}
