package approval

import (
	"cmp"
	"context"
	"slices"
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

// answer is what a person says to a request.
type answer struct {
	id     string
	allow  bool
	scope  ops.Scope
	reason string
	// text is the answer to a question, and words means that there is one.
	text  string
	words bool
	// by is who answers, for people and the audit. may refuses who may not; nil: everyone who comes this way may.
	by  string
	may func(row store.Approval) error
}

// Answer implements operator.InboxSource for callers of the control socket, the console and the command line, who are owners. The
// operator has refused tools, and writes the audit row.
func (b *Book) Answer(ctx context.Context, cmd ops.Command) (detail string, err error) {
	return b.answer(ctx, answer{
		id: cmd.Target, allow: cmd.Verb == ops.VerbApprove, scope: cmd.Scope, reason: cmd.Reason, by: cmd.By.User, text: cmd.Text, words: cmd.Verb == ops.VerbAnswer,
	})
}

// AnswerChat is the answer of a person in the chat of the session key. user is the person as the platform names them, words are a
// scope for an approval and a reason for a refusal. A program that talks through the API may not answer. Its audit row is written here.
func (b *Book) AnswerChat(ctx context.Context, key string, m session.Message, id string, allow bool, words string) (detail string, err error) {
	a := answer{id: id, allow: allow, by: term.Clean(m.User, 80)}
	if a.reason = words; allow {
		if a.scope, a.reason = ops.Scope(strings.ToLower(words)), ""; a.scope != "" && !slices.Contains(ops.Scopes, a.scope) {
			return "", &ops.Error{Code: ops.CodeInvalid, Message: "unknown scope " + term.Quote(words), Hint: "write /approve ID, or turn, session or always behind it"}
		}
	}
	platform := session.Platform(key)
	who := access.Person{Platform: platform, ID: session.PersonOf(m.User)}
	a.may = func(row store.Approval) error {
		switch {
		case m.Operator, row.Kind == question && m.Caller.By == "" && b.mayReply(key, m, row):
			return nil
		case m.Caller.By != "" || platform == access.API:
			return &ops.Error{Code: ops.CodeForbidden, Message: "a program does not answer approvals through a chat request", Hint: "use `gatewaytui approve` or the console"}
		case !b.o.People.MayAnswer(who):
			return &ops.Error{Code: ops.CodeForbidden, Message: "only an owner may answer this request", Hint: "owners are in access.owners of the config; the command line and the console may answer too"}
		case allow && tooLong(row):
			return &ops.Error{Code: ops.CodeForbidden, Message: "this request is too long to be shown whole in a chat", Hint: "read and answer it with `gatewaytui inbox` and `gatewaytui approve " + row.ID + "`, or in the console"}
		}
		return nil
	}
	detail, err = b.answer(ctx, a)
	b.audit(ctx, key, a, detail, err)
	return detail, err
}

// audit writes the row of an answer in a chat, also of one that was refused.
func (b *Book) audit(ctx context.Context, key string, a answer, detail string, failed error) {
	if b.store == nil {
		return
	}
	verb, state := ops.VerbDeny, ops.RequestDone
	switch {
	case a.allow:
		verb = ops.VerbApprove
	case a.words:
		verb = ops.VerbAnswer
	}
	if failed != nil {
		state, detail = ops.RequestFailed, failed.Error()
	}
	ctx, cancel := b.store.Patient(ctx)
	defer cancel()
	err := b.store.PutAudit(ctx, store.Audit{
		ID: b.o.NewID(), At: time.Now(), Verb: string(verb), Target: canonical(a.id), Via: "chat", UID: -1, User: a.by, Session: key, Reason: a.reason, State: string(state), Detail: detail,
	})
	if err != nil {
		b.o.Log.Warn("answer not in the audit", "event", ops.LogApproval, "session", key, "error", term.Clean(err.Error(), 300))
	}
}

// answer ends the request that a names, and no other. The error says why nothing was done.
func (b *Book) answer(ctx context.Context, a answer) (detail string, err error) {
	id := canonical(a.id)
	b.mu.Lock()
	r := b.waiting[id]
	var row store.Approval
	if r != nil {
		row = r.row
	}
	b.mu.Unlock()
	if r == nil {
		return "", b.gone(ctx, id)
	}
	if a.may != nil {
		if err := a.may(row); err != nil {
			return "", err
		}
	}
	if err := a.fits(row); err != nil {
		return "", err
	}
	a.scope = cmp.Or(a.scope, ops.ScopeOnce)
	if a.allow && !slices.Contains(scopes(row), string(a.scope)) {
		return "", &ops.Error{Code: ops.CodeInvalid, Message: "request " + id + " cannot be approved with the scope " + string(a.scope), Hint: "it takes: " + strings.Join(scopes(row), ", ")}
	}
	now := time.Now()
	if !now.Before(row.Expires) {
		return "", expired(id, row.Expires)
	}
	row.State, row.By, row.Reason, row.Ended = store.ApprovalDenied, a.by, term.Clean(a.reason, 1000), now
	var rules []store.ApprovalRule
	if a.words {
		words, err := reply(row, a.text)
		if err != nil {
			return "", err
		}
		row.State = store.ApprovalAnswered
		b.mu.Lock()
		r.reply = words
		b.mu.Unlock()
	}
	if a.allow {
		row.State, row.Scope = store.ApprovalAllowed, string(a.scope)
		if a.scope == ops.ScopeSession || a.scope == ops.ScopeAlways {
			rules = r.terms.derive(row, r.step, a.by, now)
		}
	}
	row, err = b.finish(ctx, r, row, a.scope, rules)
	if err != nil {
		return "", err
	}
	return said(row, rules), nil
}

// fits is why an answer is not of the kind that a request takes.
func (a answer) fits(row store.Approval) error {
	switch {
	case row.Kind == question && a.allow:
		return &ops.Error{Code: ops.CodeInvalid, Message: "question " + row.ID + " asks for a text", Hint: "write /answer " + row.ID + " TEXT"}
	case row.Kind != question && a.words:
		return &ops.Error{Code: ops.CodeInvalid, Message: "request " + row.ID + " asks for a yes or a no", Hint: "write /approve " + row.ID + " or /deny " + row.ID}
	}
	return nil
}

// finish writes the end of a request, and then lets its turn go on. After an error nothing runs.
func (b *Book) finish(ctx context.Context, r *request, row store.Approval, scope ops.Scope, rules []store.ApprovalRule) (store.Approval, error) {
	ctx, cancel := b.store.Patient(ctx)
	defer cancel()
	durable := rules
	if scope != ops.ScopeAlways {
		durable = nil
	}
	now, ended, err := b.store.EndApproval(ctx, row, durable...)
	if err != nil {
		return row, &ops.Error{Code: ops.CodeUnavailable, Message: "the answer could not be saved: " + term.Clean(store.Reason(err), 200), Hint: "nothing was run; " + store.Advice(err) + ", then answer again"}
	}
	if !ended || !b.settle(r, row, scope, rules) {
		return row, over(now)
	}
	return row, nil
}

// settle takes a request that has ended out of what waits, and lets its turn go on with the row. It reports false, and does nothing,
// if that was done before.
func (b *Book) settle(r *request, row store.Approval, scope ops.Scope, rules []store.ApprovalRule) bool {
	b.mu.Lock()
	if r.ended {
		b.mu.Unlock()
		return false
	}
	r.ended = true
	delete(b.waiting, row.ID)
	if row.State == store.ApprovalAllowed {
		m := b.memory(row.Session, row.SessionID, root(row.Turn))
		switch scope {
		case ops.ScopeTurn:
			m.kinds[r.step.Kind] = true
		case ops.ScopeSession:
			m.granted = append(m.granted, rules...)
		case ops.ScopeAlways:
			b.rules = append(b.rules, rules...)
		}
	}
	r.row = row
	card := r.card
	r.outcome <- row
	b.mu.Unlock()
	b.over(row)
	b.refresh(card, row)
	return true
}

// end gives a request an end that no person chose, unless it has one. It returns its row as it ended.
func (b *Book) end(ctx context.Context, r *request, end store.Approval) store.Approval {
	b.mu.Lock()
	row := r.row
	b.mu.Unlock()
	row.State, row.Reason, row.Ended = end.State, end.Reason, time.Now()
	wctx, cancel := b.store.Patient(ctx)
	defer cancel()
	now, ended, err := b.store.EndApproval(wctx, row)
	if err != nil { // the next life withdraws it; in this one no answer reaches it any more
		b.o.Log.Warn("end of an approval not saved", "event", ops.LogApproval, "id", row.ID, "error", term.Clean(err.Error(), 300))
	}
	if err == nil && !ended {
		if now.State == store.ApprovalAllowed || now.State == store.ApprovalDenied || now.State == store.ApprovalAnswered { // a person was faster, whose call sends the outcome next
			return <-r.outcome
		}
		return now // the stop withdrew it
	}
	b.settle(r, row, "", nil)
	return row
}

// gone says why a request that does not wait takes no answer.
func (b *Book) gone(ctx context.Context, id string) error {
	if b.store != nil {
		if row, found, err := b.store.Approval(ctx, id); err == nil && found {
			return over(row)
		}
	}
	return &ops.Error{Code: ops.CodeNotFound, Message: "no request " + term.Quote(id) + " waits for an answer", Hint: "`gatewaytui inbox` lists those that do"}
}

// over is the error for an answer to a request that has ended.
func over(row store.Approval) error {
	why := map[store.ApprovalState]string{
		store.ApprovalAllowed: "was allowed", store.ApprovalAnswered: "was answered", store.ApprovalDenied: "was denied", store.ApprovalWithdrawn: "was withdrawn", store.ApprovalRefused: "was refused at once",
	}[row.State]
	switch {
	case row.State == store.ApprovalExpired:
		return expired(row.ID, row.Expires)
	case row.State == store.ApprovalWaiting:
		why = "belongs to an earlier life of the gateway"
	case row.By != "":
		why += " by " + term.Clean(row.By, 80)
	case row.Reason != "":
		why += " (" + term.Clean(row.Reason, 200) + ")"
	}
	return &ops.Error{Code: ops.CodeConflict, Message: "request " + row.ID + " waits no longer: it " + why, Hint: "this answer changed nothing; the agent can ask again"}
}

func expired(id string, at time.Time) error {
	return &ops.Error{Code: ops.CodeConflict, Message: "request " + id + " expired " + text.Age(at) + " ago", Hint: "nothing was run; the agent can ask again"}
}

// scopes are the scopes that an approval of a request can have.
func scopes(row store.Approval) []string {
	all := []ops.Scope{ops.ScopeOnce}
	switch {
	case row.Kind == string(tool.StepStop):
	case row.InputOf != "", row.Kind == string(tool.StepWrite):
		all = append(all, ops.ScopeTurn)
	default:
		all = ops.Scopes
	}
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = string(s)
	}
	return out
}

