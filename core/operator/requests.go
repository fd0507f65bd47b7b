package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// requestsKept is how many ended requests can still be asked for.
const requestsKept = 4096

// requests are the accepted commands and what became of them (B5). Ended ones are kept until requestsKept newer ones
// have ended.
type requests struct {
	mu    sync.Mutex
	byID  map[string]*request
	ended []string // ids, oldest first
	// asking are the ids of the stops that a person must allow, by the session whose tool asked.
	asking map[string]string
}

type request struct {
	row  ops.Request
	done chan struct{}
	// session is the one whose tool asked for a stop that a person must allow; else empty.
	session string
}

func newRequests() *requests {
	return &requests{byID: map[string]*request{}, asking: map[string]string{}}
}

func (rs *requests) add(r ops.Request) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.byID[r.ID] = &request{row: r, done: make(chan struct{})}
}

// addAsking adds the request of a tool of a session for a stop, unless one waits already: then it returns that one's id.
func (rs *requests) addAsking(session string, r ops.Request) (id string, asks bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if id, asks = rs.asking[session]; asks {
		return id, true
	}
	rs.asking[session] = r.ID
	rs.byID[r.ID] = &request{row: r, session: session, done: make(chan struct{})}
	return r.ID, false
}

// asksNoMore lets a session ask again.
func (rs *requests) asksNoMore(session string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	delete(rs.asking, session)
}

// askedBy is the session whose tool asked for the stop with this id, where a person must allow it.
func (rs *requests) askedBy(id string) string {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if r := rs.byID[id]; r != nil {
		return r.session
	}
	return ""
}

// began says which turn works on a request.
func (rs *requests) began(id, turn string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if r := rs.byID[id]; r != nil {
		r.row.Turn = turn
	}
}

// update changes a request that has not ended. Ending it twice is harmless: the first end counts.
func (rs *requests) update(id string, state ops.RequestState, detail string, result any, err error) (ops.Request, bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := rs.byID[id]
	if r == nil || r.row.State.Over() {
		return ops.Request{}, false
	}
	r.row.State, r.row.Detail, r.row.Error = state, detail, ops.AsError(err)
	if result != nil {
		r.row.Result, _ = json.Marshal(result) // our own result types: they always marshal
	}
	if state.Over() {
		close(r.done)
		rs.ended = append(rs.ended, id)
		if len(rs.ended) > requestsKept {
			delete(rs.byID, rs.ended[0])
			rs.ended = rs.ended[1:]
		}
	}
	return r.row, true
}

// get returns a request; with wait it does so when the request has ended or ctx has.
func (rs *requests) get(ctx context.Context, id string, wait bool) (ops.Request, error) {
	rs.mu.Lock()
	r := rs.byID[id]
	rs.mu.Unlock()
	if r == nil {
		return ops.Request{}, &ops.Error{Code: ops.CodeNotFound, Message: "no request " + term.Quote(id), Hint: "requests are kept for one life, and the oldest are forgotten"}
	}
	if wait {
		select {
		case <-r.done:
		case <-ctx.Done():
		}
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return r.row, nil
}

// audit writes a request's row: who, what, why, when, and what became of it. The text of a message is in no audit.
func (op *Operator) audit(ctx context.Context, req ops.Request, cmd ops.Command, detail string) {
	op.putAudit(ctx, op.auditRow(req, cmd, detail))
}

func (op *Operator) auditRow(req ops.Request, cmd ops.Command, detail string) store.Audit {
	if req.Verb == ops.VerbMessage {
		detail = ""
	}
	return store.Audit{
		ID: req.ID, At: req.At.Time, Verb: string(req.Verb), Target: term.Clean(req.Target, 300), Via: cmd.By.Via, UID: cmd.By.UID, PID: cmd.By.PID,
		TTY: term.Clean(cmd.By.TTY, 60), User: term.Clean(cmd.By.User, 120), Tool: cmd.By.Tool, Session: term.Clean(cmd.By.Session, 300), Reason: term.Clean(cmd.Reason, 300), State: string(req.State), Detail: term.Clean(detail, 300),
	}
}

func (op *Operator) putAudit(ctx context.Context, row store.Audit) {
	ctx, cancel := op.store().Patient(ctx)
	defer cancel()
	if err := op.store().PutAudit(ctx, row); err != nil {
		op.o.Log.Error("audit row not saved", "request", row.ID, "verb", row.Verb, "error", term.Clean(err.Error(), 300))
	}
}

// actor is who asked, in a few words.
func actor(a ops.Actor) string {
	switch {
	case a.Tool && a.Session != "":
		return fmt.Sprintf("a tool of %s, pid %d", term.Clean(a.Session, 80), a.PID)
	case a.Tool:
		return fmt.Sprintf("a tool, pid %d", a.PID)
	case a.User != "":
		return term.Clean(a.User, 80)
	case a.Via == "socket" && a.TTY != "":
		return fmt.Sprintf("uid %d on %s", a.UID, term.Clean(a.TTY, 40))
	case a.Via == "socket":
		return fmt.Sprintf("uid %d, pid %d", a.UID, a.PID)
	case a.Via == "":
		return "the gateway"
	}
	return a.Via
}

func reason(cmd ops.Command, otherwise string) string {
	return cmp.Or(term.Clean(cmd.Reason, 300), otherwise)
}

// asker is who asked for a stop, in the reason of one that was given none.
func asker(a ops.Actor) string {
	if a.Tool {
		return "a tool"
	}
	return "an operator"
}
