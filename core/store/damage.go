package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"gatewaytui/core/ops"
)

// Inspect is Verify for a closed database at path, with a connection that cannot write: a damaged database is not even
// opened by one that can. A missing database is not damaged.
func Inspect(ctx context.Context, path string, log *slog.Logger) (err error) {
	if fi, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && fi.Size() == 0 {
		return nil
	}
	db, err := openPool(path, "ro", 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err = checkPages(ctx, db, path, log); code(err) != sqlite3.SQLITE_READONLY_ROLLBACK {
		return err
	}
	if err := rollBack(ctx, path); err != nil {
		return err
	}
	return checkPages(ctx, db, path, log)
}

// rollBack undoes the transaction in a rollback journal next to the database. A database can have one until it is first
// made to use a -wal, and a connection that may not write cannot undo it
// (https://www.sqlite.org/lockingv3.html#hot_journals).
func rollBack(ctx context.Context, path string) (err error) {
	db, err := openPool(path, "rw", 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var n int
	return db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&n)
}

// maxWords is how many of SQLite's findings about one database are read.
const maxWords = 100

func checkPages(ctx context.Context, db *sql.DB, path string, log *slog.Logger) error {
	pages, values, err := quickCheck(ctx, db, fmt.Sprint(maxWords))
	if len(values) > 0 { // the pages are sound: the rows that a start uses are validated separately
		log.Warn(ops.LogStoreValues, "path", path, "words", values)
	}
	err = damaged(path, err)
	found, is := errors.AsType[*DamagedError](err)
	switch {
	case err == nil && len(pages) == 0:
		return nil
	case err == nil:
		found = &DamagedError{Path: path, What: pages[0]}
	case !is:
		return err
	}
	// The damaged tables are those whose pages, or those of their indexes, do not fit together.
	tables, _ := texts(ctx, db, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name") // the readable ones are checked
	for _, t := range tables {
		pages, _, err := quickCheck(ctx, db, "'"+strings.ReplaceAll(t, "'", "''")+"'")
		if err != nil && ctx.Err() == nil || len(pages) > 0 {
			found.Tables = append(found.Tables, t)
		}
	}
	return found
}

// quickCheck is what SQLite finds wrong with the pages, and with the values of rows, in a table or in the whole database.
// what is the name of the table in quotes, or how many findings are read.
func quickCheck(ctx context.Context, db *sql.DB, what string) (pages, values []string, err error) {
	words, err := texts(ctx, db, "PRAGMA quick_check("+what+")")
	for _, word := range words {
		switch word = strings.TrimPrefix(word, "*** in database main ***\n"); {
		case word == "ok":
		case aboutValue(word):
			values = append(values, word)
		default:
			pages = append(pages, word)
		}
	}
	return pages, values, err
}

// texts returns the rows of a query of one text; those before an error as well.
func texts(ctx context.Context, db *sql.DB, query string) (all []string, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return all, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

// aboutValue reports whether SQLite's finding is about the value of a row, and not about pages
// (https://www.sqlite.org/pragma.html#pragma_integrity_check).
func aboutValue(word string) bool {
	return strings.HasPrefix(word, "CHECK constraint failed in ") ||
		strings.Contains(word, " value in ") && !strings.Contains(word, "page ")
}

// QuarantineFile moves a closed database out of the way, and returns its new path.
func QuarantineFile(path string, now time.Time) (string, error) {
	to := path + ".damaged-" + now.UTC().Format("20060102T150405")
	for _, move := range []func() error{
		func() error { return os.Rename(path, to) },
		func() error { return os.Rename(path+"-wal", to+"-wal") },
		func() error { return os.Remove(path + "-shm") }, // SQLite makes it again at every open
	} {
		if err := move(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("move the database to quarantine: %w", err)
		}
	}
	return to, nil
}

// KeepCopy copies a damaged, closed database, so that a repair can be undone, and returns the path of the copy. One copy
// is enough: later starts keep an existing one.
func KeepCopy(path string) (string, error) {
	to := path + ".damaged"
	for _, part := range []string{"", "-wal"} {
		if err := copyFile(path+part, to+part); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("copy the damaged database: %w", err)
		}
	}
	return to, nil
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		_ = os.Remove(to) // a part of a copy is worse than none
	}
	return err
}
