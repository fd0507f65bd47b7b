package operator

import (
	"context"
	"fmt"
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
	// writing says that a task writes the row, and again that it writes the row once more. One task at a time writes a row,
	// so that a lower count never replaces a higher one.
	writing, again bool
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
		for again := true; again; again = op.refusals.written(row) {
			op.putAudit(ctx, op.refusals.current(row))
		}
	})
}

// count adds one to the row of a call. write says that the caller is to write the row until written reports false.
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
	row.again = row.writing
	write = !row.writing
	row.writing = true
	return row, write
}

// written ends a write of row. It reports whether the row must be written again, because its count has doubled meanwhile.
func (f *toolRefusals) written(row *refusalRow) (again bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	again, row.again = row.again, false
	row.writing = again
	return again
}

// current is the audit row with the count of now.
func (f *toolRefusals) current(row *refusalRow) store.Audit {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := row.audit
	if row.count > 1 {
		a.Detail = fmt.Sprintf("at least %d calls", row.count)
	}
	return a
}
