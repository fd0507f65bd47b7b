package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"time"

	"gatewaytui/core/environment"
	"gatewaytui/core/environment/proxy/hosts"
	"gatewaytui/core/files"
	"gatewaytui/core/model"
	"gatewaytui/core/process"
)

// Options are what the tools share, most of it values of the config.
type Options struct {
	// Timeout is the longest that one call waits for a command or for a disk (tools.timeout).
	Timeout time.Duration
	// OutputLimit is how much of one command's output is kept, and the limit of one result, in bytes
	// (tools.output_limit).
	OutputLimit int
	// Workdir is where commands run (tools.workdir). It is made, 0700, when the first one does.
	Workdir string
	// Folder is the same one for the tools of the group files.
	Folder *files.Folder
	// KillGrace is the time from TERM to KILL (process.kill_grace).
	KillGrace time.Duration
	// Keep means that background commands outlive a SIGKILL of the gateway and are adopted by its next life
	// (process.survivors).
	Keep bool
	// Files sends files to chats.
	Files Files
	// Notes keeps notes beyond conversations; nil: there are none.
	Notes Notes
	// Jobs keeps jobs; nil: there are no tools for them.
	Jobs Jobs
	// Gate is asked before a step that can do harm; nil: every step is taken.
	Gate Gate
	// Hosts asks the gate about hosts that commands of a sandbox connect to; nil: what is not listed is refused.
	Hosts *Hosts
	// Asker asks people questions; nil: no person can be asked.
	Asker Asker
	// Environments say where commands run; nil: on the machine itself. RunsAsRoot reports whether the person behind a call may run commands on
	// the machine itself where the gateway runs as root; nil: everyone may.
	Environments Environments
	RunsAsRoot   func(Call) bool
	// Web fetches pages and searches; nil: there are no tools of the group web. Reaches reports whether the network of an agent's environment has a
	// host; nil: none has.
	Web     Web
	Reaches func(agent string, host hosts.Target) bool
}

const (
	// killSlack is how long a kill may take beyond its grace: KILL, and the scan that verifies it.
	killSlack = time.Second
	// watchEvery is how often a running command's output is checked.
	watchEvery = time.Second
)

// Terminal is the tool that runs a shell command, and waits for it or leaves it running for the session.
type Terminal struct {
	processes *process.Registry
	opts      Options
}

// NewTerminal returns the tool over the registry that owns what it starts.
func NewTerminal(processes *process.Registry, opts Options) *Terminal {
	return &Terminal{processes: processes, opts: opts}
}

type terminalArguments struct {
	Command    string   `json:"command"`
	Background bool     `json:"background"`
	Timeout    *float64 `json:"timeout"`
	Workdir    string   `json:"workdir"`
	PTY        bool     `json:"pty"`
}

// finished is the answer to a foreground command (CONTRACT.md, 5). Fields with omitempty are additions to the contract.
type finished struct {
	Output    string `json:"output"`
	ExitCode  int    `json:"exit_code"`
	PID       int    `json:"pid"`
	TimedOut  bool   `json:"timed_out"`
	Truncated bool   `json:"truncated"`
	// LeftRunning is how many processes the command left; they end with the turn.
	LeftRunning int `json:"left_running,omitempty"`
	// Survivors are processes that a kill at the limit could not end.
	Survivors []int `json:"survivors,omitempty"`
	// Limit names the limit of the machine that the command reached.
	Limit string `json:"limit,omitempty"`
	// Error means that the command was ended, and why.
	Error string `json:"error,omitempty"`
}

// started is the answer to a background command.
type started struct {
	PID       int    `json:"pid"`
	SessionID string `json:"session_id"`
	Note      string `json:"note,omitempty"`
}

