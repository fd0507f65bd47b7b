package telegram

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/markdown"
)

// maxEntities is how many entities of one message Telegram shows; it drops those after them.
const maxEntities = 100

// entity is a part of a text with a style (https://core.telegram.org/bots/api#messageentity). Offset and Length are in
// UTF-16 units.
type entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`
	Language string `json:"language,omitempty"`
}

// formatted is the text of one message and its styles. Entities need no escaping, so that nothing in a text can break
// its format.
type formatted struct {
	text     string
	entities []entity
	// answers is the message that it answers; 0: none.
	answers int64
	// buttons are below it; nil: none.
	buttons *board
}

// maxUnits is the most of one message in UTF-16 units (https://core.telegram.org/bots/api#sendmessage: 4096 characters
// after entities parsing, which Telegram counts in UTF-16 as it does its entities).
const maxUnits = 4096

// messagesOf is text in messages of at most maxUnits, without those that would be blank: Telegram refuses them.
func messagesOf(text string, isMarkdown bool) (messages []formatted) {
	if !isMarkdown {
		for _, part := range adapter.Split(strings.ToValidUTF8(text, "\uFFFD"), maxUnits) {
			messages = append(messages, formatted{text: part})
		}
	} else {
		for _, blocks := range markdown.Cut(markdown.Parse(text), maxUnits, weigh) {
			messages = append(messages, format(blocks))
		}
	}
	return slices.DeleteFunc(messages, func(m formatted) bool { return strings.TrimSpace(m.text) == "" })
}

// weigh is how much of a message the blocks take. Entities count too, because there is a most of them.
func weigh(blocks []markdown.Block) int {
	m := format(blocks)
	return max(length(m.text), (len(m.entities)*maxUnits+maxEntities-1)/maxEntities)
}

// length is in UTF-16 units.
func length(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// formatter writes the text of a message.
type formatter struct {
	text     strings.Builder
	at       int // the length of text in UTF-16 units
	entities []entity
	quote    int // where the open quote begins; -1: none is open
}

// format renders blocks as one message.
func format(blocks []markdown.Block) formatted {
	f := formatter{quote: -1}
	for i, b := range blocks {
		// A fence ends a quote, since Telegram has none inside of one.
		quoted := b.Quoted && b.Kind != markdown.Fence
		if !quoted {
			f.endQuote()
		}
		if i > 0 {
			f.write("\n")
			if !b.Tight && blocks[i-1].Kind != markdown.Fence { // a fence has a margin of its own
				f.write("\n")
			}
		}
		if quoted && f.quote < 0 {
			f.quote = f.at
		}
		f.block(b, i == 0)
	}
	f.endQuote()
	slices.SortStableFunc(f.entities, func(a, b entity) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(b.Length, a.Length))
	})
	return formatted{text: f.text.String(), entities: f.entities}
}

func (f *formatter) write(s string) {
	f.text.WriteString(s)
	f.at += length(s)
}

// styled writes s as an entity.
func (f *formatter) styled(s string, entities ...entity) {
	from := f.at
	f.write(s)
	for _, e := range entities {
		if e.Offset, e.Length = from, f.at-from; e.Length > 0 {
			f.entities = append(f.entities, e)
		}
	}
}

func (f *formatter) endQuote() {
	if f.quote >= 0 && f.at > f.quote {
		f.entities = append(f.entities, entity{Type: "blockquote", Offset: f.quote, Length: f.at - f.quote})
	}
	f.quote = -1
}

// block writes one block. Telegram drops white space at the beginning of a message, so that there is none.
func (f *formatter) block(b markdown.Block, first bool) {
	switch b.Kind {
	case markdown.Fence:
		f.styled(b.Text(), entity{Type: "pre", Language: b.Language})
		return
	case markdown.Rule:
		f.write("———")
		return
	}
	if b.Depth > 0 && !first {
		f.write(strings.Repeat("    ", b.Depth-1))
	}
	switch {
	case b.Marker != "":
		f.write(b.Marker + " ")
	case b.Depth > 0 && !first:
		f.write("   ")
	}
	for _, s := range b.Spans {
		if b.Kind == markdown.Heading {
			s.Style |= markdown.Bold
		}
		f.styled(s.Text, styles(s)...)
	}
}

// styles are the entities of a span. Code has no other one.
func styles(s markdown.Span) (entities []entity) {
	if s.URL != "" && s.URL != s.Text {
		entities = append(entities, entity{Type: "text_link", URL: s.URL})
	} else if s.Style&markdown.Code != 0 {
		return []entity{{Type: "code"}}
	}
	for _, style := range []struct {
		is   markdown.Style
		name string
	}{{markdown.Bold, "bold"}, {markdown.Italic, "italic"}, {markdown.Strike, "strikethrough"}} {
		if s.Style&style.is != 0 {
			entities = append(entities, entity{Type: style.name})
		}
	}
	return entities
}

// plain is the message without styles, for a part whose entities Telegram refuses. Links are in the text, if it is not too
// long then.
func (m formatted) plain() formatted {
	text := utf16.Encode([]rune(m.text))
	var out []uint16
	at := 0
	for _, e := range m.entities {
		if end := e.Offset + e.Length; e.URL != "" && end >= at && end <= len(text) {
			out = append(append(out, text[at:end]...), utf16.Encode([]rune(" ("+e.URL+")"))...)
			at = end
		}
	}
	m.entities = nil
	if out = append(out, text[at:]...); len(out) <= maxUnits {
		m.text = string(utf16.Decode(out))
	}
	return m
}

// behind is the message behind a line of its own.
func (m formatted) behind(line string) formatted {
	line += "\n\n"
	m.text, m.entities = line+m.text, slices.Clone(m.entities)
	for i := range m.entities {
		m.entities[i].Offset += length(line)
	}
	return m
}

// add adds the message to the parameters of a call. No link in it is fetched for a preview.
func (m formatted) add(params url.Values) error {
	params.Set("text", m.text)
	params.Set("link_preview_options", `{"is_disabled":true}`)
	if m.buttons != nil {
		list, err := json.Marshal(m.buttons)
		if err != nil {
			return fmt.Errorf("write the buttons of a message: %w", err)
		}
		params.Set("reply_markup", string(list))
	}
	if len(m.entities) == 0 {
		return nil
	}
	list, err := json.Marshal(m.entities)
	if err != nil {
		return fmt.Errorf("write the styles of a message: %w", err)
	}
	params.Set("entities", string(list))
	return nil
}
