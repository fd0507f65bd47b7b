package access

import (
	"context"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// Inbox is the unknown users whose code counts, for the inbox: it is one of its sources. An operator who knows who that is can let
// them in without the code.
func (p *People) Inbox() []ops.InboxItem {
	now, items := time.Now(), []ops.InboxItem{}
	p.mu.RLock()
	defer p.mu.RUnlock()
	for who, v := range p.pairings {
		if !counts(v, now) {
			continue
		}
		items = append(items, ops.InboxItem{
			ID: inboxID(v), Kind: ops.InboxPairing, AskedAt: ops.At(v.Asked), Expires: ops.At(v.Expires), State: ops.InboxWaiting, Who: "an owner",
			Text: term.Clean(v.Name, maxName) + " (" + who.String() + ") asks to be let in, as a guest", Reasons: []string{"this user has no role"},
		})
	}
	return items
}

// inboxID names a request: it changes with each code, and tells nothing of it.
func inboxID(v store.Pairing) string {
	_, hash, _ := strings.Cut(v.Code, "$")
	return "P" + strings.ToUpper(hash[:min(len(hash), 7)])
}

// Answer carries out approve and deny. A denied user is blocked.
func (p *People) Answer(ctx context.Context, cmd ops.Command) (string, error) {
	now := time.Now()
	p.mu.RLock()
	var ask store.Pairing
	for _, v := range p.pairings {
		if counts(v, now) && inboxID(v) == cmd.Target {
			ask = v
		}
	}
	p.mu.RUnlock()
	if ask.ID == "" {
		return "", &ops.Error{Code: ops.CodeConflict, Message: "this user does not ask any more", Hint: "`gatewaytui people` lists who does"}
	}
	who := Person{ask.Platform, ask.ID}
	by := term.Clean(cmd.By.User, maxName)
	switch cmd.Verb {
	case ops.VerbApprove:
		return p.admit(ctx, who, ops.RoleGuest, by, ops.FromPairing)
	case ops.VerbDeny:
		return p.Remove(ctx, who.String(), by)
	}
	return "", &ops.Error{Code: ops.CodeInvalid, Message: "a user who asks to be let in waits for no text", Hint: "approve or deny it"}
}
