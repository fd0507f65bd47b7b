package window

import (
	"fmt"
	"strings"

	"gatewaytui/core/model"
)

// Digest stands for the part of a conversation that a model does not get any more. The zero value stands for nothing.
type Digest struct {
	// Summary says what happened there.
	Summary string
	// Said is what users wrote there, word for word, oldest first: the newest of it.
	Said []string
}

// Empty reports whether the digest stands for nothing.
func (d Digest) Empty() bool { return d.Summary == "" && len(d.Said) == 0 }

// The frame of a digest as the model reads it.
const (
	digestHead = "[Note of the gateway: the older part of this conversation no longer fits. What follows stands for it; it is not a new request.]"
	digestSaid = "What the user wrote there, word for word, oldest first:"
	digestSum  = "Summary of it:"
	digestEnd  = "[End of the note. The conversation goes on.]"
)

// NoSummary is the summary where none could be made.
const NoSummary = "(There is no summary: a part of this conversation was cut off. If something from it is missing, ask the user or look again.)"

// Text is the digest as the model reads it, empty if it stands for nothing.
func (d Digest) Text() string {
	if d.Empty() {
		return ""
	}
	var b strings.Builder
	b.WriteString(digestHead)
	if d.Summary != "" {
		b.WriteString("\n\n" + digestSum + "\n" + d.Summary)
	}
	if len(d.Said) > 0 {
		b.WriteString("\n\n" + digestSaid)
		for _, s := range d.Said {
			b.WriteString("\n- " + s)
		}
	}
	b.WriteString("\n\n" + digestEnd)
	return b.String()
}

// Tokens is about how many tokens the digest has as a message.
func (d Digest) Tokens() int {
	if d.Empty() {
		return 0
	}
	return perMessage + Text(d.Text())
}

// Shares of what the summarising model gets of one message, in tokens.
const (
	mostSpoken = 600
	mostResult = 200
	mostCall   = 100
)

// Script is messages as the text that a model summarises, with the digest before them, in at most so many tokens: the oldest
// messages are left out where there is no room for them.
func Script(d Digest, messages []model.Message, tokens int) string {
	var b strings.Builder
	left := tokens
	if d.Summary != "" {
		text := "Summary of what came before:\n" + Shorten(d.Summary, left/3) + "\n\n"
		left -= Text(text)
		b.WriteString(text)
	}
	lines := make([]string, 0, len(messages))
	for i := len(messages) - 1; i >= 0; i-- {
		line := scriptLine(messages[i])
		if left -= Text(line) + 1; left < 0 {
			b.WriteString(fmt.Sprintf("(%d older messages are left out)\n", i+1))
			break
		}
		lines = append(lines, line)
	}
	for i := len(lines) - 1; i >= 0; i-- {
		b.WriteString(lines[i] + "\n")
	}
	return b.String()
}

func scriptLine(m model.Message) string {
	switch m.Role {
	case model.RoleTool:
		return "Result: " + Shorten(m.Content, mostResult)
	case model.RoleUser:
		return "User: " + Shorten(m.Content, mostSpoken)
	}
	line := "Assistant: " + Shorten(m.Content, mostSpoken)
	for _, c := range m.ToolCalls {
		line += "\nAssistant calls " + c.Name + " " + Shorten(c.Arguments, mostCall)
	}
	return line
}
