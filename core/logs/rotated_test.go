package logs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// moved is a log whose folder is dir/logs, in virtual time.
type moved struct {
	t            *testing.T
	dir, folder  string
	path, target string
	log          *Log
}

// onFile runs do with a log of which one line is written.
func onFile(t *testing.T, do func(m *moved)) {
	t.Helper()
	dir := t.TempDir()
	m := &moved{t: t, dir: dir, folder: filepath.Join(dir, "logs"), target: filepath.Join(dir, "target")}
	m.path = filepath.Join(m.folder, "gateway.jsonl")
	if err := errors.Join(os.Mkdir(m.folder, 0o700), os.Mkdir(m.target, 0o755)); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		m.t = t
		m.log = open(t, Options{Path: m.path})
		m.say("before")
		do(m)
		closeLog(t, m.log)
	})
}

// say logs a line when the file is due to be looked at, and waits until it is written or lost.
func (m *moved) say(msg string) {
	m.t.Helper()
	time.Sleep(lookEvery) // virtual
	m.log.Logger().Info(msg)
	synctest.Wait()
}

func (m *moved) must(errs ...error) {
	m.t.Helper()
	if err := errors.Join(errs...); err != nil {
		m.t.Fatal(err)
	}
}

// has fails the test unless the file is whole, private and has the line msg, after one that says why it was made again.
func (m *moved) has(msg, why string) {
	m.t.Helper()
	lines := parse(m.t, read(m.t, m.path))
	reported := false
	for _, l := range lines {
		reported = reported || l["msg"] == "log.made_again" && l["sink"] == "file" && l["reason"] == why
	}
	if count(lines, msg) != 1 || count(lines, "log.made_again") != 1 || !reported {
		m.t.Errorf("the file has %v; want the line %s, and one that says %q", lines, msg, why)
	}
	fi, err := os.Lstat(m.path)
	if err != nil || fi.Mode() != 0o600 {
		m.t.Errorf("the file is %v, %v", fi.Mode(), err)
	}
	if text, _ := m.log.FileTrouble(); text != "" {
		m.t.Errorf("the trouble goes on: %s", text)
	}
}

// HF28: a log file or its folder that is removed or replaced under the running gateway is made again, and one line says so.
func TestHF28_TheLogIsMadeAgain(t *testing.T) {
	for why, change := range map[string]func(m *moved){
		"the folder of the log was removed": func(m *moved) { m.must(os.RemoveAll(m.folder)) },
		"the log file was removed":          func(m *moved) { m.must(os.Remove(m.path)) },
		"the log file was replaced":         func(m *moved) { m.must(os.Remove(m.path), os.WriteFile(m.path, nil, 0o644)) },
	} {
		t.Run(why, func(t *testing.T) {
			onFile(t, func(m *moved) {
				change(m)
				m.say("after")
				m.has("after", why)
			})
		})
	}
}

// HF28: no symbolic link is followed that was not there at the start. Lines are lost, and counted, until it is gone; then
// the file is made without waiting for another line.
func TestHF28_NoLinkIsFollowed(t *testing.T) {
	for name, tt := range map[string]struct {
		why        string
		plant, end func(m *moved)
	}{
		"the file": {
			"is a symbolic link",
			func(m *moved) { m.must(os.Remove(m.path), os.Symlink(filepath.Join(m.target, "file"), m.path)) },
			func(m *moved) { m.must(os.Remove(m.path)) },
		},
		"the folder": {
			"is a symbolic link",
			func(m *moved) { m.must(os.RemoveAll(m.folder), os.Symlink(m.target, m.folder)) },
			func(m *moved) { m.must(os.Remove(m.folder)) },
		},
		"the folder, to where it was moved": {
			"is a symbolic link",
			func(m *moved) {
				m.must(os.Rename(m.folder, m.folder+"2"), os.Symlink(m.folder+"2", m.folder), os.Remove(m.folder+"2/gateway.jsonl"))
			},
			func(m *moved) { m.must(os.Remove(m.folder)) },
		},
		"a file for a folder": {
			"not a folder",
			func(m *moved) { m.must(os.RemoveAll(m.folder), os.WriteFile(m.folder, nil, 0o600)) },
			func(m *moved) { m.must(os.Remove(m.folder)) },
		},
		"no home": {
			"no such file or directory",
			func(m *moved) { m.must(os.Rename(m.dir, m.dir+"2")) },
			func(m *moved) { m.must(os.Rename(m.dir+"2", m.dir), os.Remove(m.path)) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			onFile(t, func(m *moved) {
				tt.plant(m)
				began := time.Now()
				m.say("lost 1")
				m.say("lost 2")
				text, since := m.log.FileTrouble()
				if !strings.Contains(text, tt.why) || since.Before(began) || since.After(time.Now()) {
					t.Errorf("the trouble is %q since %v, want %q", text, since, tt.why)
				}
				if entries, err := os.ReadDir(m.target); len(entries) != 0 {
					t.Errorf("the target has %v, %v", entries, err)
				}
				tt.end(m)
				time.Sleep(2 * lookEvery)
				synctest.Wait()
				m.has("log.dropped", "the log file was missing")
				if lines := parse(t, read(t, m.path)); count(lines, "lost 1")+count(lines, "lost 2") != 0 || lines[0]["count"] != float64(2) {
					t.Errorf("the file has %v, want that 2 lines are lost", lines)
				}
			})
		})
	}
}

// HF30: a log file that is a symbolic link is not opened.
func TestHF30_ALinkedLogIsNotOpened(t *testing.T) {
	dir := t.TempDir()
	path, target := filepath.Join(dir, "gateway.jsonl"), filepath.Join(dir, "target")
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	if l, err := Open(Options{Path: path}); l != nil || err == nil || !strings.Contains(err.Error(), path+" is a symbolic link") {
		t.Errorf("Open gives %v, %v", l, err)
	}
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the target is there: %v", err)
	}
}

// A folder that was a link at the start is where its owner wants the log: files are rotated there.
func TestTheOldestRotatedFilesAreDeleted(t *testing.T) {
	dir, link := t.TempDir(), filepath.Join(t.TempDir(), "logs")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	earlier := filepath.Join(dir, "gateway-1999-01-02T03-04-05.678-size.jsonl")
	other := filepath.Join(dir, "gateway-note.jsonl")
	for _, name := range []string{earlier, other} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) { // no time passes: the names differ all the same
		l := open(t, Options{Path: filepath.Join(link, "gateway.jsonl"), MaxBytes: 1000, Keep: 3})
		for i := range 100 {
			l.Logger().Info("filler", "i", i, "text", strings.Repeat("x", 100))
		}
		closeLog(t, l)
	})
	size, files := sizeOf(t, dir)
	if len(files) != 3+1+1 || size > 4*1000 {
		t.Errorf("%d bytes in %v", size, files)
	}
	if _, err := os.Stat(earlier); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the oldest file is there: %v", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("a file that does not belong to the log is gone: %v", err)
	}
}
