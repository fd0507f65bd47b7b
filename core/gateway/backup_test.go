package gateway

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

// A backup is a request, one at a time, and can be aborted.
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
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(to), "*")); err != nil || len(left) != 1 {
		t.Errorf("the folder holds %q", left)
	}
}

// A stop ends a backup that is being written, within its bounds, and keeps nothing of the copy.
func TestTF45_AStopEndsABackupThatRuns(t *testing.T) {
	dir := t.TempDir()
	if err := open(t, dir).Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "gateway.db"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(`PRAGMA synchronous = OFF; CREATE TABLE filler (b BLOB);
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 128) INSERT INTO filler SELECT zeroblob(1048576) FROM n`)
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	target := t.TempDir()
	to := filepath.Join(target, "copy.db")
	for attempt := 1; ; attempt++ { // until the stop has met the backup before its end
		l := start(t, func(s *setup) { s.dir = dir })
		req, err := l.g.Do(t.Context(), ops.Command{Verb: ops.VerbBackup, File: to, By: ops.Actor{Via: "socket"}})
		if err != nil {
			t.Fatal(err)
		}
		for began := time.Now(); ; { // without a pause: a copy may take milliseconds
			if left, err := os.ReadDir(target); err != nil || len(left) > 0 {
				break
			}
			if time.Since(began) > patience {
				t.Fatal("no copy was written")
			}
		}
		report := l.stop(ops.ModeFast)
		req, err = l.g.Request(t.Context(), req.ID, true)
		if err != nil || !req.State.Over() {
			t.Fatalf("the backup has not ended: %+v, %v", req, err)
		}
		if report.Outcome != string(ops.OutcomeClean) {
			t.Errorf("the stop ended %s: %+v", report.Outcome, report.Phases)
		}
		if req.State == ops.RequestDone && attempt < 20 {
			if err := os.Remove(to); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if req.Error == nil || req.Error.Code != ops.CodeStopping {
			t.Errorf("the backup ended as %+v, %v", req, req.Error)
		}
		break
	}
	if left, err := os.ReadDir(target); err != nil || len(left) != 0 {
		t.Errorf("the folder of the copy holds %v, %v", left, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "gateway.db-copying")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the record of the copy is still there: %v", err)
	}
}
