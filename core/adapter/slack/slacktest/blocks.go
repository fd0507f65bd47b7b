package slacktest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// part is a block, or a part of one.
type part struct {
	Type     string          `json:"type"`
	ID       string          `json:"block_id"`
	Text     json.RawMessage `json:"text"`
	URL      string          `json:"url"`
	Value    string          `json:"value"`
	Action   string          `json:"action_id"`
	Elements []part          `json:"elements"`
}

// shownBy is the text of blocks, of which Slack would refuse none.
func shownBy(blocks json.RawMessage) (string, error) {
	if len(blocks) == 0 {
		return "", nil
	}
	var all []part
	if err := json.Unmarshal(blocks, &all); err != nil {
		return "", err
	}
	var out []string
	for _, b := range all {
		switch b.Type {
		case "rich_text":
			if len(b.Elements) == 0 {
				return "", fmt.Errorf("a rich text without elements")
			}
			for _, e := range b.Elements {
				text, err := e.shown()
				if err != nil {
					return "", err
				}
				out = append(out, text)
			}
		case "actions":
			if len(b.Elements) == 0 || len(b.Elements) > 25 {
				return "", fmt.Errorf("%d buttons in a row", len(b.Elements))
			}
			for _, button := range b.Elements {
				if button.Type != "button" || button.Action == "" || len(button.Value) > 2000 || len(button.label()) == 0 || len([]rune(button.label())) > 75 {
					return "", fmt.Errorf("the button %+v", button)
				}
			}
		case "section", "context", "markdown":
		default:
			return "", fmt.Errorf("the block %q", b.Type)
		}
	}
	return strings.Join(out, "\n"), nil
}

// label is what a button shows.
func (p part) label() string {
	var text struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(p.Text, &text) != nil || text.Type != "plain_text" {
		return ""
	}
	return text.Text
}

// shown is the text of an element of a rich text.
func (p part) shown() (string, error) {
	var out strings.Builder
	switch p.Type {
	case "rich_text_section", "rich_text_quote", "rich_text_preformatted":
		if len(p.Elements) == 0 {
			return "", fmt.Errorf("an empty %s", p.Type)
		}
		for _, e := range p.Elements {
			var text string
			if e.Type != "text" && e.Type != "link" || e.Type == "link" && e.URL == "" || len(e.Text) > 0 && json.Unmarshal(e.Text, &text) != nil || e.Type == "text" && text == "" {
				return "", fmt.Errorf("the element %+v", e)
			}
			if text == "" {
				text = e.URL
			}
			out.WriteString(text)
		}
	case "rich_text_list":
		for i, e := range p.Elements {
			text, err := e.shown()
			if err != nil {
				return "", err
			}
			if i > 0 {
				out.WriteString("\n")
			}
			out.WriteString(text)
		}
	default:
		return "", fmt.Errorf("the element %q", p.Type)
	}
	return out.String(), nil
}
