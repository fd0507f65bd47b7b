package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"gatewaytui/core/ops"
)

// Open opens the database and brings its schema up to date. Only the process that holds the home's lock may call it,
// and it has one Store at a time.
func Open(ctx context.Context, o Options) (*Store, error) {
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return nil, fmt.Errorf("open the store at %s: %w", o.Path, err)
	}
	s := &Store{
		path: path, log: o.Log, opened: time.Now(), onEnd: o.OnTransaction,
		requests: make(chan *request), wipes: make(chan chan error), quit: make(chan struct{}),
		abandon: make(chan struct{}), done: make(chan struct{}),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.reading, s.stopReads = context.WithCancelCause(context.Background())
	// A leftover that cannot be removed costs room on a disk and must not prevent a start.
	if part, err := removeLeftover(ctx, path); err != nil {
		s.log.Warn(ops.LogStoreLeftover, "error", err.Error())
	} else if part != "" {
		s.log.Info(ops.LogStoreLeftoverRemoved, "path", part)
	}
	if err = checkRegular(path); err == nil && o.Verify && !o.ReadOnly {
		err = Inspect(ctx, path, s.log)
	}
	switch {
	case err != nil:
	case o.ReadOnly:
		err = s.openReadOnly(ctx)
	default:
		err = s.open(ctx)
	}
	if err != nil {
		s.stopReads(ErrClosed)
		return nil, fmt.Errorf("open the store at %s: %w", path, damaged(path, err))
	}
	go s.writeLoop() // closeFiles waits for it
	return s, nil
}

func (s *Store) open(ctx context.Context) (err error) {
	if s.writer, err = openWriter(s.path); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.writer.close())
		}
	}()
	if s.found, s.foreign, err = s.writer.open(ctx, s.path); err != nil {
		return err
	}
	if s.identity, err = identify(s.path); err != nil {
		return err
	}
	s.sizes.keep(s.identity)
	s.readers, err = openReaders(ctx, s.path)
	return err
}

// openReadOnly makes the readers alone. If they cannot read yet, or ever, each read reports it.
func (s *Store) openReadOnly(ctx context.Context) error {
	s.readOnly.Store(true)
	var err error
	if s.readers, err = openReaders(ctx, s.path); err == nil {
		return nil
	}
	if _, is := errors.AsType[*DamagedError](damaged(s.path, err)); !is {
		return err
	}
	s.readers, err = readPool(s.path)
	return err
}
