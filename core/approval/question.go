package approval

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/access"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
	"gatewaytui/core/tool"
)

// question is the kind of the rows that ask for a text. Their Reasons are the options of the question.
const question = string(ops.InboxQuestion)

// maxAnswer is how long an answer may be, in bytes.
const maxAnswer = 16 << 10

// Ask implements tool.Asker: a question is a request like that for an approval, and its end a text.
func (b *Book) Ask(ctx context.Context, call tool.Call, q tool.Question) (answer string, err error) {
	if err := q.Check(); err != nil {
		return "", err
	}
	row := b.row(b.terms.Load(), call, tool.Step{Kind: tool.StepKind(question), Text: q.Text})
	row.Reasons = q.Options
	if call.Unattended {
		b.refused(ctx, row, "nothing waits for a person in this turn")
		return "", &tool.WithheldError{Text: "the caller of this turn does not wait for a person, so the question was not asked. Do what is possible without the answer, and say what is missing."}
	}
	row, answer, err = b.request(ctx, call, &request{row: row, terms: b.terms.Load()}, question)
	if err != nil {
		return "", err
	}
	if row.State == store.ApprovalAnswered {
		return answer, nil
	}
	return "", b.verdict(row)
}

// AnswerQuestion is the answer of a person to the question with an id, in the chat of the session key.
func (b *Book) AnswerQuestion(ctx context.Context, key string, m session.Message, id, words string) (detail string, err error) {
	a := answer{id: id, text: words, words: true, by: term.Clean(m.User, 80)}
	a.may = func(row store.Approval) error {
		if m.Operator || m.Caller.By == "" && b.mayReply(key, m, row) {
			return nil
		}
		return &ops.Error{Code: ops.CodeForbidden, Message: "only the person who was asked, or an owner, may answer this question", Hint: "the command line and the console may answer too"}
	}
	detail, err = b.answer(ctx, a)
	b.audit(ctx, key, a, detail, err)
	return detail, err
}

// mayReply reports whether the sender of m was asked, or is an owner.
func (b *Book) mayReply(key string, m session.Message, row store.Approval) bool {
	who := access.Person{Platform: session.Platform(key), ID: session.PersonOf(m.User)}
	if who.Platform == access.API {
		return false
	}
	asked := access.Person{Platform: session.Platform(session.Owner(row.Session)), ID: session.PersonOf(row.Who)}
	return who.ID != "" && (who == asked || b.o.People.MayAnswer(who))
}

// TakeAnswer takes a message of a chat as the answer to the question that its sender was asked there. taken is false, and nothing is done, if
// no question waits for this sender. The error says why the message is not an answer: then it is not taken as anything else either, and a
// command still is one.
func (b *Book) TakeAnswer(ctx context.Context, key string, m session.Message) (taken bool, err error) {
	if m.Instant || m.Operator || m.Files != "" || m.Caller.By != "" {
		return false, nil
	}
	who := session.PersonOf(m.User)
	var ids []string
	b.mu.Lock()
	for id, r := range b.waiting {
		if r.row.Kind == question && session.Owner(r.row.Session) == key && who != "" && session.PersonOf(r.row.Who) == who {
			ids = append(ids, id)
		}
	}
	b.mu.Unlock()
	switch len(ids) {
	case 0:
		return false, nil
	case 1:
		_, err := b.AnswerQuestion(ctx, key, m, ids[0], m.Text)
		if ops.HasCode(err, ops.CodeConflict) { // the question has just ended: this is a message like any other
			return false, nil
		}
		return true, err
	}
	slices.Sort(ids)
	return true, &ops.Error{
		Code: ops.CodeInvalid, Message: fmt.Sprintf("%d questions wait for your answer: %s", len(ids), strings.Join(ids, ", ")),
		Hint: "write /answer ID TEXT, so that it is clear which one you mean",
	}
}

// reply is the answer to a question in the form that its asker gets: with options one of these, which may also be named by its
// number.
func reply(row store.Approval, words string) (string, error) {
	words = strings.TrimSpace(words)
	switch {
	case words == "":
		return "", &ops.Error{Code: ops.CodeInvalid, Message: "the answer has no text", Hint: "write it behind the id"}
	case len(words) > maxAnswer:
		return "", &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("the answer has %d bytes, at most %d are taken", len(words), maxAnswer), Hint: "answer shorter, and send the rest as a message"}
	case len(row.Reasons) == 0:
		return words, nil
	}
	for _, option := range row.Reasons {
		if strings.EqualFold(strings.TrimSpace(option), words) {
			return option, nil
		}
	}
	if n, err := strconv.Atoi(words); err == nil && n >= 1 && n <= len(row.Reasons) {
		return row.Reasons[n-1], nil
	}
	return "", &ops.Error{
		Code: ops.CodeInvalid, Message: "question " + row.ID + " takes one of these answers: " + term.Clean(strings.Join(row.Reasons, ", "), 600),
		Hint: "write the answer or its number; /deny " + row.ID + " declines, and /stop ends the turn",
	}
}

// questionText is a question in a chat whose commands begin with sign, as Markdown.
func questionText(row store.Approval, sign string) string {
	var t strings.Builder
	fmt.Fprintf(&t, "**%s** (%s)\n%s\n", escape(asks(row)), row.ID, escape(visible(row.Command)))
	for i, option := range row.Reasons {
		fmt.Fprintf(&t, "%d. %s\n", i+1, escape(visible(option)))
	}
	how := "Your next message here is the answer"
	if len(row.Reasons) > 0 {
		how += ": one of these, or its number"
	}
	fmt.Fprintf(&t, "\n%s. It waits for %s. `%sdeny %s` declines.", how, text.Duration(time.Until(row.Expires).Round(time.Second)), sign, row.ID)
	return t.String()
}

// questionChoices are the buttons of a question.
func questionChoices(row store.Approval) (all []session.Choice) {
	for i, option := range row.Reasons {
		all = append(all, session.Choice{Label: term.Clean(option, 60), Text: fmt.Sprintf("/answer %s %d", row.ID, i+1)})
	}
	return append(all, session.Choice{Label: "Decline", Text: "/deny " + row.ID})
}

// questionEnd is what a chat reads of a question that has ended.
func questionEnd(row store.Approval) string {
	by := cmp.Or(term.Clean(row.By, 80), "someone")
	said := map[store.ApprovalState]string{
		store.ApprovalAnswered: "Answered by " + code(by) + ".", store.ApprovalDenied: "Declined by " + code(by) + ".",
		store.ApprovalExpired: "Expired without an answer.", store.ApprovalWithdrawn: "Withdrawn: " + escape(row.Reason) + ".",
	}[row.State]
	return "**" + said + "** (" + row.ID + ")\n" + escape(visible(row.Command))
}
