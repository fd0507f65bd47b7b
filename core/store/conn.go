package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"time"

	"modernc.org/sqlite"
)

// Sizes of the connections. The whole gateway idles under 40 MB, so the page caches are small. The gateway's own tables
// keep what is read often, and the kernel caches the rest.
const (
	readConns     = 4
	readCacheKiB  = 512
	writeCacheKiB = 1024
	// busyMS is how long a statement waits for another process's lock. Only the gateway opens the database, so such a
	// lock is a mistake, and an early error is better than a long wait.
	busyMS = 1000
	// walLimit is the size in bytes to which SQLite truncates the -wal when it restarts it, after a reader of another
	// process made it grow.
	walLimit = 16 << 20
)

// maxQuickWAL is the size in bytes of a -wal up to which the last close may copy it into the database. SQLite usually
// keeps the file at about 4 MB. It is larger where another process held a snapshot for long.
const maxQuickWAL = 8 << 20

// dataSource is the driver's name for path. mode is SQLite's: rwc or ro (https://www.sqlite.org/uri.html). The schema of
// a file is not trusted: it calls no function with side effects, and only DDL statements can write it (HF31,
// https://www.sqlite.org/security.html).
func dataSource(path, mode string, pragmas ...string) string {
	q := url.Values{"mode": {mode}, "_defensive": {"1"}, "_pragma": append(pragmas, "trusted_schema(0)")}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

// writer is the one connection that writes. Only the writer's goroutine uses it once it is open.
type writer struct {
	db   *sql.DB
	conn *sql.Conn
	tx   tx
}

func openWriter(path string) (*writer, error) {
	// A second protection after the rule of the package comment: locks that belong to the open file and not to the
	// process. They survive a stray open and close of the database. The error means that the platform has none, or that a
	// database was opened before; then POSIX locks are used.
	_, _ = sqlite.OFDLocking(true)

	db, err := openPool(path, "rwc", 1)
	if err != nil {
		return nil, err
	}
	return &writer{db: db}, nil
}

// open makes the connection and brings the schema up to date. It returns the results of Store.FoundSchema and
// Store.ForeignSchema. The caller closes w, also after an error.
func (w *writer) open(ctx context.Context, path string) (found int, foreign []InvalidRow, err error) {
	if err := w.connect(ctx, path); err != nil {
		return 0, nil, err
	}
	disarmed, err := disarm(ctx, w.conn, path)
	if err != nil {
		return 0, nil, err
	}
	if fresh, err := create(ctx, w.conn); err != nil || fresh {
		return 0, nil, err
	}
	if found, err = migrate(ctx, w.conn, migrations); err != nil {
		return found, nil, err
	}
	foreign, err = compare(ctx, w.conn, path, disarmed, time.Now())
	return found, foreign, err
}

func (w *writer) connect(ctx context.Context, path string) (err error) {
	if w.conn, err = w.db.Conn(ctx); err != nil {
		return err
	}
	// SQLite gives -wal and -shm the mode of the database, for every umask.
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Chmod(name, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	var mode string
	if err := w.conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("this file system allows no write-ahead log (journal mode is %q): put the home on a local disk", mode)
	}
	for _, pragma := range []string{
		"synchronous = FULL",
		"foreign_keys = ON",
		"temp_store = MEMORY",
		"secure_delete = ON", // what is deleted is not left in the file
		fmt.Sprintf("cache_size = -%d", writeCacheKiB),
		fmt.Sprintf("journal_size_limit = %d", walLimit),
	} {
		if _, err := w.conn.ExecContext(ctx, "PRAGMA "+pragma); err != nil {
			return fmt.Errorf("pragma %s: %w", pragma, err)
		}
	}
	if err := w.checkpoint(ctx, path); err != nil {
		return fmt.Errorf("copy the -wal of the last life into the database: %w", err)
	}
	w.tx = tx{conn: w.conn, stmts: map[string]*sql.Stmt{}}
	return nil
}

// checkpoint copies what an earlier process left in the -wal into the database. Linux drops pages whose sync failed and
// reports it once (https://lwn.net/Articles/752063/), so some frames of the -wal may exist only in the kernel's memory.
// No commit after them would survive a power cut. A -wal of more than maxQuickWAL is left: a start has no time for it.
func (w *writer) checkpoint(ctx context.Context, path string) error {
	fi, err := os.Stat(path + "-wal")
	if errors.Is(err, fs.ErrNotExist) || err == nil && (fi.Size() == 0 || fi.Size() > maxQuickWAL) {
		return nil
	}
	if err != nil {
		return err
	}
	var busy, frames, copied int
	return w.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &frames, &copied)
}

func (w *writer) close() error {
	var errs []error
	for _, st := range w.tx.stmts {
		errs = append(errs, st.Close())
	}
	if w.conn != nil {
		errs = append(errs, w.conn.Close())
	}
	return errors.Join(append(errs, w.db.Close())...)
}

// openReaders makes the pool of read-only connections. All are opened at once and stay open, so that a process without
// free descriptors can still read its data (F5).
func openReaders(ctx context.Context, path string) (_ *sql.DB, err error) {
	db, err := readPool(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	for range readConns {
		conn, err := db.Conn(ctx)
		if err != nil {
			return nil, err
		}
		defer conn.Close() // back into the pool when all of them exist
		var n int
		// The -wal is opened by the first read.
		if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&n); err != nil {
			return nil, err
		}
	}
	return db, nil
}

// readPool is the pool of openReaders without its connections.
func readPool(path string) (*sql.DB, error) {
	return openPool(path, "ro", readConns, fmt.Sprintf("cache_size(-%d)", readCacheKiB))
}

// openPool makes a pool of at most that many connections. Each waits busyMS for a lock.
func openPool(path, mode string, connections int, pragmas ...string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dataSource(path, mode, append(pragmas, fmt.Sprintf("busy_timeout(%d)", busyMS))...))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}
