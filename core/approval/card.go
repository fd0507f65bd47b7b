package approval

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gatewaytui/core/access"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
	"gatewaytui/core/tool"
)

// maxShown is how much of a command a chat shows, in runes. A longer one is answered where it can be read whole.
const maxShown = 2000

// card is the message that shows a request in a chat; without a chat there is none.
type card struct {
	chat, target string
	// message is the platform's name of it; empty: not known yet.
	message string
}

// tooLong reports whether a chat cannot show a request whole.
func tooLong(row store.Approval) bool {
	return utf8.RuneCountInString(row.Command)+utf8.RuneCountInString(row.InputOf) > maxShown
}

// chatOf is the chat that shows a request: that of the session, if the person who talks there alone may answer, else that of an
// owner. Without one the zero card.
func (b *Book) chatOf(row store.Approval) card {
	key := session.Owner(row.Session)
	platform := session.Platform(key)
	if platform == access.API || platform == access.Control {
		return card{}
	}
	if row.Kind == question { // who was asked answers it
		if s, known := b.o.Table.Get(key); known && s.Target != "" {
			return card{chat: key, target: s.Target}
		}
		return card{}
	}
	who := access.Person{Platform: platform, ID: session.PersonOf(row.Who)}
	if direct(key, who.ID) && b.o.People.MayAnswer(who) {
		if s, known := b.o.Table.Get(key); known && s.Target != "" {
			return card{chat: key, target: s.Target}
		}
	}
	for _, owner := range b.o.People.Owners(platform) {
		own := platform + ":dm:" + owner.ID
		if s, known := b.o.Table.Get(own); known && s.Target != "" {
			return card{chat: own, target: s.Target}
		}
	}
	return card{}
}

// direct reports whether a key is that of the direct messages of a person with this id.
func direct(key, id string) bool {
	return id != "" && strings.HasPrefix(key, session.Platform(key)+":dm:")
}

// show posts the card of a request, and tells the chat that waits where it is answered if that is elsewhere.
func (b *Book) show(r *request, row store.Approval) {
	b.mu.Lock()
	at := r.card
	b.mu.Unlock()
	key := session.Owner(row.Session)
	if at.chat != key {
		if s, known := b.o.Table.Get(key); known && s.Target != "" && session.Platform(key) != access.API && session.Platform(key) != access.Control {
			b.o.Chats.Post(key, s.Target, "I wait for an approval ("+row.ID+") by "+b.answerers(row)+".")
		}
	}
	if at.chat == "" {
		return
	}
	sign := b.o.Chats.Sign(at.chat)
	said, offers := b.cardText(row, sign), choices(row, r.offersTurn)
	if row.Kind == question {
		said, offers = questionText(row, sign), questionChoices(row)
	}
	b.o.Chats.PostCard(at.chat, at.target, said, offers, func(message string) {
		b.mu.Lock()
		r.card.message = message
		ended, at, row := r.ended, r.card, r.row
		b.mu.Unlock()
		row.Card = message
		ctx, cancel := b.store.Patient(context.Background())
		defer cancel()
		if err := b.store.SetApprovalCard(ctx, row); err != nil {
			b.o.Log.Warn("card of an approval not recorded", "event", ops.LogApproval, "id", row.ID, "error", term.Clean(err.Error(), 300))
		}
		if ended && row.State != store.ApprovalWaiting { // it ended while the card was on its way
			b.o.Chats.Replace(at.chat, at.target, message, endText(row))
		}
	})
}

// choices are the buttons of a card. A request that is too long for a chat can only be denied there.
func choices(row store.Approval, turn bool) (all []session.Choice) {
	if !tooLong(row) {
		for _, scope := range scopes(row) {
			switch ops.Scope(scope) {
			case ops.ScopeOnce:
				all = append(all, session.Choice{Label: "Allow once", Text: "/approve " + row.ID})
			case ops.ScopeTurn:
				if turn {
					all = append(all, session.Choice{Label: "This turn", Text: "/approve " + row.ID + " turn"})
				}
			case ops.ScopeSession:
				all = append(all, session.Choice{Label: "This session", Text: "/approve " + row.ID + " session"})
			case ops.ScopeAlways:
				all = append(all, session.Choice{Label: "Always", Text: "/approve " + row.ID + " always"})
			}
		}
	}
	return append(all, session.Choice{Label: "Deny", Text: "/deny " + row.ID})
}

