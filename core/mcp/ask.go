package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gatewaytui/core/tool"
)

const (
	// maxQuestion bounds the message of a question, and maxLabel the name of a field in it, in bytes. maxFields bounds the fields of an answer,
	// each of which is a question of its own.
	maxQuestion = 1000
	maxLabel    = 200
	maxFields   = 8

	actionAccept  = "accept"
	actionDecline = "decline"
	actionCancel  = "cancel"

	yes = "yes"
	no  = "no"
	// asGiven is the answer that takes the default of a field without options.
	asGiven = "default"
)

// running is a call under way. A person who is asked in it has their own time, so its limit stands still meanwhile.
type running struct {
	ctx   context.Context
	call  tool.Call
	timer *time.Timer
	limit time.Duration
}

// questions knows for which calls a server can ask. The protocol does not say to which call a question belongs, so it is put only while
// one call is under way.
type questions struct {
	mu    sync.Mutex
	calls map[*running]struct{}
}

// during notes a call until the returned function is called.
func (q *questions) during(one *running) func() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.calls == nil {
		q.calls = map[*running]struct{}{}
	}
	q.calls[one] = struct{}{}
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.calls, one)
	}
}

// only is the call under way; nil: there is none, or more than one.
func (q *questions) only() *running {
	q.mu.Lock()
	defer q.mu.Unlock()
	for one := range q.calls {
		if len(q.calls) == 1 {
			return one
		}
	}
	return nil
}

// elicit answers a question of a server. It is declined where no person can be asked for a call that is under way, and where a page of
// the web is to be opened.
func (l *link) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	one := l.asking.only()
	if one == nil || r.Params.Mode == "url" {
		return &sdk.ElicitResult{Action: actionDecline}, nil
	}
	all, err := fieldsOf(r.Params.RequestedSchema)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	defer context.AfterFunc(one.ctx, cancel)()
	one.timer.Stop()
	defer one.timer.Reset(one.limit)
	about := "The server " + l.server.def.Name + " asks: " + plain(r.Params.Message, maxQuestion)
	content := map[string]any{}
	if len(all) == 0 {
		all = []field{{options: []string{yes, no}}}
	}
	for _, f := range all {
		answer, err := l.server.set.o.Asker.Ask(ctx, one.call, tool.Question{Text: f.question(about), Options: f.options})
		if withheld, is := errors.AsType[*tool.WithheldError](err); is && withheld.Declined || err == nil && f.name == "" && answer == no {
			return &sdk.ElicitResult{Action: actionDecline}, nil
		}
		if err != nil {
			return &sdk.ElicitResult{Action: actionCancel}, nil
		}
		if f.name == "" {
			continue
		}
		if content[f.name], err = f.value(answer); err != nil {
			return &sdk.ElicitResult{Action: actionCancel}, nil
		}
	}
	return &sdk.ElicitResult{Action: actionAccept, Content: content}, nil
}

// field is one value that a server asks for.
type field struct {
	name, label, kind string
	options           []string
	// preset is the default by the schema: a string, a number or a boolean; nil: there is none.
	preset any
}

// question is the text of the question for a field.
func (f field) question(about string) string {
	if f.name == "" {
		return about
	}
	return about + "\n" + f.label
}

// value is an answer as the schema has it.
func (f field) value(answer string) (any, error) {
	if f.preset != nil && len(f.options) == 0 && strings.EqualFold(strings.TrimSpace(answer), asGiven) {
		return f.preset, nil
	}
	switch f.kind {
	case "boolean":
		return answer == yes, nil
	case "integer":
		return strconv.ParseInt(strings.TrimSpace(answer), 10, 64)
	case "number":
		return strconv.ParseFloat(strings.TrimSpace(answer), 64)
	}
	return answer, nil
}

// fieldsOf are the fields of the schema of an answer, by name.
func fieldsOf(schema any) (all []field, err error) {
	data, err := json.Marshal(schema)
	if err != nil || len(data) > maxSchema {
		return nil, errors.New("the schema of the answer cannot be used")
	}
	var object struct {
		Properties map[string]struct {
			Type        string   `json:"type"`
			Title       string   `json:"title"`
			Description string   `json:"description"`
			Enum        []string `json:"enum"`
			Default     any      `json:"default"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, errors.New("the schema of the answer is not one of plain fields")
	}
	if len(object.Properties) > maxFields {
		return nil, fmt.Errorf("the schema of the answer has more than %d fields", maxFields)
	}
	for _, name := range slices.Sorted(maps.Keys(object.Properties)) {
		p := object.Properties[name]
		f := field{name: name, kind: p.Type, options: p.Enum, label: plain(name, maxLabel)}
		for _, said := range []string{p.Title, p.Description} {
			if said != "" {
				f.label += ": " + plain(said, maxLabel)
				break
			}
		}
		if p.Type == "boolean" {
			f.options = []string{yes, no}
		}
		all = append(all, f.suggesting(p.Default))
	}
	return all, nil
}

// suggesting is a field with its default (SEP-1034): the question says it, and among options it is the first.
// https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
func (f field) suggesting(value any) field {
	said := ""
	switch v := value.(type) {
	case bool:
		if said = no; v {
			said = yes
		}
	case string:
		said = v
	case float64:
		said = strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return f
	}
	if len(f.options) == 0 {
		f.preset = value
		f.label += fmt.Sprintf(" (default: %s; answer %q to take it)", plain(said, maxLabel), asGiven)
		return f
	}
	if at := slices.Index(f.options, said); at >= 0 {
		f.label += " (default: " + plain(said, maxLabel) + ")"
		f.options = slices.Insert(slices.Delete(slices.Clone(f.options), at, at+1), 0, said)
	}
	return f
}
