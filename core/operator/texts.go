package operator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"gatewaytui/core/ops"
)

// withhold leaves out of messages what console.texts does not show. What remains is who wrote, when, how much, and which tools.
func (op *Operator) withhold(messages []ops.Message) {
	if op.o.Texts.All() {
		return
	}
	for i := range messages {
		m := &messages[i]
		m.Text, m.Withheld = "", true
		for j := range m.Calls {
			m.Calls[j].Arguments = ""
		}
	}
}

// reply is an agent's answer as an operator sees it.
func (op *Operator) reply(text string) string {
	if op.o.Texts.All() {
		return text
	}
	return ""
}

// untitle leaves out the titles of sessions, which are the beginnings of conversations.
func (op *Operator) untitle(rows []ops.Session) {
	for i := range rows {
		if !op.o.Texts.All() {
			rows[i].Title = ""
		}
	}
}

// processRows are the tracked process trees, oldest first, without their output where console.texts does not show it.
func (op *Operator) processRows() []ops.Process {
	rows := op.o.Processes.Rows()
	for i := range rows {
		if !op.o.Texts.All() {
			rows[i].LastOutput = ""
		}
	}
	return rows
}

// Output implements ops.Console. It reads memory alone.
func (op *Operator) Output(ctx context.Context, q ops.OutputQuery) (ops.Output, error) {
	p, found := op.o.Processes.Get(q.PID)
	switch {
	case !found && slices.ContainsFunc(op.o.Processes.Rows(), func(r ops.Process) bool { return r.PID == q.PID }):
		return ops.Output{}, &ops.Error{
			Code: ops.CodeNotFound, Message: fmt.Sprintf("the output of pid %d is not here: a tool started it another way, or an earlier life did", q.PID),
			Hint: "see the output of its parent",
		}
	case !found:
		return ops.Output{}, noProcess(q.PID)
	case op.o.Texts == ops.TextsNone:
		return ops.Output{}, op.o.Texts.Refused("the output of processes")
	}
	op.opens(ctx, q.By, "process.output", strconv.Itoa(q.PID), p.Session())
	total, last := p.Written()
	out := ops.Output{PID: q.PID, Session: p.Session(), Command: p.Command(), Next: total, Total: total, LastAt: ops.At(last)}
	if exit, ended := p.Exited(); ended {
		out.Exit = &exit.Code
	}
	if out.Withheld = !op.o.Texts.All(); out.Withheld {
		return out, nil
	}
	if q.After < 0 {
		q.After += total
	}
	out.Text, out.Next, out.Missed = p.Log(q.After, min(cmp.Or(max(q.Limit, 0), ops.MaxPageBytes), ops.MaxPageBytes))
	return out, nil
}

const (
	// openedAgain is how long one row of the audit stands for what the same caller reads of the same conversation.
	openedAgain = 10 * time.Minute
	// openedMost bounds the callers that are remembered. A caller that is forgotten gets a row more.
	openedMost = 1024
)

// opened remembers who reads which conversation. The zero value is empty.
type opened struct {
	mu sync.Mutex
	at map[string]time.Time
}

// first reports whether key was not opened within openedAgain before now.
func (o *opened) first(key string, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if at, known := o.at[key]; known && now.Sub(at) < openedAgain {
		return false
	}
	if o.at == nil || len(o.at) >= openedMost {
		o.at = map[string]time.Time{}
	}
	o.at[key] = now
	return true
}

// opens records in the audit that an operator reads a conversation, a search or the output of a process. It does not wait for the
// write. A caller that is not known is the gateway itself.
func (op *Operator) opens(ctx context.Context, by ops.Actor, verb, target, of string) {
	now := time.Now()
	if by.Via == "" || !op.opened.first(fmt.Sprintf("%s %d %d %s\x00%s\x00%s\x00%s", by.Via, by.UID, by.PID, by.User, verb, target, of), now) {
		return
	}
	row := op.auditRow(ops.Request{ID: op.o.NewID(), State: ops.RequestDone, Verb: ops.Verb(verb), Target: target, At: ops.At(now)}, ops.Command{By: by}, of)
	op.o.Background.Start(ctx, "audit", "", func(ctx context.Context) { op.putAudit(ctx, row) })
}
