package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// request is one caller's write. do may run more than once, each time on the state before it. So it sets its results from
// scratch and has no other effect outside of the transaction.
type request struct {
	do   func(*tx) error
	err  error
	done chan error // buffered: the writer never waits for the caller
}

// tx is the transaction under way on the writer's connection. Its statements run without a context: they are short, and
// one caller must not cancel what was begun for several.
type tx struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt // prepared once; the queries are constants of this package
	held  bool                 // no checkpoint follows the transaction under way
	// changed is how many rows the statements of the transaction under way, or of the last one, have changed.
	changed int
}

// checkpointPages is SQLite's own default: a -wal of about 4 MB.
const checkpointPages = 1000

// holdCheckpoint keeps SQLite from copying the -wal into the database after this transaction: a checkpoint costs two
// fsyncs, and a later commit makes it. https://www.sqlite.org/pragma.html#pragma_wal_autocheckpoint
func (t *tx) holdCheckpoint() error {
	t.held = true
	return t.setCheckpoint(0)
}

// releaseCheckpoint ends holdCheckpoint.
func (t *tx) releaseCheckpoint() error {
	if !t.held {
		return nil
	}
	t.held = false
	return t.setCheckpoint(checkpointPages)
}

// setCheckpoint sets after how many pages of -wal a commit makes a checkpoint; 0: never. The pragma returns a row.
func (t *tx) setCheckpoint(pages int) error {
	var n int
	return t.conn.QueryRowContext(context.Background(), fmt.Sprintf("PRAGMA wal_autocheckpoint = %d", pages)).Scan(&n)
}

// member runs one request so that its failure affects only it. The error is that of the transaction.
func (t *tx) member(r *request) error {
	if err := t.run("SAVEPOINT member"); err != nil {
		return err
	}
	if r.err = r.do(t); r.err != nil {
		// This fails where SQLite ended the whole transaction (SQLITE_FULL, SQLITE_IOERR and others may).
		if err := t.run("ROLLBACK TO member"); err != nil {
			return errors.Join(r.err, err)
		}
	}
	return t.run("RELEASE member")
}

func (t *tx) prepared(query string) (*sql.Stmt, error) {
	if st := t.stmts[query]; st != nil {
		return st, nil
	}
	st, err := t.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	t.stmts[query] = st
	return st, nil
}

// run runs a statement that changes no row.
func (t *tx) run(query string) error {
	st, err := t.prepared(query)
	if err != nil {
		return err
	}
	_, err = st.ExecContext(context.Background())
	return err
}

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(query string, args ...any) (int, error) {
	st, err := t.prepared(query)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	t.changed += int(n)
	return int(n), err
}

// do is exec for a caller that needs no count.
func (t *tx) do(query string, args ...any) error {
	_, err := t.exec(query, args...)
	return err
}

// found reads one row into dest and reports whether there was one.
func (t *tx) found(query string, args []any, dest ...any) (bool, error) {
	st, err := t.prepared(query)
	if err != nil {
		return false, err
	}
	err = st.QueryRowContext(context.Background(), args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
