package conversation

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/text"
)

// Own says whose messages a person may search: those of one session's key, or those of the turns of one user of a platform.
type Own struct {
	Session        string
	Platform, User string
}

// What /search shows at most, and how long it may take.
const (
	shownHits   = 10
	searchBound = 5 * time.Second
)

// search is /search: it finds what was said in the person's own chats. In a group, where others read the answer, that is the
// group's own conversations.
func (c *Conversations) search(ctx context.Context, u use) (string, error) {
	if strings.TrimSpace(u.arg) == "" {
		return "", &ops.Error{Code: ops.CodeInvalid, Message: "tell me what to look for, for example: /search holiday plans"}
	}
	ctx, cancel := context.WithTimeout(ctx, searchBound)
	defer cancel()
	found, err := c.o.Find(ctx, u.arg, ownOf(u.key, u.msg.User), shownHits)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if len(found.Items) == 0 {
		b.WriteString("Nothing was found.")
	} else {
		b.WriteString("Found, newest first:")
	}
	for _, h := range found.Items {
		fmt.Fprintf(&b, "\n%s", text.Moment(h.At.Time))
		if h.Title != "" {
			b.WriteString(", " + h.Title)
		}
		if h.Undone {
			b.WriteString(" (undone)")
		}
		fmt.Fprintf(&b, "\n  %s: %s", cmp.Or(h.Who, "agent"), h.Snippet)
	}
	if found.Next != "" {
		b.WriteString("\nThere is more: more words find less.")
	}
	if found.Unindexed > 0 {
		b.WriteString("\nOlder messages are still being indexed and may be missing.")
	}
	return b.String(), nil
}

// ownOf is what the user of a chat may search. In a direct message it is all that they said to the bots of the platform, and what was
// answered; elsewhere the conversations of that chat.
func ownOf(key, user string) Own {
	if platform := session.Platform(key); user != "" && strings.HasPrefix(key, platform+":dm:") {
		return Own{Platform: platform, User: user}
	}
	return Own{Session: key}
}
