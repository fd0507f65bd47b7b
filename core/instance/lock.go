package instance

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

// The lock is flock(2), for these reasons. It belongs to the open file and not to the process. A POSIX lock of fcntl(2)
// would be dropped when any part of the program opens and closes the file (F1). The kernel frees it when the holder ends,
// in every case. The lock of an open file description, F_OFD_SETLK, would serve as well, but flock(1), lslocks and
// scripts use flock, and lslocks names its holder. The file is opened close-on-exec, so no child keeps the lock after our
// end. It is never deleted, so that all starters lock the same inode.

// Lock is the ownership of a home. It is held until Release or the end of the process. Its methods may be called from
// any goroutine.
type Lock struct {
	home *Home
	self Record // the identity in every record

	mu     sync.Mutex // orders the uses of the pid file, and delays nothing else
	file   *os.File   // nil after Release
	folder *os.File   // see lockFolder; may be nil
}

// How long Acquire waits until the holder's pid file identifies it, and how often it reads. The holder may have had the
// lock for a millisecond only.
const (
	introduction = 2 * time.Second
	lookAgain    = 10 * time.Millisecond
)

// Acquire takes ownership of the home, or returns a *HeldError that names the owner. Only the lock decides. It writes the
// pid file with r's data about the life and this process's own identity. It returns at once, or within two seconds where
// a holder has not written its pid file yet.
func (h *Home) Acquire(r Record) (*Lock, error) {
	l, err := h.Hold()
	if err != nil {
		return nil, err
	}
	h.checkPIDFile()
	if err := l.Update(r); err != nil {
		return nil, errors.Join(err, l.Release())
	}
	return l, nil
}

// Hold takes the lock for work on the home without a gateway. It leaves the pid file as it is, because the next start
// reads the record of a life that was killed. The error is a *HeldError if a living holder has the lock, or if it stays
// held for longer than introduction. Release ends it.
func (h *Home) Hold() (*Lock, error) {
	for began := time.Now(); ; time.Sleep(lookAgain) {
		l, err := h.lock()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return l, err
		}
		holder, known := h.holder()
		if known || time.Since(began) > introduction {
			return nil, &HeldError{Home: h.dir, Holder: holder}
		}
	}
}

// checkPIDFile moves an earlier life's pid file to quarantine if it is invalid. This life's file takes its place.
func (h *Home) checkPIDFile() {
	if _, err := readRecord(h.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.Quarantine(h.PIDFile(), err)
	}
}

// ErrNoLocks marks a home, or a folder of LockIn, on a file system without locks. Another try does not help (B18).
var ErrNoLocks = errors.New("this file system does not support locks")

// noLocks are the errors of open(2) and flock(2) on such file systems: NFS without a lock daemon, virtiofs and other FUSE
// mounts.
var noLocks = []error{syscall.EBUSY, syscall.ENOLCK, syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.EINVAL}

// cannotLock is an error of the lock file other than EWOULDBLOCK.
func (h *Home) cannotLock(cause error, what string) error {
	if !slices.ContainsFunc(noLocks, func(e error) bool { return errors.Is(cause, e) }) {
		return problem(cause, what, "make the home writable for this user, or "+otherHome)
	}
	return &userError{ops.Error{
		Code: ops.CodeInternal, Message: what + ": this file system cannot tell whether another gateway runs here: " + reason(cause),
		Hint: "put the home on a local file system with --home DIR or GATEWAYTUI_HOME, or only its lock with --lock-dir DIR, which every gateway of this home has to name",
	}, errors.Join(cause, ErrNoLocks)}
}

// LockIn keeps the home's lock in dir instead, a private folder on a file system with locks, which it makes if it is
// missing. Only starts that name the same folder exclude each other. Call it before Acquire.
func (h *Home) LockIn(dir string) error {
	if err := CheckLockDir(dir); err != nil {
		return err
	}
	if err := makeDir(dir); err != nil {
		return err
	}
	if err := CheckLockDir(dir); err != nil { // another process may have made it
		return err
	}
	h.lockPath = filepath.Join(dir, "gatewaytui-"+h.id+".lock")
	return nil
}

// CheckLockDir returns nil if LockIn can use dir: a private folder, or one that does not exist yet in a folder that does.
// It changes nothing, so that a wrong --lock-dir is refused before the home is made.
func CheckLockDir(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("keep the lock in %q: the path is not absolute", dir)
	}
	err := isPrivate(dir)
	if errors.Is(err, fs.ErrNotExist) {
		var fi fs.FileInfo
		if fi, err = os.Stat(filepath.Dir(dir)); err == nil && !fi.IsDir() {
			err = syscall.ENOTDIR
		}
	}
	if err != nil {
		return problem(err, "keep the lock in "+dir, "name a folder that only you can use (mode 0700)")
	}
	return nil
}

// maxDeletions bounds how often a starter retries when the lock file is deleted, or when it changes its inode on a file
// system without stable ones.
const maxDeletions = 100

// holder is the lock's holder according to the pid file; false if the file is missing or invalid.
func (h *Home) holder() (Record, bool) {
	r, err := readRecord(h.dir)
	if alive, known := Alive(r); err != nil || known && !alive {
		return Record{}, false // left behind by an earlier life
	}
	return r, true
}

