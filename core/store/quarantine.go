package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

// InvalidRow is a row with impossible values: the database was changed by hand, by another program or by a disk.
type InvalidRow struct {
	Table, Row string // Row names it: life and pid of a process, the id of a message
	Why        string
	// Name is the first part of Row as it is stored: the key of a session.
	Name string

	values map[string]any // by column
}

// String describes the row in a sentence.
func (i InvalidRow) String() string { return fmt.Sprintf("%s %s: %s", i.Table, i.Row, i.Why) }

// judge returns what is wrong with the value of a column; empty: nothing is.
type judge func(v any, now time.Time) string

// rule is a judge of some columns, whose names are separated by spaces.
type rule struct {
	judge   judge
	columns string
}

// rowRule is a table with rows that a start uses. They are validated before anything is done for them.
type rowRule struct {
	table string
	// where selects the rows that a start would use, along an index.
	where string
	// names are the columns that name a row to a person. key are those that name it to SQLite.
	names, key []string
	rules      []rule
	// repair makes such a row harmless, for any content. It runs with the key's values, and ?1 as the time. Empty: the
	// row is deleted.
	repair string
}

// policies are those of core/process, outcomes those of a life.
var (
	policies      = []string{"turn", "session", "kept", "gateway"}
	outcomes      = []string{string(ops.OutcomeClean), string(ops.OutcomeCutShort), string(ops.OutcomeCrashed), string(ops.OutcomeRunning)}
	callers       = []string{"", string(ops.ByKernel), string(ops.ByKey)}
	sessionStates = []string{
		string(ops.SessionIdle), string(ops.SessionRunning), string(ops.SessionQueued), string(ops.SessionWaitingApproval),
		string(ops.SessionStalled), string(ops.SessionInterrupted), string(ops.SessionSuspended),
	}
)

var seq = []string{"seq"}

// rowRules are in the order in which a start reads the tables. A conversation continues: of a session only the invalid
// values are replaced, by the safest ones. A message keeps its row, so that its platform cannot deliver it a second time.
var rowRules = []rowRule{
	{
		table: "lives", where: "ORDER BY seq DESC LIMIT 1000", names: []string{"id"}, key: seq,
		rules: []rule{
			{name, "id"},
			{whole(0, maxPID, "process id"), "pid"},
			{count, "start_ticks rss clock_doubted"},
			{text, "boot_id version phase reason by"},
			{moment, "started_at ended_at heartbeat_at"},
			{oneOf(outcomes), "outcome"},
		},
	},
	{
		table: "shutdowns", where: "ORDER BY seq DESC LIMIT 20", names: []string{"id", "life"}, key: seq,
		rules: []rule{{name, "id"}, {text, "life"}, {report, "report"}},
	},
	{
		table: "processes", where: "WHERE ended_at IS NULL", names: []string{"life", "pid"}, key: []string{"life", "pid", "start_ticks"},
		rules: []rule{
			{name, "life"},
			{whole(1, maxPID, "process id"), "pid"},
			{count, "start_ticks"},
			{text, "boot_id session command"},
			{oneOf(policies), "policy"},
			{past, "started_at"},
		},
	},
	{
		table: "inbox", where: "WHERE state <> 'answered'", names: []string{"id"}, key: seq,
		rules: []rule{
			{name, "id session"},
			{orNone(text), "dedupe"},
			{text, "adapter target user text"},
			{moment, "at"},
			{oneOf([]string{string(InboxWaiting), string(InboxRunning)}), "state"},
		},
		repair: "UPDATE inbox SET state = 'answered', at = ?1, " + asText("id", "session", "adapter", "target", "user", "text"),
	},
	{
		table: "outbox", where: "WHERE state = 'waiting'", names: []string{"id"}, key: seq,
		rules:  []rule{{name, "id adapter"}, {text, "session target text"}, {moment, "at"}, {none, "ended_at"}},
		repair: "UPDATE outbox SET state = 'refused', reason = 'invalid row', at = ?1, ended_at = ?1, " + asText("id", "session", "adapter", "target", "text"),
	},
	{
		table: "turns", where: "WHERE state = 'running'", names: []string{"id"}, key: []string{"id"},
		rules:  []rule{{name, "id session_id"}, {text, "life"}, {moment, "started_at"}, {none, "ended_at"}, {count, "tokens_in tokens_out"}},
		repair: "UPDATE turns SET state = 'interrupted', reason = 'invalid row', started_at = ?1, ended_at = ?1, tokens_in = 0, tokens_out = 0, " + asText("life"),
	},
	{
		table: "sessions", where: "WHERE ended_at IS NULL", names: []string{"key", "id"}, key: seq,
		rules: []rule{
			{name, "id key"},
			{text, "platform user target"},
			{oneOf(sessionStates), "state"},
			{moment, "created_at last_activity_at"},
			{count, "tokens_in tokens_out"},
			{oneOf(callers), "caller_by"},
			{whole(-1, maxUID, "user id"), "caller_uid"},
		},
		repair: `UPDATE sessions SET
			state = iif(state IN ('` + strings.Join(sessionStates, "', '") + `'), state, 'interrupted'),
			` + asText("key", "platform", "user", "target") + `,
			created_at = iif(` + sound("created_at") + `, created_at, ?1),
			last_activity_at = iif(` + sound("last_activity_at") + `, last_activity_at, ?1),
			tokens_in = iif(typeof(tokens_in) = 'integer', max(tokens_in, 0), 0),
			tokens_out = iif(typeof(tokens_out) = 'integer', max(tokens_out, 0), 0),
			caller_by = iif(caller_by IN ('` + strings.Join(callers[1:], "', '") + `'), caller_by, ''),
			caller_uid = iif(typeof(caller_uid) = 'integer' AND caller_uid BETWEEN -1 AND ` + strconv.Itoa(maxUID) + `, caller_uid, -1),
			ended_at = iif(key = '', ?1, ended_at), end_reason = iif(key = '', 'it belonged to no chat', end_reason)`,
	},
}

