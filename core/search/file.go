package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// version is the form of the index. A file of another one is made again.
const version = 1

// schema is the index: the words without the text, which the store has; for each message its mark (store.MarkOf); and how far the
// index goes: every message from low to high is in it.
var schema = []string{
	`CREATE VIRTUAL TABLE words USING fts5(scope, text, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 2")`,
	`CREATE TABLE messages (seq INTEGER PRIMARY KEY, mark INTEGER NOT NULL) STRICT`,
	`CREATE TABLE reach (low INTEGER NOT NULL, high INTEGER NOT NULL, mark INTEGER NOT NULL) STRICT`,
	`INSERT INTO reach VALUES (0, 0, 0)`,
	fmt.Sprintf("PRAGMA user_version = %d", version),
}

// Sizes of the connections: the index is read seldom, and the kernel caches its file.
const (
	readers       = 2
	cacheKiB      = 1024
	busyMS        = 1000
	checkpointKiB = 4 << 10
)

// errOther is why an index is made again that is not damaged.
var errOther = errors.New("it is of another version")

// file is an open index.
type file struct {
	write, read *sql.DB // write has one connection
}

// open opens the index at path, and makes it if it is missing. The error of one that has to be made again is remakable.
func open(ctx context.Context, path string) (_ *file, err error) {
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if fi, err := os.Lstat(name); err == nil && !fi.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is not a regular file; move it away", name)
		}
	}
	made, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // SQLite gives -wal and -shm the same mode
	if err != nil {
		return nil, fmt.Errorf("open the index: %w", err)
	}
	if err := errors.Join(made.Chmod(0o600), made.Close()); err != nil {
		return nil, fmt.Errorf("open the index: %w", err)
	}
	f := &file{}
	defer func() {
		if err != nil {
			_ = f.close() // the error of the open says more
		}
	}()
	if f.write, err = pool(path, "rw", 1, "journal_mode(wal)", "synchronous(normal)", "temp_store(memory)", fmt.Sprintf("journal_size_limit(%d)", checkpointKiB<<10)); err != nil {
		return nil, err
	}
	var found int
	if err := f.write.QueryRowContext(ctx, "PRAGMA user_version").Scan(&found); err != nil {
		return nil, fmt.Errorf("read the index: %w", err)
	}
	switch found {
	case 0:
		err = f.make(ctx)
	case version:
		_, err = f.reach(ctx)
	default:
		err = errOther
	}
	if err != nil {
		return nil, fmt.Errorf("read the index: %w", err)
	}
	f.read, err = pool(path, "ro", readers)
	return f, err
}

// pool makes a pool of connections. The schema of a file is not trusted.
func pool(path, mode string, connections int, pragmas ...string) (*sql.DB, error) {
	pragmas = append(pragmas, fmt.Sprintf("cache_size(-%d)", cacheKiB), fmt.Sprintf("busy_timeout(%d)", busyMS), "trusted_schema(0)")
	q := url.Values{"mode": {mode}, "_pragma": pragmas}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, fmt.Errorf("open the index: %w", err)
	}
	db.SetMaxOpenConns(connections)
	return db, nil
}

// make makes the tables of an empty file in one transaction.
func (f *file) make(ctx context.Context) error {
	return f.change(ctx, func(tx *sql.Tx) error {
		for _, text := range schema {
			if _, err := tx.ExecContext(ctx, text); err != nil {
				return err
			}
		}
		return nil
	})
}

// change runs do in one transaction.
func (f *file) change(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := f.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// rest closes the connections until they are needed again.
func (f *file) rest() {
	for db, connections := range map[*sql.DB]int{f.write: 1, f.read: readers} {
		db.SetMaxIdleConns(-1)
		db.SetMaxIdleConns(connections)
	}
}

func (f *file) close() error {
	var errs []error
	for _, db := range []*sql.DB{f.read, f.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// remakable reports whether an index has to be made again because of err.
func remakable(err error) bool {
	if errors.Is(err, errOther) || errors.Is(err, sql.ErrNoRows) {
		return true
	}
	e, is := errors.AsType[*sqlite.Error](err)
	if !is {
		return false
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR: // the last: a table is missing or another one
		return true
	}
	return false
}

// remove deletes the files of an index.
func remove(path string) error {
	var errs []error
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// reach is how far the index goes: every message from low to high is in it, and mark is the mark of high. Where low is above high
// it has none yet.
type reach struct{ low, high, mark int64 }

func (f *file) reach(ctx context.Context) (r reach, err error) {
	err = f.write.QueryRowContext(ctx, "SELECT low, high, mark FROM reach").Scan(&r.low, &r.high, &r.mark)
	return r, err
}

// setReach is part of the transaction that changes what the index reaches.
func setReach(ctx context.Context, tx *sql.Tx, r reach) error {
	_, err := tx.ExecContext(ctx, "UPDATE reach SET low = ?, high = ?, mark = ?", r.low, r.high, r.mark)
	return err
}
