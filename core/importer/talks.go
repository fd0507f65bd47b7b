package importer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/config"
	"gatewaytui/core/text"
)

// Bounds of conversations.
const (
	maxTranscript = 64 << 20 // bytes of a file
	maxLine       = 4 << 20
	maxMessages   = 5_000 // the newest are taken
	maxText       = 64 << 10
	maxTalks      = 2_000
)

// talk is a conversation that is taken. id is what the other gateway calls it, the same in every run.
type talk struct {
	id, key  string
	messages []message
	item     int // its place in Items
}

// message is what a person or a model said. Calls of tools and their results are left out.
type message struct {
	role, text string
	at         time.Time
}

// oldest is the earliest moment that a message may have; an earlier one, and one that is not over yet, has none.
var oldest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// isChat matches the keys of chats that conversations are taken for.
var isChat = regexp.MustCompile(`^(telegram:(dm:\d{1,20}|group:-\d{1,20}(:topic:\d{1,20})?)|discord:dm:\d{1,20})$`)

func chatKey(key string) bool { return isChat.MatchString(key) }

// isID reports whether a name of the other gateway can be part of a file's name.
func isID(id string) bool { return len(id) <= 128 && config.Bare(id) }

func isNumber(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

// transcript takes a conversation from a file of JSON lines.
func (p *Plan) transcript(from, file, key, id string) {
	data, found := p.read(Conversation, file, maxTranscript)
	if !found {
		if len(p.Items) == 0 || p.Items[len(p.Items)-1].From != file {
			p.leave(Conversation, from, "its transcript is missing")
		}
		return
	}
	messages, broken := parseTranscript(data)
	p.take(from, key, id, messages, broken)
}

// take lists a conversation, and takes it if it has messages.
func (p *Plan) take(from, key, id string, messages []message, broken int) {
	why := text.Count(len(messages), "message")
	if broken > 0 {
		why += ", " + text.Count(broken, "line") + " could not be read"
	}
	switch {
	case len(messages) == 0:
		p.leave(Conversation, from, "has no messages of people and models")
	case len(p.talks) >= maxTalks:
		p.leave(Conversation, from, fmt.Sprintf("%d conversations are taken at once at most", maxTalks))
	default:
		if len(messages) > maxMessages {
			messages = messages[len(messages)-maxMessages:]
			why += fmt.Sprintf(", the newest %d are taken", maxMessages)
		}
		if strings.Contains(key, ":group:") && !strings.Contains(key, ":topic:") {
			why += "; it goes on where a route has chat.sessions = \"shared\""
		}
		p.add(Conversation, from, key, Taken, why)
		p.talks = append(p.talks, talk{id: id, key: key, messages: messages, item: len(p.Items) - 1})
	}
}

// parseTranscript reads JSON lines, each a record with a type; those of the type message hold a role and a content, which is a text or
// a list of parts. broken counts lines that are not JSON.
func parseTranscript(data []byte) (messages []message, broken int) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var r struct {
			Type    string    `json:"type"`
			At      time.Time `json:"timestamp"`
			Message struct {
				Role    string          `json:"role"`
				Content json.RawMessage `json:"content"`
			} `json:"message"`
		}
		if json.Unmarshal(line, &r) != nil {
			broken++
			continue
		}
		if r.Type != "message" {
			continue
		}
		if m, is := said(r.Message.Role, contentText(r.Message.Content), r.At); is {
			messages = append(messages, m)
		}
	}
	if lines.Err() != nil {
		broken++ // a line beyond the bound ends the reading
	}
	return messages, broken
}

// contentText is the text of a content: a text, or a list of parts of which those of the type text count.
func contentText(raw json.RawMessage) string {
	var whole string
	if json.Unmarshal(raw, &whole) == nil {
		return whole
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var texts []string
	for _, part := range parts {
		if part.Type == "text" && part.Text != "" {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// said is a message of a person or a model with a text; false: it is none.
func said(role, words string, at time.Time) (message, bool) {
	words = strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(words, "\uFFFD"), "\x00", ""))
	if role != "user" && role != "assistant" || words == "" {
		return message{}, false
	}
	if len(words) > maxText {
		words = strings.ToValidUTF8(words[:maxText], "") + "\n[the rest was left out]"
	}
	return message{role, words, at.UTC()}, true
}

// times gives every message a moment: its own where that is possible, else that of the message before; none is before the one before
// it.
func times(messages []message, now time.Time) {
	last := oldest
	for i := range messages {
		if at := messages[i].at; at.After(last) && at.Before(now) {
			last = at
		}
		messages[i].at = last
	}
}
