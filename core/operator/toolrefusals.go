package operator

import (
	"context"
	"fmt"
	"math/bits"
	"sync"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// refusalRows is how many audit rows one life writes about refused tools. Refusals beyond that share one more row.
const refusalRows = 256

// refusedState is the state of an audit row about a refused tool: nothing was accepted.
const refusedState = "refused"

// toolRefusals are the audit rows about tools that asked for what only operators may have (HF7). Calls for the same thing by
// tools of one session share a row, which counts them. The zero value is none.
type toolRefusals struct {
	mu   sync.Mutex // a leaf; guards the rows and their counts
	rows map[refusalKey]*refusalRow
}

type refusalKey struct{ via, session, call string }

type refusalRow struct {
	audit store.Audit
	count int
	// writing says that a task writes the row. One task at a time does, so that a lower count never replaces a higher one.
	writing bool
}

// ToolRefused records in the audit that a tool of this gateway asked for call and was refused. by is who asked, and call
// names what it asked for, without content. target is what the first such call was about; it may be empty.
//
// The row is written in the background at the first such call, and again each time that the count of calls has doubled, so
// a flood costs a few writes. Before the store is open only the log has it. ToolRefused may be called from any goroutine
// and does not wait.
func (op *Operator) ToolRefused(by ops.Actor, call, target string) {
	if op.store() == nil {
		return
	}
	row, write := op.refusals.count(by, call, target, op.o.NewID)
	if !write {
		return
	}
	op.o.Background.Start(context.Background(), "audit", by.Session, func(ctx context.Context) {
		for audit, last, more := op.refusals.next(row, 0); more; audit, last, more = op.refusals.next(row, last) {
			op.putAudit(ctx, audit)
		}
	})
}

// count adds one to the row of a call. write says that the caller must write the row until next reports false.
func (f *toolRefusals) count(by ops.Actor, call, target string, newID func() string) (row *refusalRow, write bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rows == nil {
		f.rows = map[refusalKey]*refusalRow{}
	}
	key := refusalKey{by.Via, by.Session, call}
	if f.rows[key] == nil && len(f.rows) >= refusalRows {
		by, call, target, key = ops.Actor{UID: by.UID}, "calls of more sessions", "", refusalKey{}
	}
	if row = f.rows[key]; row == nil {
		row = &refusalRow{audit: store.Audit{
			ID: newID(), At: time.Now(), Verb: term.Clean(call, 120), Target: term.Clean(target, 300), Via: by.Via, UID: by.UID, PID: by.PID,
			TTY: term.Clean(by.TTY, 60), User: term.Clean(by.User, 120), Tool: true, Session: term.Clean(by.Session, 300), State: refusedState,
		}}
		f.rows[key] = row
	}
	row.count++
	if row.count&(row.count-1) != 0 {
		return row, false
	}
	write = !row.writing
	row.writing = true
	return row, write
}

// next returns the audit row with its count of now. last is the count that was written before. more is false, and the
// writing has ended, if the count has not doubled since then.
func (f *toolRefusals) next(row *refusalRow, last int) (a store.Audit, count int, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if bits.Len(uint(row.count)) == bits.Len(uint(last)) {
		row.writing = false
		return a, 0, false
	}
	a = row.audit
	if row.count > 1 {
		a.Detail = fmt.Sprintf("at least %d calls", row.count)
	}
	return a, row.count, true
}

// Tool reports whether the process pid is one that this gateway tracks, and for which session it runs: see
// process.Registry.Caller. It may be called at any time.
func (op *Operator) Tool(pid int) (session string, tool bool, err error) {
	owner, tracked, err := op.o.Processes.Caller(pid)
	return owner.Session, tracked, err
}

// allowTool refuses what a tool of this gateway may not ask for (HF7): it could write into other sessions, end them, and
// hide behind the operator.
func (op *Operator) allowTool(spec ops.VerbSpec) error {
	may, _ := op.o.ToolsMayStop()
	switch {
	case !spec.ByTools:
		return ops.ToolRefused(string(spec.Verb))
	case !may:
		return &ops.Error{
			Code: ops.CodeToolCaller, Message: "a tool of this gateway may not " + string(spec.Verb) + " it: tools.may_stop is \"no\"",
			Hint: "the operator can, with gatewaytui " + string(spec.Verb) + " in a terminal of their own",
		}
	}
	return nil
}
