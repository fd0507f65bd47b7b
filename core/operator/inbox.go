package operator

import (
	"context"
	"slices"
	"strings"

	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// InboxSource is a part of the gateway whose requests wait for a person: approvals, pairings, questions (TR4).
type InboxSource interface {
	// Inbox is its requests in any order: all that wait, and a bounded number that have ended. It reads memory alone.
	Inbox() []ops.InboxItem
	// Answer carries out approve, deny or answer on the request with the id cmd.Target, and returns what was done in one line.
	// cmd.By.User says who answers, also where that is not a named user. It decides again what the caller has checked: a request that has ended meanwhile is CodeConflict. Nothing runs after an error.
	Answer(ctx context.Context, cmd ops.Command) (detail string, err error)
}

// RuleBook has the rules that approvals with the scope always made.
type RuleBook interface {
	Rules(ctx context.Context) ([]ops.Rule, error)
	// RemoveRule removes a rule; one that is not there is CodeNotFound.
	RemoveRule(ctx context.Context, id string) error
}

const (
	// maxInboxCommand bounds the command of a row of the inbox in runes, maxInboxText each other text.
	maxInboxCommand = 16 << 10
	maxInboxText    = 600
)

// Inbox implements ops.Console.
func (op *Operator) Inbox(_ context.Context, q ops.Query) (ops.Page[ops.InboxItem], error) {
	return page(op.inboxRows(), q, func(i ops.InboxItem) string { return i.ID }, filter.Inbox)
}

// inboxRows is all that the sources have, clean and in order.
func (op *Operator) inboxRows() []ops.InboxItem {
	rows := []ops.InboxItem{}
	for _, src := range op.o.Inbox {
		for _, item := range src.Inbox() {
			if item.Kind == ops.InboxQuestion && !op.o.Texts.All() { // its text is of the conversation
				item.Command, item.Text = "", item.Text+" (console.texts does not show the question)"
			}
			rows = append(rows, cleanItem(item))
		}
	}
	slices.SortFunc(rows, ops.CompareInbox)
	return rows
}

// cleanItem makes the texts of a request fit to be seen: they come from models and from chats.
func cleanItem(i ops.InboxItem) ops.InboxItem {
	i.Session, i.Text, i.Who, i.By = term.Clean(i.Session, maxInboxText), term.Clean(i.Text, maxInboxText), term.Clean(i.Who, maxInboxText), term.Clean(i.By, maxInboxText)
	i.Command, i.Folder, i.Environment = term.Clean(i.Command, maxInboxCommand), term.Clean(i.Folder, maxInboxText), term.Clean(i.Environment, maxInboxText)
	i.Reasons, i.Options = cleanLines(i.Reasons), cleanLines(i.Options)
	return i
}

func cleanLines(texts []string) []string {
	clean := make([]string, len(texts))
	for i, s := range texts {
		clean[i] = term.Clean(s, maxInboxText)
	}
	return clean
}

// inboxCount is how many requests wait for a person.
func (op *Operator) inboxCount() (n int) {
	for _, src := range op.o.Inbox {
		for _, item := range src.Inbox() {
			if item.State == ops.InboxWaiting {
				n++
			}
		}
	}
	return n
}

// findInbox is the request with an id, and its source. Upper and lower case of an id are alike: people type it.
func (op *Operator) findInbox(id string) (ops.InboxItem, InboxSource) {
	for _, src := range op.o.Inbox {
		for _, item := range src.Inbox() {
			if strings.EqualFold(item.ID, id) {
				return item, src
			}
		}
	}
	return ops.InboxItem{}, nil
}

// checkInbox refuses an answer to what does not wait, what asks for another kind of answer, and what waits for another turn than the
// caller means.
func checkInbox(op *Operator, cmd ops.Command) error {
	item, src := op.findInbox(cmd.Target)
	what := "request " + term.Quote(cmd.Target)
	switch {
	case src == nil:
		return &ops.Error{Code: ops.CodeNotFound, Message: "no " + what + " waits for an answer", Hint: "`gatewaytui inbox` lists those that do; an old one is forgotten after some time"}
	case item.State != ops.InboxWaiting:
		by := ""
		if item.By != "" {
			by = " by " + term.Clean(item.By, 80)
		}
		return &ops.Error{Code: ops.CodeConflict, Message: what + " waits no longer: it was " + text.Words(item.State) + by, Hint: "nothing was done; the agent can ask again"}
	case cmd.Expect != "" && cmd.Expect != item.Turn:
		return &ops.Error{Code: ops.CodeConflict, Message: what + " is of another turn", Hint: "look at it with `gatewaytui inbox` first"}
	case item.Kind == ops.InboxQuestion && cmd.Verb == ops.VerbApprove:
		return &ops.Error{Code: ops.CodeInvalid, Message: what + " asks for a text", Hint: "use `gatewaytui answer " + item.ID + " TEXT`"}
	case item.Kind.Remedied():
		if cmd.Verb != ops.VerbAnswer || !slices.Contains(item.Options, cmd.Text) {
			return &ops.Error{Code: ops.CodeInvalid, Message: what + " takes one of these answers: " + strings.Join(item.Options, ", "), Hint: "use `gatewaytui answer " + item.ID + " " + strings.Join(item.Options[:min(len(item.Options), 1)], "") + "`"}
		}
	case item.Kind != ops.InboxQuestion && cmd.Verb == ops.VerbAnswer:
		return &ops.Error{Code: ops.CodeInvalid, Message: what + " asks for a yes or a no", Hint: "use `gatewaytui approve " + item.ID + "` or `gatewaytui deny " + item.ID + "`"}
	case cmd.Verb == ops.VerbApprove && !item.Takes(cmd.Scope):
		return &ops.Error{Code: ops.CodeInvalid, Message: what + " cannot be approved with the scope " + string(cmd.Scope), Hint: "it takes: " + strings.Join(item.Options, ", ")}
	}
	return nil
}

// answerInbox carries out approve, deny and answer.
func (op *Operator) answerInbox(ctx context.Context, cmd ops.Command) (string, any, error) {
	if err := checkInbox(op, cmd); err != nil { // another answer may have come first
		return "", nil, err
	}
	item, src := op.findInbox(cmd.Target)
	if src == nil {
		return "", nil, &ops.Error{Code: ops.CodeConflict, Message: "request " + term.Quote(cmd.Target) + " has just ended", Hint: "nothing was done"}
	}
	cmd.Target, cmd.By.User = item.ID, actor(cmd.By)
	detail, err := src.Answer(ctx, cmd)
	return detail, nil, err
}

// Rules implements ops.Console.
func (op *Operator) Rules(ctx context.Context, q ops.Query) (ops.Page[ops.Rule], error) {
	rules := []ops.Rule{}
	if op.o.Rules != nil {
		var err error
		if rules, err = op.o.Rules.Rules(ctx); err != nil {
			return ops.Page[ops.Rule]{}, err
		}
	}
	return page(rules, q, func(r ops.Rule) string { return r.ID }, filter.Rules)
}

// removeRule carries out VerbRemoveRule.
func (op *Operator) removeRule(ctx context.Context, cmd ops.Command) (string, any, error) {
	if op.o.Rules == nil {
		return "", nil, &ops.Error{Code: ops.CodeNotFound, Message: "no rule " + term.Quote(cmd.Target), Hint: "`gatewaytui approvals rules` lists them"}
	}
	return "removed; its commands are asked about again", nil, op.o.Rules.RemoveRule(ctx, cmd.Target)
}
