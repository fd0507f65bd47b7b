package logs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lookEvery is how often, at most, the log file is compared with the file at its path, and how often an unwritable log is
// tried again.
const lookEvery = 2 * time.Second

// backupTime is the time in the name of a rotated file, in UTC.
const backupTime = "2006-01-02T15-04-05.000"

// maxBackups bounds how many names are tried for one rotated file.
const maxBackups = 100

// rotated is the current log file and its rotated predecessors, gateway-TIME-size.jsonl. It follows no symbolic link, and
// makes its file again when it was deleted or replaced (HF28). Only one goroutine uses it.
type rotated struct {
	folder, name string // the folder's path has no symbolic links
	max          int64  // bytes from which the file is rotated
	keep         int    // how many rotated files stay
	again        func(why string)

	file   *os.File // nil: there is none now
	size   int64
	looked time.Time // when the file was last compared with its path, or tried
	err    error     // why there is none
}

// openRotated opens the file at path, whose folder exists, or makes it. again is called when the file was made again.
func openRotated(path string, most int64, keep int, again func(why string)) (*rotated, error) {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path)) // the owner may choose a link that exists from the start
	if err != nil {
		return nil, err
	}
	r := &rotated{folder: folder, name: filepath.Base(path), max: most, keep: keep, again: again, looked: time.Now()}
	return r, r.inFolder(r.open)
}

// Write adds one line.
func (r *rotated) Write(line []byte) (int, error) {
	full := func() bool { return r.file != nil && r.size > 0 && r.size+int64(len(line)) >= r.max }
	if err := r.look(time.Now(), full()); err != nil {
		return 0, err
	}
	if full() {
		if err := r.inFolder(r.rotate); err != nil {
			return 0, fmt.Errorf("rotate the log file: %w", err)
		}
	}
	n, err := r.file.Write(line)
	r.size += int64(n)
	return n, err
}

// Close closes the file.
func (r *rotated) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// look makes the file again if it is not the one at its path: every lookEvery, or at once on request.
func (r *rotated) look(now time.Time, atOnce bool) error {
	if since := now.Sub(r.looked); !atOnce && since >= 0 && since < lookEvery {
		return r.err
	}
	r.looked = now
	why := r.gone()
	if why == "" {
		return nil
	}
	if r.file != nil {
		_ = r.file.Close() // no reader can reach its content
		r.file = nil
	}
	if r.err = r.inFolder(r.open); r.err != nil {
		r.err = fmt.Errorf("%s and cannot be made again: %w", why, r.err)
		return r.err
	}
	r.again(why)
	return nil
}

// gone is why the file is not the one at its path; empty: it is.
func (r *rotated) gone() string {
	if r.file == nil {
		return "the log file was missing"
	}
	ours, err := r.file.Stat()
	if err != nil {
		return "the log file is not readable"
	}
	folder, err := os.Lstat(r.folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "the folder of the log was removed"
	case err != nil:
		return "the folder of the log is not readable"
	case !folder.IsDir():
		return "the folder of the log was replaced"
	}
	there, err := os.Lstat(filepath.Join(r.folder, r.name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "the log file was removed"
	case err != nil:
		return "the log file is not readable"
	case !os.SameFile(ours, there):
		return "the log file was replaced"
	}
	return ""
}

// inFolder runs do with the folder, which it makes again if it is missing. The folder must be a real folder, not a link,
// and ours. It is closed to other users.
func (r *rotated) inFolder(do func(folder int) error) error {
	if err := os.Mkdir(r.folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	folder, err := os.OpenFile(r.folder, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
		return fmt.Errorf("%s is a symbolic link or a file, and not a folder", r.folder)
	}
	if err != nil {
		return err
	}
	defer folder.Close()
	fi, err := folder.Stat()
	if err != nil {
		return err
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to uid %d and we run as uid %d", r.folder, st.Uid, os.Geteuid())
	}
	if fi.Mode().Perm()&0o022 != 0 {
		if err := folder.Chmod(fi.Mode().Perm() &^ 0o022); err != nil {
			return err
		}
	}
	return do(int(folder.Fd()))
}

// open opens the file, or makes it, with a mode that neither the umask nor an older file's mode may widen or narrow (I3).
func (r *rotated) open(folder int) error {
	path := filepath.Join(r.folder, r.name)
	fd, err := unix.Openat(folder, r.name, unix.O_CREAT|unix.O_WRONLY|unix.O_APPEND|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.ELOOP) {
		return fmt.Errorf("%s is a symbolic link, which is not followed", path)
	}
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err == nil && fi.Mode().Perm() != 0o600 {
		err = f.Chmod(0o600)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r.file, r.size, r.err = f, fi.Size(), nil
	return nil
}

// rotate renames the file with the time and begins a new one.
func (r *rotated) rotate(folder int) error {
	to, err := r.freeName(folder, time.Now())
	if err == nil {
		err = unix.Renameat(folder, r.name, folder, to)
	}
	if err != nil {
		return err
	}
	old := r.file
	if err := r.open(folder); err != nil {
		_ = unix.Renameat(folder, to, folder, r.name) // the old one stays in use
		return err
	}
	_ = old.Close() // each write to it was checked
	r.prune(folder)
	return nil
}

// freeName is the name of a rotated file that does not exist yet.
func (r *rotated) freeName(folder int, now time.Time) (string, error) {
	stem, ext := r.stem()
	for n := range maxBackups {
		reason := "size"
		if n > 0 {
			reason += fmt.Sprintf("_%d", n)
		}
		name := stem + now.UTC().Format(backupTime) + "-" + reason + ext
		var st unix.Stat_t
		if err := unix.Fstatat(folder, name, &st, unix.AT_SYMLINK_NOFOLLOW); errors.Is(err, unix.ENOENT) {
			return name, nil
		}
	}
	return "", fs.ErrExist
}

// stem is the beginning of the names of rotated files, and ext their end.
func (r *rotated) stem() (stem, ext string) {
	ext = filepath.Ext(r.name)
	return strings.TrimSuffix(r.name, ext) + "-", ext
}

// prune deletes the oldest rotated files beyond keep. Files that cannot be deleted are tried again at the next rotation.
func (r *rotated) prune(folder int) {
	entries, err := os.ReadDir(r.folder)
	if err != nil {
		return
	}
	var old []string
	for _, e := range entries {
		if r.isRotated(e) {
			old = append(old, e.Name())
		}
	}
	slices.Sort(old) // their times order them
	for _, name := range old[:max(len(old)-r.keep, 0)] {
		_ = unix.Unlinkat(folder, name, 0)
	}
}

// isRotated reports whether a file of the folder is a rotated one.
func (r *rotated) isRotated(e fs.DirEntry) bool {
	stem, ext := r.stem()
	at, is := strings.CutPrefix(e.Name(), stem)
	_, err := time.Parse(backupTime, at[:min(len(at), len(backupTime))])
	return is && err == nil && strings.HasSuffix(at, ext) && !e.IsDir()
}
