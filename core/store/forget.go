package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Forgetting is a person whose data is deleted: what is from before At.
type Forgetting struct {
	// Platform and ID are the platform and its id of the person: telegram and 4711.
	Platform, ID string
	At           time.Time
}

func (f *Forgetting) fields() []any { return []any{&f.Platform, &f.ID, (*stamp)(&f.At)} }

// tail is how the names of a person end that have more than the id: "maria (4711)".
func (f Forgetting) tail() string { return " (" + f.ID + ")" }

// Owns reports whether a session with this key belongs to the person alone: their direct messages, and their own conversations
// in groups. An id may have colons, as that of a Matrix user on a server with a port has.
func (f Forgetting) Owns(key string) bool {
	rest, of := strings.CutPrefix(key, f.Platform+":")
	if !of {
		return false
	}
	if behind, direct := strings.CutPrefix(rest, "dm:"+f.ID); direct && endsID(behind) {
		return true
	}
	member := ":user:" + f.ID
	for rest = ":" + rest; ; {
		at := strings.Index(rest, member)
		if at < 0 {
			return false
		}
		if rest = rest[at+len(member):]; endsID(rest) {
			return true
		}
	}
}

// behindIDs begins what a key has behind the id of a person.
var behindIDs = []string{":thread:", ":topic:", ":bg:"}

// endsID reports whether an id ends before the rest of a key.
func endsID(rest string) bool {
	return rest == "" || slices.ContainsFunc(behindIDs, func(part string) bool { return strings.HasPrefix(rest, part) })
}

// ForgottenText takes the place of a message in a conversation that goes on without its sender. ForgottenUser is its sender.
const (
	ForgottenText = "[a message of a person whose data was deleted]"
	ForgottenUser = "(deleted)"
)

// forgetBatch is how many rows one transaction of a deletion changes.
const forgetBatch = 200

// PutForgetting records that the data of a person is being deleted. A later time replaces an earlier one.
func (s *Store) PutForgetting(ctx context.Context, f Forgetting) error {
	return s.change(ctx, "begin to forget a person", `INSERT INTO forgetting (platform, id, at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at`, f.fields()...)
}

// DropForgetting records that the data of a person is deleted.
func (s *Store) DropForgetting(ctx context.Context, f Forgetting) error {
	return s.change(ctx, "end forgetting a person", `DELETE FROM forgetting WHERE platform = ? AND id = ? AND at = ?`, f.fields()...)
}

// Forgettings are the people whose data is being deleted.
func (s *Store) Forgettings(ctx context.Context) ([]Forgetting, error) {
	return list[Forgetting](ctx, s, "read who is to be forgotten", `SELECT platform, id, at FROM forgetting ORDER BY at`)
}

// named is an id with a name.
type named struct{ id, name string }

func (v *named) fields() []any { return []any{&v.id, &v.name} }

// own are the ids and the keys of the sessions that belong to a person alone, current and ended.
func (s *Store) own(ctx context.Context, f Forgetting) (ids, keys []string, err error) {
	all, err := list[named](ctx, s, "look for the sessions of a person", `SELECT id, key FROM sessions
		WHERE platform = ? AND instr(key, ?) > 0 AND coalesce(created_at, 0) <= ?`, f.Platform, ":"+f.ID, stamp(f.At))
	for _, v := range all {
		if f.Owns(v.name) {
			ids = append(ids, v.id)
			if !slices.Contains(keys, v.name) {
				keys = append(keys, v.name)
			}
		}
	}
	return ids, keys, err
}

// OwnKeys are the keys of the sessions that belong to a person alone, with those that only their waiting messages name.
func (s *Store) OwnKeys(ctx context.Context, f Forgetting) ([]string, error) {
	_, keys, err := s.own(ctx, f)
	if err != nil {
		return nil, err
	}
	open, err := s.OpenInboxOf(ctx, f)
	for _, in := range open {
		if f.Owns(in.Session) && !slices.Contains(keys, in.Session) {
			keys = append(keys, in.Session)
		}
	}
	return keys, err
}

// SharedWith are the keys of the sessions that a person shares with others and in which a message of theirs is.
func (s *Store) SharedWith(ctx context.Context, f Forgetting) (keys []string, err error) {
	err = s.read(ctx, "look for shared sessions of a person", `SELECT DISTINCT s.key FROM sessions s WHERE s.platform = ? AND s.ended_at IS NULL AND EXISTS (
		SELECT 1 FROM messages m WHERE m.session_id = s.id AND m.role = 'user' AND `+ofPerson("m.who")+`)`,
		append([]any{f.Platform}, f.person()...), func(rows *sql.Rows) error {
			var key string
			if err := rows.Scan(&key); err != nil {
				return err
			}
			if !f.Owns(key) {
				keys = append(keys, key)
			}
			return nil
		})
	return keys, err
}