// asText is SQL that gives columns their required type: SQLite changes no row with a column of another type.
func asText(columns ...string) string {
	var set []string
	for _, c := range columns {
		set = append(set, fmt.Sprintf("%[1]s = CAST(%[1]s AS TEXT)", c))
	}
	return strings.Join(set, ", ")
}

// sound is SQL for a valid time.
func sound(column string) string {
	return fmt.Sprintf("%[1]s IS NULL OR typeof(%[1]s) = 'integer' AND %[1]s BETWEEN 0 AND %[2]d", column, int64(lastMoment))
}

// Lists of validated tables, for QuarantineRows.
var (
	// AtStart are the tables with rows that a start uses. Sessions validates those of sessions.
	AtStart = []string{"lives", "shutdowns", "processes", "inbox", "outbox", "turns"}
	// OfSessions is the table to validate when Sessions left some rows out.
	OfSessions = []string{"sessions"}
)

// QuarantineRows validates the rows of tables that a start would use. It copies invalid rows into the table quarantine,
// with the reason, and changes them so that nothing is ever done for them: a process is not signalled, a message is not
// worked on, an answer is not sent. It returns them.
func (s *Store) QuarantineRows(ctx context.Context, tables []string, now time.Time) (found []InvalidRow, err error) {
	for _, rule := range rowRules {
		if !slices.Contains(tables, rule.table) {
			continue
		}
		rows, err := s.validate(ctx, rule, now)
		if err != nil {
			return found, err
		}
		if len(rows) == 0 {
			continue
		}
		err = s.write(ctx, "quarantine rows of "+rule.table, func(t *tx) error {
			for _, r := range rows {
				if err := t.quarantine(rule, r, now); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return found, err
		}
		found = append(found, rows...)
	}
	return found, nil
}

// validate returns the invalid rows of a table.
func (s *Store) validate(ctx context.Context, r rowRule, now time.Time) (out []InvalidRow, err error) {
	var columns []string
	for _, rule := range r.rules {
		columns = append(columns, strings.Fields(rule.columns)...)
	}
	if r.key[0] == "seq" {
		columns = append(columns, "seq")
	}
	query := "SELECT " + strings.Join(columns, ", ") + " FROM " + r.table + " " + r.where
	err = s.read(ctx, "validate the rows of "+r.table, query, nil, func(rows *sql.Rows) error {
		held := make([]any, len(columns))
		dest := make([]any, len(columns))
		for i := range held {
			dest[i] = &held[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		values := map[string]any{}
		for i, c := range columns {
			values[c] = held[i]
		}
		if why := r.wrong(values, now); why != "" {
			var names []string
			for _, n := range r.names {
				names = append(names, shown(values[n]))
			}
			first, _ := values[r.names[0]].(string)
			out = append(out, InvalidRow{Table: r.table, Row: strings.Join(names, " "), Why: why, Name: first, values: values})
		}
		return nil
	})
	return out, err
}

// wrong is what is invalid about a row with these values; empty if nothing is.
func (r rowRule) wrong(values map[string]any, now time.Time) string {
	for _, rule := range r.rules {
		for column := range strings.FieldsSeq(rule.columns) {
			if why := rule.judge(values[column], now); why != "" {
				return column + " " + why
			}
		}
	}
	return ""
}

// quarantine copies an invalid row into the table quarantine, and makes it harmless.
func (t *tx) quarantine(rule rowRule, r InvalidRow, now time.Time) error {
	row, err := json.Marshal(r.values)
	if err != nil { // a number that JSON does not have
		row, _ = json.Marshal(fmt.Sprint(r.values))
	}
	if err := t.do(keepInvalid, rule.table, string(row), r.Why, stamp(now)); err != nil {
		return err
	}
	repair, args := rule.repair, []any{stamp(now)}
	if repair == "" {
		repair, args = "DELETE FROM "+rule.table, nil
	}
	for i, k := range rule.key {
		repair += []string{" WHERE ", " AND "}[min(i, 1)] + fmt.Sprintf("%s IS ?%d", k, len(args)+1)
		args = append(args, r.values[k])
	}
	return t.do(repair, args...)
}

// keepInvalid writes a row of the table quarantine.
const keepInvalid = `INSERT INTO quarantine (source, row, why, at) VALUES (?, ?, ?, ?)`

// invalid reports whether a session has impossible values. It is the fast form of wrong, for the many sessions that every
// start reads.
func (v Session) invalid() bool {
	return v.ID == "" || v.Key == "" || !slices.Contains(sessionStates, string(v.State)) || v.TokensIn < 0 || v.TokensOut < 0 ||
		!slices.Contains(callers, string(v.Caller.By)) || v.Caller.UID < -1 || v.Caller.UID > maxUID || !validTime(v.CreatedAt) || !validTime(v.LastActivityAt)
}

func validTime(t time.Time) bool {
	return t.IsZero() || t.UnixMicro() >= 0 && t.UnixMicro() <= lastMoment
}

// shown is a value for a person, short and on one line.
func shown(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%.60q", v)
	case []byte:
		return fmt.Sprintf("the bytes %.60q", v)
	}
	return fmt.Sprint(v)
}

const (
	// maxPID is the largest that a pid can be (pid_t).
	maxPID = math.MaxInt32
	// maxUID is the largest that a user id can be (uid_t); one more means none.
	maxUID = math.MaxUint32 - 1
	// lastMoment is the last microsecond that RFC 3339 can write: the year 9999.
	lastMoment = 253402300799999999
	// clockSlack is how far the clock may have been ahead when a row was written. A process start beyond it is in the
	// future, so the process with its pid cannot be identified.
	clockSlack = 24 * time.Hour
)

func text(v any, _ time.Time) string {
	if _, is := v.(string); !is {
		return "is not text: " + shown(v)
	}
	return ""
}

func name(v any, now time.Time) string {
	if v == "" {
		return "is empty"
	}
	return text(v, now)
}

// orNone accepts null as well.
func orNone(other judge) judge {
	return func(v any, now time.Time) string {
		if v == nil {
			return ""
		}
		return other(v, now)
	}
}

// whole accepts whole numbers within these limits. what names such a number.
func whole(least, most int64, what string) judge {
	return func(v any, _ time.Time) string {
		n, is := v.(int64)
		switch {
		case !is:
			return "is not a number: " + shown(v)
		case n < least || n > most:
			return fmt.Sprintf("is %d, which is not a valid %s", n, what)
		}
		return ""
	}
}

var (
	count  = whole(0, math.MaxInt64, "count")
	moment = orNone(whole(0, lastMoment, "time"))
)

func past(v any, now time.Time) string {
	if why := moment(v, now); why != "" {
		return why
	}
	if n, is := v.(int64); is && time.UnixMicro(n).After(now.Add(clockSlack)) {
		return "is " + time.UnixMicro(n).UTC().Format(time.RFC3339) + ", which is in the future"
	}
	return ""
}

func none(v any, _ time.Time) string {
	if v != nil {
		return "is " + shown(v) + " though it has not ended"
	}
	return ""
}

func oneOf(words []string) judge {
	return func(v any, _ time.Time) string {
		if s, is := v.(string); is && slices.Contains(words, s) {
			return ""
		}
		return "is " + shown(v) + ", which is not one of " + strings.Join(words, ", ")
	}
}

// report validates an ops.Shutdown as JSON.
func report(v any, now time.Time) string {
	if why := text(v, now); why != "" {
		return why
	}
	var sd ops.Shutdown
	if err := json.Unmarshal([]byte(v.(string)), &sd); err != nil {
		return fmt.Sprintf("is not a report: %.200s", err)
	}
	return ""
}
