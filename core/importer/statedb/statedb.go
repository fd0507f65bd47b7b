// Package statedb reads the database of Hermes, state.db, which another program wrote.
//
// What it promises: the file is not changed and not trusted: no code of its schema runs, and every result is bounded. It is never used
// for a database of this gateway (F1).
package statedb

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"net/url"
	"slices"
	"time"

	_ "modernc.org/sqlite" // the driver
)

// DB is an open database.
type DB struct{ db *sql.DB }

// Session is a row of sessions. Key is empty in databases of earlier versions, and for a session of no chat.
type Session struct{ ID, Key string }

// Message is what a user or a model said. At is zero where the row has no time.
type Message struct {
	Role, Content string
	At            time.Time
}

// Open opens a database that no program has open. It does not read it yet.
func Open(path string) (*DB, error) {
	q := url.Values{"mode": {"ro"}, "immutable": {"1"}, "_defensive": {"1"}, "_pragma": {"trusted_schema(0)", "query_only(1)", "cell_size_check(1)"}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return &DB{db}, nil
}

// Close closes it.
func (d *DB) Close() { _ = d.db.Close() } // it was only read

// Sessions are the sessions, newest first, limit at most.
func (d *DB) Sessions(ctx context.Context, limit int) (all []Session, err error) {
	key := "session_key"
	if err := d.db.QueryRowContext(ctx, `SELECT session_key FROM sessions LIMIT 1`).Scan(new(any)); err != nil && !errors.Is(err, sql.ErrNoRows) {
		key = "''" // an earlier version
	}
	rows, err := d.db.QueryContext(ctx, `SELECT CAST(id AS TEXT), CAST(COALESCE(`+key+`, '') AS TEXT) FROM sessions ORDER BY started_at DESC LIMIT ?`, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s Session
		if err := rows.Scan(&s.ID, &s.Key); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

// Messages are the newest messages of users and models of a session, oldest first: limit at most, each with at most so many characters.
func (d *DB) Messages(ctx context.Context, session string, limit, characters int) (all []Message, err error) {
	rows, err := d.db.QueryContext(ctx, `SELECT CAST(role AS TEXT), substr(CAST(COALESCE(content, '') AS TEXT), 1, ?), CAST(COALESCE(timestamp, 0) AS REAL) FROM messages
		WHERE session_id = ? AND role IN ('user', 'assistant') ORDER BY id DESC LIMIT ?`, characters, session, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var m Message
		var seconds float64
		if err := rows.Scan(&m.Role, &m.Content, &seconds); err != nil {
			return nil, err
		}
		if seconds > 0 && seconds < math.MaxInt32 {
			m.At = time.UnixMilli(int64(seconds * 1000))
		}
		all = append(all, m)
	}
	slices.Reverse(all)
	return all, rows.Err()
}