// OpenInboxOf are the messages of a person without an answer.
func (s *Store) OpenInboxOf(ctx context.Context, f Forgetting) ([]Inbox, error) {
	return list[Inbox](ctx, s, "read the inbox", `SELECT `+inboxColumns+` FROM inbox WHERE state <> 'answered' AND adapter = ? AND `+ofPerson("user")+` ORDER BY seq`,
		append([]any{f.Platform}, f.person()...)...)
}

// FilesSentTo are the files of messages that went to a person's own sessions, as they are in the outbox.
func (s *Store) FilesSentTo(ctx context.Context, f Forgetting) (files []string, err error) {
	_, keys, err := s.own(ctx, f)
	if err != nil {
		return nil, err
	}
	err = s.read(ctx, "look for files that were sent", `SELECT file FROM outbox WHERE file <> '' AND session`+inList, []any{asJSON(keys)}, func(rows *sql.Rows) error {
		var file string
		err := rows.Scan(&file)
		files = append(files, file)
		return err
	})
	return files, err
}

// ofPerson is SQL that says whether a column names a person. Its arguments are those of Forgetting.person.
func ofPerson(column string) string {
	return fmt.Sprintf("(%s = ? OR substr(%s, -length(?)) = ?)", column, column)
}

func (f Forgetting) person() []any { return []any{f.ID, f.tail(), f.tail()} }

// search is what the statements of a deletion look for.
type search struct {
	Forgetting
	// ids and keys are the person's own sessions, as JSON.
	ids, keys string
}

// forgetStep deletes rows of one kind. find names them; it takes the arguments of args and then a limit. change is what is done
// for each of them.
type forgetStep struct {
	kind   string
	from   string
	key    string
	args   func(q search) []any
	change []string
}

func (q search) byID() []any  { return []any{q.ids} }
func (q search) byKey() []any { return []any{q.keys} }

const (
	inList = ` IN (SELECT value FROM json_each(?))`
	// fromPerson selects the rows of the inbox that are a person's.
	fromPerson = `coalesce(i.at, 0) <= ? AND (i.session` + inList + ` OR i.adapter = ? AND `
)

func (q search) inbox() []any {
	return append([]any{stamp(q.At), q.keys, q.Platform}, q.person()...)
}

