package e2e

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// HF14: a file of another user in the home keeps no gateway from starting; status names it.
func TestHF14_AFileOfAnotherUserIsAWarning(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("runs as root: only root can make one")
	}
	check := func(t *testing.T, g *gateway, want string) {
		t.Helper()
		if got := g.warnings()["home.foreign_file"]; !strings.Contains(got, want) {
			t.Errorf("status warns of %q, want %q", got, want)
		}
		if _, status := g.chat("a", "hello"); status != http.StatusOK {
			t.Errorf("answered %d", status)
		}
		if code, _ := g.stop(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
	t.Run("root, and a file of uid 65534", func(t *testing.T) {
		home := newHome(t)
		leaveLife(t, home)
		stray := filepath.Join(home, "README")
		if err := errors.Join(os.WriteFile(stray, []byte("note\n"), 0o644), os.Chown(stray, 65534, 65534)); err != nil {
			t.Fatal(err)
		}
		check(t, start(t, home, quick), `"README" (uid 65534)`)
	})
	t.Run("uid 65534, and a file of root", func(t *testing.T) {
		setpriv, err := exec.LookPath("setpriv")
		if err != nil {
			t.Skip("runs where setpriv(1) of util-linux is installed")
		}
		// Where another user can reach it: the folders of t.TempDir are root's alone.
		shared := newHome(t)
		program, home, config := filepath.Join(shared, "gatewaytui"), filepath.Join(shared, "home"), filepath.Join(shared, "config.toml")
		text, err := os.ReadFile(binary)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Chmod(shared, 0o755), os.WriteFile(program, text, 0o755), os.WriteFile(config, []byte(quick), 0o644),
			os.Mkdir(home, 0o700), os.WriteFile(filepath.Join(home, "gateway.lock"), nil, 0o600),
			os.WriteFile(filepath.Join(home, "README"), []byte("note\n"), 0o644),
			os.Chown(home, 65534, 65534), os.Chown(filepath.Join(home, "gateway.lock"), 65534, 65534)); err != nil {
			t.Fatal(err)
		}
		wrapper := "cd " + shared + "; exec env HOME=" + shared + " " + setpriv + " --reuid 65534 --regid 65534 --clear-groups " +
			program + " --no-tui --home " + home + " --config " + config + ` # "$@"`
		check(t, startUnder(t, wrapper, home, quick), `"README" (uid 0)`)
	})
}

// HF30: a database that is a symbolic link is refused for good, with the reason, and nothing is made at its target.
func TestHF30_ALinkedDatabaseIsRefused(t *testing.T) {
	home := newHome(t)
	leaveLife(t, home)
	database, target := filepath.Join(home, "gateway.db"), filepath.Join(t.TempDir(), "target.db")
	for _, name := range []string{database, database + "-wal", database + "-shm"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(target, database); err != nil {
		t.Fatal(err)
	}
	g := spawn(t, home, quick)
	if code := g.exit(); code != 78 || !strings.Contains(g.output(), database+" is a symbolic link") {
		t.Errorf("exit code %d\n%s", code, g.output())
	}
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the target is there: %v", err)
	}
}

// HF30: a log file that is a symbolic link is quarantined, and a home that was open is closed with a warning.
func TestHF30_ALinkedLogInAnOpenHomeIsQuarantined(t *testing.T) {
	home := newHome(t)
	leaveLife(t, home)
	log, target := filepath.Join(home, "logs", "gateway.jsonl"), filepath.Join(t.TempDir(), "target")
	err := errors.Join(os.Remove(log), os.WriteFile(target, []byte("precious\n"), 0o644), os.Symlink(target, log), os.Chmod(home, 0o755))
	if err != nil {
		t.Fatal(err)
	}
	g := start(t, home, quick)
	warnings := g.warnings()
	if !strings.Contains(warnings["aside"], "logs/gateway.jsonl could not be used: it is a symbolic link") {
		t.Errorf("status warns of %q", warnings["aside"])
	}
	if !strings.Contains(warnings["home.was_open"], "had mode 0755") {
		t.Errorf("status warns of %q", warnings["home.was_open"])
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	text, err := os.ReadFile(target)
	if fi, statErr := os.Stat(target); err != nil || statErr != nil || string(text) != "precious\n" || fi.Mode().Perm() != 0o644 {
		t.Errorf("the target has %q, %v, %v", text, fi.Mode(), err)
	}
	if fi, err := os.Lstat(log); err != nil || !fi.Mode().IsRegular() {
		t.Errorf("the log is %v, %v", fi, err)
	}
	if fi, err := os.Stat(home); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("the home has %v, %v", fi.Mode(), err)
	}
}

// HF30: a linked folder in a home that everyone could write to is refused for good.
func TestHF30_ALinkedFolderInAnOpenHomeIsRefused(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	home := newHome(t)
	leaveLife(t, home)
	logs, target := filepath.Join(home, "logs"), t.TempDir()
	if err := errors.Join(os.RemoveAll(logs), os.Symlink(target, logs), os.Chmod(home, 0o777)); err != nil {
		t.Fatal(err)
	}
	g := spawn(t, home, quick)
	if code := g.exit(); code != 78 || !strings.Contains(g.output(), logs+" is a symbolic link") {
		t.Errorf("exit code %d\n%s", code, g.output())
	}
}
