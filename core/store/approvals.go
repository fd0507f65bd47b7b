package store

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"
)

// ApprovalState is what became of a request for an approval.
type ApprovalState string

// The states of an approval. Waiting is the only one that ends.
const (
	ApprovalWaiting   ApprovalState = "waiting"
	ApprovalAllowed   ApprovalState = "allowed"
	ApprovalDenied    ApprovalState = "denied"
	ApprovalExpired   ApprovalState = "expired"
	ApprovalWithdrawn ApprovalState = "withdrawn" // its turn ended, or the gateway did
	ApprovalRefused   ApprovalState = "refused"   // no person was asked
	ApprovalAnswered  ApprovalState = "answered"  // a question has its text, which the row does not have
)

// Approval is what a tool asks a person for (TR4).
type Approval struct {
	ID string
	// Session is the key of the session, SessionID the conversation. Turn is the turn, or that of a child agent.
	Session, SessionID, Turn string
	// Agent is the name of the definition, Who wrote the message of the turn.
	Agent, Who string
	// Kind, Command, InputOf, Folder and Environment are those of the step. Reasons say why it is asked. Of a question Command is its text,
	// and Reasons are the answers to choose from.
	Kind, Command, InputOf, Folder, Environment string
	Reasons                                     []string
	Asked, Expires                              time.Time
	State                                       ApprovalState
	// Scope is how far the answer goes, By who gave it, Reason why it ended so.
	Scope, By, Reason string
	Ended             time.Time
	// CardChat is the session key of the chat that shows the request, CardTarget its address. Card is the platform's name of the
	// message; empty: not known, or there is none.
	CardChat, CardTarget, Card string
}

const approvalColumns = `id, session, session_id, turn, agent, who, kind, command, input_of, folder, environment, reasons, asked_at, expires_at, state, scope, by, reason, ended_at, card_chat, card_target, card`

func (v *Approval) fields() []any {
	return []any{
		&v.ID, &v.Session, &v.SessionID, &v.Turn, &v.Agent, &v.Who, &v.Kind, &v.Command, &v.InputOf, &v.Folder, &v.Environment, (*phrases)(&v.Reasons),
		(*stamp)(&v.Asked), (*stamp)(&v.Expires), &v.State, &v.Scope, &v.By, &v.Reason, (*stamp)(&v.Ended), &v.CardChat, &v.CardTarget, &v.Card,
	}
}

// ApprovalRule says what runs without a question, because a person answered "always".
type ApprovalRule struct {
	ID, Agent, Environment, Folder, Kind string
	// Rule is a program with its subcommand or, if Whole, all of a command.
	Rule  string
	Whole bool
	// Session is the key of the session that asked, Approval the id of its request, By who answered.
	Session, Approval, By string
	At, Expires           time.Time
}

const ruleColumns = `id, agent, environment, folder, kind, rule, whole, session, approval, by, at, expires_at`

func (v *ApprovalRule) fields() []any {
	return []any{
		&v.ID, &v.Agent, &v.Environment, &v.Folder, &v.Kind, &v.Rule, &v.Whole, &v.Session, &v.Approval, &v.By, (*stamp)(&v.At), (*stamp)(&v.Expires),
	}
}

var (
	putApproval = insertion("INSERT INTO approvals", approvalColumns, "ON CONFLICT (id) DO NOTHING")
	putRule     = insertion("INSERT INTO approval_rules", ruleColumns, "ON CONFLICT (id) DO NOTHING")
)

// PutApproval writes a new request. It reports false, and writes nothing, if the id exists.
func (s *Store) PutApproval(ctx context.Context, v Approval) (fresh bool, err error) {
	return result(ctx, s, "write approval "+v.ID, func(t *tx) (bool, error) {
		n, err := t.exec(putApproval, v.fields()...)
		return n > 0, err
	})
}

