package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

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
		rules:  []rule{{name, "id adapter"}, {text, "session target text"}, {moment, "at"}, {none, "ended_at"}, {text, "placeholder"}, {count, "parts"}, {whole(0, 1, "truth"), "tried"}, {text, "file buttons"}},
		repair: "UPDATE outbox SET state = 'refused', reason = 'invalid row', at = ?1, ended_at = ?1, " + asText("id", "session", "adapter", "target", "text"),
	},
	{
		table: "drafts", where: "", names: []string{"id"}, key: []string{"id"},
		rules: []rule{{name, "id adapter"}, {text, "session target message"}, {whole(0, 1, "truth"), "becomes"}, {moment, "at"}},
	},
	{
		table: "people", where: "", names: []string{"platform", "id"}, key: []string{"platform", "id"},
		rules: []rule{
			{name, "platform id"},
			{oneOf([]string{string(ops.RoleOwner), string(ops.RoleMember), string(ops.RoleGuest), ""}), "role"},
			{oneOf([]string{string(ops.PersonAllowed), string(ops.PersonBlocked)}), "state"},
			{oneOf([]string{string(ops.FromPairing), string(ops.FromVerb)}), "source"},
			{text, "by name"},
			{moment, "at"},
		},
		repair: "UPDATE people SET role = '', state = 'blocked', source = 'verb', at = ?1, " + asText("platform", "id", "by", "name"),
	},
	{
		table: "pairings", where: "", names: []string{"platform", "id"}, key: []string{"platform", "id"},
		rules: []rule{
			{name, "platform id"},
			{oneOf([]string{string(PairingTold), string(PairingOpen), string(PairingUsed)}), "state"},
			{text, "name code"},
			{moment, "asked expires"},
		},
	},
	{
		table: "pairing_misses", where: "", names: seq, key: seq,
		rules: []rule{{moment, "at"}},
	},
	{
		table: "approvals", where: "WHERE state = 'waiting'", names: []string{"id"}, key: []string{"id"},
		rules: []rule{
			{name, "id session kind"},
			{text, "session_id turn agent who command input_of folder environment reasons scope by reason card_chat card_target card"},
			{moment, "asked_at expires_at"},
			{none, "ended_at"},
		},
		repair: "UPDATE approvals SET state = 'withdrawn', reason = 'invalid row', asked_at = ?1, ended_at = ?1, reasons = '[]', card = '', " + asText("session", "turn", "command"),
	},
	{
		table: "approval_rules", where: "", names: []string{"id"}, key: []string{"id"},
		rules: []rule{{name, "id agent kind rule"}, {text, "environment folder session approval by"}, {whole(0, 1, "truth"), "whole"}, {moment, "at expires_at"}},
	},
	{
		table: "jobs", where: "", names: []string{"name"}, key: []string{"name"},
		rules: []rule{
			{name, "name schedule zone prompt"},
			{oneOf([]string{"config", "chat", "tool"}), "source"},
			{oneOf([]string{"once", "skip"}), "missed"},
			{text, "owner agent deliver target allow last_result last_reason"},
			{whole(0, 1, "truth"), "paused"},
			{moment, "made_at next_at last_at"},
			{count, "failures"},
		},
	},
	{
		table: "job_runs", where: "WHERE result = 'running'", names: []string{"id"}, key: []string{"id"},
		rules: []rule{{name, "id job"}, {text, "reason by"}, {moment, "due_at started_at"}, {none, "ended_at"}, {count, "times"}},
	},
	{
		table: "environments", where: "", names: []string{"id"}, key: []string{"id"},
		rules: []rule{{name, "id kind program"}, {text, "name session life"}, {whole(0, 1, "truth"), "made"}, {moment, "at"}},
	},
	{
		table: "turns", where: "WHERE state = 'running'", names: []string{"id"}, key: []string{"id"},
		rules:  []rule{{name, "id session_id"}, {text, "life who"}, {moment, "started_at"}, {none, "ended_at undone_at"}, {count, "tokens_in tokens_out tokens_cached tokens_unpriced charged"}, {orNone(count), "cost"}, {orNone(text), "reserved"}},
		repair: "UPDATE turns SET reserved = NULL, charged = 0, state = 'interrupted', reason = 'invalid row', started_at = ?1, ended_at = ?1, tokens_in = 0, tokens_out = 0, tokens_cached = 0, tokens_unpriced = 0, cost = NULL, undone_at = NULL, " + asText("life", "who"),
	},
	{
		table: "usage", where: "ORDER BY seq DESC LIMIT 1000", names: []string{"day", "budget", "model"}, key: seq,
		rules: []rule{{name, "day budget"}, {text, "agent model person session job"}, {count, "calls tokens_in tokens_out tokens_cached tokens_unpriced cost priced estimated"}},
	},
	{
		table: "budget_notices", where: "ORDER BY seq DESC LIMIT 1000", names: []string{"budget", "window"}, key: seq,
		rules: []rule{{name, "budget window"}, {text, "period text"}, {count, "percent"}, {moment, "at"}},
	},
	{
		table: "budget_raises", where: "ORDER BY seq DESC LIMIT 1000", names: []string{"budget"}, key: seq,
		rules: []rule{{name, "budget"}, {text, "by"}, {count, "money tokens"}, {moment, "until at"}},
	},
	{
		table: "sessions", where: "WHERE ended_at IS NULL", names: []string{"key", "id"}, key: seq,
		rules: []rule{
			{name, "id key"},
			{text, "platform user target agent model model_choice busy"},
			{oneOf(sessionStates), "state"},
			{moment, "created_at last_activity_at"},
			{count, "tokens_in tokens_out tokens_cached context_used context_window"},
			{orNone(count), "cost"},
			{oneOf(callers), "caller_by"},
			{whole(-1, maxUID, "user id"), "caller_uid"},
		},
		repair: `UPDATE sessions SET
			state = iif(state IN ('` + strings.Join(sessionStates, "', '") + `'), state, 'interrupted'),
			` + asText("key", "platform", "user", "target", "agent", "model", "model_choice", "busy") + `,
			created_at = iif(` + sound("created_at") + `, created_at, ?1),
			last_activity_at = iif(` + sound("last_activity_at") + `, last_activity_at, ?1),
			tokens_in = iif(typeof(tokens_in) = 'integer', max(tokens_in, 0), 0),
			tokens_out = iif(typeof(tokens_out) = 'integer', max(tokens_out, 0), 0),
			context_used = iif(typeof(context_used) = 'integer', max(context_used, 0), 0),
			context_window = iif(typeof(context_window) = 'integer', max(context_window, 0), 0),
			tokens_cached = iif(typeof(tokens_cached) = 'integer', max(tokens_cached, 0), 0),
			cost = iif(typeof(cost) = 'integer' AND cost >= 0, cost, NULL),
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
	AtStart = []string{"lives", "shutdowns", "processes", "inbox", "outbox", "drafts", "environments", "people", "pairings", "pairing_misses", "approvals", "approval_rules", "jobs", "job_runs", "turns", "usage", "budget_notices", "budget_raises"}
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
