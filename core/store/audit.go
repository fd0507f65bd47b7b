package store

import (
	"context"
	"time"
)

// Audit is what one request asked for, who sent it, and its outcome.
type Audit struct {
	ID     string // of the request
	At     time.Time
	Verb   string
	Target string
	// Via, UID, PID, TTY and User identify the caller: see ops.Actor.
	Via  string
	UID  int
	PID  int
	TTY  string
	User string
	// Tool means that a tool of the gateway asked. Session is the session that it belongs to.
	Tool    bool
	Session string
	Reason  string
	State   string
	Detail  string
}

const auditColumns = `id, at, verb, target, via, uid, pid, tty, user, tool, session, reason, state, detail`

func (a *Audit) fields() []any {
	return []any{&a.ID, (*stamp)(&a.At), &a.Verb, &a.Target, &a.Via, &a.UID, &a.PID, &a.TTY, &a.User, &a.Tool, &a.Session, &a.Reason, &a.State, &a.Detail}
}

var putAudit = insertion("INSERT INTO audit", auditColumns, "ON CONFLICT (id) DO UPDATE SET state = excluded.state, detail = excluded.detail")

// PutAudit writes a request's row. A second one with the same ID updates only its state and detail, because the caller
// and the request do not change.
func (s *Store) PutAudit(ctx context.Context, a Audit) error {
	return s.change(ctx, "write audit of "+a.ID, putAudit, a.fields()...)
}
