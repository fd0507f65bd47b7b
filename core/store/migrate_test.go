package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
)

// connection is one connection to an empty database, as the writer has it.
func connection(t *testing.T, path string) *sql.Conn {
	t.Helper()
	db, err := sql.Open("sqlite", dataSource(path, "rwc"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func number(t *testing.T, conn *sql.Conn, query string) (n int) {
	t.Helper()
	if err := conn.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

var threeSteps = fstest.MapFS{
	"migrations/0001_start.sql": {Data: []byte("CREATE TABLE rows (v TEXT);")},
	"migrations/0002_more.sql":  {Data: []byte("ALTER TABLE rows ADD COLUMN n INTEGER NOT NULL DEFAULT 7;")},
	"migrations/0003_most.sql":  {Data: []byte("CREATE TABLE others AS SELECT n FROM rows; -- a comment ends it")},
}

func TestADatabaseOfEachEarlierVersionIsBroughtUpToDateWithItsRows(t *testing.T) {
	names := []string{"migrations/0001_start.sql", "migrations/0002_more.sql", "migrations/0003_most.sql"}
	for from := range len(names) + 1 {
		t.Run(fmt.Sprint("from ", from), func(t *testing.T) {
			conn := connection(t, filepath.Join(t.TempDir(), "gateway.db"))
			before := fstest.MapFS{}
			for _, name := range names[:from] {
				before[name] = threeSteps[name]
			}
			if from > 0 {
				if _, err := migrate(t.Context(), conn, before); err != nil {
					t.Fatal(err)
				}
			}
			if from == 1 || from == 2 {
				if _, err := conn.ExecContext(t.Context(), "INSERT INTO rows (v) VALUES ('kept')"); err != nil {
					t.Fatal(err)
				}
			}
			for _, want := range []int{from, 3} { // the second time there is nothing to do
				found, err := migrate(t.Context(), conn, threeSteps)
				if err != nil {
					t.Fatal(err)
				}
				if found != want {
					t.Errorf("migrate found version %d, want %d", found, want)
				}
			}
			if v := number(t, conn, "PRAGMA user_version"); v != 3 {
				t.Errorf("the version is %d, want 3", v)
			}
			if kept := number(t, conn, "SELECT count(*) FROM others WHERE n = 7"); kept != number(t, conn, "SELECT count(*) FROM rows") {
				t.Errorf("%d rows came through", kept)
			}
		})
	}
}

func TestVersionsComeFromTheNamesOfTheFilesAndMayHaveGaps(t *testing.T) {
	conn := connection(t, filepath.Join(t.TempDir(), "gateway.db"))
	gap := fstest.MapFS{
		"migrations/0001_start.sql": threeSteps["migrations/0001_start.sql"],
		"migrations/0007_more.sql":  {Data: []byte("ALTER TABLE rows ADD COLUMN n INTEGER;")},
	}
	if _, err := migrate(t.Context(), conn, gap); err != nil {
		t.Fatal(err)
	}
	if v := number(t, conn, "PRAGMA user_version"); v != 7 {
		t.Errorf("the version is %d, want 7", v)
	}
	for name, files := range map[string]fstest.MapFS{
		"a name without a number":     {"migrations/start.sql": {}},
		"two files with one number":   {"migrations/0001_a.sql": {}, "migrations/0001_b.sql": {}},
		"numbers of unequal width":    {"migrations/10_a.sql": {}, "migrations/9_b.sql": {}},
		"the first of several is bad": {"migrations/x_a.sql": {}, "migrations/y_b.sql": {}},
	} {
		if _, err := migrate(t.Context(), conn, files); err == nil || !strings.Contains(err.Error(), "migrations/") {
			t.Errorf("%s: got %v, want an error that names the file", name, err)
		}
	}
}

func TestAStoreSaysWhichSchemaItFound(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if v := s.FoundSchema(); v != 0 {
		t.Errorf("a new database was found with version %d, want 0", v)
	}
	shut(t, s)
	steps, err := stepsOf(migrations)
	if err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	defer shut(t, s)
	if v, want := s.FoundSchema(), steps[len(steps)-1].version; v != want {
		t.Errorf("the second open found version %d, want %d", v, want)
	}
}

func TestAStepThatFailsLeavesTheVersionBeforeItWhole(t *testing.T) {
	conn := connection(t, filepath.Join(t.TempDir(), "gateway.db"))
	broken := fstest.MapFS{
		"migrations/0001_start.sql": threeSteps["migrations/0001_start.sql"],
		"migrations/0002_bad.sql":   {Data: []byte("CREATE TABLE half (v TEXT); INSERT INTO nowhere VALUES (1);")},
	}
	_, err := migrate(t.Context(), conn, broken)
	if err == nil || !strings.Contains(err.Error(), "0002_bad.sql") || !strings.Contains(err.Error(), "nowhere") {
		t.Fatalf("got %v, want the step and its error", err)
	}
	if v := number(t, conn, "PRAGMA user_version"); v != 1 {
		t.Errorf("the version is %d, want 1", v)
	}
	if n := number(t, conn, "SELECT count(*) FROM sqlite_schema WHERE name = 'half'"); n != 0 {
		t.Error("half of the step is there")
	}
	if _, err := migrate(t.Context(), conn, threeSteps); err != nil {
		t.Errorf("the fixed step: %v", err)
	}
}

func TestTheDatabaseOfANewerGatewayIsRefusedAndLeftAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "gateway.db")
	shut(t, open(t, dir))
	if err := foreign(path, "rw", func() {}, "PRAGMA user_version = 1000"); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), Options{Path: path})
	if !errors.Is(err, errNewer) || !strings.Contains(err.Error(), "1000") || !strings.Contains(err.Error(), path) {
		t.Fatalf("got %v, want errNewer with the version and the file", err)
	}
	after, err := os.ReadFile(path)
	if err != nil || string(after) != string(before) {
		t.Errorf("the refused database was changed (%v)", err)
	}
}

func TestWhatCannotBeOpenedIsSaid(t *testing.T) {
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage.db")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("this is not a database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ path, says string }{
		"a file that is not a database":   {garbage, "not a database"},
		"a directory that is not there":   {filepath.Join(dir, "missing", "gateway.db"), "unable to open"},
		"a directory in the file's place": {dir, "not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), Options{Path: tc.path})
			if err == nil || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), tc.path) {
				t.Errorf("got %v, want %q and the path", err, tc.says)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, Options{Path: filepath.Join(dir, "gateway.db")}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended Open returned %v", err)
	}
}

// Contract 2: every file 0600, under any umask.
func TestTheFilesArePrivateUnderAnyUmask(t *testing.T) {
	for _, umask := range []int{0, 0o077, 0o277} {
		t.Run(fmt.Sprintf("%04o", umask), func(t *testing.T) {
			dir := t.TempDir()
			was := syscall.Umask(umask)
			s, err := Open(t.Context(), Options{Path: filepath.Join(dir, "gateway.db")})
			syscall.Umask(was)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { shut(t, s) })
			mustWrite(t, s, "l1")
			for _, name := range []string{"", "-wal", "-shm"} {
				fi, err := os.Stat(s.path + name)
				if err != nil {
					t.Error(err)
				} else if fi.Mode() != 0o600 {
					t.Errorf("gateway.db%s has mode %v, want 0600", name, fi.Mode())
				}
			}
		})
	}
}

func TestAPathWithHostileCharactersIsOnePath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?mode=ro&x=%2e#;é")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	mustWrite(t, s, "l1")
	if _, err := os.Stat(filepath.Join(dir, "gateway.db")); err != nil {
		t.Error(err)
	}
}
