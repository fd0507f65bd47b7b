package instance

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"

	"gatewaytui/core/ops"
)

// pidFiles are what an earlier life, or another program, may have left.
func pidFiles(t *testing.T) map[string]string {
	t.Helper()
	text := func(r Record) string {
		b, err := encode(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	dead, foreign, own := sample(), sample(), sample()
	dead.PID, dead.StartTicks, dead.BootID = gone.Process.Pid, Self().StartTicks, Self().BootID
	foreign.PID, foreign.StartTicks, foreign.BootID = os.Getppid(), 1, Self().BootID
	own.PID, own.StartTicks, own.BootID = Self().PID, Self().StartTicks, Self().BootID
	return map[string]string{
		"missing": "", "empty": "", "garbage": "\x00\xff not json {", "dead pid": text(dead),
		"live foreign pid": text(foreign), "own pid": text(own),
	}
}

func TestB1_AStartSucceedsIfAndOnlyIfTheLockIsFree(t *testing.T) {
	for name, text := range pidFiles(t) {
		for _, held := range []bool{false, true} {
			state := map[bool]string{false: "free", true: "held"}[held]
			t.Run(fmt.Sprintf("pid file %s and lock %s", name, state), func(t *testing.T) {
				h := open(t, t.TempDir())
				if name != "missing" {
					write(t, h.PIDFile(), text)
				}
				if held {
					f, err := os.OpenFile(h.Lock(), os.O_RDWR|os.O_CREATE, 0o600)
					if err != nil {
						t.Fatal(err)
					}
					defer f.Close()
					if err := flock(f); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Test(t, func(t *testing.T) { // a start waits for a holder that does not name itself
					l, err := h.Acquire(sample())
					if !held {
						if err != nil {
							t.Fatalf("the lock is free and the start fails: %v", err)
						}
						if r, ok := h.holder(); !ok || r.PID != os.Getpid() || r.Life != sample().Life {
							t.Errorf("the pid file says %+v, %v after the start", r, ok)
						}
						if err := l.Release(); err != nil {
							t.Error(err)
						}
						return
					}
					e, ok := errors.AsType[*HeldError](err)
					if !ok {
						t.Fatalf("the lock is held and the start gives %v", err)
					}
					want := 0 // nothing that is not true is said of the holder
					if name == "own pid" {
						want = os.Getpid()
					}
					if e.Holder.PID != want {
						t.Errorf("the holder is said to be pid %d, want %d", e.Holder.PID, want)
					}
					if got := content(h.PIDFile()); got != text {
						t.Errorf("a start that failed changed the pid file to %q", got)
					}
				})
			})
		}
	}
}

// content is the content of the file at path, empty if there is none.
func content(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}

func TestB1_TheLockOfAKilledHolderIsFree(t *testing.T) {
	dir := t.TempDir()
	s := launch(t, "start", dir, nil)
	if got := s.Line(t); got != "won" {
		t.Fatal(got)
	}
	h := open(t, dir)
	if _, err := h.Acquire(sample()); !isHeldBy(err, s.Process.Pid) {
		t.Fatalf("while pid %d holds the home, a start gives %v", s.Process.Pid, err)
	}
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.Wait() // "signal: killed"
	acquire(t, h)
}

func isHeldBy(err error, pid int) bool {
	e, ok := errors.AsType[*HeldError](err)
	return ok && e.Holder.PID == pid
}

func TestAChildThatOutlivesTheHolderDoesNotKeepTheLock(t *testing.T) {
	h := open(t, t.TempDir())
	l := acquire(t, h)
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Wait() }() // it is killed
	defer func() { _ = child.Process.Kill() }()
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", child.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", child.Process.Pid, fd.Name())); strings.HasPrefix(to, h.Dir()) {
			t.Errorf("the child has %s open", to)
		}
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	acquire(t, h)
}

