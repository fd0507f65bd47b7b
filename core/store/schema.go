package store

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
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

// current is the schema that the migrations make, as text: for each object a comment with its kind, name and table, its SQL,
// and a blank line. A test keeps it equal to the migrations.
//
//go:embed schema.sql
var current string

// expected returns the objects of the current schema by name.
func expected() map[string]schemaObject {
	out := map[string]schemaObject{}
	for text := range strings.SplitSeq(strings.TrimSuffix(current, "\n\n"), "\n\n") {
		head, definition, _ := strings.Cut(text, "\n")
		var o schemaObject
		if _, err := fmt.Sscanf(head, "-- %s %s on %s", &o.Kind, &o.Name, &o.Table); err != nil {
			panic("schema.sql: " + head) // part of the program, and held by a test
		}
		o.SQL = strings.TrimSuffix(definition, ";")
		out[o.Name] = o
	}
	return out
}

// changedSchema refuses the database at path, whose tables are not those of the gateway.
func changedSchema(path, what string) error {
	return &DamagedError{Path: path, What: "its schema was changed: " + what}
}

// disarm drops what no gateway made of the database's schema, before a statement could run it (HF31): triggers, views, and
// indexes on the gateway's tables, because a unique one can refuse rows. It returns what it dropped. No migration drops an
// index, so that each of an earlier version is also one of this version. A database of a newer gateway is not changed.
func disarm(ctx context.Context, conn *sql.Conn, path string) (dropped []schemaObject, err error) {
	steps, version, err := pending(ctx, conn, migrations)
	if err != nil || version == 0 || version > steps[len(steps)-1].version {
		return nil, err
	}
	found, err := objectsOf(ctx, conn)
	if err != nil {
		return nil, err
	}
	want := expected()
	for _, o := range found {
		w, known := want[o.Name]
		_, onOurs := want[o.Table]
		switch {
		case o.Kind == "table", o.Kind == "index" && (known || !onOurs), known && w.Kind == o.Kind:
		case known:
			return nil, changedSchema(path, fmt.Sprintf("it has %s where the gateway has %s", o, w))
		default:
			dropped = append(dropped, o)
		}
	}
	return dropped, drop(ctx, conn, dropped)
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
// gateway that is missing or different is a *DamagedError. Other tables hold other data and are never read: they stay. What
// disarm dropped is kept in the table quarantine. It returns what is foreign.
func compare(ctx context.Context, conn *sql.Conn, path string, dropped []schemaObject, now time.Time) (foreign []InvalidRow, err error) {
	want := expected()
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
			return nil, changedSchema(path, w.String()+" is missing")
		case !o.is(w):
			return nil, changedSchema(path, w.String()+" differs from the gateway's schema")
		}
	}
	note := func(o schemaObject, why string) {
		foreign = append(foreign, InvalidRow{Table: "schema", Row: o.String(), Name: o.Name, Why: why})
	}
	for _, o := range found {
		if _, ours := want[o.Name]; !ours && o.Kind == "table" {
			note(o, "not made by a gateway; it was left alone and is never read")
		}
	}
	for _, o := range dropped {
		const why = "not made by a gateway; it was dropped"
		note(o, why)
		row, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		if _, err := conn.ExecContext(ctx, keepInvalid, "sqlite_schema", string(row), why, stamp(now)); err != nil {
			return nil, fmt.Errorf("keep foreign objects: %w", err)
		}
	}
	slices.SortFunc(foreign, func(a, b InvalidRow) int { return strings.Compare(a.Row, b.Row) })
	return foreign, nil
}

// migrations are the steps of the schema. The number that begins a file's name is the value of PRAGMA user_version after
// that step. Numbers grow and may have gaps. A step that was released is never changed.
//
//go:embed migrations/*.sql
var migrations embed.FS

// step is one migration file.
type step struct {
	version int
	name    string
}

// stepsOf returns the migrations of files in the order of their versions.
func stepsOf(files fs.FS) ([]step, error) {
	names, err := fs.Glob(files, "migrations/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	steps := make([]step, 0, len(names))
	for i, name := range names {
		digits, _, _ := strings.Cut(path.Base(name), "_")
		version, err := strconv.Atoi(digits)
		if err != nil {
			return nil, fmt.Errorf("%s: the name does not begin with a schema version", name)
		}
		if i > 0 && version <= steps[i-1].version {
			return nil, fmt.Errorf("%s: version %d follows version %d", name, version, steps[i-1].version)
		}
		steps = append(steps, step{version, name})
	}
	return steps, nil
}

// pending returns the migrations of files, and the schema version that the database has; 0: it is new.
func pending(ctx context.Context, conn *sql.Conn, files fs.FS) (steps []step, found int, err error) {
	if steps, err = stepsOf(files); err != nil {
		return nil, 0, err
	}
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&found); err != nil {
		return nil, 0, fmt.Errorf("read the schema's version: %w", err)
	}
	return steps, found, nil
}

// create gives a new database the current schema at once, in one transaction with its version. It reports whether the database was
// new; any other one is for migrate.
func create(ctx context.Context, conn *sql.Conn) (bool, error) {
	steps, found, err := pending(ctx, conn, migrations)
	if err != nil || found != 0 {
		return false, err
	}
	return true, run(ctx, conn, current, steps[len(steps)-1].version)
}

// run runs statements and sets the schema's version, in one transaction.
func run(ctx context.Context, conn *sql.Conn, statements string, version int) error {
	_, err := conn.ExecContext(ctx, fmt.Sprintf("BEGIN IMMEDIATE;\n%s\nPRAGMA user_version = %d;\nCOMMIT;", statements, version))
	if err != nil {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	}
	return err
}

// migrate runs the steps that the database lacks, each in one transaction with its version: a kill between any two
// instructions leaves a complete database of one version. It returns the version that it found, 0 for a new database.
func migrate(ctx context.Context, conn *sql.Conn, files fs.FS) (found int, err error) {
	steps, found, err := pending(ctx, conn, files)
	if err != nil {
		return 0, err
	}
	if known := steps[len(steps)-1].version; found > known {
		return found, fmt.Errorf("schema version %d, this program knows %d: %w", found, known, errNewer)
	}
	for _, s := range steps {
		if s.version <= found {
			continue
		}
		text, err := fs.ReadFile(files, s.name)
		if err != nil {
			return found, err
		}
		if err := run(ctx, conn, string(text), s.version); err != nil {
			return found, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return found, nil
}