// forgetSteps are in an order in which each may be cut off: what is found through other rows goes before them, and everything
// before the conversations, which name the keys.
var forgetSteps = []forgetStep{
	{
		kind: "messages to chats", key: "o.seq", from: `outbox o WHERE coalesce(o.at, 0) <= ? AND (o.session` + inList + ` OR o.id IN (SELECT i.id FROM inbox i WHERE ` + fromPerson + ofPerson("i.user") + `)))`,
		args: func(q search) []any { return append([]any{stamp(q.At), q.keys}, q.inbox()...) }, change: []string{`DELETE FROM outbox WHERE seq = ?1`},
	},
	{
		kind: "drafts", key: "d.id", from: `drafts d WHERE d.session` + inList + ` OR d.id IN (SELECT i.id FROM inbox i WHERE ` + fromPerson + ofPerson("i.user") + `))`,
		args: func(q search) []any { return append(q.byKey(), q.inbox()...) }, change: []string{`DELETE FROM drafts WHERE id = ?1`},
	},
	{
		kind: "received messages", key: "i.seq", from: `inbox i WHERE ` + fromPerson + ofPerson("i.user") + `)`,
		args: search.inbox, change: []string{`DELETE FROM inbox WHERE seq = ?1`},
	},
	{
		kind: "quarantined rows", key: "r.seq", from: `quarantine r WHERE EXISTS (SELECT 1 FROM json_each(?) j WHERE instr(r.row, j.value) > 0) OR EXISTS (SELECT 1 FROM json_each(?) j WHERE instr(r.row, j.value) > 0)`,
		args: func(q search) []any { return []any{q.ids, q.keys} }, change: []string{`DELETE FROM quarantine WHERE seq = ?1`},
	},
	{
		// Of any time: the end of the person's conversations, just before this, may have made some.
		kind: "notes", key: "n.seq", from: `notes n WHERE n.owner = 'person ' || ? || ':' || ? OR instr(n.people, ' ' || ? || ':' || ? || ' ') > 0`,
		args:   func(q search) []any { return []any{q.Platform, q.ID, q.Platform, q.ID} },
		change: dropNote,
	},
	{kind: "pins", key: "p.seq", from: `pins p WHERE p.session_id` + inList, args: search.byID, change: []string{`DELETE FROM pins WHERE seq = ?1`}},
	{kind: "summaries", key: "c.session_id", from: `compactions c WHERE c.session_id` + inList, args: search.byID, change: []string{`DELETE FROM compactions WHERE session_id = ?1`}},
	{kind: "messages", key: "m.seq", from: `messages m WHERE m.session_id` + inList, args: search.byID, change: []string{`DELETE FROM messages WHERE seq = ?1`}},
	{kind: "turns", key: "t.id", from: `turns t WHERE t.session_id` + inList, args: search.byID, change: []string{`DELETE FROM turns WHERE id = ?1`}},
	{
		kind: "commands", key: "p.life, p.pid, p.start_ticks", from: `processes p WHERE p.ended_at IS NOT NULL AND p.session` + inList,
		args: search.byKey, change: []string{`DELETE FROM processes WHERE life = ?1 AND pid = ?2 AND start_ticks = ?3`},
	},
	// What was used stays in the sums of its day, without who used it.
	{
		kind: "usage", key: "u.seq", from: `usage u WHERE u.person = ? || ':' || ?`,
		args: func(q search) []any { return []any{q.Platform, q.ID} }, change: usageWithout("person"),
	},
	{kind: "usage of conversations", key: "u.seq", from: `usage u WHERE u.session` + inList, args: search.byID, change: usageWithout("session")},
	{
		kind: "warnings about budgets", key: "n.seq", from: `budget_notices n WHERE n.window = 'person' AND substr(n.period, 12) = ? || ':' || ? OR n.window = 'session' AND n.period` + inList,
		args: func(q search) []any { return []any{q.Platform, q.ID, q.ids} }, change: []string{`DELETE FROM budget_notices WHERE seq = ?1`},
	},
	{
		kind: "approvals", key: "a.id", from: `approvals a WHERE a.ended_at IS NOT NULL AND coalesce(a.asked_at, 0) <= ? AND (a.session` + inList + ` OR a.session IN (SELECT key FROM sessions WHERE platform = ?) AND ` + ofPerson("a.who") + `)`,
		args: func(q search) []any { return append([]any{stamp(q.At), q.keys, q.Platform}, q.person()...) }, change: []string{`DELETE FROM approvals WHERE id = ?1`},
	},
	{kind: "rules of approvals", key: "r.id", from: `approval_rules r WHERE r.session` + inList, args: search.byKey, change: []string{`DELETE FROM approval_rules WHERE id = ?1`}},
	{
		kind: "jobs", key: "j.name", from: `jobs j WHERE j.owner = ? || ':' || ?`,
		args: func(q search) []any { return []any{q.Platform, q.ID} }, change: []string{`DELETE FROM job_runs WHERE job = ?1`, `DELETE FROM jobs WHERE name = ?1`},
	},
	{ // the row itself names what is to be removed
		kind: "environments", key: "e.id", from: `environments e WHERE e.session` + inList,
		args: search.byKey, change: []string{`UPDATE environments SET session = '' WHERE id = ?1`},
	},
	{kind: "conversations", key: "s.id", from: `sessions s WHERE s.id` + inList, args: search.byID, change: []string{`DELETE FROM sessions WHERE id = ?1`}},
	{
		// The title of a conversation is from its first message, and its summary may have the words of any.
		kind: "messages in shared conversations", key: "m.seq, m.session_id, m.turn_id",
		from: `messages m WHERE m.role = 'user' AND ` + ofPerson("m.who") + ` AND coalesce(m.at, 0) <= ? AND m.session_id IN (SELECT id FROM sessions WHERE platform = ?) AND m.session_id NOT` + inList,
		args: func(q search) []any { return append(q.person(), stamp(q.At), q.Platform, q.ids) },
		change: []string{
			`UPDATE messages SET content = '` + ForgottenText + `', who = '` + ForgottenUser + `' WHERE seq = ?1`,
			`DELETE FROM compactions WHERE session_id = ?2`,
			`DELETE FROM external_sessions WHERE session_id = ?2`, // the program may remember the message
			`DELETE FROM timelines WHERE turn_id = ?3`,
			`UPDATE turns SET who = '` + ForgottenUser + `' WHERE id = ?3 AND who <> ''`,
			`UPDATE sessions SET title = '' WHERE id = ?2 AND title <> '' AND (SELECT min(seq) FROM messages WHERE session_id = ?2 AND role = 'user') = ?1`,
		},
	},
	{
		kind: "names in shared conversations", key: "s.id", from: `sessions s WHERE s.platform = ? AND ` + ofPerson("s.user") + ` AND coalesce(s.created_at, 0) <= ? AND s.id NOT` + inList,
		args: func(q search) []any { return append(append([]any{q.Platform}, q.person()...), stamp(q.At), q.ids) }, change: []string{`UPDATE sessions SET user = '` + ForgottenUser + `' WHERE id = ?1`},
	},
}

