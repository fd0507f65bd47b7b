package conversation

import (
	"context"
	"strings"

	"gatewaytui/core/limit"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/timeline"
)

// Approvals takes the answers of people in chats. *approval.Book is one.
type Approvals interface {
	// AnswerChat is the answer of the sender of m, in the session of key, to the request with an id. words are a scope or a reason.
	AnswerChat(ctx context.Context, key string, m session.Message, id string, allow bool, words string) (detail string, err error)
	// AnswerQuestion is the answer of the sender of m to the question with an id.
	AnswerQuestion(ctx context.Context, key string, m session.Message, id, words string) (detail string, err error)
	// TakeAnswer takes m as the answer to the question that its sender was asked in the session of key; false: there is none.
	TakeAnswer(ctx context.Context, key string, m session.Message) (taken bool, err error)
}

// Park implements approval.Turns: the slot of the turn goes to the next one that waits.
func (c *Conversations) Park(key, turn, approval string) (running bool) {
	next, running := c.o.Table.Park(c.turns, key, turn, approval, c.holding())
	c.Begin(next)
	return running
}

// Unpark implements approval.Turns. Only the turn's end bounds the wait for a slot, as before a turn begins.
func (c *Conversations) Unpark(ctx context.Context, key, turn, approval string) error {
	slot := c.o.Table.Unpark(key, turn, approval)
	if slot == nil {
		return nil
	}
	var line *timeline.Line
	if t, running := c.o.Table.Running(key); running && t.ID == turn {
		line = t.Line
	}
	span := line.Begin(ops.TimelineWait, limit.Turns, "")
	select {
	case <-slot:
		span.End("")
		return nil
	case <-ctx.Done():
		span.End(ops.TimelineInterrupted)
		return context.Cause(ctx)
	}
}

// approve is /approve ID [turn|session|always], deny is /deny ID [REASON].
func (c *Conversations) approve(ctx context.Context, u use) (string, error) {
	return c.answerRequest(ctx, u, true)
}

func (c *Conversations) deny(ctx context.Context, u use) (string, error) {
	return c.answerRequest(ctx, u, false)
}

func (c *Conversations) answerRequest(ctx context.Context, u use, allow bool) (string, error) {
	id, words, _ := strings.Cut(strings.TrimSpace(u.arg), " ")
	if id == "" {
		return "", &ops.Error{Code: ops.CodeInvalid, Message: "name the request", Hint: "its id is in its message, for instance /approve K7Q2MX"}
	}
	detail, err := c.o.Approvals.AnswerChat(ctx, u.key, u.msg, id, allow, strings.TrimSpace(words))
	if err != nil {
		return "", err
	}
	return sentence(detail), nil
}

// answerQuestion is /answer ID TEXT.
func (c *Conversations) answerQuestion(ctx context.Context, u use) (string, error) {
	id, words, _ := strings.Cut(strings.TrimSpace(u.arg), " ")
	if id == "" || strings.TrimSpace(words) == "" {
		return "", &ops.Error{Code: ops.CodeInvalid, Message: "name the question and write the answer behind it", Hint: "its id is in its message, for instance /answer K7Q2MX the second one"}
	}
	detail, err := c.o.Approvals.AnswerQuestion(ctx, u.key, u.msg, id, words)
	if err != nil {
		return "", err
	}
	return sentence(detail), nil
}

// TakeAnswer implements delivery.Conversations.
func (c *Conversations) TakeAnswer(ctx context.Context, key string, m session.Message) (taken bool, err error) {
	return c.o.Approvals.TakeAnswer(ctx, key, m)
}

// sentence is a phrase as a sentence.
func sentence(phrase string) string { return strings.ToUpper(phrase[:1]) + phrase[1:] + "." }
