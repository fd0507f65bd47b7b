package store

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// schemaObject is one row of sqlite_schema (https://www.sqlite.org/schematab.html).
type schemaObject struct {
	Kind  string `json:"type"` // table, index, trigger, view
	Name  string `json:"name"`
	Table string `json:"tbl_name"`
	SQL   string `json:"sql"`
}

// String names the object to a person.
func (o schemaObject) String() string {
	if o.Kind == "trigger" || o.Kind == "index" {
		return fmt.Sprintf("%s %s on %s", o.Kind, shown(o.Name), shown(o.Table))
	}
	return o.Kind + " " + shown(o.Name)
}

// is reports whether o and p are equal.
func (o schemaObject) is(p schemaObject) bool {
	return o.Kind == p.Kind && o.Table == p.Table && slices.Equal(strings.Fields(o.SQL), strings.Fields(p.SQL))
}

// objectsOf returns the objects in a database's schema by name, without those that SQLite creates automatically.
func objectsOf(ctx context.Context, conn *sql.Conn) (map[string]schemaObject, error) {
	rows, err := conn.QueryContext(ctx, "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	defer rows.Close()
	out := map[string]schemaObject{}
	for rows.Next() {
		var o schemaObject
		if err := rows.Scan(&o.Kind, &o.Name, &o.Table, &o.SQL); err != nil {
			return nil, fmt.Errorf("read the schema: %w", err)
		}
		out[o.Name] = o
	}
	return out, rows.Err()
}

// current is the text of the schema that the migrations make: see textOf. A test keeps it equal to the migrations.
//
//go:embed schema.sql
var current string

// textOf is a schema as text: its objects in the order of their names, with a blank line between two.
func textOf(objects map[string]schemaObject) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		o := objects[name]
		fmt.Fprintf(&out, "-- %s %s on %s\n%s;\n\n", o.Kind, o.Name, o.Table, o.SQL)
	}
	return out.String()
}

// isCurrent reports whether a schema is exactly the current one. The count prevents that the text of one object stands
// for two. False decides nothing: compare finds what is different, and which differences matter.
func isCurrent(objects map[string]schemaObject) bool {
	return len(objects) == strings.Count(current, "\n\n") && textOf(objects) == current
}

// expected is the schema that the migrations make. It costs a database in memory, some milliseconds, once in a process.
// Only a schema other than the current one needs it.
var expected = sync.OnceValues(schemaInMemory)

func schemaInMemory() (out map[string]schemaObject, err error) {
	ctx := context.Background() // nothing in memory waits
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if _, err := migrate(ctx, conn, migrations); err != nil {
		return nil, err
	}
	return objectsOf(ctx, conn)
}

// changedSchema refuses a database whose tables are not those of the gateway. It has no path yet: see damaged.
func changedSchema(what string) error {
	return &DamagedError{What: "its schema was changed: " + what}
}

// disarm drops the triggers and views of the database that no gateway made, before a statement could run them (HF31), and
// returns them. A database of a newer gateway is not changed. intact means that migrate and compare have nothing to do,
// because the schema is the current one.
func disarm(ctx context.Context, conn *sql.Conn) (foreign []schemaObject, intact bool, err error) {
	steps, err := stepsOf(migrations)
	if err != nil {
		return nil, false, err
	}
	newest := steps[len(steps)-1].version
	var version int
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return nil, false, fmt.Errorf("read the schema's version: %w", err)
	}
	if version == 0 || version > newest {
		return nil, false, nil
	}
	found, err := objectsOf(ctx, conn)
	if err != nil {
		return nil, false, err
	}
	if version == newest && isCurrent(found) {
		return nil, true, nil
	}
	want, err := expected()
	if err != nil {
		return nil, false, err
	}
	for _, o := range found {
		w, known := want[o.Name]
		switch {
		case o.Kind != "trigger" && o.Kind != "view", known && w.Kind == o.Kind:
		case known:
			return nil, false, changedSchema(fmt.Sprintf("it has %s where the gateway has %s", o, w))
		default:
			foreign = append(foreign, o)
		}
	}
	return foreign, false, drop(ctx, conn, foreign)
}

// drop drops objects in one transaction.
func drop(ctx context.Context, conn *sql.Conn, objects []schemaObject) error {
	if len(objects) == 0 {
		return nil
	}
	var script strings.Builder
	script.WriteString("BEGIN IMMEDIATE;\n")
	for _, o := range objects {
		fmt.Fprintf(&script, "DROP %s \"%s\";\n", strings.ToUpper(o.Kind), strings.ReplaceAll(o.Name, `"`, `""`))
	}
	script.WriteString("COMMIT;")
	if _, err := conn.ExecContext(ctx, script.String()); err != nil {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return fmt.Errorf("drop foreign objects: %w", err)
	}
	return nil
}

// compare compares the schema with the one that the migrations make, once they have run. A table or an index of the
// gateway that is missing or different is a *DamagedError. Foreign indexes on the gateway's tables are dropped, because a
// unique one can refuse rows. Other tables hold other data and are never read: they stay. What was dropped, by disarm
// too, is kept in the table quarantine. It returns what is foreign.
func compare(ctx context.Context, conn *sql.Conn, disarmed []schemaObject, now time.Time) (foreign []InvalidRow, err error) {
	want, err := expected()
	if err != nil {
		return nil, err
	}
	found, err := objectsOf(ctx, conn)
	if err != nil {
		return nil, err
	}
	// Tables come first: an index is missing with its table.
	for _, w := range slices.SortedFunc(maps.Values(want), func(a, b schemaObject) int {
		return cmp.Or(-cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	}) {
		o, there := found[w.Name]
		switch {
		case !there:
			return nil, changedSchema(w.String() + " is missing")
		case !o.is(w):
			return nil, changedSchema(w.String() + " differs from the gateway's schema")
		}
	}
	note := func(o schemaObject, why string) {
		foreign = append(foreign, InvalidRow{Table: "schema", Row: o.String(), Name: o.Name, Why: why})
	}
	var indexes []schemaObject
	for _, o := range found {
		_, ours := want[o.Name]
		_, onOurs := want[o.Table]
		switch {
		case ours:
		case o.Kind == "index" && onOurs:
			indexes = append(indexes, o)
		case o.Kind == "table":
			note(o, "not made by a gateway; it was left alone and is never read")
		}
	}
	if err := drop(ctx, conn, indexes); err != nil {
		return nil, err
	}
	for _, o := range slices.Concat(disarmed, indexes) {
		const why = "not made by a gateway; it was dropped"
		note(o, why)
		row, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		if _, err := conn.ExecContext(ctx, "INSERT INTO quarantine (source, row, why, at) VALUES ('sqlite_schema', ?, ?, ?)", string(row), why, stamp(now)); err != nil {
			return nil, fmt.Errorf("keep foreign objects: %w", err)
		}
	}
	slices.SortFunc(foreign, func(a, b InvalidRow) int { return strings.Compare(a.Row, b.Row) })
	return foreign, nil
}
