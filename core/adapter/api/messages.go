package api

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"gatewaytui/core/model"
)

// Bounds of a body's parts.
const (
	maxImages = 32
)

// transcript is the conversation of a body: what the turn is about, and what came before.
type transcript struct {
	// system is the system and developer messages before the first other message and after the last one, in their order.
	system string
	// history is the messages before the turn's own.
	history []model.Message
	// text and images are the last user message. Of one that answers calls of the client's functions, results is set instead.
	text    string
	images  []model.Image
	results []model.Message
}

// wireMessage is a message as a client sends it. Members that no model needs, such as name or refusal, are left out.
type wireMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// parseMessages reads the messages of a body.
func parseMessages(raw []json.RawMessage) (transcript, *problem) {
	if len(raw) == 0 {
		return transcript{}, invalid("messages", "messages is missing or empty")
	}
	all := make([]model.Message, len(raw))
	for i, one := range raw {
		var p *problem
		if all[i], p = parseMessage(one, fmt.Sprintf("messages[%d]", i)); p != nil {
			return transcript{}, p
		}
	}
	return arrange(all, "messages", func(i int) string { return fmt.Sprintf("messages[%d].tool_call_id", i) })
}

// arrange finds what the turn is about in a conversation, which param names; callID names where a result says which call it
// answers. The last message, system messages left out, is from the user or a tool.
func arrange(messages []model.Message, param string, callID func(i int) string) (transcript, *problem) {
	var all []model.Message
	var system []string
	for i, m := range messages {
		if m.Role == model.RoleSystem && len(all) == 0 {
			system = append(system, m.Content)
			continue
		}
		if p := checkOrder(all, m, callID(i)); p != nil {
			return transcript{}, p
		}
		all = append(all, m)
	}
	for len(all) > 0 && all[len(all)-1].Role == model.RoleSystem {
		system = append(system, all[len(all)-1].Content)
		all = all[:len(all)-1]
	}
	t := transcript{system: strings.Join(system, "\n\n")}
	if !slices.ContainsFunc(all, func(m model.Message) bool { return m.Role == model.RoleUser }) {
		return t, invalid(param, param+` contains no message with role "user"`)
	}
	return t, t.split(all, param)
}

// split takes the turn's own messages from the end of all.
func (t *transcript) split(all []model.Message, param string) *problem {
	end := len(all)
	for end > 0 && all[end-1].Role == model.RoleTool {
		end--
	}
	if end < len(all) {
		t.history, t.results = all[:end], all[end:]
		return nil
	}
	last := all[end-1]
	if last.Role != model.RoleUser {
		return invalid(param, fmt.Sprintf("the last message of %s has role %q; it must be from the user, or from a tool that answers a call", param, last.Role))
	}
	t.history, t.text, t.images = all[:end-1], last.Content, last.Images
	return nil
}

// checkOrder says whether m may follow before: a tool's message answers a call of the assistant's message before it.
func checkOrder(before []model.Message, m model.Message, param string) *problem {
	if m.Role != model.RoleTool {
		return nil
	}
	for _, b := range slices.Backward(before) {
		if b.Role == model.RoleTool {
			continue
		}
		if slices.ContainsFunc(b.ToolCalls, func(c model.ToolCall) bool { return c.ID == m.ToolCallID }) {
			return nil
		}
		break
	}
	return invalid(param, fmt.Sprintf("%s answers the call %.80q, which the assistant's message before it does not make", param, m.ToolCallID))
}

// parseMessage reads one message, which param names.
func parseMessage(raw json.RawMessage, param string) (m model.Message, p *problem) {
	var wire wireMessage
	if err := json.Unmarshal(raw, &wire); err != nil {
		return m, invalid(param, param+" must be an object with role and content")
	}
	m.Role = model.Role(wire.Role)
	param += ".content"
	switch m.Role {
	case "developer":
		m.Role = model.RoleSystem
		m.Content, _, p = parseContent(wire.Content, param, false)
	case model.RoleSystem:
		m.Content, _, p = parseContent(wire.Content, param, false)
	case model.RoleUser:
		m.Content, m.Images, p = parseContent(wire.Content, param, true)
		if p == nil && len(m.Images) == 0 && strings.TrimSpace(m.Content) == "" {
			p = invalid(param, param+" is empty")
		}
	case model.RoleTool:
		m.Content, _, p = parseContent(wire.Content, param, false)
		m.ToolCallID = wire.ToolCallID
	case model.RoleAssistant:
		if len(wire.Content) > 0 && string(wire.Content) != "null" {
			m.Content, _, p = parseContent(wire.Content, param, false)
		}
		for _, c := range wire.ToolCalls {
			m.ToolCalls = append(m.ToolCalls, model.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
	default:
		param = strings.TrimSuffix(param, "content") + "role"
		return m, invalid(param, fmt.Sprintf("%s is %.40q: use system, developer, user, assistant or tool", param, wire.Role))
	}
	return m, p
}

// parseContent reads a message's content: a string, or a list of parts. Only a user's message may have pictures.
func parseContent(content json.RawMessage, param string, mayShow bool) (text string, images []model.Image, p *problem) {
	var parts []struct {
		Type    string       `json:"type"`
		Text    string       `json:"text"`
		Refusal string       `json:"refusal"`
		Image   *model.Image `json:"image_url"`
	}
	switch {
	case len(content) > 0 && content[0] == '[':
		if json.Unmarshal(content, &parts) != nil {
			return "", nil, invalid(param, param+" must be a string or a list of parts with a type")
		}
	case json.Unmarshal(content, &text) != nil || string(content) == "null":
		return "", nil, invalid(param, param+" must be a string or a list of parts with a type")
	}
	var texts []string
	for i, part := range parts {
		at := fmt.Sprintf("%s[%d]", param, i)
		switch {
		case part.Type == "text":
			texts = append(texts, part.Text)
		case part.Type == "refusal":
			texts = append(texts, part.Refusal)
		case part.Type == "image_url" && mayShow:
			if p := checkImage(part.Image, at); p != nil {
				return "", nil, p
			}
			images = append(images, *part.Image)
		default:
			return "", nil, invalid(at, fmt.Sprintf("%s is of type %.40q: text is understood, and image_url in a user's message", at, part.Type))
		}
	}
	if len(images) > maxImages {
		return "", nil, invalid(param, fmt.Sprintf("%s has more than %d pictures", param, maxImages))
	}
	if parts != nil {
		text = strings.Join(texts, "\n")
	}
	return text, images, nil
}

// imageData is how a picture in the request itself begins.
var imageData = regexp.MustCompile(`^data:image/[a-z0-9.+-]+;base64,`)

// checkImage says whether a model's endpoint can be given the picture.
func checkImage(i *model.Image, param string) *problem {
	param += ".image_url"
	if i == nil {
		return invalid(param, param+" is missing")
	}
	if i.Detail != "" && !slices.Contains([]string{"auto", "low", "high"}, i.Detail) {
		return invalid(param+".detail", param+".detail must be auto, low or high")
	}
	if head := imageData.FindString(i.URL); head != "" {
		if _, err := base64.StdEncoding.DecodeString(i.URL[len(head):]); err != nil {
			return invalid(param+".url", param+".url is not valid base64")
		}
		return nil
	}
	u, err := url.Parse(i.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return invalid(param+".url", param+".url must be an http(s) address or data:image/TYPE;base64,…")
	}
	return nil
}
