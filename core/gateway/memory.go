package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"gatewaytui/core/access"
	"gatewaytui/core/mcp"
	"gatewaytui/core/memory"
	"gatewaytui/core/operator"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
	"gatewaytui/core/tool"
)

// newMemory is the notes that outlive conversations, as the config says.
func (g *Gateway) newMemory() *memory.Memory {
	return memory.New(memory.Options{
		Log: g.opts.Log, Tasks: g.background, Life: g.opts.Life,
		Extractor: g.reviews,
		Calls:     func(server string) memory.Caller { return serverCalls{g.servers, server} },
		Role: func(platform, id string) ops.Role {
			return g.trust.people.Role(access.Person{Platform: platform, ID: id})
		},
	}, g.config().Memory.Provider)
}

// notesOf are the notes of a memory for operators.
type notesOf struct{ memory *memory.Memory }

var _ operator.Notes = notesOf{}

// Notes implements operator.Notes.
func (n notesOf) Notes(ctx context.Context) ([]ops.Note, error) {
	notes, err := n.memory.All(ctx)
	rows := make([]ops.Note, 0, len(notes))
	for _, v := range notes {
		rows = append(rows, ops.Note{ID: v.ID, Scope: v.Owner.Scope(), Owner: v.Owner.Name(), Text: v.Text, By: v.By, At: ops.At(v.At)})
	}
	return rows, err
}

// ForgetPerson implements operator.Notes.
func (n notesOf) ForgetPerson(ctx context.Context, person string) (int, error) {
	return n.memory.ForgetPerson(ctx, person)
}

// Forget implements operator.Notes.
func (n notesOf) Forget(ctx context.Context, id string) error {
	err := n.memory.DeleteAny(ctx, id)
	if errors.Is(err, memory.ErrNoNote) {
		return &ops.Error{Code: ops.CodeNotFound, Message: "there is no note " + term.Quote(id), Hint: "`gatewaytui memory` lists them"}
	}
	return err
}

// serverCalls calls the tools of one server for the memory. The config names it as the keeper of all notes, so that no approval is asked.
type serverCalls struct {
	servers *mcp.Set
	name    string
}

var _ memory.Caller = serverCalls{}

// Call implements memory.Caller.
func (c serverCalls) Call(ctx context.Context, name string, arguments any) (string, error) {
	in, err := json.Marshal(arguments)
	if err != nil {
		return "", fmt.Errorf("call %s of the server %s: %w", name, c.name, err)
	}
	for _, t := range c.servers.View([]string{c.name}, nil).Tools(ctx, "") {
		if strings.HasSuffix(t.Spec().Name, "__"+name) {
			return t.Run(ctx, tool.Call{Session: memorySession, Unattended: true, Arguments: in, Progress: func(string) {}})
		}
	}
	return "", fmt.Errorf("the server %s, which memory.provider names, has no tool %s yet", c.name, name)
}

// memorySession owns the server of the notes where its scope is a session.
const memorySession = "gateway:memory"

// missedOf tells operators of conversations that the memory has not had.
type missedOf struct{ memory *memory.Memory }

var _ operator.InboxSource = missedOf{}

// Inbox implements operator.InboxSource. There is one row for all of them, which waits for no answer.
func (m missedOf) Inbox() []ops.InboxItem {
	missed := m.memory.Missed()
	if len(missed) == 0 {
		return nil
	}
	oldest := ops.At(missed[0].Since)
	return []ops.InboxItem{{
		ID: fmt.Sprintf("memory-%d", missed[0].Since.UnixMilli()), Kind: ops.InboxWarning, Session: missed[0].Session, AskedAt: oldest, AnsweredAt: oldest, State: ops.InboxNoted,
		Text:    fmt.Sprintf("%s not given to the memory yet, which is tried again in this life and in the next one: %s", text.Count(len(missed), "conversation"), missed[0].Reason),
		Reasons: []string{"memory.provider"},
	}}
}

// Answer implements operator.InboxSource.
func (m missedOf) Answer(context.Context, ops.Command) (string, error) {
	return "", &ops.Error{Code: ops.CodeInvalid, Message: "this row waits for no answer"}
}
