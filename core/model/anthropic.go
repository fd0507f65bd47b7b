package model

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Anthropic's API (https://docs.anthropic.com/en/api/messages), as far as the gateway uses it.

// AnthropicURL is the address of Anthropic's own endpoint.
const AnthropicURL = "https://api.anthropic.com/v1"

const (
	anthropicVersion = "2023-06-01"
	// defaultOutput bounds an answer where nothing else does: the API wants a bound.
	defaultOutput = 8192
)

// anthropic speaks the messages API over the connections, with the retries and with the errors of an openAI.
type anthropic struct{ *openAI }

// NewAnthropic makes the clients of an endpoint of Anthropic's API. BaseURL ends before /messages; empty is AnthropicURL, and one
// without a path gets /v1. Reasoning is the effort of an answer. It does no I/O. The error is about BaseURL or Model.
func NewAnthropic(o OpenAIOptions) (Provider, error) {
	o.BaseURL = cmp.Or(o.BaseURL, AnthropicURL)
	if u, err := url.Parse(o.BaseURL); err == nil && strings.Trim(u.Path, "/") == "" {
		o.BaseURL = strings.TrimRight(o.BaseURL, "/") + "/v1"
	}
	p, err := NewOpenAI(o)
	if err != nil {
		return nil, err
	}
	endpoint := p.(*openAI)
	endpoint.speaks = anthropic{endpoint}
	return endpoint, nil
}

func (p anthropic) request(ctx context.Context, req Request) (*http.Request, error) {
	wire, err := p.message(req)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(wire)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.at+"/messages", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Anthropic-Version", anthropicVersion)
	if p.key != "" {
		r.Header.Set("X-Api-Key", p.key)
	}
	return r, nil
}

// again is false: a request has one form.
func (anthropic) again(*Error, Request) bool { return false }

func (p anthropic) read(kind string, body io.ReadCloser, delta func(string)) (Response, error) {
	a := &answer{kind: kind, delta: delta, event: messageEvent}
	if kind != "application/json" {
		return readStream(body, a)
	}
	data, err := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	switch text := bytes.TrimSpace(data); {
	case err != nil:
		return Response{}, cutOff(err)
	case len(data) > maxAnswer:
		return Response{}, errTooLarge
	case len(text) > 0 && text[0] != '{':
		return Response{}, foreign(kind, text)
	}
	if _, err := decode(data); err != nil {
		return Response{}, fmt.Errorf("read the answer: %w", err)
	}
	var whole wireStart
	if err := json.Unmarshal(data, &whole); err != nil {
		return Response{}, fmt.Errorf("read the answer: %w", err)
	}
	for i, block := range whole.Content {
		if err := a.block(i, block); err != nil {
			return Response{}, err
		}
	}
	if whole.StopReason == "" {
		return Response{}, &Error{Kind: KindNotAModel, Message: "answered with JSON that is not a model's answer"}
	}
	a.stopped(whole.StopReason)
	a.usage = whole.Usage.usage()
	return a.response(), nil
}

// wireStart is a message in one piece, or as it begins.
type wireStart struct {
	Content    []wireBlock  `json:"content"`
	StopReason string       `json:"stop_reason"`
	Usage      messageUsage `json:"usage"`
}

// wireBlock is a block of content of an answer. Thoughts and what the endpoint's own tools did are not in the answer.
type wireBlock struct {
	Type  string          `json:"type"`
	Text  string          `json:"text"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// messageUsage is what a message costs so far.
type messageUsage struct {
	In      int64 `json:"input_tokens"` // without those of the cache
	Written int64 `json:"cache_creation_input_tokens"`
	Cached  int64 `json:"cache_read_input_tokens"`
	Out     int64 `json:"output_tokens"`
}

func (u messageUsage) usage() Usage {
	cached := max(u.Cached, 0)
	return Usage{In: max(u.In, 0) + max(u.Written, 0) + cached, Cached: cached, Out: max(u.Out, 0)}
}

// wireEvent is an event of a stream.
type wireEvent struct {
	Type    string    `json:"type"`
	Index   int       `json:"index"`
	Message wireStart `json:"message"`
	Block   wireBlock `json:"content_block"`
	Delta   struct {
		Type       string `json:"type"`
		Text       string `json:"text"`
		Partial    string `json:"partial_json"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Usage messageUsage `json:"usage"`
}

// messageEvent adds an event of a stream to an answer. What it does not know it ignores, as the API asks for.
func messageEvent(a *answer, data []byte) (done bool, err error) {
	var e wireEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return false, err
	}
	switch e.Type {
	case "message_start":
		a.usage = e.Message.Usage.usage()
		a.delta("")
	case "content_block_start":
		return false, a.block(e.Index, e.Block)
	case "content_block_delta":
		switch {
		case e.Delta.Type == "text_delta" && e.Delta.Text != "":
			a.text.WriteString(e.Delta.Text)
			a.delta(e.Delta.Text)
		case e.Delta.Type == "input_json_delta":
			a.delta("")
			if slices.ContainsFunc(a.calls, func(c *partialCall) bool { return c.index == e.Index }) { // not of what the endpoint runs itself
				return false, a.addCall(wireCall{Index: &e.Index, Function: wireFunction{Arguments: e.Delta.Partial}})
			}
		default:
			a.delta("")
		}
	case "message_delta":
		if e.Delta.StopReason != "" {
			a.stopped(e.Delta.StopReason)
		}
		if u := e.Usage.usage(); u.In > 0 { // newer endpoints repeat the whole
			a.usage = u
		} else {
			a.usage.Out = max(a.usage.Out, u.Out)
		}
	case "message_stop":
		if !a.complete {
			return false, cutOff(io.ErrUnexpectedEOF)
		}
		return true, nil
	}
	return false, nil
}

// block adds a block of content as it begins. The input of a tool that is called comes whole here, or in pieces later.
func (a *answer) block(index int, b wireBlock) error {
	switch b.Type {
	case "text":
		if b.Text != "" {
			a.text.WriteString(b.Text)
			a.delta(b.Text)
		}
	case "tool_use":
		a.delta("")
		input := string(b.Input)
		if strings.TrimSpace(strings.Trim(strings.TrimSpace(input), "{}")) == "" {
			input = ""
		}
		return a.addCall(wireCall{Index: &index, ID: b.ID, Function: wireFunction{Name: b.Name, Arguments: input}})
	}
	return nil
}

// stopped records why an answer ended.
func (a *answer) stopped(reason string) {
	a.complete = true
	switch reason {
	case "max_tokens", "model_context_window_exceeded":
		a.finish = FinishLength
	case "refusal":
		a.finish = FinishContentFilter
	}
	for _, c := range a.calls { // a tool without arguments
		if c.arguments.Len() == 0 {
			c.arguments.WriteString("{}")
		}
	}
}
