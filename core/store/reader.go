package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// read runs a query on one of the read-only connections and calls each for every row. It sees what was committed before
// it began. It ends when ctx ends or the store closes: the driver interrupts it up to the first row, and after that it
// ends between two rows. So no query of this package may compute for long between rows; each reads along an index.
func (s *Store) read(ctx context.Context, what, query string, args []any, each func(*sql.Rows) error) error {
	if err := s.enter(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer s.calls.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.reading, func() { cancel(context.Cause(s.reading)) })()

	err := s.blame(s.rows(ctx, query, args, each))
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // SQLite reports only "interrupted"
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Shrink gives back the memory in which the free connections for reading keep pages. It waits for none that is in use.
func (s *Store) Shrink(ctx context.Context) {
	if s.enter() != nil {
		return
	}
	defer s.calls.Done()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for range readConns - s.readers.Stats().InUse {
		conn, err := s.readers.Conn(ctx)
		if err != nil {
			return
		}
		defer conn.Close()                                   // back into the pool after the others had their turn
		_, _ = conn.ExecContext(ctx, "PRAGMA shrink_memory") // it only saves memory
	}
}

func (s *Store) rows(ctx context.Context, query string, args []any, each func(*sql.Rows) error) error {
	st, err := s.query(ctx, query)
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// query returns the statement for query, prepared once per connection. The queries are constants of this package.
func (s *Store) query(ctx context.Context, query string) (*sql.Stmt, error) {
	if st, ok := s.queries.Load(query); ok {
		return st.(*sql.Stmt), nil
	}
	st, err := s.readers.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if other, taken := s.queries.LoadOrStore(query, st); taken {
		_ = st.Close() // two callers prepared it at once
		return other.(*sql.Stmt), nil
	}
	return st, nil
}

// list reads all rows of a query.
func list[T any, R record[T]](ctx context.Context, s *Store, what, query string, args ...any) ([]T, error) {
	var out []T
	err := s.read(ctx, what, query, args, func(rows *sql.Rows) error {
		var v T
		err := rows.Scan(R(&v).fields()...)
		out = append(out, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// first reads the first row of a query and reports whether there was one.
func first[T any, R record[T]](ctx context.Context, s *Store, what, query string, args ...any) (v T, found bool, err error) {
	all, err := list[T, R](ctx, s, what, query, args...)
	if len(all) == 0 {
		return v, false, err
	}
	return all[0], true, nil
}

// value reads the only value of a query into dest.
func (s *Store) value(ctx context.Context, what, query string, dest any) error {
	return s.read(ctx, what, query, nil, func(rows *sql.Rows) error { return rows.Scan(dest) })
}
