package tui

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

const (
	// acceptBound is what the gateway may take to accept a command; outcomeBound what the console waits for its outcome.
	acceptBound, outcomeBound = 5 * time.Second, 60 * time.Second
	// previewBound is what a preview may take; without one the dialog says that it is unknown.
	previewBound = 2 * time.Second
	// maxName bounds one untrusted name in a sentence, in runes.
	maxName = 48
)

// job is one command, or one for each marked row, that was given and has not ended.
type job struct {
	number int
	verb   ops.Verb
	what   string // "resetting telegram:dm:1"
	since  time.Time
	busy   map[string]bool // verb and target of each command
}

type done struct {
	number int
	verb   ops.Verb
	text   string
	bad    bool
	copied string
}

// object is what a command acts on, for people.
func object(cmd ops.Command) string {
	name := cmd.Target
	switch {
	case cmd.Item != "":
		name = strings.Replace(cmd.Item, ":", " ", 1) // "turn cli:a"
	case cmd.Phase != "":
		name = "phase " + cmd.Phase
	}
	return term.Clean(name, maxName)
}

// objects is what several commands act on: marked rows, or a session and the processes that are ended with it.
func objects(cmds []ops.Command) string {
	switch n := len(cmds); {
	case n == 1:
		return object(cmds[0])
	case cmds[1].Verb == cmds[0].Verb:
		return fmt.Sprintf("%d marked", n)
	case n == 2:
		return object(cmds[0]) + " and its process tree"
	default:
		return fmt.Sprintf("%s and its %d process trees", object(cmds[0]), n-1)
	}
}

// doing is how a verb reads while it runs.
func doing(verb ops.Verb, what string) string {
	spec, _ := verb.Spec()
	return strings.TrimSpace(spec.Doing + " " + what)
}

// result is what a command has done, in one sentence. detail is the gateway's own word on it.
func result(verb ops.Verb, what, detail string) string {
	spec, _ := verb.Spec()
	text := strings.TrimSpace(spec.Done + " " + what)
	switch {
	case verb == ops.VerbSkip:
		return text
	case verb == ops.VerbPause:
		return what + " paused; c resumes it"
	case detail == "":
		return text
	case verb == ops.VerbKill, verb == ops.VerbUndrain: // a whole sentence already
		return detail
	case verb == ops.VerbInterrupt: // it says which of several things an interrupt came to
		text = what
	}
	return text + ": " + detail
}

func busyKey(cmd ops.Command) string {
	return string(cmd.Verb) + " " + cmd.Target + " " + cmd.Phase + " " + cmd.Item
}

// send sends commands to the gateway, outside of the loop and within bounds. The keys of commands under way are off.
func (m *model) send(cmds []ops.Command) tea.Cmd {
	j := &job{since: time.Now(), busy: map[string]bool{}}
	for i := range cmds {
		cmds[i].By = ops.Actor{Via: "console", UID: os.Getuid(), PID: os.Getpid()}
		key := busyKey(cmds[i])
		for _, other := range m.doing {
			if other.busy[key] {
				m.deny(other.what + " already")
				return nil
			}
		}
		j.busy[key] = true
	}
	m.jobs++
	j.number = m.jobs
	verb, what := cmds[0].Verb, objects(cmds)
	j.verb = verb
	if len(cmds) > 1 && cmds[1].Verb == verb {
		clear(m.lists[m.view].Marked)
	}
	j.what = doing(verb, what)
	m.doing = append(m.doing, j)
	m.message, m.stale = "", true
	return m.tasks.cmd(j.what, func(ctx context.Context) tea.Msg {
		d := done{number: j.number, verb: verb}
		d.text, d.copied, d.bad = carryOut(ctx, m.console, cmds, what)
		return d
	})
}

// carryOut sends each command, then waits for the outcomes.
func carryOut(ctx context.Context, c ops.Console, cmds []ops.Command, what string) (text, copied string, bad bool) {
	ctx, cancel := context.WithTimeout(ctx, outcomeBound)
	defer cancel()
	verb := cmds[0].Verb
	requests, errs := make([]ops.Request, len(cmds)), make([]error, len(cmds))
	for i, cmd := range cmds {
		accept, cancel := context.WithTimeout(ctx, acceptBound)
		requests[i], errs[i] = c.Do(accept, cmd)
		cancel()
	}
	failed := 0
	for i, cmd := range cmds {
		if errs[i] == nil && !endsGateway(verb) {
			requests[i], errs[i] = outcomeOf(ctx, c, requests[i])
		}
		if errs[i] != nil {
			if failed++; failed == 1 {
				text = doing(cmd.Verb, object(cmd)) + ": " + ops.AsError(errs[i]).Error()
			}
		}
	}
	switch {
	case failed > 0 && len(cmds) > 1:
		return fmt.Sprintf("%d of %d failed; %s", failed, len(cmds), text), "", true
	case failed > 0:
		return text, "", true
	case len(cmds) > 1:
		return result(verb, what, ""), "", false
	}
	text, copied = outcomeText(requests[0], verb, what)
	return text, copied, false
}

// endsGateway reports whether the outcome of a verb comes with the end of the gateway.
func endsGateway(verb ops.Verb) bool { return verb == ops.VerbStop || verb == ops.VerbRestart }

func outcomeOf(ctx context.Context, c ops.Console, req ops.Request) (ops.Request, error) {
	if r, err := c.Request(ctx, req.ID, true); err == nil {
		req = r
	} else {
		req.Detail = "accepted; its outcome is not known: " + ops.AsError(err).Message
	}
	if req.Error == nil && req.State == ops.RequestFailed {
		req.Error = &ops.Error{Code: ops.CodeInternal, Message: "it failed"}
	}
	if req.Error != nil {
		return req, req.Error
	}
	return req, nil
}

// outcomeText is what is shown of a request that did not fail, and what y then copies.
func outcomeText(r ops.Request, verb ops.Verb, what string) (text, copied string) {
	var res struct { // ops.MessageResult and ops.DiagnoseResult
		ops.MessageResult
		ops.DiagnoseResult
	}
	_ = json.Unmarshal(r.Result, &res) // without it there is nothing more to say
	text = result(verb, what, r.Detail)
	switch {
	case verb == ops.VerbMessage && res.MessageResult.Text() != "":
		text = what + ": " + res.MessageResult.Text()
	case verb == ops.VerbDiagnose && res.Path != "":
		return text + "; y copies the path", res.Path
	}
	if !r.State.Over() && !endsGateway(verb) {
		text += " (not over yet, request " + r.ID + ")"
	}
	return text, ""
}

// tried is what a newcomer to a demo has done in this console.
type tried struct{ ended, sent bool }

func (t *tried) note(d done) {
	if d.bad {
		return
	}
	switch d.verb {
	case ops.VerbReset, ops.VerbInterrupt, ops.VerbKill:
		t.ended = true
	case ops.VerbMessage:
		t.sent = true
	}
}
