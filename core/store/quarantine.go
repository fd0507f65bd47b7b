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
}

// String describes the row in a sentence.
func (i InvalidRow) String() string { return fmt.Sprintf("%s %s: %s", i.Table, i.Row, i.Why) }

// column is one column of a validated table, and the rule for its value. The function returns what is wrong with it.
type column struct {
	name  string
	judge func(v any, now time.Time) string
}

// rowRule is a table with rows that a start uses. They are validated before anything is done for them.
type rowRule struct {
	table   string
	columns []column
	// names are the columns that name a row to a person. key are those that name it to SQLite.
	names, key []string
	// where selects the rows that a start would use, along an index.
	where string
	// settle makes such a row harmless, for any content. It runs with the key's values, and ?1 as the time. Empty: the
	// row is deleted.
	settle string
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

// rowRules are in the order in which a start reads the tables. A conversation continues: of a session only the invalid
// values are replaced, by the safest ones. A message keeps its row, so that its platform cannot deliver it a second time.
var rowRules = []rowRule{
	{
		table: "lives", names: []string{"id"}, key: []string{"seq"}, where: "ORDER BY seq DESC LIMIT 1000",
		columns: []column{
			{"id", name},
			{"pid", pidOrNone},
			{"start_ticks", count},
			{"boot_id", text},
			{"version", text},
			{"started_at", moment},
			{"ended_at", moment},
			{"heartbeat_at", moment},
			{"outcome", oneOf(outcomes)},
			{"phase", text},
			{"reason", text},
			{"by", text},
			{"rss", count},
			{"clock_doubted", count},
		},
	},
	{
		table: "shutdowns", names: []string{"id", "life"}, key: []string{"seq"}, where: "ORDER BY seq DESC LIMIT 20",
		columns: []column{{"id", name}, {"life", text}, {"report", report}},
	},
	{
		table: "processes", names: []string{"life", "pid"}, key: []string{"life", "pid", "start_ticks"}, where: "WHERE ended_at IS NULL",
		columns: []column{
			{"life", name},
			{"pid", pid},
			{"start_ticks", count},
			{"boot_id", text},
			{"session", text},
			{"command", text},
			{"policy", oneOf(policies)},
			{"started_at", past},
		},
	},
	{
		table: "inbox", names: []string{"id"}, key: []string{"seq"}, where: "WHERE state <> 'answered'",
		columns: []column{
			{"id", name},
			{"dedupe", textOrNone},
			{"session", name},
			{"adapter", text},
			{"target", text},
			{"user", text},
			{"text", text},
			{"at", moment},
			{"state", oneOf([]string{string(InboxWaiting), string(InboxRunning)})},
		},
		settle: "UPDATE inbox SET state = 'answered', at = ?1, " + asText("id", "session", "adapter", "target", "user", "text"),
	},
	{
		table: "outbox", names: []string{"id"}, key: []string{"seq"}, where: "WHERE state = 'waiting'",
		columns: []column{{"id", name}, {"session", text}, {"adapter", name}, {"target", text}, {"text", text}, {"at", moment}, {"ended_at", none}},
		settle:  "UPDATE outbox SET state = 'refused', reason = 'invalid row', at = ?1, ended_at = ?1, " + asText("id", "session", "adapter", "target", "text"),
	},
	{
		table: "turns", names: []string{"id"}, key: []string{"id"}, where: "WHERE state = 'running'",
		columns: []column{{"id", name}, {"session_id", name}, {"life", text}, {"started_at", moment}, {"ended_at", none}, {"tokens_in", count}, {"tokens_out", count}},
		settle:  "UPDATE turns SET state = 'interrupted', reason = 'invalid row', started_at = ?1, ended_at = ?1, tokens_in = 0, tokens_out = 0, " + asText("life"),
	},
	{
		table: "sessions", names: []string{"key", "id"}, key: []string{"seq"}, where: "WHERE ended_at IS NULL",
		columns: []column{
			{"id", name},
			{"key", name},
			{"platform", text},
			{"user", text},
			{"target", text},
			{"state", oneOf(sessionStates)},
			{"created_at", moment},
			{"last_activity_at", moment},
			{"tokens_in", count},
			{"tokens_out", count},
			{"caller_by", oneOf(callers)},
			{"caller_uid", uidOrNone},
		},
		settle: `UPDATE sessions SET
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
func (s *Store) QuarantineRows(ctx context.Context, tables []string, now time.Time) ([]InvalidRow, error) {
	var found []InvalidRow
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
		for _, r := range rows {
			found = append(found, r.InvalidRow)
		}
	}
	return found, nil
}

// rejectedRow is an invalid row with its columns.
type rejectedRow struct {
	InvalidRow
	values map[string]any
}

func (s *Store) validate(ctx context.Context, rule rowRule, now time.Time) ([]rejectedRow, error) {
	columns := make([]string, 0, len(rule.columns)+1)
	for _, c := range rule.columns {
		columns = append(columns, c.name)
	}
	if rule.key[0] == "seq" {
		columns = append(columns, "seq")
	}
	var out []rejectedRow
	query := "SELECT " + strings.Join(columns, ", ") + " FROM " + rule.table + " " + rule.where
	err := s.read(ctx, "validate the rows of "+rule.table, query, nil, func(rows *sql.Rows) error {
		values := make([]any, len(columns))
		dest := make([]any, len(columns))
		for i := range values {
			dest[i] = &values[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		if why := rule.wrong(values, now); why != "" {
			r := rejectedRow{InvalidRow{Table: rule.table, Why: why}, map[string]any{}}
			for i, c := range columns {
				r.values[c] = values[i]
			}
			var names []string
			for _, n := range rule.names {
				names = append(names, shown(r.values[n]))
			}
			r.Row = strings.Join(names, " ")
			r.Name, _ = r.values[rule.names[0]].(string)
			out = append(out, r)
		}
		return nil
	})
	return out, err
}

// wrong is what is invalid about a row with these values; empty if nothing is.
func (rule rowRule) wrong(values []any, now time.Time) string {
	for i, c := range rule.columns {
		if why := c.judge(values[i], now); why != "" {
			return c.name + " " + why
		}
	}
	return ""
}

func (t *tx) quarantine(rule rowRule, r rejectedRow, now time.Time) error {
	row, err := json.Marshal(r.values)
	if err != nil { // a number that JSON does not have
		row, _ = json.Marshal(fmt.Sprint(r.values))
	}
	if _, err := t.exec(`INSERT INTO quarantine (source, row, why, at) VALUES (?, ?, ?, ?)`, rule.table, string(row), r.Why, stamp(now)); err != nil {
		return err
	}
	settle, args := rule.settle, []any{stamp(now)}
	if settle == "" {
		settle, args = "DELETE FROM "+rule.table, nil
	}
	for i, k := range rule.key {
		settle += []string{" WHERE ", " AND "}[min(i, 1)] + fmt.Sprintf("%s IS ?%d", k, len(args)+1)
		args = append(args, r.values[k])
	}
	_, err = t.exec(settle, args...)
	return err
}

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

func textOrNone(v any, now time.Time) string {
	if v == nil {
		return ""
	}
	return text(v, now)
}

func name(v any, now time.Time) string {
	if v == "" {
		return "is empty"
	}
	return text(v, now)
}

func integer(v any, least, most int64, what string) string {
	n, is := v.(int64)
	switch {
	case !is:
		return "is not a number: " + shown(v)
	case n < least || n > most:
		return fmt.Sprintf("is %d, which is not a valid %s", n, what)
	}
	return ""
}

func pid(v any, _ time.Time) string { return integer(v, 1, maxPID, "process id") }

func pidOrNone(v any, _ time.Time) string { return integer(v, 0, maxPID, "process id") }

func uidOrNone(v any, _ time.Time) string { return integer(v, -1, maxUID, "user id") }

func count(v any, _ time.Time) string { return integer(v, 0, math.MaxInt64, "count") }

func moment(v any, _ time.Time) string {
	if v == nil {
		return ""
	}
	return integer(v, 0, lastMoment, "time")
}

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

func oneOf(words []string) func(any, time.Time) string {
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
