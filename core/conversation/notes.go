package conversation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gatewaytui/core/agent"
	"gatewaytui/core/memory"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// Notes are what outlives conversations (HR4). *memory.Memory is one.
type Notes interface {
	// On reports whether notes are kept.
	On() bool
	// Prompt is what a system prompt has of the notes; empty: nothing. It is bounded.
	Prompt(ctx context.Context, w memory.Who) string
	// Flush gives the provider what it has not had of a conversation (HR5), Shutdown releases what it holds for a session. Both are
	// bounded by ctx, even if the provider hangs.
	Flush(ctx context.Context, conversation string) error
	Shutdown(ctx context.Context, session string) error
	// Find are the notes with words of a text, the first ones without a text; Delete deletes one.
	Find(ctx context.Context, w memory.Who, text string) ([]memory.Note, error)
	Delete(ctx context.Context, w memory.Who, id string) error
}

// Reviews find what is worth a note while conversations go on (HR6). *review.Reviewer is one. Its methods do not wait.
type Reviews interface {
	// TurnEnded counts a turn of a conversation that has notes. Forget drops the count: the conversation has ended.
	TurnEnded(ctx context.Context, key, conversation string)
	Forget(conversation string)
}

// memoryTool is the tool without which an agent has no notes.
const memoryTool = "memory_save"

// remembers says for whom the notes of a turn are. It is zero if the turn has none: its agent lacks the tools of the group memory, or its
// person and its chat have no notes.
func (c *Conversations) remembers(t *session.Turn, d *agent.Definition, role ops.Role) memory.Who {
	who := memory.Who{Key: t.Session.Key, User: t.Message.User, Role: role, Unattended: t.Message.Unattended}
	if c.o.Notes == nil || !c.o.Notes.On() || memory.ReachOf(who).None() || !slices.Contains(d.Tools.Names(), memoryTool) {
		return memory.Who{}
	}
	return who
}

// notesFor is the part of a system prompt with the notes of a turn.
func (c *Conversations) notesFor(ctx context.Context, who memory.Who) string {
	if who.Key == "" {
		return ""
	}
	if notes := c.o.Notes.Prompt(ctx, who); notes != "" {
		return "\n\n" + notes
	}
	return ""
}

// maxNoteShown is how much of a note /memory shows, in cells.
const maxNoteShown = 300

// memory is /memory: the notes that turns here see, and the deletion of one.
func (c *Conversations) memory(ctx context.Context, u use) (string, error) {
	who := memory.Who{Key: u.key, User: u.msg.User, Role: u.msg.Role}
	if c.o.Notes == nil || !c.o.Notes.On() || memory.ReachOf(who).None() {
		return "No notes are kept here.", nil
	}
	verb, arg, _ := strings.Cut(strings.TrimSpace(u.arg), " ")
	arg = strings.TrimSpace(arg)
	switch {
	case verb == "delete" && arg != "":
		if err := c.o.Notes.Delete(ctx, who, arg); err != nil {
			return "", &ops.Error{Code: ops.CodeNotFound, Message: fmt.Sprintf("note %s was not deleted: %v", term.Quote(arg), err), Hint: "/memory lists the notes; shared ones are for owners"}
		}
		return "Deleted.", nil
	case verb == "search" && arg != "", verb == "":
	default:
		return "", &ops.Error{Code: ops.CodeInvalid, Message: "/memory takes nothing, search TEXT or delete ID"}
	}
	notes, err := c.o.Notes.Find(ctx, who, arg)
	if err != nil {
		return "", err
	}
	if len(notes) == 0 && arg != "" {
		return "No note has these words.", nil
	}
	if len(notes) == 0 {
		return "There are no notes yet. I save what is worth remembering, or what you ask me to remember.", nil
	}
	var b strings.Builder
	b.WriteString(text.Count(len(notes), "note") + ":")
	for _, n := range notes {
		fmt.Fprintf(&b, "\n%s (%s): %s", term.Clean(n.ID, 40), noteWords(n), term.Clean(n.Text, maxNoteShown))
	}
	b.WriteString("\n/memory delete ID deletes one.")
	return b.String(), nil
}

// noteWords say whose a note is and of when.
func noteWords(n memory.Note) string {
	whose := map[string]string{"person": "yours", "chat": "of this chat"}[n.Owner.Scope()]
	if whose == "" {
		whose = n.Owner.Scope()
	}
	if n.Pinned {
		whose += ", pinned"
	}
	return whose + ", " + text.Moment(n.At)
}
