package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gatewaytui/core/fence"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
	"gatewaytui/core/tool"
)

const (
	// listMost is how long the first turn waits for a list that is being read.
	listMost = 5 * time.Second
	// maxArguments bounds the arguments of a call, in bytes.
	maxArguments = 4 << 20
	// doingWidth is the room for what a call does, in cells.
	doingWidth = 80
)

// View is the tools of an agent: those of the servers that it may use.
type View struct {
	set   *Set
	names []string
	gate  tool.Gate
}

// View returns the tools of the named servers, each as it is in force when a turn begins. gate decides about calls of tools that are not
// trusted; nil: all are made.
func (s *Set) View(names []string, gate tool.Gate) *View { return &View{s, names, gate} }

// servers are the servers in force. A name that is not known is ignored.
func (v *View) servers() (all []*server) {
	for _, name := range v.names {
		if one := v.set.find(name); one != nil && !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

// Tools are the tools for a turn. The first turn of a gateway waits a moment for lists that are being read. If there are more than
// searchFrom of them, the two that search and call stand for all.
func (v *View) Tools(ctx context.Context, _ string) []tool.Tool {
	ctx, cancel := context.WithTimeout(ctx, listMost)
	defer cancel()
	var all []*remote
	by := map[string]*remote{}
	for _, s := range v.servers() {
		s.prepare()
		select {
		case <-s.prepared:
		case <-ctx.Done(): // the others are not awaited any more
		}
		for _, t := range s.offered() {
			r := &remote{server: s, listed: t, gate: v.gate}
			if other := by[t.Spec.Name]; other != nil {
				s.set.o.Log.Warn("tools of two servers have the same name", "event", ops.LogServer, "tool", t.Spec.Name, "server", s.def.Name, "other", other.server.def.Name)
				continue
			}
			by[t.Spec.Name] = r
			all = append(all, r)
		}
	}
	if len(all) > searchFrom {
		return searching(all)
	}
	tools := make([]tool.Tool, len(all))
	for i, r := range all {
		tools[i] = r
	}
	return tools
}

// offered is the list of tools. Without one the server is started for it in the background, behind its backoff.
func (s *server) offered() []listed {
	s.mu.Lock()
	known, tools, trying := s.known, s.tools, s.trying
	s.trying = s.trying || !known
	s.mu.Unlock()
	if !known && !trying && closed(s.prepared) {
		s.set.start(func() {
			s.discover()
			s.mu.Lock()
			s.trying = false
			s.mu.Unlock()
		})
	}
	return tools
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// remote is a tool of a server as a model calls it.
type remote struct {
	server *server
	listed
	gate tool.Gate
}

// Spec implements tool.Tool.
func (r *remote) Spec() model.ToolSpec { return r.listed.Spec }

// Run implements tool.Tool. An approval has its own time; from then on the call returns within the limit of a start and that of the
// server.
func (r *remote) Run(ctx context.Context, call tool.Call) (string, error) {
	arguments, err := object(call.Arguments)
	if err != nil {
		return "", err
	}
	call.Progress(term.Clean(r.listed.Spec.Name, doingWidth))
	if !r.trusted && r.gate != nil {
		err := r.gate.Pass(ctx, call, tool.Step{
			Kind: tool.StepTool, Text: r.listed.Spec.Name + " " + string(arguments), Tool: r.server.def.Name + " " + strings.TrimPrefix(r.listed.Spec.Name, r.server.def.Name+separator),
			Judgement: fence.Judgement{Verdict: fence.Ask, Reasons: []string{"servers." + r.server.def.Name + ".trusted does not name the tool " + term.Quote(r.Name)}},
		})
		if err != nil {
			return "", err
		}
	}
	return r.server.call(ctx, call, r.Name, arguments)
}

// object is the arguments of a call as one JSON object.
func object(arguments json.RawMessage) (json.RawMessage, error) {
	arguments = bytes.TrimSpace(arguments)
	if len(arguments) == 0 || bytes.Equal(arguments, []byte("null")) {
		return json.RawMessage("{}"), nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &fields); err != nil {
		return nil, errors.New("the arguments must be one JSON object")
	}
	if len(arguments) > maxArguments {
		return nil, fmt.Errorf("the arguments have %d bytes, at most %d", len(arguments), maxArguments)
	}
	return arguments, nil
}

// call makes one call, once.
func (s *server) call(ctx context.Context, call tool.Call, name string, arguments json.RawMessage) (string, error) {
	i, l, err := s.acquire(ctx, call.Session)
	if err != nil {
		return "", &tool.WithheldError{Text: err.Error() + ". The call was not made."}
	}
	result, err := l.call(ctx, call, name, arguments)
	i.release(l, err)
	if err != nil {
		return "", s.failure(ctx, l, err)
	}
	return s.set.render(call, s.def.Name, result)
}

// call makes one call over the connection.
func (l *link) call(ctx context.Context, call tool.Call, name string, arguments json.RawMessage) (*sdk.CallToolResult, error) {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := l.server.def.Timeout
	timer := time.AfterFunc(limit, func() { cancel(errSilent) })
	defer timer.Stop()
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-limited.Done():
		return nil, fmt.Errorf("%d calls run already: %w", maxCalls, context.Cause(limited))
	}
	defer l.asking.during(&running{ctx: ctx, call: call, timer: timer, limit: limit})()
	result, err := l.session.CallTool(limited, &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		err = errSilent
	}
	return result, err
}

// failure is the error of a call for the model.
func (s *server) failure(ctx context.Context, l *link, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if refused, is := errors.AsType[*jsonrpc.Error](err); is && !l.broken() {
		return fmt.Errorf("the server %s refused the call: %s", s.def.Name, plain(refused.Message, maxRefusal))
	}
	if errors.Is(err, errSilent) {
		return fmt.Errorf("the server %s did not answer within %s. It was asked to end the call, which may or may not have taken effect", s.def.Name, s.def.Timeout)
	}
	l.awaitExit()
	why := l.reason()
	if why == "" {
		why = err.Error()
	}
	return fmt.Errorf("the server %s ended during the call (%s). The call may or may not have taken effect, and was not repeated", s.def.Name, s.set.why(why))
}
