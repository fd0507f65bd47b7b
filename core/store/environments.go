package store

import (
	"context"
	"time"
)

// Environment is something outside of the gateway's processes that may exist, such as a container (TR6). Its row is written before it is
// made, and dropped when it is known to be removed.
type Environment struct {
	// ID is its name for Program, which removes it. Name is that of its definition in the config.
	ID, Kind, Name, Session, Program, Life string
	At                                     time.Time
	// Made says that its start has ended. Otherwise it may come into being later.
	Made bool
}

const environmentColumns = `id, kind, name, session, program, life, at, made`

func (v *Environment) fields() []any {
	return []any{&v.ID, &v.Kind, &v.Name, &v.Session, &v.Program, &v.Life, (*stamp)(&v.At), &v.Made}
}

var putEnvironment = insertion("INSERT INTO environments", environmentColumns, "ON CONFLICT (id) DO UPDATE SET made = excluded.made")

// PutEnvironment writes an environment that is about to be made, or that it was made.
func (s *Store) PutEnvironment(ctx context.Context, v Environment) error {
	return s.change(ctx, "write environment "+v.ID, putEnvironment, v.fields()...)
}

// DropEnvironment deletes an environment that does not exist any more.
func (s *Store) DropEnvironment(ctx context.Context, id string) error {
	return s.change(ctx, "drop environment "+id, `DELETE FROM environments WHERE id = ?`, id)
}

// Environments are those that may exist, in the order of their ids.
func (s *Store) Environments(ctx context.Context) ([]Environment, error) {
	return list[Environment](ctx, s, "read the environments", `SELECT `+environmentColumns+` FROM environments ORDER BY id`)
}
