package operator

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"gatewaytui/core/conversation"
	"gatewaytui/core/ops"
	"gatewaytui/core/search"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
	"gatewaytui/core/window"
)

// Transcript implements ops.Console. It reads one page from the store, and waits for nothing else.
func (op *Operator) Transcript(ctx context.Context, session string, q ops.MessageQuery) (ops.Page[ops.Message], error) {
	after, err := messageNumber(q.After)
	before := int64(math.MaxInt64)
	if err == nil && q.Before != "" {
		before, err = messageNumber(q.Before)
	}
	switch {
	case err != nil:
		return ops.Page[ops.Message]{}, err
	case op.store() == nil:
		return ops.Page[ops.Message]{}, errNoStore
	case op.o.Texts == ops.TextsNone:
		return ops.Page[ops.Message]{}, op.o.Texts.Refused("conversations")
	}
	of, err := op.conversationOf(ctx, session)
	if err != nil {
		return ops.Page[ops.Message]{}, err
	}
	op.opens(ctx, q.By, "session.transcript", of.Key, of.ID)
	var entries []store.Entry
	var more bool
	if q.Back {
		entries, more, err = op.store().EntriesBefore(ctx, of.ID, before, ops.PageSize(q.Limit), ops.MaxPageBytes)
	} else {
		entries, more, err = op.store().Entries(ctx, of.ID, after, ops.PageSize(q.Limit), ops.MaxPageBytes)
	}
	if err != nil {
		return ops.Page[ops.Message]{}, unreadable("the conversation", err)
	}
	names := callNames{op: op, session: of.ID}
	page := ops.Page[ops.Message]{Items: make([]ops.Message, 0, len(entries))}
	for _, e := range entries {
		row := messageRow(e)
		switch row.Role {
		case "user":
			if row.Who == "" && !strings.Contains(of.Key, ":group:") { // of an earlier version
				row.Who = of.User
			}
		case "tool":
			row.Who = names.of(ctx, e)
		}
		names.add(row.Calls)
		page.Items = append(page.Items, row)
	}
	if more && q.Back {
		page.Next = page.Items[0].ID
	} else if more {
		page.Next = page.Items[len(page.Items)-1].ID
	}
	op.withhold(page.Items)
	return page, nil
}

// Search implements ops.Console: an operator searches everything. Without texts a search would tell which words were said.
func (op *Operator) Search(ctx context.Context, q ops.SearchQuery) (ops.Found, error) {
	if !op.o.Texts.All() {
		return ops.Found{}, op.o.Texts.Refused("what was said")
	}
	op.opens(ctx, q.By, "search", q.Session, "")
	return op.o.Search.Find(ctx, search.Query{Text: q.Text, Session: q.Session, Before: q.Cursor, Limit: q.Limit})
}

// errNoStore is the answer before the store is open.
var errNoStore = &ops.Error{Code: ops.CodeUnavailable, Message: "the store is not open yet", Hint: "try again in a moment"}

// unreadable is the answer where the store could not be read.
func unreadable(what string, err error) error {
	return &ops.Error{Code: ops.CodeUnavailable, Message: what + " could not be read: " + term.Clean(store.Reason(err), 200), Hint: "try again in a moment"}
}

// messageNumber reads the id of a message; 0 for none.
func messageNumber(id string) (int64, error) {
	if id == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n < 0 {
		return 0, &ops.Error{Code: ops.CodeInvalid, Message: term.Quote(id) + " is not the id of a message", Hint: "give the id of the last message that was seen, or none"}
	}
	return n, nil
}

// conversationOf is the current conversation of a session's key, or the conversation with an id. A session that has not
// been written yet has a conversation without messages.
func (op *Operator) conversationOf(ctx context.Context, name string) (store.Session, error) {
	for _, read := range []func(context.Context, string) (store.Session, bool, error){op.store().CurrentSession, op.store().SessionByID} {
		s, found, err := read(ctx, name)
		if err != nil {
			return s, unreadable("the conversation", err)
		}
		if found {
			return s, nil
		}
	}
	if s, ok := op.o.Table.Get(name); ok {
		return store.Session{Key: s.Key, ID: s.ID, User: s.User}, nil
	}
	return store.Session{}, conversation.NoSession(name)
}

// messageRow is a message as operators see it, less the name of a tool.
func messageRow(e store.Entry) ops.Message {
	return ops.Message{
		ID: strconv.FormatInt(e.Seq, 10), Turn: e.Turn, Role: e.Role, Who: e.Who, At: ops.At(e.At), Text: e.Content,
		Calls: callsOf(e.ToolCalls), Call: e.ToolCallID, Undone: e.Undone,
		Length: utf8.RuneCountInString(e.Content), Tokens: window.Text(e.Content) + window.Text(e.ToolCalls), Exit: exitOf(e),
	}
}

// exitOf is the exit code in the result of a command; nil: e is no such result, or was cut.
func exitOf(e store.Entry) *int {
	if e.Role != "tool" || !strings.Contains(e.Content, `"exit_code"`) {
		return nil
	}
	var result struct {
		ExitCode *int `json:"exit_code"`
	}
	if json.Unmarshal([]byte(e.Content), &result) != nil {
		return nil
	}
	return result.ExitCode
}

// callsOf reads the calls of a message; what cannot be read is left out.
func callsOf(text string) []ops.MessageCall {
	calls := []ops.MessageCall{}
	if text != "" && json.Unmarshal([]byte(text), &calls) != nil {
		return []ops.MessageCall{}
	}
	return calls
}

// callNames knows which tool a message answers for. The call may be on an earlier page.
type callNames struct {
	op      *Operator
	session string
	names   map[string]string // by the call's id
	read    bool              // the calls before the page were looked at
}

func (c *callNames) add(calls []ops.MessageCall) {
	if len(calls) == 0 {
		return
	}
	c.names, c.read = map[string]string{}, true
	for _, call := range calls {
		c.names[call.ID] = call.Name
	}
}

// of is the name of the tool that e is from; empty if it is not known.
func (c *callNames) of(ctx context.Context, e store.Entry) string {
	if !c.read {
		c.read = true
		if calls, err := c.op.store().CallsBefore(ctx, c.session, e.Seq); err == nil { // without it the name alone is missing
			c.add(callsOf(calls))
		}
	}
	return c.names[e.ToolCallID]
}