// lock takes the lock. The error is EWOULDBLOCK where another gateway has it.
func (h *Home) lock() (*Lock, error) {
	for range maxDeletions {
		f, err := openLock(h.Lock())
		if err != nil {
			return nil, h.cannotLock(err, "open the lock "+h.Lock())
		}
		if err := h.flock(f); err != nil {
			_ = f.Close() // nothing was written
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, err
			}
			return nil, h.cannotLock(err, "lock "+h.Lock())
		}
		if !isAt(f, h.Lock()) { // the file was deleted while we waited for it; a lock on it would exclude no starter
			_ = f.Close()
			continue
		}
		folder, err := lockFolder(h.dir)
		if err != nil {
			_ = f.Close()
			return nil, err
		}
		return &Lock{home: h, self: Self(), file: f, folder: folder}, nil
	}
	return nil, problem(errors.New("the file at this path changes with each read"), "lock "+h.Lock(),
		"stop what deletes it, or put the home on a local file system with --home DIR or GATEWAYTUI_HOME")
}

// openLock opens the lock file, and makes it if it is missing. It sets the mode again, because the umask may have removed
// bits of the owner's. A starter that died in between can have left the file so.
func openLock(path string) (*os.File, error) {
	const flags = os.O_RDWR | os.O_CREATE | syscall.O_NOFOLLOW | syscall.O_NONBLOCK // os adds O_CLOEXEC
	f, err := os.OpenFile(path, flags, fileMode)
	if errors.Is(err, fs.ErrPermission) && os.Chmod(path, fileMode) == nil {
		f, err = os.OpenFile(path, flags, fileMode)
	}
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	switch {
	case err != nil:
	case !fi.Mode().IsRegular():
		err = errors.New("it is not a regular file")
	case fi.Mode().Perm() != fileMode:
		err = f.Chmod(fileMode)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// lockFolder locks the home's folder as well, for the one case that the lock file does not cover: the file is deleted
// under a living gateway, and the next starter makes a new one. Where folders cannot be locked, as on NFS, only the file
// is locked.
func lockFolder(dir string) (*os.File, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, problem(err, "open the home "+dir, otherHome)
	}
	if err = flock(d); err == nil {
		return d, nil
	}
	_ = d.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, err
	}
	return nil, nil
}

func flock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// isAt reports whether f is the file at path.
func isAt(f *os.File, path string) bool {
	ours, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(ours, there)
}

// Update replaces the pid file with r's data about the life and this process's own identity.
func (l *Lock) Update(r Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return fmt.Errorf("write the pid file: the lock is released: %w", os.ErrClosed)
	}
	r.PID, r.StartTicks, r.BootID, r.PIDNamespace = l.self.PID, l.self.StartTicks, l.self.BootID, l.self.PIDNamespace
	b, err := encode(r)
	if err == nil {
		err = writeFile(l.home.PIDFile(), b)
	}
	if err != nil {
		return problem(err, "write the pid file "+l.home.PIDFile(), "free some space and make the home writable; the pid file may be deleted at any time")
	}
	return nil
}

// Release removes the pid file, if it is still ours, and then the lock. Only the first call has an effect.
func (l *Lock) Release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	var errs []error
	if r, err := readRecord(l.home.dir); err == nil && r.PID == l.self.PID && r.StartTicks == l.self.StartTicks && r.BootID == l.self.BootID {
		errs = append(errs, os.Remove(l.home.PIDFile()))
	}
	for _, f := range []*os.File{l.folder, l.file} {
		if f != nil {
			// A child between its fork and its exec has the descriptor too, so closing ours alone may not unlock it.
			errs = append(errs, unix.Flock(int(f.Fd()), unix.LOCK_UN), f.Close())
		}
	}
	l.file, l.folder = nil, nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("release the home %s: %w", l.home.dir, err)
	}
	return nil
}

// HeldError means that a gateway lives on the home already (B16). It is an *ops.Error with CodeConflict as well.
type HeldError struct {
	Home string
	// Holder is the gateway according to its pid file; zero where that is missing or invalid.
	Holder Record
}

func (e *HeldError) answer() *ops.Error {
	who := "pid unknown, since unknown, version unknown"
	if r := e.Holder; r.PID != 0 {
		since := "unknown"
		if !r.StartedAt.IsZero() {
			since = r.StartedAt.Local().Format(time.RFC3339)
		}
		who = fmt.Sprintf("pid %d, since %s, version %s", r.PID, since, cmp.Or(r.Version, "unknown"))
	}
	hint := "open its console with: gatewaytui attach --home " + text.ShellWord(e.Home)
	if e.Holder.PID == 0 {
		hint += "; lslocks shows its process, which may also be a backup, for " + lockFile
	}
	return &ops.Error{Code: ops.CodeConflict, Message: "another gateway holds the home " + e.Home + ": " + who, Hint: hint}
}

func (e *HeldError) Error() string { return e.answer().Error() }

// Unwrap makes a HeldError an *ops.Error to errors.As.
func (e *HeldError) Unwrap() error { return e.answer() }