// Forgotten is how many rows of each kind were deleted or, in conversations that go on, replaced. Kinds without any are left out.
type Forgotten map[string]int

func (s *Store) searchFor(ctx context.Context, f Forgetting) (search, error) {
	ids, keys, err := s.own(ctx, f)
	return search{f, asJSON(ids), asJSON(keys)}, err
}

// asJSON is a list of texts as JSON.
func asJSON(all []string) string {
	if all == nil {
		return "[]"
	}
	b, _ := json.Marshal(all) // it never fails
	return string(b)
}

// CountForgotten is what Forget would delete now.
func (s *Store) CountForgotten(ctx context.Context, f Forgetting) (Forgotten, error) {
	q, err := s.searchFor(ctx, f)
	if err != nil {
		return nil, err
	}
	all := Forgotten{}
	for _, step := range forgetSteps {
		n := 0
		err := s.read(ctx, "count the "+step.kind+" of a person", `SELECT count(*) FROM `+step.from, step.args(q), func(rows *sql.Rows) error { return rows.Scan(&n) })
		if err != nil {
			return nil, err
		}
		if n > 0 {
			all[step.kind] = n
		}
	}
	return all, nil
}

// Forget deletes what there is of a person, in small transactions, so that no other call waits long for the writer. Their turns
// must have ended. It may be called again after an error: it goes on where it ended.
func (s *Store) Forget(ctx context.Context, f Forgetting) (Forgotten, error) {
	return s.forget(ctx, f, forgetSteps)
}

// ForgetWaiting is Forget for messages alone, so that a start does not work on those of a person whose deletion was cut off.
func (s *Store) ForgetWaiting(ctx context.Context, f Forgetting) (Forgotten, error) {
	return s.forget(ctx, f, forgetSteps[:3])
}

func (s *Store) forget(ctx context.Context, f Forgetting, steps []forgetStep) (Forgotten, error) {
	all := Forgotten{}
	q, err := s.searchFor(ctx, f)
	if err != nil {
		return all, err
	}
	for _, step := range steps {
		for {
			n, err := s.forgetSome(ctx, step, q)
			if n > 0 {
				all[step.kind] += n
			}
			if err != nil {
				return all, err
			}
			if n < forgetBatch {
				break
			}
		}
	}
	return all, nil
}

// forgetSome changes the next rows of a step. They are looked for by a reader, so that the writer is not held for that.
func (s *Store) forgetSome(ctx context.Context, step forgetStep, q search) (int, error) {
	columns := strings.Count(step.key, ",") + 1
	var found [][]any
	err := s.read(ctx, "look for the "+step.kind+" of a person", `SELECT `+step.key+` FROM `+step.from+` LIMIT ?`, append(step.args(q), forgetBatch), func(rows *sql.Rows) error {
		row, into := make([]any, columns), make([]any, columns)
		for i := range row {
			into[i] = &row[i]
		}
		err := rows.Scan(into...)
		found = append(found, row)
		return err
	})
	if err != nil || len(found) == 0 {
		return 0, err
	}
	ctx, cancel := s.Patience(ctx, Stall)
	defer cancel()
	return len(found), s.write(ctx, "delete the "+step.kind+" of a person", func(t *tx) error {
		for _, row := range found {
			for _, text := range step.change {
				if err := t.do(text, row[:arguments(text)]...); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// arguments is how many numbered arguments a statement takes, at most three.
func arguments(statement string) (n int) {
	for i := 1; i <= 3; i++ {
		if strings.Contains(statement, fmt.Sprintf("?%d", i)) {
			n = i
		}
	}
	return n
}

// usageWithout are the statements that add a row of usage to the row without the value of a column, and delete it.
func usageWithout(column string) []string {
	return []string{
		`INSERT INTO usage (` + usageColumns + `) SELECT ` + strings.Replace(usageColumns, column, "''", 1) + ` FROM usage WHERE seq = ?1` + addUsage,
		`DELETE FROM usage WHERE seq = ?1`,
	}
}
