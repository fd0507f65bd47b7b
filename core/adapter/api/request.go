package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gatewaytui/core/model"
	words "gatewaytui/core/text"
)

// maxName bounds a session's name, in bytes, so that its key stays within what a key may be.
const maxName = 200

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
		nothing []string
		why     string
	}{
		{"functions", p.Functions, []string{"[]"}, "use tools"},
		{"function_call", p.FunctionCall, []string{`"none"`}, "use tool_choice"},
		{"logprobs", p.LogProbs, []string{"false"}, "an agent's answer has no token probabilities"},
		{"top_logprobs", p.TopLogProbs, []string{"0"}, "an agent's answer has no token probabilities"},
		{"modalities", p.Modalities, []string{"[]", `["text"]`}, "an agent answers in text"},
		{"audio", p.Audio, nil, "an agent answers in text"},
		{"prediction", p.Prediction, nil, "predicted output is not supported"},
		{"web_search_options", p.WebSearchOptions, nil, "an agent searches with its own tools"},
	} {
		if text := compact(row.value); text != "" && text != "null" && !slices.Contains(row.nothing, text) {
			return unsupported(row.name, row.why)
		}
	}
	return nil
}

// compact is a JSON value without spaces; empty for no value.
func compact(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return ""
	}
	return b.String()
}

func unsupported(name, why string) *problem {
	p := invalid(name, fmt.Sprintf("%s is not supported: %s", name, why))
	p.code = "unsupported_parameter"
	return p
}

// decodeStrict reads body into into. A parameter that into does not have is refused by name.
func decodeStrict(body []byte, into any) *problem {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			return invalid("", "the body has something after its JSON object")
		}
		return nil
	}
	// The package has no type for this error.
	if quoted, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		name := strings.Trim(quoted, `"`)
		return unsupported(clean(name), "the gateway does not know this parameter")
	}
	return notJSON(err)
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

// checkName says whether name, from the request's part param, can name a session.
func checkName(name, param string) *problem {
	switch {
	case len(name) > maxName:
		return invalid(param, fmt.Sprintf("%s is longer than %d bytes", param, maxName))
	case !utf8.ValidString(name):
		return invalid(param, param+" is not valid UTF-8")
	case strings.TrimSpace(name) == "":
		return invalid(param, param+" is blank")
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.In(r, invisible...) }):
		return invalid(param, param+" has control or format characters")
	}
	return nil
}

// notJSON says what is wrong with a body that does not decode.
func notJSON(err error) *problem {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return invalid("", fmt.Sprintf("the body is not valid JSON: %s at byte %d", clean(syntax.Error()), syntax.Offset))
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := strings.TrimPrefix(strings.TrimPrefix(wrong.Field, "Params."), "refusedParams.")
		what := field
		if what == "" {
			what = "the body"
		}
		got, _, _ := strings.Cut(wrong.Value, " ") // a number is followed by its digits
		return invalid(field, fmt.Sprintf("%s must be %s, not %s", what, jsonWord(wrong.Type), got))
	}
	return invalid("", "the body is not valid JSON: "+clean(err.Error()))
}

// jsonWord is what JSON calls the values of t.
func jsonWord(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	default:
		return "a string"
	}
}
