package acp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"gatewaytui/core/agent"
	"gatewaytui/core/environment"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/term"
)

const (
	// startMost is how long a program may take until it has a session: some load a whole runtime first.
	startMost = 60 * time.Second
	// outputKept is how much of the program's standard error is kept, in bytes.
	outputKept = 16 << 10
	// authNeeded is the code of the error of a program that needs a login.
	authNeeded = -32000
)

// permitted says where the program runs, or why the person of this turn may not use it.
func (c *client) permitted(ctx context.Context, t agent.ExternalTurn) (environment.Place, error) {
	place, err := c.of.def.Environments.Resolve(ctx, c.of.def.Name)
	if err != nil {
		return place, c.explain(ctx, "finding its environment", err)
	}
	if place.Kind == environment.KindLocal && !c.of.def.OnMachine(t.Call) {
		return place, &ops.Error{Code: ops.CodeForbidden, Message: environment.ErrOwnersAlone.Error()}
	}
	return place, nil
}

// ready returns the running program, and starts one if there is none. fresh means that its session does not have the conversation.
func (c *client) ready(ctx context.Context, t agent.ExternalTurn) (l *link, fresh bool, err error) {
	c.mu.Lock()
	l = c.link
	c.mu.Unlock()
	if l != nil && !l.over() {
		if !t.Fresh {
			return l, false, nil
		}
		ctx, cancel := context.WithTimeout(ctx, startMost)
		defer cancel()
		return l, true, c.newSession(ctx, l)
	}
	if l, err = c.start(ctx, t); err != nil {
		return nil, false, err
	}
	open, cancel := context.WithTimeout(ctx, startMost)
	defer cancel()
	if fresh, err = c.open(open, l, t.Fresh); err != nil {
		why := l.reason(err)
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), endMost) // it must end above all when the turn was interrupted
		defer cancel()
		if left := l.end(stop, why); left != nil {
			why = errors.Join(why, left)
		}
		return nil, false, why
	}
	return l, fresh, nil
}

// start starts the program in the environment of its definition.
func (c *client) start(ctx context.Context, t agent.ExternalTurn) (*link, error) {
	if err := c.set.enter(c); err != nil {
		return nil, err
	}
	l, err := c.spawn(ctx, t)
	if err != nil {
		c.drop(nil)
		return nil, err
	}
	if !c.take(l) {
		_ = l.end(ctx, errClosed) // the rows of processes show what survives it
		return nil, errClosed
	}
	return l, nil
}

func (c *client) spawn(ctx context.Context, t agent.ExternalTurn) (*link, error) {
	dir, def := c.set.o.Workdir, c.of.def
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the work folder: %w", err)
	}
	launch, place, err := def.Environments.Command(ctx, environment.Request{
		Session: c.session, Agent: def.Name, Owner: def.OnMachine(t.Call), Command: environment.Command{Argv: def.Command, Dir: dir, Background: true},
	})
	if err != nil {
		return nil, fmt.Errorf("prepare its start: %w", err)
	}
	p, err := c.set.o.Processes.Spawn(ctx, process.Spec{
		Session: c.session, Command: strings.Join(def.Command, " "), Argv: launch.Argv, Env: launch.Env, Files: launch.Files, Carrier: launch.Carrier,
		Dir: launch.Dir, Pipes: true, Policy: process.PolicySession, OutputLimit: outputKept, Share: launch.Share, Owner: Owner, Environment: place.Label(),
	})
	if launch.Started != nil {
		launch.Started(err)
	}
	if err != nil {
		return nil, &ops.Error{
			Code: ops.CodeUnavailable, Message: fmt.Sprintf("the program of the agent %s does not start: %s", def.Name, term.Clean(err.Error(), 200)),
			Hint: fmt.Sprintf("install it for the gateway's user, or name it with its whole path in agents.%s.command", def.Name),
		}
	}
	return newLink(c, p), nil
}

// open begins the protocol and the session of a program that was just started.
func (c *client) open(ctx context.Context, l *link, fresh bool) (without bool, err error) {
	hello, err := sdk.SendRequest[sdk.InitializeResponse](l.rpc, ctx, sdk.AgentMethodInitialize, sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber, ClientInfo: &sdk.Implementation{Name: "gatewaytui", Version: "1"},
	})
	if err != nil {
		return false, fmt.Errorf("initialize: %w", err)
	}
	if hello.ProtocolVersion != sdk.ProtocolVersionNumber {
		return false, fmt.Errorf("it speaks version %d of the protocol, the gateway version %d", hello.ProtocolVersion, sdk.ProtocolVersionNumber)
	}
	l.greeted(hello)
	c.of.vision.Store(l.images())
	if !fresh && c.resume(ctx, l) {
		return false, nil
	}
	return true, c.newSession(ctx, l)
}

// resume resumes the session that was kept, and reports whether it could.
func (c *client) resume(ctx context.Context, l *link) bool {
	caps := l.capabilities()
	if c.recall == nil || !caps.LoadSession && caps.SessionCapabilities.Resume == nil {
		return false
	}
	kept, err := c.recall.ExternalSession(ctx, c.of.def.Name)
	if err == nil && kept == "" {
		return false
	}
	id := sdk.SessionId(kept)
	switch {
	case err != nil:
	case caps.SessionCapabilities.Resume != nil:
		_, err = sdk.SendRequest[sdk.ResumeSessionResponse](l.rpc, ctx, sdk.AgentMethodSessionResume, sdk.ResumeSessionRequest{SessionId: id, Cwd: c.set.o.Workdir, McpServers: []sdk.McpServer{}})
	default: // it repeats the conversation, which is not heard
		_, err = sdk.SendRequest[sdk.LoadSessionResponse](l.rpc, ctx, sdk.AgentMethodSessionLoad, sdk.LoadSessionRequest{SessionId: id, Cwd: c.set.o.Workdir, McpServers: []sdk.McpServer{}})
	}
	if err != nil {
		c.set.o.Log.Info("session of an external agent not resumed; it begins a new one", "event", ops.LogACP, "session", c.session, "agent", c.of.def.Name, "error", term.Clean(term.Redact(err.Error()), 300))
		return false
	}
	l.talk(id)
	c.works(false)
	return true
}

// newSession begins a session without a conversation, and keeps its name.
func (c *client) newSession(ctx context.Context, l *link) error {
	s, err := sdk.SendRequest[sdk.NewSessionResponse](l.rpc, ctx, sdk.AgentMethodSessionNew, sdk.NewSessionRequest{Cwd: c.set.o.Workdir, McpServers: []sdk.McpServer{}})
	if refused, is := errors.AsType[*sdk.RequestError](err); is && refused.Code == authNeeded {
		return &ops.Error{
			Code: ops.CodeUpstreamAuth, Message: fmt.Sprintf("the agent %s (%s) needs a login", c.of.def.Name, term.Clean(c.of.Name(), 60)),
			Hint: fmt.Sprintf("log in with its own command as the gateway's user, or name the variable of its key in agents.%s.env", c.of.def.Name),
		}
	}
	if err != nil {
		return fmt.Errorf("begin a session: %w", err)
	}
	l.talk(s.SessionId)
	c.works(false)
	if c.recall == nil {
		return nil
	}
	if err := c.recall.KeepExternalSession(ctx, c.of.def.Name, string(s.SessionId)); err != nil && ctx.Err() == nil { // it is only missed after the program's end
		c.set.o.Log.Warn("session of an external agent not kept", "event", ops.LogACP, "session", c.session, "agent", c.of.def.Name, "error", term.Clean(err.Error(), 300))
	}
	return nil
}
