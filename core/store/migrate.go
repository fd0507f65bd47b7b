package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// migrations are the steps of the schema. The number that begins a file's name is the value of PRAGMA user_version after
// that step. Numbers grow and may have gaps. A step that was released is never changed.
//
//go:embed migrations/*.sql
var migrations embed.FS

// step is one migration file.
type step struct {
	version int
	name    string
}

// stepsOf returns the migrations of files in the order of their versions.
func stepsOf(files fs.FS) ([]step, error) {
	names, err := fs.Glob(files, "migrations/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	steps := make([]step, 0, len(names))
	for i, name := range names {
		digits, _, _ := strings.Cut(path.Base(name), "_")
		version, err := strconv.Atoi(digits)
		if err != nil {
			return nil, fmt.Errorf("%s: the name does not begin with a schema version", name)
		}
		if i > 0 && version <= steps[i-1].version {
			return nil, fmt.Errorf("%s: version %d follows version %d", name, version, steps[i-1].version)
		}
		steps = append(steps, step{version, name})
	}
	return steps, nil
}

// pending returns the migrations of files, and the schema version that the database has; 0: it is new.
func pending(ctx context.Context, conn *sql.Conn, files fs.FS) (steps []step, found int, err error) {
	if steps, err = stepsOf(files); err != nil {
		return nil, 0, err
	}
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&found); err != nil {
		return nil, 0, fmt.Errorf("read the schema's version: %w", err)
	}
	return steps, found, nil
}

// migrate runs the steps that the database lacks, each in one transaction with its version: a kill between any two
// instructions leaves a complete database of one version. It returns the version that it found, 0 for a new database.
func migrate(ctx context.Context, conn *sql.Conn, files fs.FS) (found int, err error) {
	steps, found, err := pending(ctx, conn, files)
	if err != nil {
		return 0, err
	}
	if known := steps[len(steps)-1].version; found > known {
		return found, fmt.Errorf("schema version %d, this program knows %d: %w", found, known, ErrNewer)
	}
	for _, s := range steps {
		if s.version <= found {
			continue
		}
		text, err := fs.ReadFile(files, s.name)
		if err != nil {
			return found, err
		}
		script := fmt.Sprintf("BEGIN IMMEDIATE;\n%s\nPRAGMA user_version = %d;\nCOMMIT;", text, s.version)
		if _, err := conn.ExecContext(ctx, script); err != nil {
			_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			return found, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return found, nil
}
