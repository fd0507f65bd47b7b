package instance

import (
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gatewaytui/core/ops"
)

func TestResolve(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, flag string
		env        map[string]string
		want       string
	}{
		{"the flag comes first", "/f", map[string]string{"GATEWAYTUI_HOME": "/g", "XDG_STATE_HOME": "/x", "HOME": "/u"}, "/f"},
		{"then the variable", "", map[string]string{"GATEWAYTUI_HOME": "/g", "XDG_STATE_HOME": "/x", "HOME": "/u"}, "/g"},
		{"then the state folder", "", map[string]string{"XDG_STATE_HOME": "/x", "HOME": "/u"}, "/x/gatewaytui"},
		{"then the user's folder", "", map[string]string{"HOME": "/u"}, "/u/.local/state/gatewaytui"},
		{"a relative state folder is ignored", "", map[string]string{"XDG_STATE_HOME": "x", "HOME": "/u"}, "/u/.local/state/gatewaytui"},
		{"a relative flag is made absolute", "f/../g/", nil, filepath.Join(wd, "g")},
		{"nothing names one", "", nil, ""},
		{"a relative user's folder is ignored", "", map[string]string{"HOME": "u"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Resolve(c.flag, func(k string) string { return c.env[k] })
			if got != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
			if c.want == "" && ops.AsError(err).Hint == "" {
				t.Errorf("the error does not say what to do: %v", err)
			}
		})
	}
}

// checkModes reports what below dir others may touch, and what we may not.
func checkModes(t *testing.T, dir string) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		want := fileMode
		if d.IsDir() {
			want = dirMode
		}
		if got := mode(t, path); got != want {
			t.Errorf("%s has mode %04o, want %04o", path, got, want)
		}
		seen++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 7 { // the home, three folders, lock, pid file, marker
		t.Errorf("only %d files and folders are there", seen)
	}
}

func TestI3_TheHomeIsPrivateUnderAnyUmask(t *testing.T) {
	for _, mask := range []string{"0", "022", "777"} {
		t.Run("umask "+mask, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "made", "on the way", "home")
			s := launch(t, "umask "+mask, dir, nil)
			if got := s.Line(t); got != "won" {
				t.Fatal(got)
			}
			checkModes(t, filepath.Dir(filepath.Dir(dir)))
			s.End(t)
		})
	}
}

func TestI3_WhatIsOpenToOthersIsClosed(t *testing.T) {
	dir := t.TempDir()
	h := open(t, dir)
	acquire(t, h)
	if err := h.WriteMarker(Marker{Life: "l"}); err != nil {
		t.Fatal(err)
	}
	tools := filepath.Join(h.Work(), "build.sh")
	for _, path := range []string{h.Database(), h.Log(), filepath.Join(h.Dumps(), "d.txt"), tools} {
		write(t, path, "x")
	}
	for path, m := range map[string]fs.FileMode{
		h.Dir(): 0o755, h.Dumps(): 0o777, h.Database(): 0o644, h.Log(): 0o666, h.PIDFile(): 0o640, tools: 0o755,
		filepath.Join(h.Dumps(), "d.txt"): 0o604,
	} {
		if err := os.Chmod(path, m); err != nil {
			t.Fatal(err)
		}
	}
	open(t, dir)
	if got := mode(t, tools); got != 0o755 {
		t.Errorf("a file of the tools' got mode %04o", got)
	}
	if err := os.Remove(tools); err != nil {
		t.Fatal(err)
	}
	checkModes(t, dir)
}