// said is what an answer did, in one line.
func said(row store.Approval, rules []store.ApprovalRule) string {
	switch {
	case row.State == store.ApprovalAnswered:
		return "answered"
	case row.Kind == question:
		return "declined; the agent goes on without an answer"
	case row.State == store.ApprovalDenied:
		return "denied; it is not run"
	}
	switch ops.Scope(row.Scope) {
	case ops.ScopeTurn:
		return "allowed, and what else this turn asks of this kind"
	case ops.ScopeSession:
		return "allowed, and until the conversation ends also " + ruleWords(rules)
	case ops.ScopeAlways:
		return "allowed, and until " + rules[0].Expires.Format(time.DateOnly) + " also " + ruleWords(rules)
	}
	return "allowed once"
}

// Inbox implements operator.InboxSource: what waits, and the last requests that ended.
func (b *Book) Inbox() []ops.InboxItem {
	b.mu.Lock()
	rows := make([]store.Approval, 0, len(b.waiting)+len(b.recent))
	for _, r := range b.waiting {
		rows = append(rows, r.row)
	}
	rows = append(rows, b.recent...)
	b.mu.Unlock()
	items := make([]ops.InboxItem, len(rows))
	for i, row := range rows {
		items[i] = b.item(row)
	}
	return items
}

// item is a request as the inbox shows it.
func (b *Book) item(row store.Approval) ops.InboxItem {
	item := ops.InboxItem{
		ID: row.ID, Kind: ops.InboxKind(row.Kind), Session: row.Session, Turn: root(row.Turn), AskedAt: ops.At(row.Asked), Expires: ops.At(row.Expires),
		State: ops.InboxState(row.State), Who: b.answerers(row), Text: asks(row), Command: row.Command, Folder: row.Folder, Environment: row.Environment,
		Reasons: row.Reasons, Options: scopes(row), By: row.By, AnsweredAt: ops.At(row.Ended),
	}
	if row.Kind == question {
		item.Options, item.Reasons = row.Reasons, nil
	}
	return item
}