// Spec implements Tool.
func (t *Terminal) Spec() model.ToolSpec {
	return model.ToolSpec{
		Name: "terminal",
		Description: fmt.Sprintf("Run a command with bash -c. A foreground command is ended, with everything it started, "+
			"after timeout seconds (at most %g), and what it leaves running ends with your turn. A background command runs "+
			"until the session ends; see it with the tool process.", t.opts.Timeout.Seconds()),
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["command"],"properties":{
			"command":{"type":"string"},
			"background":{"type":"boolean","description":"return at once and leave it running"},
			"timeout":{"type":"number","description":"seconds to wait in the foreground"},
			"workdir":{"type":"string","description":"directory to run in; a relative one is below the default one"},
			"pty":{"type":"boolean","description":"give it a terminal"}}}`),
	}
}

// Run implements Tool. In the foreground it returns within the limit, the kill grace and a second for the kill, even if
// the command's processes resist (C6).
func (t *Terminal) Run(ctx context.Context, call Call) (string, error) {
	var args terminalArguments
	if err := decode(call.Arguments, &args); err != nil {
		return "", err
	}
	if strings.TrimSpace(args.Command) == "" {
		return "", required("command")
	}
	limit, err := within(args.Timeout, t.opts.Timeout)
	if err != nil {
		return "", err
	}
	place, err := t.opts.place(ctx, call)
	if err != nil {
		return "", err
	}
	dir, err := t.dir(args.Workdir, place)
	if err != nil {
		return "", err
	}
	doing := "terminal: " + args.Command
	call.Progress(doing)
	if err := t.opts.passCommand(ctx, call, place, args.Command, dir, ""); err != nil {
		return "", err
	}

	if args.Background {
		p, _, err := t.start(ctx, call, args, dir, place)
		if err != nil {
			return "", fmt.Errorf("start the command: %w", err)
		}
		return t.leave(ctx, p)
	}
	asks := t.opts.Hosts.begin(ctx, t.opts.Gate, call, args.Command, doing)
	text, err := t.foreground(ctx, call, args, dir, place, asks, limit)
	if over := asks.end(); over != "" && call.Over != nil {
		call.Over(over)
	}
	return text, err
}

// foreground starts a command and waits for it.
func (t *Terminal) foreground(ctx context.Context, call Call, args terminalArguments, dir string, place environment.Place, asks *reach, limit time.Duration) (string, error) {
	p, failure, err := t.start(ctx, call, args, dir, place)
	if err != nil {
		return "", fmt.Errorf("start the command: %w", err)
	}
	bound, cancel := asks.within(ctx, limit)
	defer cancel()
	return t.await(ctx, bound, p, failure, limit, call, "terminal: "+args.Command), nil
}

// policy is what ends a command: the turn for a foreground command and for everything of a child, else the session.
func (t *Terminal) policy(call Call, args terminalArguments) process.Policy {
	switch {
	case !args.Background || call.Child:
		return process.PolicyTurn
	case t.opts.Keep && !args.PTY: // a terminal hangs up when the gateway ends
		return process.PolicyKept
	}
	return process.PolicySession
}

// await waits for a foreground command and ends its tree when bound ends, at its limit or with ctx.
func (t *Terminal) await(ctx, bound context.Context, p *process.Process, failure func(process.Exit) error, limit time.Duration, call Call, doing string) string {
	res := finished{PID: p.PID()}
	exit, err := watch(bound, p, func() { call.Progress(doing) })
	switch {
	case err == nil:
		// Where /proc cannot be read it stays 0. The registry's rows show that it cannot see processes.
		res.LeftRunning, _ = p.Left()
		if call.Signalled != nil && exitedBySignal(exit) && !p.Killed() {
			if why := call.Signalled(ctx); why != nil {
				res.Error = "interrupted: " + why.Error() + ", and the command got the same signal; it was not the command that failed"
			}
		}
	case ctx.Err() != nil:
		exit = t.end(ctx, p, &res)
		res.Error = "interrupted: the turn ended before the command did; " + ended(res)
	default:
		exit = t.end(ctx, p, &res)
		res.TimedOut = true
		res.Error = fmt.Sprintf("it ran for longer than %v; %s", limit, ended(res))
	}
	if failure != nil {
		if why := failure(exit); why != nil && res.Error == "" {
			res.Error = why.Error()
		}
	}
	res.ExitCode = exit.Code
	switch {
	case ctx.Err() != nil:
	case res.TimedOut:
		call.Span.End("timed out")
	default:
		call.Span.End(fmt.Sprintf("exit %d", exit.Code))
	}
	res.Output, res.Truncated = p.Output()
	res.Limit = limitOf(exit, res.Output)
	return fitLimit(t.opts.OutputLimit, &res.Output, &res.Truncated, func() string { return encode(res) })
}

// limitOf names the limit of the machine that a command reached: the limit that ended it or, by its output, the one that
// refused it a process.
func limitOf(exit process.Exit, output string) string {
	if exit.Limit != "" || exit.Code == 0 {
		return exit.Limit
	}
	for line := range strings.Lines(output) {
		// What shells and the C library print for fork(2) and EAGAIN.
		if strings.Contains(line, "fork") && strings.Contains(line, "Resource temporarily unavailable") {
			return "the limit on processes for tools was reached; use fewer processes at once"
		}
	}
	return ""
}

// exitedBySignal reports whether a signal ended the command, or the last command of its shell.
func exitedBySignal(exit process.Exit) bool {
	switch syscall.Signal(exit.Code - 128) {
	case syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP:
		return true
	}
	return false
}

// ended is the outcome of a command that had to be ended.
func ended(res finished) string {
	if len(res.Survivors) > 0 {
		return "part of it could not be ended (survivors)"
	}
	return "it was ended with everything that it started"
}

// end kills the command's tree. It does not use ctx, which may have ended: the tree must be killed exactly then.
func (t *Terminal) end(ctx context.Context, p *process.Process, res *finished) process.Exit {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.opts.KillGrace+killSlack)
	defer cancel()
	res.Survivors = pids(p.Kill(ctx, t.opts.KillGrace).Survivors)
	exit, exited := p.Exited()
	if !exited {
		exit.Code = -1
	}
	return exit
}

// watch waits for the command's end and calls moved when the command wrote output meanwhile: a silent command makes no
// progress, a build that prints does (D13).
func watch(ctx context.Context, p *process.Process, moved func()) (process.Exit, error) {
	for seen := int64(0); ; {
		round, cancel := context.WithTimeout(ctx, watchEvery)
		exit, err := p.Wait(round)
		cancel()
		if err == nil || ctx.Err() != nil {
			return exit, err
		}
		if _, next, _ := p.Log(seen, 0); next > seen {
			seen = next
			moved()
		}
	}
}

// leave answers for a background process. If the turn ended while the process started, it is ended again, because the
// kill of the session's processes may have missed it.
func (t *Terminal) leave(ctx context.Context, p *process.Process) (string, error) {
	if ctx.Err() != nil {
		var res finished
		t.end(ctx, p, &res)
		return "", context.Cause(ctx)
	}
	res := started{PID: p.PID(), SessionID: p.Session()}
	if other := p.DuplicateOf(); other != 0 {
		res.Note = fmt.Sprintf("the same command already runs in this directory as pid %d", other)
	}
	return encode(res), nil
}

// within is the time in seconds that a model asked for, at most limit, which is also the default.
func within(seconds *float64, limit time.Duration) (time.Duration, error) {
	if seconds == nil {
		return limit, nil
	}
	if *seconds <= 0 {
		return 0, fmt.Errorf("argument %q must be more than 0 seconds", "timeout")
	}
	if *seconds >= limit.Seconds() {
		return limit, nil
	}
	return time.Duration(*seconds * float64(time.Second)), nil
}

func pids(survivors []process.Survivor) []int {
	out := make([]int, 0, len(survivors))
	for _, s := range survivors {
		out = append(out, s.PID)
	}
	return out
}
