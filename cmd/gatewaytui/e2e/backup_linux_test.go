package e2e

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"gatewaytui/fixtures/eventually"
)

// fillerMiB makes a database whose copy takes long enough to be met while it is written.
const fillerMiB = 96

// largeHome is a home that a gateway has made and whose database is fillerMiB larger.
func largeHome(t *testing.T) string {
	t.Helper()
	home := newHome(t)
	first := start(t, home, "")
	if code, _ := first.stop(); code != 0 {
		t.Fatalf("the first life ended with %d", code)
	}
	db := openCopy(t, filepath.Join(home, "gateway.db"))
	_, err := db.Exec(fmt.Sprintf(`PRAGMA synchronous = OFF; CREATE TABLE filler (b BLOB);
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO filler SELECT zeroblob(1048576) FROM n`, fillerMiB))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return home
}

// openCopy opens a database that no gateway has open.
func openCopy(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// unfinished lists the unfinished copies in dir.
func unfinished(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, ".gatewaytui-backup-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// killedBackup runs "gatewaytui backup to" on home and has kill called as soon as the copy exists. It does so again where
// the copy was complete before the kill, until an unfinished copy is left.
func killedBackup(t *testing.T, home, to string, kill func(verb *exec.Cmd)) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		backup := exec.Command(binary, "backup", to, "--home", home)
		if err := backup.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = backup.Wait() // it, or its gateway, is killed
		}()
		for over := false; !over && len(unfinished(t, filepath.Dir(to))) == 0; { // without a pause: a copy may take milliseconds
			select {
			case <-ended:
				over = true
			default:
			}
		}
		kill(backup)
		<-ended
		if len(unfinished(t, filepath.Dir(to))) > 0 { // SQLite's journal of the copy may be there as well
			return
		}
		if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	t.Fatal("every backup was complete before it could be killed")
}

// TF45: a SIGKILL during a backup leaves nothing for a person to clean up: the next start, or the next backup without a
// gateway, removes the unfinished copy.
func TestTF45_AKilledBackupIsRemovedByTheNextLife(t *testing.T) {
	t.Parallel() // it mostly waits
	home, target := largeHome(t), t.TempDir()
	to := filepath.Join(target, "copy.db")
	g := start(t, home, "")
	killedBackup(t, home, to, func(*exec.Cmd) {
		_ = g.cmd.Process.Kill()
		<-g.exited
		if len(unfinished(t, target)) == 0 { // the copy was complete
			g = start(t, home, "")
		}
	})
	g = start(t, home, "")
	if left := unfinished(t, target); len(left) != 0 {
		t.Errorf("the next life left %q", left)
	}

	// The same without a gateway. A life that was killed keeps its pid file, which says how it ended.
	g.signal(syscall.SIGKILL)
	<-g.exited
	record, err := os.ReadFile(filepath.Join(home, "gateway.pid"))
	if err != nil {
		t.Fatal(err)
	}
	killedBackup(t, home, to, func(backup *exec.Cmd) {
		_ = backup.Process.Kill() // it may have ended
	})
	if out, code := verb(t, home, "backup", to); code != 0 {
		t.Fatalf("the next backup ended with %d: %s", code, out)
	}
	if left := unfinished(t, target); len(left) != 0 {
		t.Errorf("the next backup left %q", left)
	}
	if now, err := os.ReadFile(filepath.Join(home, "gateway.pid")); err != nil || string(now) != string(record) {
		t.Errorf("backups without a gateway changed the pid file of the killed life from %q to %q, %v", record, now, err)
	}
}

// TF45: a backup that is made while turns are answered has every turn that was answered before it began.
func TestTF45_ABackupUnderLoadHasEveryTurnThatWasAnswered(t *testing.T) {
	t.Parallel() // it mostly waits
	home := largeHome(t)
	g := start(t, home, "")
	to := filepath.Join(t.TempDir(), "copy.db")
	var mu sync.Mutex
	var answered []string
	quit := make(chan struct{})
	var clients sync.WaitGroup
	for c := range 4 {
		clients.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-quit:
					return
				default:
				}
				text := fmt.Sprintf("message %d of client %d", n, c)
				if _, status := g.chat(fmt.Sprintf("client%d", c), text); status != http.StatusOK {
					t.Errorf("%s was answered with %d", text, status)
					return
				}
				mu.Lock()
				answered = append(answered, text)
				mu.Unlock()
			}
		})
	}
	so := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(answered)
	}
	eventually.True(t, "twenty messages are answered", func() bool { return len(so()) >= 20 })
	before := so()
	out, code := g.verb("backup", to)
	during := len(so()) - len(before)
	close(quit)
	clients.Wait()
	if code != 0 {
		t.Fatalf("the backup ended with %d: %s", code, out)
	}
	if during == 0 {
		t.Error("no turn was answered while the backup ran")
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("the gateway ended with %d", code)
	}

	db := openCopy(t, to)
	var sound string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&sound); err != nil || sound != "ok" {
		t.Errorf("integrity_check of the copy: %q, %v", sound, err)
	}
	for _, text := range before {
		var turns int
		err := db.QueryRow(`SELECT count(*) FROM turns t JOIN messages m ON m.turn_id = t.id
WHERE m.role = 'user' AND m.content = ? AND t.state = 'done'`, text).Scan(&turns)
		if err != nil || turns != 1 {
			t.Errorf("%q was answered before the backup, and the copy has %d turns of it, %v", text, turns, err)
		}
	}
}

// A wrong --lock-dir is refused before anything is made.
func TestAWrongLockDirMakesNoHome(t *testing.T) {
	parent := newHome(t)
	shared := filepath.Join(parent, "shared")
	if err := os.Mkdir(shared, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(shared, 0o755); err != nil { // independent of the umask
		t.Fatal(err)
	}
	for name, dir := range map[string]string{
		"a folder that others may read": shared,
		"a file":                        binary,
		"a folder in a folder that does not exist": filepath.Join(parent, "no", "locks"),
	} {
		t.Run(name, func(t *testing.T) {
			home := filepath.Join(parent, "home")
			out, code := verb(t, home, "--no-tui", "--lock-dir", dir)
			if code == 0 || !strings.Contains(out, dir) {
				t.Errorf("it ended with %d: %s", code, out)
			}
			if _, err := os.Lstat(home); err == nil {
				t.Error("it made the home")
			}
		})
	}
}

// A home whose lock is kept elsewhere is backed up with the same --lock-dir, and not while a gateway holds that lock.
func TestABackupHonoursTheLockDir(t *testing.T) {
	home, locks := newHome(t), filepath.Join(newHome(t), "locks")
	g := start(t, home, "", "--lock-dir", locks)
	g.signal(syscall.SIGSTOP) // it holds its lock and answers nothing
	if err := os.Remove(filepath.Join(home, "control.sock")); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "copy.db")
	if out, code := verb(t, home, "backup", to, "--lock-dir", locks); code == 0 || !strings.Contains(out, fmt.Sprintf("pid %d", g.cmd.Process.Pid)) {
		t.Errorf("with a gateway on the lock the backup ended with %d: %s", code, out)
	}
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-g.exited
	began := time.Now()
	if out, code := verb(t, home, "backup", to, "--lock-dir", locks); code != 0 {
		t.Errorf("without a gateway the backup ended with %d after %v: %s", code, time.Since(began), out)
	}
}
