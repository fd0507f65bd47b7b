package feishu

import (
	"encoding/json"
	"strings"

	"gatewaytui/core/adapter"
)

// contentOf is the text and the files of a message of a type (https://open.feishu.cn/document/server-docs/im-v1/message-content-description).
// What cannot be read has neither.
func contentOf(kind, content, message string) (text string, files []adapter.File) {
	var c struct {
		Text  string `json:"text"`
		Image string `json:"image_key"`
		File  string `json:"file_key"`
		Name  string `json:"file_name"`
	}
	if kind == "post" {
		var p post
		if json.Unmarshal([]byte(content), &p) != nil {
			return "", nil
		}
		return p.read(message)
	}
	if json.Unmarshal([]byte(content), &c) != nil {
		return "", nil
	}
	switch kind {
	case "text":
		return c.Text, nil
	case "image":
		return "", fileOf(adapter.File{Type: "image/*"}, message, "image", c.Image)
	case "file", "media":
		return "", fileOf(adapter.File{Name: c.Name}, message, "file", c.File)
	case "audio":
		return "", fileOf(adapter.File{Name: "voice.opus", Type: "audio/ogg", Spoken: true}, message, "file", c.File)
	case "interactive":
		return cardText(content), nil
	}
	return "", nil
}

// fileOf is a file of a message, named by the message, its kind and its key; none if it has no key.
func fileOf(f adapter.File, message, kind, key string) []adapter.File {
	if !isKey(key) {
		return nil
	}
	f.Ref = message + "/" + kind + "/" + key
	return []adapter.File{f}
}

// post is a message of several lines with pictures in them.
type post struct {
	Title   string      `json:"title"`
	Content [][]element `json:"content"`
}

// element is a piece of a post.
type element struct {
	Tag      string `json:"tag"`
	Text     string `json:"text"`
	Link     string `json:"href"`
	User     string `json:"user_id"` // the key of a mention
	UserName string `json:"user_name"`
	Image    string `json:"image_key"`
	File     string `json:"file_key"`
	Emoji    string `json:"emoji_type"`
	Language string `json:"language"`
}

// maxElements bounds the pieces of a post that are read.
const maxElements = 5000

func (p *post) read(message string) (text string, files []adapter.File) {
	var b strings.Builder
	b.WriteString(p.Title)
	left := maxElements
	for i, line := range p.Content {
		if i > 0 || p.Title != "" {
			b.WriteString("\n")
		}
		for _, e := range line {
			if left--; left < 0 {
				break
			}
			b.WriteString(e.said())
			switch e.Tag {
			case "img":
				files = append(files, fileOf(adapter.File{Type: "image/*"}, message, "image", e.Image)...)
			case "media":
				files = append(files, fileOf(adapter.File{}, message, "file", e.File)...)
			}
		}
	}
	return b.String(), files
}

// said is the text of a piece.
func (e element) said() string {
	switch e.Tag {
	case "text", "md":
		return e.Text
	case "a":
		if e.Text == e.Link || e.Link == "" {
			return e.Text
		}
		return e.Text + " (" + e.Link + ")"
	case "at":
		if key.MatchString(e.User) {
			return e.User
		}
		return "@" + e.UserName
	case "emotion":
		return ":" + e.Emoji + ":"
	case "code_block":
		return "```" + e.Language + "\n" + strings.TrimRight(e.Text, "\n") + "\n```"
	case "hr":
		return "---"
	}
	return ""
}

// cardText is the text of a card as Feishu hands it out: its title, and the texts of its elements.
func cardText(content string) string {
	var card any
	if json.Unmarshal([]byte(content), &card) != nil {
		return ""
	}
	var lines []string
	left := maxElements
	var walk func(v any)
	walk = func(v any) {
		if left--; left < 0 {
			return
		}
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				walk(one)
			}
		case map[string]any:
			for _, name := range []string{"title", "text", "content"} {
				if said, is := v[name].(string); is && strings.TrimSpace(said) != "" {
					lines = append(lines, said)
				}
			}
			for _, name := range []string{"header", "title", "text", "body", "elements", "columns"} {
				if _, is := v[name].(string); !is {
					walk(v[name])
				}
			}
		}
	}
	walk(card)
	return strings.Join(lines, "\n")
}
