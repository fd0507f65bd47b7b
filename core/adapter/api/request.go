package api

import (
	"encoding/json"
	"fmt"
	"strings"

	"gatewaytui/core/model"
	words "gatewaytui/core/text"
)

// userKeys begins the keys of sessions that the gateway holds the history of, chatKeys those of sessions whose client holds it,
// and requestKeys those of a single request.
const (
	userKeys    = "api:user:"
	chatKeys    = "api:chat:"
	requestKeys = "api:request:"
)

// request is what a chat-completions body says to the gateway.
type request struct {
	// messages is the body's conversation.
	messages transcript
	// model names the agent; empty: the default.
	model string
	// user is the body's label for who asks; empty: the body has none.
	user string
	// conversation names a session whose history the client sends; empty: the body names none.
	conversation string
	stream       bool
	// usage asks for what the answer cost, at the end of a stream.
	usage  bool
	tools  []model.ToolSpec
	params model.Params
	// kept is what a request of /v1/responses adds; nil for a chat completion.
	kept *kept
}

// wireRequest has every parameter that a body may have. A parameter without a field is refused by name.
type wireRequest struct {
	Messages      []json.RawMessage `json:"messages"`
	Model         string            `json:"model"`
	User          string            `json:"user"`
	Conversation  json.RawMessage   `json:"conversation"`
	Stream        bool              `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
		// Obfuscation is ignored: the answer has none.
		Obfuscation bool `json:"include_obfuscation"`
	} `json:"stream_options"`
	Tools []json.RawMessage `json:"tools"`
	model.Params
	ignoredParams
	refusedParams
}

// ignoredParams change nothing here: they are labels, and settings of OpenAI's own service (CONTRACT.md, 4).
type ignoredParams struct {
	Metadata             json.RawMessage `json:"metadata"`
	Store                json.RawMessage `json:"store"`
	ServiceTier          json.RawMessage `json:"service_tier"`
	SafetyIdentifier     json.RawMessage `json:"safety_identifier"`
	PromptCacheKey       json.RawMessage `json:"prompt_cache_key"`
	PromptCacheRetention json.RawMessage `json:"prompt_cache_retention"`
}

// refusedParams would change the answer, and no agent can give that answer. Each has values that ask for nothing.
type refusedParams struct {
	N                *int            `json:"n"`
	Functions        json.RawMessage `json:"functions"`
	FunctionCall     json.RawMessage `json:"function_call"`
	LogProbs         json.RawMessage `json:"logprobs"`
	TopLogProbs      json.RawMessage `json:"top_logprobs"`
	Modalities       json.RawMessage `json:"modalities"`
	Audio            json.RawMessage `json:"audio"`
	Prediction       json.RawMessage `json:"prediction"`
	WebSearchOptions json.RawMessage `json:"web_search_options"`
}

// refused names the first parameter of p that asks for something; nil: none does.
func (p refusedParams) refused() *problem {
	if p.N != nil && *p.N != 1 {
		return invalid("n", "n must be 1: an agent gives one answer")
	}
	for _, row := range []struct {
		name    string
		value   json.RawMessage
		nothing [2]string
		why     string
	}{
		{"functions", p.Functions, [2]string{"[]"}, "use tools"},
		{"function_call", p.FunctionCall, [2]string{`"none"`}, "use tool_choice"},
		{"logprobs", p.LogProbs, [2]string{"false"}, "an agent's answer has no token probabilities"},
		{"top_logprobs", p.TopLogProbs, [2]string{"0"}, "an agent's answer has no token probabilities"},
		{"modalities", p.Modalities, [2]string{"[]", `["text"]`}, "an agent answers in text"},
		{"audio", p.Audio, [2]string{}, "an agent answers in text"},
		{"prediction", p.Prediction, [2]string{}, "predicted output is not supported"},
		{"web_search_options", p.WebSearchOptions, [2]string{}, "an agent searches with its own tools"},
	} {
		if text := compact(row.value); text != "" && text != "null" && text != row.nothing[0] && text != row.nothing[1] {
			return unsupported(row.name, row.why)
		}
	}
	return nil
}

// parseRequest reads a body.
func parseRequest(body []byte) (request, *problem) {
	var wire wireRequest
	if p := decodeStrict(body, &wire); p != nil {
		return request{}, p
	}
	if p := wire.refused(); p != nil {
		return request{}, p
	}
	q := request{model: wire.Model, user: wire.User, stream: wire.Stream, usage: wire.StreamOptions.IncludeUsage, params: wire.Params}
	for _, value := range []*json.RawMessage{&q.params.Stop, &q.params.ResponseFormat, &q.params.ToolChoice} {
		if string(*value) == "null" {
			*value = nil
		}
	}
	var p *problem
	if q.messages, p = parseMessages(wire.Messages); p != nil {
		return request{}, p
	}
	if q.tools, p = parseTools(wire.Tools); p != nil {
		return request{}, p
	}
	if p := checkParams(q.params, q.tools); p != nil {
		return request{}, p
	}
	if q.conversation, p = parseConversation(wire.Conversation); p != nil {
		return request{}, p
	}
	if q.user != "" {
		if p := checkName(q.user, "user"); p != nil {
			return request{}, p
		}
	}
	return q, nil
}

// parseConversation reads a name, or an object with the member id.
func parseConversation(value json.RawMessage) (string, *problem) {
	if text := compact(value); text == "" || text == "null" {
		return "", nil
	}
	var name string
	var object struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(value, &name) != nil {
		if json.Unmarshal(value, &object) != nil {
			return "", invalid("conversation", "conversation must be a string, or an object with an id")
		}
		name = object.ID
	}
	return name, checkName(name, "conversation")
}

// input is what the turn gets of q: with the client's history where given says that the client holds it.
func (q request) input(given bool) (text string, in *model.Input) {
	m := q.messages
	in = &model.Input{Given: given, System: m.system, Images: m.images, Results: m.results, Tools: q.tools, Params: q.params}
	if given {
		in.History = m.history
	}
	text = m.text
	if n := len(m.images); n > 0 { // later turns have the note alone
		text = strings.TrimSpace(fmt.Sprintf("%s\n\n[with %d %s]", text, n, words.Plural(n, "picture", "pictures")))
	}
	return text, in
}
