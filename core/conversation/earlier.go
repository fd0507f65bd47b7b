package conversation

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

const (
	// listedEarlier is how many earlier conversations /sessions lists, earlierWithin how many /resume looks at.
	listedEarlier = 10
	earlierWithin = 50
)

// sessions lists the earlier conversations of a chat under numbers that /resume takes. 1 is the one that ended last.
func (c *Conversations) sessions(ctx context.Context, u use) (string, error) {
	ended, err := c.store.EndedSessions(ctx, u.key, listedEarlier)
	if err != nil {
		return "", fmt.Errorf("list the earlier conversations: %w", err)
	}
	if len(ended) == 0 {
		return "This chat has no earlier conversations.", nil
	}
	var b strings.Builder
	b.WriteString("Earlier conversations of this chat, newest first:\n")
	for i, s := range ended {
		fmt.Fprintf(&b, "%d. %s: ended %s ago (%s), %s tokens\n", i+1, named(s), text.Age(s.EndedAt), term.Clean(s.EndReason, 60), humanize.Comma(s.TokensIn+s.TokensOut))
	}
	b.WriteString("/resume NUMBER continues one of them.")
	return b.String(), nil
}

// named is what a person calls a conversation: its title, else its id.
func named(s store.Session) string {
	if s.Title != "" {
		return term.Clean(s.Title, chosenTitle)
	}
	return s.ID
}

// resume continues an earlier conversation of a chat, or its suspended one.
func (c *Conversations) resume(ctx context.Context, u use) (string, error) {
	if u.arg == "" && c.o.Table.Unsuspend(u.key) {
		return "The conversation continues.", nil
	}
	ended, err := c.store.EndedSessions(ctx, u.key, earlierWithin)
	if err != nil {
		return "", fmt.Errorf("list the earlier conversations: %w", err)
	}
	s, found := pick(ended, u.arg)
	switch {
	case !found && u.arg == "":
		return "This chat has no earlier conversation.", nil
	case !found:
		return "", &ops.Error{Code: ops.CodeNotFound, Message: "this chat has no conversation " + term.Quote(u.arg), Hint: "/sessions lists them"}
	}
	if _, err := c.End(ctx, u.key, Cause{reopened: s.ID}); err != nil {
		return "", err
	}
	return fmt.Sprintf("Back in the conversation from %s ago: %s", text.Age(s.EndedAt), named(s)), nil
}

// pick is the conversation that arg names among those that ended, the newest first: by its number, by its id, or the newest for an
// empty arg.
func pick(ended []store.Session, arg string) (store.Session, bool) {
	number := 1
	if arg != "" {
		number, _ = strconv.Atoi(arg) // 0 for a text: no conversation has that number
	}
	for i, s := range ended {
		if s.ID == arg || i+1 == number {
			return s, true
		}
	}
	return store.Session{}, false
}
