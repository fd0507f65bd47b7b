package instance

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gatewaytui/core/ops"
)

func warning(h *Home, code string) string {
	for _, w := range h.Warnings() {
		if w.Code == code {
			return w.Message
		}
	}
	return ""
}

// HF14: a file of another user in the home is named and left as it is.
func TestHF14_AFileOfAnotherUserIsAWarning(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("runs as root: only root can make one")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, lockFile), "") // a home already
	stray, report := filepath.Join(open(t, dir).Dir(), "README"), filepath.Join(dir, dumpsDir, "report.json")
	for _, path := range []string{stray, report} {
		write(t, path, "x")
		if err := errors.Join(os.Chown(path, 65534, 65534), os.Chmod(path, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	h := open(t, dir)
	acquire(t, h)
	if got := warning(h, WarnForeignFile); !strings.Contains(got, `"README" (uid 65534)`) || !strings.Contains(got, `"dumps/report.json" (uid 65534)`) {
		t.Errorf("it warns of %q", got)
	}
	if got := mode(t, stray); got != 0o644 {
		t.Errorf("the file has mode %04o now", got)
	}

	// Another user than root, whom the files are foreign to as well, and who may not change them.
	public := publicCopy(t)
	as := func(cmd *exec.Cmd) {
		cmd.Path = public
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	home := filepath.Join(filepath.Dir(public), "home")
	if err := errors.Join(os.Mkdir(home, 0o700), os.Chown(home, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	s := launch(t, "start", home, as)
	if got := s.Line(t); got != "won" {
		t.Fatal(got)
	}
	s.End(t)
	for _, name := range []string{"README", "logs/note.txt", pidFile} {
		write(t, filepath.Join(home, name), "x")
		if err := os.Chmod(filepath.Join(home, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s = launch(t, "start", home, as)
	if got := s.Line(t); got != "won" {
		t.Errorf("with files of root it says %q", got)
	}
	s.End(t)
	for _, name := range []string{storeFile, storeFile + "-wal"} {
		path := filepath.Join(home, name)
		write(t, path, "x")
		s = launch(t, "start", home, as)
		if got := s.Line(t); !strings.Contains(got, path+" belongs to uid 0 and we run as uid 65534") || !strings.Contains(got, "chown 65534 "+path) {
			t.Errorf("with a %s of root it says %q", name, got)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, sub := range []string{logsDir, quarantineDir} {
		path := filepath.Join(home, sub)
		if err := errors.Join(os.MkdirAll(path, 0o700), os.Chown(path, 0, 0)); err != nil {
			t.Fatal(err)
		}
		s = launch(t, "start", home, as)
		if got := s.Line(t); !strings.Contains(got, path+" belongs to uid 0") {
			t.Errorf("with a folder %s of root it says %q", sub, got)
		}
		if err := os.Chown(path, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
}

// HF30: that a home was open is said once.
func TestHF30_AHomeThatWasOpenIsAWarning(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	h := open(t, dir)
	if got := warning(h, WarnWasOpen); got != "" {
		t.Errorf("the first start warns of %q, and nothing was in the folder", got)
	}
	acquire(t, h)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := warning(open(t, dir), WarnWasOpen); !strings.Contains(got, "the home had mode 0755 and was open to other users; it is 0700 now") {
		t.Errorf("it warns of %q", got)
	}
	if got := warning(open(t, dir), WarnWasOpen); got != "" || mode(t, dir) != dirMode {
		t.Errorf("the next start warns of %q, and the home has mode %04o", got, mode(t, dir))
	}
}

// HF30: a folder of the home that is a symbolic link in a home that others could write to is not followed.
func TestHF30_ALinkedFolderInAnOpenHomeIsRefused(t *testing.T) {
	dir, target := t.TempDir(), t.TempDir()
	acquire(t, open(t, dir))
	logs := filepath.Join(dir, logsDir)
	if err := errors.Join(os.Remove(logs), os.Symlink(target, logs), os.Chmod(target, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, m := range []fs.FileMode{0o777, 0o720, 0o702} {
		if err := os.Chmod(dir, m); err != nil {
			t.Fatal(err)
		}
		_, err := Open(dir)
		if e := ops.AsError(err); !errors.Is(err, ErrExposed) || !strings.Contains(e.Message, logs+" is a symbolic link") || e.Hint == "" {
			t.Errorf("with mode %04o it gives %v", m, err)
		}
		if mode(t, dir) != m || mode(t, target) != 0o755 {
			t.Errorf("the modes of the home and of the target are %04o and %04o now", mode(t, dir), mode(t, target))
		}
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	open(t, dir) // the owner's own link
}

// HF30: what is at the place of the log and cannot be it is quarantined, and nothing goes to the target of a link.
func TestHF30_WhatCannotBeTheLogIsQuarantined(t *testing.T) {
	for name, make := range map[string]func(path, target string) error{
		"a symbolic link":    func(path, target string) error { return os.Symlink(target, path) },
		"not a regular file": func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
		"a file of another user": func(path, _ string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chown(path, 65534, 65534))
		},
	} {
		t.Run(name, func(t *testing.T) {
			says := name
			if name == "a file of another user" {
				if os.Geteuid() != 0 {
					t.Skip("runs as root: only root can make one")
				}
				says = "belongs to uid 65534"
			}
			h := open(t, t.TempDir())
			acquire(t, h)
			target := filepath.Join(t.TempDir(), "target")
			write(t, target, "precious")
			if err := make(h.Log(), target); err != nil {
				t.Fatal(err)
			}
			h.CheckLog()
			kept := h.Quarantined()
			if len(kept) != 1 || kept[0].Kept == "" || !strings.Contains(kept[0].String(), says) || !strings.Contains(kept[0].String(), "logs/gateway.jsonl") {
				t.Fatalf("quarantined is %v", kept)
			}
			if _, err := os.Lstat(h.Log()); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it is still there: %v", err)
			}
			if read(t, target) != "precious" {
				t.Errorf("the target has %q", read(t, target))
			}
		})
	}
	h := open(t, t.TempDir())
	acquire(t, h)
	h.CheckLog()
	write(t, h.Log(), "{}\n")
	h.CheckLog()
	if kept := h.Quarantined(); len(kept) != 0 {
		t.Errorf("a log that can be used is quarantined: %v", kept)
	}
}