// asks says what a request asks for, in one line.
func asks(row store.Approval) string {
	agent := term.Clean(row.Agent, 80)
	if _, child, is := strings.Cut(row.Turn, "/"); is {
		agent += " (child agent " + child + ")"
	}
	if row.Kind == question {
		return agent + " asks"
	}
	switch tool.StepKind(row.Kind) {
	case tool.StepWrite:
		return agent + " wants to write a file outside of its work folder"
	case tool.StepHost:
		return agent + " wants to connect to a new host"
	case tool.StepTool:
		return agent + " wants to call a tool of a server"
	case tool.StepStop:
		return agent + " wants to stop or restart this gateway"
	}
	if row.InputOf != "" {
		return agent + " wants to type into a process that runs"
	}
	return agent + " wants to run a command"
}

// cardText is a request in a chat whose commands begin with sign, as Markdown.
func (b *Book) cardText(row store.Approval, sign string) string {
	var t strings.Builder
	fmt.Fprintf(&t, "**%s** (%s)\n", escape(asks(row)), row.ID)
	if row.Who != "" {
		fmt.Fprintf(&t, "For: %s\n", code(term.Clean(row.Who, 80)))
	}
	t.WriteString(shown(row))
	if row.Folder != "" {
		fmt.Fprintf(&t, "In: %s (%s)\n", code(term.Clean(row.Folder, 200)), row.Environment)
	}
	for i, reason := range row.Reasons {
		if i == 5 {
			fmt.Fprintf(&t, "- and %d more\n", len(row.Reasons)-i)
			break
		}
		fmt.Fprintf(&t, "- %s\n", code(term.Clean(reason, 200)))
	}
	if tooLong(row) {
		fmt.Fprintf(&t, "\nIt is too long to be shown here. Read and answer it with `gatewaytui approve %s`, or in the console. `%sdeny %s` refuses it.", row.ID, sign, row.ID)
	} else {
		fmt.Fprintf(&t, "\nExpires in %s. `%sapprove %s` (or `turn`, `session`, `always` behind it), `%sdeny %s`", text.Duration(time.Until(row.Expires).Round(time.Second)), sign, row.ID, sign, row.ID)
	}
	return t.String()
}

// shown is the command of a request as a block of code, whole or with what is missing named.
func shown(row store.Approval) string {
	body, label := row.Command, ""
	if row.InputOf != "" {
		label = "Input of " + code(term.Clean(row.InputOf, 200)) + ":\n"
	}
	rest := ""
	if n := utf8.RuneCountInString(body); n > maxShown {
		body, rest = string([]rune(body)[:maxShown]), fmt.Sprintf("(%d more characters)\n", n-maxShown)
	}
	body = visible(body)
	fence := "```"
	for strings.Contains(body, fence) {
		fence += "`"
	}
	return label + fence + "\n" + body + "\n" + fence + "\n" + rest
}

// visible shows the characters that a person would not see.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t' || unicode.IsGraphic(r) && !unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Variation_Selector):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "\\u{%x}", r)
		}
	}
	return b.String()
}

// code is a text as a span of code, which no character leaves.
func code(s string) string { return "`" + strings.ReplaceAll(s, "`", "'") + "`" }

// escape keeps a text from being markup.
func escape(s string) string {
	return strings.NewReplacer("*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[", "<", "\\<").Replace(s)
}

// answerers says who may answer a request, for people.
func (b *Book) answerers(row store.Approval) string {
	platform := session.Platform(row.Session)
	switch {
	case row.Kind != question:
	case platform == access.API || platform == access.Control:
		return "the command line (gatewaytui answer " + row.ID + " TEXT) or the console"
	default:
		return "who was asked, an owner, the command line or the console"
	}
	if platform == access.API || platform == access.Control || len(b.o.People.Owners(platform)) == 0 {
		return "the command line (gatewaytui approve " + row.ID + ") or the console"
	}
	return "an owner, the command line or the console"
}

// refresh makes the card of a request that has ended say so, on a task: the turn does not wait for it.
func (b *Book) refresh(at card, row store.Approval) {
	if at.chat == "" || at.message == "" {
		return
	}
	b.o.Tasks.Start(context.Background(), "approval card", at.chat, func(context.Context) {
		b.o.Chats.Replace(at.chat, at.target, at.message, endText(row))
	})
}

// endText is what a chat reads of a request that has ended.
func endText(row store.Approval) string {
	if row.Kind == question {
		return questionEnd(row)
	}
	by := ""
	if row.By != "" {
		by = " by " + code(term.Clean(row.By, 80))
	}
	said := map[store.ApprovalState]string{
		store.ApprovalDenied: "Denied" + by + ". It was not run.", store.ApprovalExpired: "Expired without an answer. It was not run.",
		store.ApprovalWithdrawn: "Withdrawn: " + escape(row.Reason) + ". It was not run.",
	}[row.State]
	if row.State == store.ApprovalAllowed {
		said = "Allowed" + by + " (" + row.Scope + ")."
	}
	return "**" + said + "** (" + row.ID + ")\n" + shown(row)
}
