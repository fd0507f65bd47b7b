package conversation

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// The longest titles in characters: one that is made of a message, and one that a person chose.
const (
	madeTitle   = 48
	chosenTitle = 80
)

// maxTitleText is how much of a message is looked at for its title, in bytes.
const maxTitleText = 1024

// firstWords is the title that a conversation gets from its first message: its first words, without what looks like a secret.
func firstWords(text string) string {
	text = strings.TrimSpace(text)
	text = strings.ToValidUTF8(text[:min(len(text), maxTitleText)], "")
	text = oneLine(term.Redact(text))
	if utf8.RuneCountInString(text) <= madeTitle {
		return text
	}
	runes := []rune(text)[:madeTitle-1]
	cut := string(runes)
	if at := strings.LastIndexByte(cut, ' '); at > len(cut)/2 { // a language without spaces is cut anywhere
		cut = cut[:at]
	}
	return strings.TrimRight(cut, " ,;:.") + string(term.Ellipsis)
}

// oneLine is text on one line, fit to be shown, with single spaces.
func oneLine(text string) string {
	return strings.Join(strings.Fields(term.Clean(strings.Join(strings.Fields(text), " "), 0)), " ")
}

// Title names the current conversation of a session, and returns the title as it is kept.
func (c *Conversations) Title(ctx context.Context, key, title string) (string, error) {
	title = oneLine(title)
	switch n := utf8.RuneCountInString(title); {
	case title == "":
		return "", &ops.Error{Code: ops.CodeInvalid, Message: "the title has no text", Hint: "give a few words"}
	case n > chosenTitle || len(title) > session.MaxTitle:
		return "", &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("the title has %d characters; at most %d are taken", n, min(chosenTitle, session.MaxTitle/4)), Hint: "make it shorter"}
	}
	s, ok := c.o.Table.Get(key)
	if !ok {
		return "", NoSession(key)
	}
	ctx, cancel := c.store.Patience(ctx, store.Stall)
	defer cancel()
	found, err := c.store.SetTitle(ctx, s.ID, title)
	switch {
	case err != nil:
		return "", fmt.Errorf("name %s: %w", key, err)
	case !found: // its first message is not saved yet
		return "", NoSession(key)
	}
	c.o.Table.SetTitle(key, s.ID, title)
	return title, nil
}

// title is /title. Without a text it says what the title is.
func (c *Conversations) title(ctx context.Context, u use) (string, error) {
	if strings.TrimSpace(u.arg) == "" {
		if s, ok := c.o.Table.Get(u.key); ok && s.Title != "" {
			return "This conversation is called: " + s.Title, nil
		}
		return "This conversation has no title yet. /title TEXT gives it one.", nil
	}
	title, err := c.Title(ctx, u.key, u.arg)
	if ops.HasCode(err, ops.CodeNotFound) {
		return "There is no conversation yet. Say something first.", nil
	}
	if err != nil {
		return "", err
	}
	return "This conversation is now called: " + title, nil
}
