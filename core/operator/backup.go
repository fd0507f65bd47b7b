package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dustin/go-humanize"

	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// BackupTask is the name of the background task that a backup is; its row has how far it is.
const BackupTask = "request " + string(ops.VerbBackup)

// backupsDir is the folder of the home for backups that were given no name.
const backupsDir = "backups"

// backupBound is what a backup may take.
const backupBound = time.Hour

// errBackupAborted is why a backup ended that an operator aborted.
var errBackupAborted = errors.New("aborted by an operator; nothing of the copy was kept")

// backup writes a copy of the store (TF45). It is a tracked task: it has a row with its progress, "backup" with Abort ends
// it, and so does the phase background of a stop; then nothing is left of the copy. One runs at a time.
func (op *Operator) backup(ctx context.Context, cmd ops.Command) (string, any, error) {
	if cmd.Abort {
		abort := op.abortBackup.Load()
		if abort == nil {
			return "", nil, &ops.Error{Code: ops.CodeNotFound, Message: "no backup is running", Hint: "`gatewaytui backup FILE` starts one"}
		}
		(*abort)(errBackupAborted)
		return "the backup is aborted", nil, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, backupBound, fmt.Errorf("it took longer than %s", backupBound))
	defer cancel()
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	if !op.abortBackup.CompareAndSwap(nil, &abort) {
		return "", nil, &ops.Error{Code: ops.CodeConflict, Message: "a backup is running", Hint: "wait for it, or end it with `gatewaytui backup --abort`"}
	}
	defer op.abortBackup.Store(nil)
	file := cmd.File
	if file == "" {
		dir := filepath.Join(op.o.Home, backupsDir)
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return "", nil, fmt.Errorf("make the folder for the backup: %w", err)
		}
		file = filepath.Join(dir, "gateway-"+time.Now().UTC().Format("20060102T150405.000")+".db")
	}
	err := op.store().Backup(ctx, file, func(written, of int64) {
		op.o.Background.Progress(ctx, written, of, fmt.Sprintf("%s of at most %s", humanize.IBytes(uint64(written)), humanize.IBytes(uint64(of))))
	})
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, store.ErrClosed):
		return "", nil, &ops.Error{Code: ops.CodeStopping, Message: "the gateway stops, and the backup ended with it; nothing of the copy was kept", Hint: "without a gateway, `gatewaytui backup FILE` makes the copy itself"}
	case err != nil:
		return "", nil, err
	}
	result, err := SealBackup(file)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("written to %s, %s", file, humanize.IBytes(uint64(result.Bytes))), result, nil
}

// SealBackup makes the name of a copy that was written durable, and says how large it is.
func SealBackup(file string) (ops.BackupResult, error) {
	if err := instance.SyncDir(filepath.Dir(file)); err != nil {
		return ops.BackupResult{}, fmt.Errorf("sync the folder of the backup: %w", err)
	}
	fi, err := os.Stat(file)
	if err != nil {
		return ops.BackupResult{}, fmt.Errorf("look at the backup: %w", err)
	}
	return ops.BackupResult{Path: file, Bytes: fi.Size()}, nil
}
