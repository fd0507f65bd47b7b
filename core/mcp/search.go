package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"gatewaytui/core/model"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
	"gatewaytui/core/tool"
)

const (
	// searchFrom is how many tools of servers a model is shown. Where there are more, it searches them.
	searchFrom = 60
	// found is how many tools a search returns at most, and foundBytes how long its answer may be.
	found      = 8
	foundBytes = 24 << 10
	searchName = "servers_search"
	callName   = "servers_call"
)

// searching are the two tools that stand for many.
func searching(all []*remote) []tool.Tool {
	index := &index{all: all}
	return []tool.Tool{search{index}, caller{index}}
}

// index is the tools that are searched.
type index struct{ all []*remote }

// search is the tool that finds tools.
type search struct{ *index }

// Spec implements tool.Tool.
func (s search) Spec() model.ToolSpec {
	return model.ToolSpec{
		Name: searchName,
		Description: fmt.Sprintf("Find tools of the connected servers (%s): there are %d. The answer has each tool's name, what it does and the schema of its "+
			"arguments. Call one with %s.", strings.Join(s.servers(), ", "), len(s.all), callName),
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["query"],"properties":{
			"query":{"type":"string","description":"a few words about what the tool does, or its name"}}}`),
	}
}

// servers are the names of the servers, in their order.
func (x *index) servers() (names []string) {
	for _, r := range x.all {
		if !slices.Contains(names, r.server.def.Name) {
			names = append(names, r.server.def.Name)
		}
	}
	return names
}

// Run implements tool.Tool.
func (s search) Run(_ context.Context, call tool.Call) (string, error) {
	var args struct {
		Query string `json:"query"`
	}
	if err := json.Unmarshal(call.Arguments, &args); err != nil || strings.TrimSpace(args.Query) == "" {
		return "", errors.New(`argument "query" is required, a text`)
	}
	call.Progress(searchName + ": " + term.Clean(args.Query, doingWidth))
	hits := s.find(args.Query)
	if len(hits) == 0 {
		return "no tool matches; try other words", nil
	}
	var b strings.Builder
	for _, r := range hits {
		one, err := json.Marshal(r.listed.Spec)
		if err != nil {
			return "", fmt.Errorf("write the tool %s: %w", r.Spec().Name, err)
		}
		if b.Len() > 0 && b.Len()+len(one) > foundBytes {
			break
		}
		b.Write(one)
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// find returns the tools that match a query best. A word in a name counts more than one in a description.
func (x *index) find(query string) []*remote {
	type hit struct {
		*remote
		score int
	}
	wanted := words(query)
	var hits []hit
	for _, r := range x.all {
		name, about := strings.ToLower(r.listed.Spec.Name), strings.ToLower(r.listed.Spec.Description)
		score := 0
		for _, w := range wanted {
			if strings.Contains(name, w) {
				score += 3
			}
			if strings.Contains(about, w) {
				score++
			}
		}
		if name == strings.ToLower(strings.TrimSpace(query)) {
			score += 100
		}
		if score > 0 {
			hits = append(hits, hit{r, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	var best []*remote
	for _, h := range hits[:min(len(hits), found)] {
		best = append(best, h.remote)
	}
	return best
}

// words are the words of a query, small.
func words(query string) []string {
	return strings.FieldsFunc(strings.ToLower(query), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// caller is the tool that calls a tool that was found.
type caller struct{ *index }

// Spec implements tool.Tool.
func (c caller) Spec() model.ToolSpec {
	return model.ToolSpec{
		Name:        callName,
		Description: "Call a tool that " + searchName + " has found, with arguments as its schema says.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["name"],"properties":{
			"name":{"type":"string","description":"the tool's whole name"},
			"arguments":{"type":"object","description":"its arguments"}}}`),
	}
}

// Run implements tool.Tool.
func (c caller) Run(ctx context.Context, call tool.Call) (string, error) {
	var args struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return "", errors.New(`the arguments must be one JSON object with "name" and "arguments"`)
	}
	var names []string
	for _, r := range c.all {
		if names = append(names, r.listed.Spec.Name); r.listed.Spec.Name == args.Name {
			call.Arguments = args.Arguments
			return r.Run(ctx, call)
		}
	}
	return "", fmt.Errorf("unknown tool %s; did you mean %s? Find tools with %s", term.Quote(args.Name), text.Nearest(args.Name, names), searchName)
}
