package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName bounds a session's name, in bytes, so that its key stays within what a key may be.
const maxName = 200

// userKeys begins the keys of named sessions, requestKeys those of a single request.
const (
	userKeys    = "api:user:"
	requestKeys = "api:request:"
)

// request is what a chat-completions body says to the gateway. Everything else in it (model, temperature, tools, the
// history) is the gateway's business and is ignored.
type request struct {
	// text is the last user message.
	text string
	// model names the agent; empty: the default.
	model string
	// user names the session; empty: the body names none.
	user   string
	stream bool
	// usage asks for what the answer cost, at the end of a stream.
	usage bool
}

// parseRequest reads a body.
func parseRequest(body []byte) (request, *problem) {
	var wire struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Model         string `json:"model"`
		User          string `json:"user"`
		Stream        bool   `json:"stream"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		N *int `json:"n"`
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return request{}, notJSON(err)
	}
	if wire.N != nil && *wire.N != 1 {
		return request{}, invalid("n", "n must be 1: an agent gives one answer")
	}
	if len(wire.Messages) == 0 {
		return request{}, invalid("messages", "messages is missing or empty")
	}
	for i := len(wire.Messages) - 1; i >= 0; i-- {
		if wire.Messages[i].Role != "user" {
			continue
		}
		text, p := parseContent(wire.Messages[i].Content, fmt.Sprintf("messages[%d].content", i))
		if p != nil {
			return request{}, p
		}
		if wire.User != "" {
			if p := checkName(wire.User, "user"); p != nil {
				return request{}, p
			}
		}
		return request{text: text, model: wire.Model, user: wire.User, stream: wire.Stream, usage: wire.StreamOptions.IncludeUsage}, nil
	}
	return request{}, invalid("messages", "messages contains no message with role \"user\"")
}

// parseContent reads a message's content: a string, or a list of text parts.
func parseContent(content json.RawMessage, param string) (string, *problem) {
	var text string
	if len(content) > 0 && content[0] == '[' {
		var parts []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if json.Unmarshal(content, &parts) != nil {
			return "", invalid(param, param+" must be a string or a list of parts with type and text")
		}
		texts := make([]string, len(parts))
		for i, part := range parts {
			if part.Type != "text" {
				param = fmt.Sprintf("%s[%d]", param, i)
				return "", invalid(param, fmt.Sprintf("%s is of type %.40q: only text is understood", param, part.Type))
			}
			texts[i] = part.Text
		}
		text = strings.Join(texts, "\n")
	} else if json.Unmarshal(content, &text) != nil {
		return "", invalid(param, param+" must be a string or a list of parts with type and text")
	}
	if strings.TrimSpace(text) == "" {
		return "", invalid(param, param+" is empty")
	}
	return text, nil
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
		what := wrong.Field
		if what == "" {
			what = "the body"
		}
		got, _, _ := strings.Cut(wrong.Value, " ") // a number is followed by its digits
		return invalid(wrong.Field, fmt.Sprintf("%s must be %s, not %s", what, jsonWord(wrong.Type), got))
	}
	return invalid("", "the body is not valid JSON: "+clean(err.Error()))
}

// jsonWord is what JSON calls the values of t.
func jsonWord(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "an array"
	case reflect.Struct:
		return "an object"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	default:
		return "a string"
	}
}
