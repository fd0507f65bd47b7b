package store

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gatewaytui/fixtures/golden"
)

// HF31: what no gateway made is not obeyed. Triggers, views and indexes are dropped and kept, tables stay, and every row of
// ours is there.
func TestHF31_AForeignSchemaIsQuarantined(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	mustWrite(t, s, "first")
	shut(t, s)
	statements := []string{
		"CREATE TABLE spy (seen TEXT)",
		"INSERT INTO spy VALUES ('kept')",
		"CREATE TRIGGER copies AFTER INSERT ON lives BEGIN INSERT INTO spy VALUES (new.id); END",
		`CREATE TRIGGER "odd ""name" BEFORE INSERT ON lives BEGIN SELECT RAISE(FAIL, 'no life'); END`,
		"CREATE VIEW everything AS SELECT * FROM messages",
		"CREATE UNIQUE INDEX one_pid ON lives (pid)",
		"CREATE INDEX of_spy ON spy (seen)",
	}
	path := filepath.Join(dir, "gateway.db")
	if err := foreign(path, "rw", func() {}, statements...); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	said := fmt.Sprint(s.ForeignSchema())
	for _, want := range []string{`trigger "copies" on "lives"`, `odd \"name`, `view "everything"`, `index "one_pid"`, `table "spy"`} {
		if !strings.Contains(said, want) {
			t.Errorf("%s is not named: %s", want, said)
		}
	}
	mustWrite(t, s, "second") // has the pid of the first, and would be refused by a trigger
	if lives, _, err := s.Lives(t.Context(), 0, ""); err != nil || len(lives) != 2 {
		t.Errorf("%d lives are there (%v), want 2", len(lives), err)
	}
	count := func(query string) (n int) {
		t.Helper()
		must(t, s.read(t.Context(), "count", query, nil, func(rows *sql.Rows) error { return rows.Scan(&n) }))
		return n
	}
	if n := count("SELECT count(*) FROM spy"); n != 1 {
		t.Errorf("the foreign table has %d rows, want its own one", n)
	}
	if n := count("SELECT count(*) FROM quarantine WHERE source = 'sqlite_schema' AND row LIKE '%CREATE %'"); n != 4 {
		t.Errorf("%d objects are kept, want 4", n)
	}
	if n := count("SELECT count(*) FROM sqlite_schema WHERE type IN ('trigger', 'view') OR name = 'one_pid'"); n != 0 {
		t.Errorf("%d of them are still in the schema", n)
	}
	shut(t, s)
	s = open(t, dir)
	if again := s.ForeignSchema(); len(again) != 1 {
		t.Errorf("the next open finds %v, want the table alone", again)
	}
	shut(t, s)
}

// HF31: a database whose own tables are others is refused by name, with what to do, and not changed.
func TestHF31_ATableThatIsNotOursIsRefusedByName(t *testing.T) {
	for name, tc := range map[string]struct {
		statements []string
		says       string
	}{
		"a table was dropped":            {[]string{"DROP TABLE outbox"}, "table \"outbox\" is missing"},
		"an index was dropped":           {[]string{"DROP INDEX audit_at"}, "index \"audit_at\" on \"audit\" is missing"},
		"a column was added":             {[]string{"ALTER TABLE lives ADD COLUMN mood TEXT"}, "table \"lives\" differs from the gateway's schema"},
		"a view has the name of a table": {[]string{"DROP TABLE outbox", "CREATE VIEW outbox AS SELECT * FROM inbox"}, "view \"outbox\" where the gateway has table \"outbox\""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			shut(t, open(t, dir))
			path := filepath.Join(dir, "gateway.db")
			if err := foreign(path, "rw", func() {}, tc.statements...); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				_, err := Open(t.Context(), Options{Path: path})
				if _, is := errors.AsType[*DamagedError](err); !is || !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), path) {
					t.Fatalf("got %v, want a *DamagedError with the path that says %s", err, tc.says)
				}
			}
		})
	}
}

// The schema of a file is not trusted, and no statement writes it except through SQLite.
func TestHF31_ConnectionsAreDefensive(t *testing.T) {
	s := open(t, t.TempDir())
	for name, db := range map[string]*sql.DB{"readers": s.readers, "a writer": connectionPool(t, s.path)} {
		var trusted, writable int
		must(t, db.QueryRowContext(t.Context(), "PRAGMA trusted_schema").Scan(&trusted))
		if _, err := db.ExecContext(t.Context(), "PRAGMA writable_schema = ON"); err != nil {
			t.Fatal(err)
		}
		must(t, db.QueryRowContext(t.Context(), "PRAGMA writable_schema").Scan(&writable))
		if trusted != 0 || writable != 0 {
			t.Errorf("%s: trusted_schema is %d, writable_schema %d", name, trusted, writable)
		}
	}
}

// The text that a start compares the schema with is what the migrations make, so that a start needs no database in memory,
// and its objects can be distinguished.
func TestHF31_TheCurrentSchemaIsKnownByItsText(t *testing.T) {
	want := schemaInMemory(t)
	golden.Check(t, "schema.sql", textOf(want))
	if got := expected(); !maps.Equal(got, want) {
		t.Errorf("a start expects %v, and the migrations make %v", got, want)
	}
}

// schemaInMemory is the schema that the migrations make.
func schemaInMemory(t *testing.T) map[string]schemaObject {
	t.Helper()
	conn := connection(t, ":memory:")
	if _, err := migrate(t.Context(), conn, migrations); err != nil {
		t.Fatal(err)
	}
	objects, err := objectsOf(t.Context(), conn)
	must(t, err)
	return objects
}

// textOf is a schema as text: its objects in the order of their names, with a blank line between two.
func textOf(objects map[string]schemaObject) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		o := objects[name]
		fmt.Fprintf(&out, "-- %s %s on %s\n%s;\n\n", o.Kind, o.Name, o.Table, o.SQL)
	}
	return out.String()
}

func connectionPool(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", dataSource(path, "rw"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// A new database has at once what the migrations make of an old one.
func TestANewDatabaseHasTheSchemaOfTheMigrations(t *testing.T) {
	s := open(t, t.TempDir())
	conn, err := s.readers.Conn(t.Context())
	must(t, err)
	defer conn.Close()
	got, err := objectsOf(t.Context(), conn)
	must(t, err)
	if want := schemaInMemory(t); !maps.Equal(got, want) {
		t.Errorf("it has %v, the migrations make %v", got, want)
	}
	steps, version, err := pending(t.Context(), conn, migrations)
	must(t, err)
	if last := steps[len(steps)-1].version; version != last {
		t.Errorf("its version is %d, want %d", version, last)
	}
}