func TestALockFileDeletedUnderALivingGatewayLetsNoSecondOneIn(t *testing.T) {
	h := open(t, t.TempDir())
	l := acquire(t, h)
	if err := os.Remove(h.Lock()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Acquire(sample()); !isHeldBy(err, os.Getpid()) {
		t.Errorf("a second start gives %v", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	acquire(t, h)
}

func TestALockOnADeletedFileIsNotTakenForTheHome(t *testing.T) {
	h := open(t, t.TempDir())
	f, err := openLock(h.Lock())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !isAt(f, h.Lock()) {
		t.Error("the lock file is not taken for itself")
	}
	if err := os.Remove(h.Lock()); err != nil {
		t.Fatal(err)
	}
	if isAt(f, h.Lock()) {
		t.Error("a deleted file is taken for the lock file")
	}
	write(t, h.Lock(), "")
	if isAt(f, h.Lock()) {
		t.Error("a deleted file is taken for the one that was made in its place")
	}
}

func TestHeldErrorSaysWhoAndWhatToDo(t *testing.T) {
	r := sample()
	r.PID = 4711
	for _, c := range []struct {
		name  string
		err   *HeldError
		parts []string
	}{
		{"who is known", &HeldError{Home: "/h", Holder: r}, []string{"/h", "pid 4711", "since 2026-01-0", "version 1.2.3", "gatewaytui attach --home /h"}},
		{"who is not known", &HeldError{Home: "/h"}, []string{"pid unknown", "since unknown", "version unknown", "gatewaytui attach --home /h", "lslocks"}},
		{"the home has a space", &HeldError{Home: "/my home"}, []string{"gatewaytui attach --home '/my home'"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, part := range c.parts {
				if !strings.Contains(c.err.Error(), part) {
					t.Errorf("%q does not say %q", c.err, part)
				}
			}
			wrapped := fmt.Errorf("start: %w", c.err)
			if e := ops.AsError(wrapped); e.Code != ops.CodeConflict || e.Hint == "" {
				t.Errorf("as an ops.Error it is %+v", e)
			}
		})
	}
}

func TestUpdateAndReleaseTouchOnlyWhatIsOurs(t *testing.T) {
	h := open(t, t.TempDir())
	l := acquire(t, h)

	r := sample()
	r.PID, r.Control = 1, "/elsewhere.sock" // who we are is not the caller's to say
	if err := l.Update(r); err != nil {
		t.Fatal(err)
	}
	got, ok := h.holder()
	if !ok || got.PID != os.Getpid() || got.Control != r.Control || got.StartTicks == 0 || got.BootID == "" {
		t.Errorf("the pid file says %+v", got)
	}
	if !got.StartedAt.Equal(r.StartedAt.Time) {
		t.Errorf("it started at %s, want %s", got.StartedAt, r.StartedAt)
	}

	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(h.PIDFile()); !os.IsNotExist(err) {
		t.Errorf("after the release the pid file is there: %v", err)
	}
	if _, err := os.Lstat(h.Lock()); err != nil {
		t.Errorf("after the release the lock file is gone: %v", err)
	}
	write(t, h.PIDFile(), "another's")
	if err := l.Release(); err != nil {
		t.Errorf("a second release: %v", err)
	}
	if err := l.Update(r); !errors.Is(err, os.ErrClosed) {
		t.Errorf("an update after the release: %v", err)
	}
	if got := read(t, h.PIDFile()); got != "another's" {
		t.Errorf("after the release the pid file was changed to %q", got)
	}

	l = acquire(t, h)
	write(t, h.PIDFile(), `{"pid":1,"start_ticks":1,"boot_id":"x"}`)
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if got := content(h.PIDFile()); got == "" {
		t.Error("a pid file that is not ours was removed")
	}
}

// B18: on a file system without locks a start says so, in a way that stops retries, and the lock can be elsewhere.
func TestB18_AFileSystemWithoutLocksIsNamedAndTheLockMayBeElsewhere(t *testing.T) {
	for _, refusal := range []error{unix.EBUSY, unix.ENOLCK, unix.EOPNOTSUPP, unix.ENOSYS} {
		t.Run(refusal.Error(), func(t *testing.T) {
			dir, locks := t.TempDir(), filepath.Join(t.TempDir(), "made", "locks")
			if err := os.Mkdir(filepath.Dir(locks), 0o700); err != nil {
				t.Fatal(err)
			}
			without := func() *Home {
				h := open(t, dir)
				h.flock = func(f *os.File) error {
					if strings.HasPrefix(f.Name(), dir) {
						return refusal
					}
					return flock(f)
				}
				return h
			}
			_, err := without().Acquire(sample())
			e := ops.AsError(err)
			if !errors.Is(err, ErrNoLocks) || !strings.Contains(e.Message, refusal.Error()) || !strings.Contains(e.Message, "gateway.lock") || !strings.Contains(e.Hint, "--lock-dir") {
				t.Fatalf("it gives %v", err)
			}
			h := without()
			if err := h.LockIn(locks); err != nil {
				t.Fatal(err)
			}
			acquire(t, h)
			second := without()
			if err := second.LockIn(locks); err != nil {
				t.Fatal(err)
			}
			if _, err := second.Acquire(sample()); !isHeldBy(err, os.Getpid()) {
				t.Errorf("a second start gives %v", err)
			}
			other := open(t, t.TempDir()) // whose lock is in the same folder
			if err := other.LockIn(locks); err != nil {
				t.Fatal(err)
			}
			acquire(t, other)
		})
	}
	t.Run("a folder that others share is refused", func(t *testing.T) {
		shared := t.TempDir()
		if err := os.Chmod(shared, 0o755); err != nil {
			t.Fatal(err)
		}
		h := open(t, t.TempDir())
		if err := h.LockIn(shared); err == nil || h.Lock() != filepath.Join(h.Dir(), lockFile) {
			t.Errorf("it gives %v and locks %s", err, h.Lock())
		}
	})
}

func TestB18_WhatCannotBeLockedIsSaid(t *testing.T) {
	for _, c := range []struct {
		name string
		put  func(path string) error
	}{
		{"a folder in the lock's place", func(path string) error { return os.Mkdir(path, 0o700) }},
		{"a fifo in the lock's place", func(path string) error { return unix.Mkfifo(path, 0o600) }},
		{"a symbolic link in the lock's place", func(path string) error { return os.Symlink("/dev/null", path) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := open(t, t.TempDir())
			if err := c.put(h.Lock()); err != nil {
				t.Fatal(err)
			}
			_, err := h.Acquire(sample())
			e := ops.AsError(err)
			if err == nil || !strings.Contains(e.Message, h.Lock()) || e.Hint == "" {
				t.Errorf("it gives %v", err)
			}
			if _, held := errors.AsType[*HeldError](err); held {
				t.Errorf("it is said to be held: %v", err)
			}
		})
	}
}

func TestALockFileThatAUmaskClosedIsOpenedAgain(t *testing.T) {
	h := open(t, t.TempDir())
	write(t, h.Lock(), "")
	if err := os.Chmod(h.Lock(), 0); err != nil {
		t.Fatal(err)
	}
	acquire(t, h)
	if got := mode(t, h.Lock()); got != 0o600 {
		t.Errorf("its mode is %o", got)
	}
}

// A killed life is known by its pid file, so work on the home without a gateway leaves that file as it is.
func TestHoldExcludesAGatewayAndLeavesThePIDFile(t *testing.T) {
	for name, text := range pidFiles(t) {
		if name == "own pid" { // Release removes the record of its own process
			continue
		}
		t.Run("pid file "+name, func(t *testing.T) {
			h := open(t, t.TempDir())
			if name != "missing" {
				write(t, h.PIDFile(), text)
			}
			l, err := h.Hold()
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) { // the wait for a holder costs no real time
				if _, err := h.Hold(); !isHeld(err) {
					t.Errorf("a second Hold gives %v", err)
				}
			})
			if err := l.Release(); err != nil {
				t.Fatal(err)
			}
			now, err := os.ReadFile(h.PIDFile())
			if name == "missing" && !errors.Is(err, os.ErrNotExist) || name != "missing" && (err != nil || string(now) != text) {
				t.Errorf("the pid file was %q and is %q, %v", text, now, err)
			}
			acquire(t, h)
		})
	}
}

func isHeld(err error) bool {
	_, ok := errors.AsType[*HeldError](err)
	return ok
}
