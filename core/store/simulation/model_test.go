package simulation

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
)

// rows are the rows of the database as far as the simulation knows them: what a row is, by its table and id. A row that
// is not there has no entry.
type rows map[string]string

// group is what one failed call would have changed: all of it happened, or nothing.
type group struct {
	what          string
	before, after rows
}

// model is what the database must hold.
type model struct {
	sure rows
	// maybe are the failed calls of the life that runs. Their rows are left alone until the next life has looked.
	maybe []group
}

// frozen reports whether a row belongs to a failed call.
func (m *model) frozen(key string) bool {
	return slices.ContainsFunc(m.maybe, func(g group) bool {
		_, is := g.after[key]
		return is
	})
}

// apply notes a call that was acknowledged.
func (m *model) apply(change rows) {
	for key, value := range change {
		m.set(key, value)
	}
}

func (m *model) set(key, value string) {
	if value == "" {
		delete(m.sure, key)
		return
	}
	m.sure[key] = value
}

// failed notes a call that returned an error.
func (m *model) failed(what string, change rows) {
	before := rows{}
	for key := range change {
		before[key] = m.sure[key]
	}
	m.maybe = append(m.maybe, group{what, before, change})
}

// settle compares the model with what the database holds, and takes over what became of the calls that had failed.
func (m *model) settle(have rows) error {
	for _, g := range m.maybe {
		is := func(want rows) bool {
			for key, value := range want {
				if have[key] != value {
					return false
				}
			}
			return true
		}
		switch {
		case is(g.after):
			m.apply(g.after)
		case is(g.before):
		default:
			got := rows{}
			for key := range g.after {
				got[key] = have[key]
			}
			return fmt.Errorf("%s failed and took effect in part:\nbefore %v\nafter  %v\nfound  %v", g.what, g.before, g.after, got)
		}
	}
	m.maybe = nil
	for _, key := range slices.Sorted(maps.Keys(m.sure)) {
		if have[key] != m.sure[key] {
			return fmt.Errorf("%s was acknowledged as %q and is %q", key, m.sure[key], have[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(have)) {
		if m.sure[key] == "" {
			return fmt.Errorf("%s is %q, and no call that succeeded wrote it", key, have[key])
		}
	}
	return nil
}

// tables are the queries whose rows the model knows: each gives ids and values.
var tables = map[string]string{
	"inbox":   `SELECT id, state FROM inbox`,
	"outbox":  `SELECT id, state FROM outbox`,
	"turn":    `SELECT id, state FROM turns`,
	"session": `SELECT id, iif(ended_at IS NULL, 'current', 'ended') FROM sessions`,
	"message": `SELECT content, 'written ' || count(*) FROM messages GROUP BY content`,
	"dedupe":  `SELECT dedupe, 'written ' || count(*) FROM inbox GROUP BY dedupe`,
}

// once is the value of a message, or of a name for ever, that was written exactly once.
const once = "written 1"

// found reads the database by a connection of its own, and checks its pages.
func found(path string) (have rows, err error) {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var word string
	if err := db.QueryRow(`PRAGMA integrity_check`).Scan(&word); err != nil || word != "ok" {
		return nil, fmt.Errorf("the database is not sound: %q (%v)", word, err)
	}
	have = rows{}
	for table, query := range tables {
		got, err := db.Query(query)
		if err != nil {
			return nil, err
		}
		for got.Next() {
			var id, value string
			if err := got.Scan(&id, &value); err != nil {
				return nil, err
			}
			have[table+" "+id] = value
		}
		if err := got.Err(); err != nil {
			return nil, err
		}
	}
	return have, nil
}