// EndApproval gives a waiting request its end: v's State, Scope, By, Reason and Ended, with the rules that the answer makes. ended is
// false, and nothing is written, if it does not wait any more. now is the row after that; its ID is empty for an unknown id.
func (s *Store) EndApproval(ctx context.Context, v Approval, rules ...ApprovalRule) (now Approval, ended bool, err error) {
	now, err = result(ctx, s, "end approval "+v.ID, func(t *tx) (row Approval, err error) {
		n, err := t.exec(`UPDATE approvals SET state = ?, scope = ?, by = ?, reason = ?, ended_at = ? WHERE id = ? AND state = 'waiting'`,
			v.State, v.Scope, v.By, v.Reason, stamp(v.Ended), v.ID)
		if err != nil {
			return row, err
		}
		ended = n > 0
		for i := range rules {
			if ended {
				if err := t.do(putRule, rules[i].fields()...); err != nil {
					return row, err
				}
			}
		}
		_, err = t.found(`SELECT `+approvalColumns+` FROM approvals WHERE id = ?`, []any{v.ID}, row.fields()...)
		return row, err
	})
	return now, ended && err == nil, err
}

// WithdrawApprovals ends all requests that wait, because no one waits for their answer any more. It returns them as they are then.
func (s *Store) WithdrawApprovals(ctx context.Context, reason string, at time.Time) ([]Approval, error) {
	return result(ctx, s, "withdraw the open approvals", func(t *tx) ([]Approval, error) {
		open, err := t.approvals(`state = 'waiting' ORDER BY asked_at, id`)
		if err != nil || len(open) == 0 {
			return nil, err
		}
		for i := range open {
			open[i].State, open[i].Reason, open[i].Ended = ApprovalWithdrawn, reason, at
		}
		return open, t.do(`UPDATE approvals SET state = 'withdrawn', reason = ?, ended_at = ? WHERE state = 'waiting'`, reason, stamp(at))
	})
}

// approvals are the requests that where selects.
func (t *tx) approvals(where string) (all []Approval, err error) {
	st, err := t.prepared(`SELECT ` + approvalColumns + ` FROM approvals WHERE ` + where)
	if err != nil {
		return nil, err
	}
	rows, err := st.QueryContext(context.Background())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v Approval
		if err := rows.Scan(v.fields()...); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// SetApprovalCard records which message of which chat shows a request.
func (s *Store) SetApprovalCard(ctx context.Context, v Approval) error {
	return s.change(ctx, "set the card of approval "+v.ID, `UPDATE approvals SET card_chat = ?, card_target = ?, card = ? WHERE id = ?`, v.CardChat, v.CardTarget, v.Card, v.ID)
}

// Approvals are the requests that wait, oldest first, and then the last ones that ended, newest first, at most ended.
func (s *Store) Approvals(ctx context.Context, ended int) ([]Approval, error) {
	open, err := list[Approval](ctx, s, "read the open approvals", `SELECT `+approvalColumns+` FROM approvals WHERE state = 'waiting' ORDER BY asked_at, id`)
	if err != nil || ended <= 0 {
		return open, err
	}
	over, err := list[Approval](ctx, s, "read the last approvals", `SELECT `+approvalColumns+` FROM approvals WHERE ended_at IS NOT NULL ORDER BY ended_at DESC, id LIMIT ?`, ended)
	return append(open, over...), err
}

// Approval is one request; false: there is none with this id.
func (s *Store) Approval(ctx context.Context, id string) (Approval, bool, error) {
	return first[Approval](ctx, s, "read approval "+id, `SELECT `+approvalColumns+` FROM approvals WHERE id = ?`, id)
}

// ApprovalRules are the rules, oldest first.
func (s *Store) ApprovalRules(ctx context.Context) ([]ApprovalRule, error) {
	return list[ApprovalRule](ctx, s, "read the rules of approvals", `SELECT `+ruleColumns+` FROM approval_rules ORDER BY at, id`)
}

// DropApprovalRule deletes a rule. It reports false if there is none with this id.
func (s *Store) DropApprovalRule(ctx context.Context, id string) (found bool, err error) {
	return result(ctx, s, "delete approval rule "+id, func(t *tx) (bool, error) {
		n, err := t.exec(`DELETE FROM approval_rules WHERE id = ?`, id)
		return n > 0, err
	})
}

// phrases is a list of texts in a column, as JSON.
type phrases []string

// Value is for database/sql.
func (v phrases) Value() (driver.Value, error) { return asJSON(v), nil }

// Scan is for database/sql.
func (v *phrases) Scan(value any) error {
	text, is := value.(string)
	if !is {
		return fmt.Errorf("a column of texts holds %T", value)
	}
	if json.Unmarshal([]byte(text), (*[]string)(v)) != nil { // damaged: people read it as it is
		*v = phrases{text}
	}
	return nil
}
