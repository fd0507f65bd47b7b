package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
)

// migrations are the steps of the schema: file n brings a database from PRAGMA user_version n-1 to n. A step that was
// released is never changed.
//
//go:embed migrations/*.sql
var migrations embed.FS

// migrate runs the steps that the database has not had, each in one transaction with its version: a kill between any two
// instructions leaves a database of some version, whole.
func migrate(ctx context.Context, conn *sql.Conn, migrations fs.FS) error {
	steps, err := fs.Glob(migrations, "migrations/*.sql") // sorted, which is their order
	if err != nil {
		return err
	}
	var version int
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if version > len(steps) {
		return fmt.Errorf("schema version %d, this program knows %d: %w", version, len(steps), ErrNewer)
	}
	for i, name := range steps {
		if i < version {
			continue
		}
		step, err := fs.ReadFile(migrations, name)
		if err != nil {
			return err
		}
		script := fmt.Sprintf("BEGIN IMMEDIATE;\n%s\nPRAGMA user_version = %d;\nCOMMIT;", step, i+1)
		if _, err := conn.ExecContext(ctx, script); err != nil {
			_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
