package gateway

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gatewaytui/core/ops"
)

// A backup is a request with an audit row; one that is aborted, or that a stop meets, keeps nothing of its file.
func TestABackupIsARequestAndOneAtATime(t *testing.T) {
	l := start(t)
	l.ask("api:user:a", "hello")
	to := filepath.Join(t.TempDir(), "copy.db")
	req := l.do(ops.Command{Verb: ops.VerbBackup, File: to})
	if req.State != ops.RequestDone {
		t.Fatalf("the backup ended as %+v", req)
	}
	if fi, err := os.Stat(to); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the copy: %v, %v", fi, err)
	}
	if again := l.do(ops.Command{Verb: ops.VerbBackup, File: to}); again.Error == nil || again.Error.Code != ops.CodeConflict {
		t.Errorf("a second backup to the same file ended as %+v", again)
	}
	if none := l.do(ops.Command{Verb: ops.VerbBackup, Abort: true}); none.Error == nil || none.Error.Code != ops.CodeNotFound {
		t.Errorf("aborting no backup ended as %+v", none)
	}
	var aborted error
	l.g.mu.Lock()
	l.g.abortBackup = func(cause error) { aborted = cause } // a backup that runs
	l.g.mu.Unlock()
	if second := l.do(ops.Command{Verb: ops.VerbBackup, File: to + "2"}); second.Error == nil || second.Error.Code != ops.CodeConflict {
		t.Errorf("a backup beside another ended as %+v", second)
	}
	if req := l.do(ops.Command{Verb: ops.VerbBackup, Abort: true}); req.State != ops.RequestDone || !errors.Is(aborted, errBackupAborted) {
		t.Errorf("the abort ended as %+v, with %v", req, aborted)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(to), "*")); err != nil || len(left) != 1 {
		t.Errorf("the folder holds %q", left)
	}
}
