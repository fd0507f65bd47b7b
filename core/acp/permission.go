package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"gatewaytui/core/environment"
	"gatewaytui/core/fence"
	"gatewaytui/core/tool"
)

const (
	// maxAsks is how often a program may ask permission in one turn, maxWaiting how many of its requests may wait at the same time.
	maxAsks    = 500
	maxWaiting = 16
	// maxStep bounds what a person reads of a step, in bytes.
	maxStep = 8 << 10
)

// permit answers a request for permission. The program never gets a permission that it could remember: the gate remembers.
func (t *turn) permit(ctx context.Context, req sdk.RequestPermissionRequest) sdk.RequestPermissionOutcome {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(t.ctx, func() { cancel(context.Cause(t.ctx)) })
	defer stop()
	if !t.asks() {
		return chosen(req, sdk.PermissionOptionKindRejectOnce)
	}
	defer t.answered()
	select {
	case t.asking <- struct{}{}:
		defer func() { <-t.asking }()
	case <-ctx.Done():
		return sdk.NewRequestPermissionOutcomeCancelled()
	}
	err := t.pass(ctx, req.ToolCall)
	if over, is := errors.AsType[*tool.OverError](err); is {
		select {
		case t.ended <- over.Text:
		default:
		}
	}
	switch {
	case ctx.Err() != nil:
		return sdk.NewRequestPermissionOutcomeCancelled()
	case err != nil:
		return chosen(req, sdk.PermissionOptionKindRejectOnce)
	}
	return chosen(req, sdk.PermissionOptionKindAllowOnce)
}

// asks counts a request, and reports whether it may wait for an answer.
func (t *turn) asks() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asked++; t.asked > maxAsks {
		select {
		case t.ended <- fmt.Sprintf("I stopped here: the agent asked for permission more than %d times in this turn.", maxAsks):
		default:
		}
		return false
	}
	if t.queued >= maxWaiting {
		return false
	}
	t.queued++
	return true
}

// answered says that a request that asks let wait has its answer.
func (t *turn) answered() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queued--
}

// pass asks the gate for a step.
func (t *turn) pass(ctx context.Context, u sdk.ToolCallUpdate) error {
	t.called(u.ToolCallId, u.Title, u.Kind, nil, u.RawInput)
	t.mu.Lock()
	asked := call{kind: sdk.ToolKindOther}
	if known := t.calls[u.ToolCallId]; known != nil {
		asked = *known
	}
	asked.learn(u.Title, u.Kind, u.RawInput)
	t.mu.Unlock()
	whose := t.Call
	if asked.span != nil {
		whose.Span = asked.span()
	}
	defer t.parks()()
	return t.l.c.of.def.Gate.Pass(ctx, whose, t.step(asked, u.Content))
}

// step is what a call does, as the gate judges it and a person reads it.
func (t *turn) step(c call, content []sdk.ToolCallContent) tool.Step {
	s := tool.Step{Kind: tool.StepTool, Folder: t.l.c.set.o.Workdir, Environment: fence.Environment(t.place.Kind)}
	if command, is := commandOf(c.kind, c.input); is {
		s.Kind, s.Text = tool.StepCommand, command
		if dir := textOf(c.input, "cwd"); filepath.IsAbs(dir) {
			s.Folder = filepath.Clean(dir)
		}
		return s
	}
	s.Text = describe(c, content)
	s.Judgement = fence.Judgement{Verdict: fence.Ask, Reasons: []string{"the agent " + t.l.c.of.def.Name + " asks before it does this"}}
	if t.place.Kind == environment.KindSandbox || t.place.Kind == environment.KindContainer {
		s.Judgement = fence.Judgement{Verdict: fence.Allowed}
	}
	return s
}

// describe is all that the program says of a step, within bounds.
func describe(c call, content []sdk.ToolCallContent) string {
	var b strings.Builder
	b.WriteString(string(c.kind) + ": " + c.title)
	if c.input != nil {
		b.WriteString("\n" + compact(c.input))
	}
	for _, part := range content {
		if d := part.Diff; d != nil {
			b.WriteString("\nwrites " + d.Path + ":\n" + d.NewText)
		}
	}
	text := strings.ToValidUTF8(b.String(), "\uFFFD")
	if len(text) > maxStep {
		text = strings.ToValidUTF8(text[:maxStep], "") + fmt.Sprintf("\n[%d more bytes are not shown]", len(text)-maxStep)
	}
	return text
}

// compact is JSON as people read it.
func compact(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return ""
	}
	return strings.TrimSpace(b.String())
}

// commandOf is the shell command of a call that runs one. Programs write it as a text, or as the arguments of a shell.
func commandOf(kind sdk.ToolKind, input any) (string, bool) {
	if kind != sdk.ToolKindExecute {
		return "", false
	}
	if text := textOf(input, "command"); text != "" {
		return text, true
	}
	fields, _ := input.(map[string]any)
	argv, _ := fields["command"].([]any)
	if len(argv) != 3 {
		return "", false
	}
	shell, _ := argv[0].(string)
	flag, _ := argv[1].(string)
	text, _ := argv[2].(string)
	switch filepath.Base(shell) {
	case "bash", "sh", "zsh":
		return text, text != "" && (flag == "-c" || flag == "-lc")
	}
	return "", false
}

// textOf is a field of a call's input that is a text; else empty.
func textOf(input any, name string) string {
	fields, _ := input.(map[string]any)
	text, _ := fields[name].(string)
	return text
}

// chosen picks the option of a kind. A request without one is cancelled: an option that holds for ever is never picked.
func chosen(req sdk.RequestPermissionRequest, kind sdk.PermissionOptionKind) sdk.RequestPermissionOutcome {
	for _, o := range req.Options {
		if o.Kind == kind {
			return sdk.NewRequestPermissionOutcomeSelected(o.OptionId)
		}
	}
	return sdk.NewRequestPermissionOutcomeCancelled()
}
