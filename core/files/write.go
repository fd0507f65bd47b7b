package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
)

// temporary is the name of the new file until it takes the old one's place. A folder has one, so that its writers wait for each
// other, and the next one after a crash finds what it left.
const temporary = ".gatewaytui-write.tmp"

// lockWait is how long a writer waits for the others of its folder.
const lockWait = 15 * time.Second

// Written is what a write did.
type Written struct {
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
	// Created says that there was no such file before.
	Created bool `json:"created"`
}

// Write replaces or makes a file, with the folders on the way to it.
func (f *Folder) Write(ctx context.Context, name, content string) (Written, error) {
	if len(content) > MaxFile {
		return Written{}, fmt.Errorf("the content has %d bytes, at most %d can be written at once", len(content), MaxFile)
	}
	if strings.HasSuffix(name, "/") {
		return Written{}, errors.New("a path that ends with / names a folder; give the path of a file")
	}
	p, err := f.find(name, true)
	if err != nil {
		return Written{}, err
	}
	defer p.close()
	w := Written{Path: p.path(), Bytes: len(content)}
	err = p.replace(ctx, func() ([]byte, error) {
		w.Created = p.info == nil
		return []byte(content), p.mayWrite()
	}, nil)
	return w, err
}

// replace makes what change returns the content of the place's file. p.info is new when change is called; another writer of
// the folder waits. unless, if not nil, is called right before the file takes its place, and its error leaves the old one.
func (p *place) replace(ctx context.Context, change func() ([]byte, error), unless func() error) error {
	if p.info != nil && p.info.IsDir() {
		return ErrFolder
	}
	dir := p.dir()
	file, err := lock(ctx, dir)
	if err != nil {
		return cause(err)
	}
	defer file.Close() // and with it the lock
	placed := false
	defer func() {
		if !placed {
			_ = dir.Remove(temporary)
		}
	}()
	if p.info, err = p.look(p.name); err != nil {
		return cause(err)
	}
	content, err := change()
	if err != nil {
		return cause(err)
	}
	if err := p.fill(ctx, file, content); err != nil {
		return cause(err)
	}
	if unless != nil {
		if err := unless(); err != nil {
			return cause(err)
		}
	}
	if err := dir.Rename(temporary, p.name); err != nil {
		return cause(err)
	}
	placed = true
	return syncFolder(dir)
}

// fill writes the new file, with the mode and the owner of the old one, and makes it durable.
func (p *place) fill(ctx context.Context, file *os.File, content []byte) error {
	for rest := content; len(rest) > 0; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := file.Write(rest[:min(len(rest), 1<<20)])
		if err != nil {
			return err
		}
		rest = rest[n:]
	}
	if p.info != nil {
		if err := keepOwner(file, p.info); err != nil {
			return err
		}
		if err := file.Chmod(p.info.Mode().Perm()); err != nil {
			return err
		}
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// keepOwner gives the new file the owner of the old one.
func keepOwner(file *os.File, old fs.FileInfo) error {
	now, err := file.Stat()
	if err != nil {
		return err
	}
	was, ok := old.Sys().(*syscall.Stat_t)
	is, also := now.Sys().(*syscall.Stat_t)
	if !ok || !also || was.Uid == is.Uid && was.Gid == is.Gid {
		return nil
	}
	if err := file.Chown(int(was.Uid), int(was.Gid)); err != nil {
		return errors.New("it belongs to another user or group, which a new file could not keep; change it with the terminal")
	}
	return nil
}

// mayWrite reports that the file at the place cannot be replaced: it is not a regular one, or may not be written.
func (p *place) mayWrite() error {
	if p.info == nil {
		return nil
	}
	file, err := p.open(os.O_WRONLY)
	if errors.Is(err, syscall.ETXTBSY) { // it runs, and its place can be taken
		return nil
	}
	if err != nil {
		return err
	}
	return file.Close()
}

// lock makes the temporary file of a folder and locks it. What a writer left that has ended is removed first. It waits for
// another writer, at most lockWait.
func lock(ctx context.Context, dir *os.Root) (*os.File, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lockWait, errors.New("other writes to this folder do not end; try again later"))
	defer cancel()
	pause := time.Millisecond
	for {
		file, err := dir.OpenFile(temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o666)
		switch {
		case errors.Is(err, fs.ErrExist):
			if err := clearLeft(dir); err != nil {
				return nil, err
			}
		case err != nil:
			return nil, err
		case locked(file) && linked(dir, file):
			return file, nil
		default: // another writer took it for one that was left
			_ = file.Close()
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		case <-timer.C:
		}
		pause = min(2*pause, 20*time.Millisecond)
	}
}

// clearLeft removes the temporary file of a writer that has ended. A file that is locked has a writer.
func clearLeft(dir *os.Root) error {
	fi, err := dir.Lstat(temporary)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !fi.Mode().IsRegular():
		return fmt.Errorf("%s in its folder is %s, where a file is written first; remove it", temporary, kindOf(fi.Mode()))
	}
	file, err := dir.OpenFile(temporary, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if locked(file) && linked(dir, file) {
		return dir.Remove(temporary)
	}
	return nil
}

// locked takes the lock of a temporary file, which the kernel drops with the process. It never waits. A file system without
// locks has none to wait for.
func locked(file *os.File) bool {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return err == nil || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOLCK)
}

// linked reports whether a file is the folder's temporary one now.
func linked(dir *os.Root, file *os.File) bool {
	is, err := file.Stat()
	there, missing := dir.Lstat(temporary)
	return err == nil && missing == nil && os.SameFile(is, there)
}

// syncFolder makes a new name durable.
func syncFolder(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return cause(err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) { // some file systems have no such sync
		return fmt.Errorf("the file is written, but not durable yet: %w", cause(err))
	}
	return nil
}

// content is the file at the place, whole.
func (p *place) content(ctx context.Context) ([]byte, error) {
	file, err := p.open(os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if size := p.info.Size(); size > MaxFile {
		return nil, fmt.Errorf("it has %d bytes, at most %d can be edited; change it with the terminal", size, MaxFile)
	}
	var all bytes.Buffer
	for all.Len() <= MaxFile {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		n, err := io.CopyN(&all, file, 1<<20)
		if errors.Is(err, io.EOF) {
			return all.Bytes(), nil
		}
		if err != nil {
			return nil, cause(err)
		}
		if n == 0 {
			break
		}
	}
	return nil, errors.New("it grows while it is read; try again")
}