func TestOpenRefusesWhatCannotBeAHome(t *testing.T) {
	temp := t.TempDir()
	file := filepath.Join(temp, "file")
	write(t, file, "")
	shared := filepath.Join(temp, "shared")
	if err := os.Mkdir(shared, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(shared, 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	foreign := "/usr" // root's
	if os.Geteuid() == 0 {
		foreign = filepath.Join(temp, "foreign")
		if err := os.Mkdir(foreign, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(foreign, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ name, dir, says string }{
		{"a file", file, "it is not a folder"},
		{"a folder below a file", filepath.Join(file, "home"), "not a directory"},
		{"a folder that others share", shared, "shared with others"},
		{"the root folder", "/", "shared with others"},
		{"another user's home", foreign, "belongs to uid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, beforeErr := os.Stat(c.dir)
			_, err := Open(c.dir)
			if e := ops.AsError(err); err == nil || !strings.Contains(e.Message, c.says) || !strings.Contains(e.Hint, "--home") {
				t.Errorf("it gives %v", err)
			}
			if after, err := os.Stat(c.dir); beforeErr == nil && (err != nil || after.Mode() != before.Mode()) {
				t.Errorf("its mode was %s and is %v, %v", before.Mode(), after.Mode(), err)
			}
		})
	}
	if _, err := Open("relative"); err == nil {
		t.Error("a relative path is taken")
	}
}

func TestAHomeThatCannotBeWrittenIsSaid(t *testing.T) {
	dir := t.TempDir()
	unprivileged := func(cmd *exec.Cmd) {}
	if os.Geteuid() == 0 { // whom no mode stops
		public := publicCopy(t)
		unprivileged = func(cmd *exec.Cmd) {
			cmd.Path = public
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Run("the folder that it is to be made in", func(t *testing.T) {
		s := launch(t, "start", filepath.Join(dir, "home"), unprivileged)
		if got := s.Line(t); !strings.Contains(got, "permission denied") || !strings.Contains(got, "--home DIR") {
			t.Errorf("it says %q", got)
		}
	})
	t.Run("a home that is read-only is made writable if it is ours", func(t *testing.T) {
		s := launch(t, "start", dir, unprivileged)
		if got := s.Line(t); got != "won" {
			t.Fatalf("it says %q", got)
		}
		s.End(t)
	})
	t.Run("a lock file of root's", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("runs as root: only root can make one")
		}
		lock := filepath.Join(dir, lockFile)
		if err := os.Chown(lock, 0, 0); err != nil {
			t.Fatal(err)
		}
		s := launch(t, "start", dir, unprivileged)
		if got := s.Line(t); !strings.Contains(got, lock+" belongs to uid 0 and we run as uid 65534") || !strings.Contains(got, "chown 65534 "+lock) {
			t.Errorf("it says %q", got)
		}
	})
}

// publicCopy is this test binary where every user may run it, and opens the way to the test's folders.
func publicCopy(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	from, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	path := filepath.Join(dir, "instance.test")
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	for _, open := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(open, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestTheHomesIDIsThatOfTheFolder(t *testing.T) {
	temp := t.TempDir()
	a, b, link := filepath.Join(temp, "a"), filepath.Join(temp, "b"), filepath.Join(temp, "link")
	ha, hb := open(t, a), open(t, b)
	if ha.ID() == hb.ID() {
		t.Errorf("two homes share the id %s", ha.ID())
	}
	if err := os.Symlink(a, link); err != nil {
		t.Fatal(err)
	}
	linked := open(t, link)
	if linked.ID() != ha.ID() {
		t.Errorf("by a symbolic link the id is %s, want %s", linked.ID(), ha.ID())
	}
	if again := open(t, a); again.ID() != ha.ID() {
		t.Errorf("opened again the id is %s, want %s", again.ID(), ha.ID())
	}
	if err := os.Rename(a, filepath.Join(temp, "moved")); err != nil {
		t.Fatal(err)
	}
	if moved := open(t, filepath.Join(temp, "moved")); moved.ID() != ha.ID() {
		t.Errorf("moved elsewhere the id is %s, want %s", moved.ID(), ha.ID())
	}
	for _, r := range ha.ID() {
		if (r < 'a' || r > 'z') && (r < '2' || r > '7') {
			t.Errorf("the id %q is not plain", ha.ID())
		}
	}
}

func TestAHomeByTwoPathsIsOneHome(t *testing.T) {
	temp := t.TempDir()
	link := filepath.Join(temp, "link")
	h := open(t, filepath.Join(temp, "home"))
	if err := os.Symlink(h.Dir(), link); err != nil {
		t.Fatal(err)
	}
	acquire(t, h)
	if _, err := open(t, link).Acquire(sample()); !isHeldBy(err, os.Getpid()) {
		t.Errorf("by a symbolic link a second start gives %v", err)
	}
}
