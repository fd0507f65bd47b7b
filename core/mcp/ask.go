package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gatewaytui/core/tool"
)

const (
	// maxQuestion bounds the text of a question, in bytes.
	maxQuestion = 2 << 10
	accepted    = "accept"
	declined    = "decline"
)

// questions knows for which calls a server can ask. The protocol does not say to which call a question belongs, so it is put only while
// one call is under way.
type questions struct {
	mu    sync.Mutex
	calls map[*tool.Call]struct{}
}

// during notes a call until the returned function is called.
func (q *questions) during(call tool.Call) func() {
	one := &call
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.calls == nil {
		q.calls = map[*tool.Call]struct{}{}
	}
	q.calls[one] = struct{}{}
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.calls, one)
	}
}

// only is the call under way, if there is exactly one.
func (q *questions) only() (tool.Call, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for one := range q.calls {
		return *one, len(q.calls) == 1
	}
	return tool.Call{}, false
}

// elicit answers a question of a server. It is declined where no person can be asked for a call that is under way.
func (l *link) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	call, one := l.asking.only()
	if !one || call.Unattended || r.Params.Mode == "url" {
		return &sdk.ElicitResult{Action: declined}, nil
	}
	var schema []byte
	if r.Params.RequestedSchema != nil {
		var err error
		if schema, err = json.Marshal(r.Params.RequestedSchema); err != nil || len(schema) > maxSchema {
			return nil, errors.New("the schema of the question cannot be used")
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	values, yes, err := l.server.set.o.Asker.Ask(ctx, Question{
		Server: l.server.def.Name, Session: call.Session, Turn: call.Turn, Text: plain(r.Params.Message, maxQuestion), Schema: schema,
	})
	switch {
	case err != nil:
		return nil, errors.New("the question was not answered")
	case !yes:
		return &sdk.ElicitResult{Action: declined}, nil
	}
	return &sdk.ElicitResult{Action: accepted, Content: values}, nil
}
