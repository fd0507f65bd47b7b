package botapitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
)

// Entity is a part of a text with a style. Offset and Length are in UTF-16 units.
type Entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url"`
	Language string `json:"language"`
	// Text is what the entity covers.
	Text string `json:"-"`
}

// Entities reads the entities of a text, and refuses those that Telegram refuses, corrects or drops: out of bounds, blank, of
// an unknown type, with half a character, within code, crossing each other, quotes within quotes, more than a hundred.
func Entities(text, list string) (all []Entity, err error) {
	if list == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(list), &all); err != nil {
		return nil, fmt.Errorf("read the list: %w", err)
	}
	if len(all) > 100 {
		return nil, errors.New("more than 100 entities")
	}
	units := utf16.Encode([]rune(text))
	for i := range all {
		if err := all[i].check(units); err != nil {
			return nil, fmt.Errorf("entity %d: %w", i, err)
		}
		for _, before := range all[:i] {
			if err := all[i].next(before); err != nil {
				return nil, fmt.Errorf("entity %d: %w", i, err)
			}
		}
	}
	return all, nil
}

func (e *Entity) check(units []uint16) error {
	end := e.Offset + e.Length
	switch {
	case e.Offset < 0 || e.Length <= 0 || end > len(units):
		return errors.New("ENTITY_BOUNDS_INVALID")
	case torn(units, e.Offset) || torn(units, end):
		return errors.New("half a character")
	}
	e.Text = string(utf16.Decode(units[e.Offset:end]))
	switch e.Type {
	case "bold", "italic", "strikethrough", "code", "pre", "blockquote":
	case "text_link":
		if !strings.HasPrefix(strings.ToLower(e.URL), "http") {
			return errors.New("ENTITY_TEXTURL_INVALID")
		}
	default:
		return fmt.Errorf("unknown type %q", e.Type)
	}
	return nil
}

// torn reports whether a cut there divides a surrogate pair.
func torn(units []uint16, at int) bool {
	return at > 0 && at < len(units) && utf16.IsSurrogate(rune(units[at])) && units[at] >= 0xDC00 && units[at-1] < 0xDC00 && units[at-1] >= 0xD800
}

// next reports what is wrong with e after one that stands before it in the list.
func (e *Entity) next(before Entity) error {
	from, to := max(e.Offset, before.Offset), min(e.Offset+e.Length, before.Offset+before.Length)
	if from >= to {
		return nil
	}
	code := func(kind string) bool { return kind == "pre" || kind == "code" }
	switch {
	case to-from != min(e.Length, before.Length):
		return errors.New("it crosses another one")
	case code(e.Type) && before.Type != "blockquote" || code(before.Type):
		return errors.New("code has no other entity")
	case e.Type == "blockquote" && before.Type == "blockquote":
		return errors.New("a quote within a quote")
	}
	return nil
}
