package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"

	"gatewaytui/core/health"
	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

// Below these, a disk is nearly full, and full for all that matters: a stop's report, a log, a commit want to be written.
const (
	spaceWarn  = 512 << 20 // bytes
	spaceFail  = 32 << 20
	inodesWarn = 1000
)

// checkHome looks at the home as the user who asks. It reads no file in it: opening the store's would be wrong in any
// process (F1).
func (c *checkup) checkHome(context.Context) {
	home, err := instance.Resolve(c.o.Home, c.o.Getenv)
	if err != nil {
		c.fail("name one with --home DIR", "%v", err)
		return
	}
	c.home = home
	fi, err := os.Stat(home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.checkParent(home)
		return
	case err != nil:
		c.fail("run doctor as the user that runs the gateway", "%v", err)
		return
	case !fi.IsDir():
		c.fail("move it away, or name another home with --home DIR", "%s is not a folder", home)
		return
	}
	c.there = true
	if uid := instance.Owner(fi); uid != os.Geteuid() {
		c.fail(fmt.Sprintf("run as uid %d, or name another home with --home DIR", uid), "%s belongs to uid %d, and this is uid %d", home, uid, os.Geteuid())
		return
	}
	if err := instance.CheckHome(home); err != nil {
		c.there = false
		e := ops.AsError(err)
		c.fail(e.Hint, "%s", e.Message)
		return
	}
	before := len(c.findings)
	if mode := fi.Mode().Perm(); mode != 0o700 {
		c.warn("chmod 700 "+home+" (a start does it as well)", "%s has mode %04o, so others may look into it", home, mode)
	}
	c.checkModes(home)
	var disk unix.Statfs_t
	if err := unix.Statfs(home, &disk); err != nil {
		c.fail("run doctor as the user that runs the gateway", "ask about the disk of %s: %v", home, err)
		return
	}
	free := disk.Bavail * uint64(disk.Bsize)
	switch {
	case disk.Flags&readOnly != 0:
		c.fail("mount it for writing, or name another home with --home DIR", "%s is on a file system that is mounted read-only", home)
		return
	case free < spaceFail:
		c.fail("make room", "%s are left on the disk of %s: nothing can be saved", humanize.IBytes(free), home)
		return
	case free < spaceWarn:
		c.warn("make room", "%s are left on the disk of %s", humanize.IBytes(free), home)
	case disk.Files > 0 && disk.Ffree < inodesWarn:
		c.warn("delete files on that disk", "%d more files can be made on the disk of %s", disk.Ffree, home)
	}
	if kind := remoteFilesystem(&disk); kind != "" {
		c.warn("put the home on a local disk", "%s is on %s, where locks and the store are not to be relied on", home, kind)
	}
	if err := tryLocks(home); err != nil {
		c.fail("put the home on a local disk that this user may write to", "%v", err)
		return
	}
	if len(c.findings) == before {
		c.ok("%s is private; %s free", home, humanize.IBytes(free))
	}
}

// checkParent: a home that is not there yet is made by the first start, if it can be.
func (c *checkup) checkParent(home string) {
	parent := filepath.Dir(home)
	for parent != filepath.Dir(parent) {
		if _, err := os.Stat(parent); err == nil {
			break
		}
		parent = filepath.Dir(parent)
	}
	if err := unix.Access(parent, unix.W_OK|unix.X_OK); err != nil {
		c.fail("name another home with --home DIR", "%s is not there and cannot be made in %s: %v", home, parent, err)
		return
	}
	c.ok("%s is not there yet; the first start makes it", home)
}

// shownFiles is how many files of a kind are named.
const shownFiles = 3

// checkModes finds what others may read in the home, and what is not ours. Only the files gateway.* and the folders have to be.
func (c *checkup) checkModes(home string) {
	var open, foreign, stray []string
	for _, dir := range []string{"", "logs", "dumps", "aside"} { // what is in work is the tools'
		entries, err := os.ReadDir(filepath.Join(home, dir))
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				c.fail("chmod u+rwx "+filepath.Join(home, dir), "%v", err)
			}
			continue
		}
		for _, e := range entries {
			fi, err := e.Info()
			name := filepath.Join(dir, e.Name())
			switch {
			case err != nil, name == "work", fi.Mode()&fs.ModeSymlink != 0:
			case instance.Owner(fi) != os.Geteuid() && fi.Mode().IsRegular() && !strings.HasPrefix(name, "gateway."): // a start leaves it alone (HF14)
				stray = append(stray, name)
			case instance.Owner(fi) != os.Geteuid():
				foreign = append(foreign, name)
			case fi.Mode().Perm()&0o077 != 0:
				open = append(open, name)
			}
		}
	}
	if len(foreign) > 0 {
		c.fail(fmt.Sprintf("chown -R %d %s", os.Geteuid(), home), "in %s, %s belong to another user", home, text.Some(foreign, shownFiles))
	}
	if len(stray) > 0 {
		c.warn("give them back with chown, or move them away", "in %s, %s belong to another user; a start leaves them alone", home, text.Some(stray, shownFiles))
	}
	if len(open) > 0 {
		c.warn("chmod -R go= "+home+" (a start does it as well)", "in %s, others may read %s", home, text.Some(open, shownFiles))
	}
}

// tryLocks makes a file in the home, sees that a lock on it keeps a second one out (flock(2)), and removes it.
func tryLocks(home string) error {
	first, err := os.CreateTemp(home, ".doctor-*")
	if err != nil {
		return fmt.Errorf("make a file in %s: %w", home, err)
	}
	defer first.Close()
	defer os.Remove(first.Name())
	second, err := os.OpenFile(first.Name(), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("open a file in %s: %w", home, err)
	}
	defer second.Close()
	if err := unix.Flock(int(first.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("lock a file in %s: %w", home, err)
	}
	if err := unix.Flock(int(second.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("locks in %s do not exclude each other: a second one gives %v", home, err)
	}
	return nil
}

// checkStore looks at the store through the gateway, or from outside while none runs: only a gateway opens it.
func (c *checkup) checkStore(context.Context) {
	switch {
	case c.status != nil:
		for _, w := range c.status.Warnings {
			if strings.HasPrefix(w.Code, "store") {
				c.storeWarning(w)
				return
			}
		}
		c.ok("in use by the gateway, no problems reported")
	case !c.there:
		c.ok("there is none yet")
	default:
		fi, err := os.Lstat(filepath.Join(c.home, "gateway.db"))
		_, noCopy := os.Lstat(filepath.Join(c.home, "gateway.db.damaged")) // store.KeepCopy makes it
		switch {
		case errors.Is(err, fs.ErrNotExist):
			c.ok("there is none yet")
		case err != nil:
			c.fail("run doctor as the user that runs the gateway", "%v", err)
		case !fi.Mode().IsRegular():
			c.fail("move it away", "gateway.db is no regular file")
		case noCopy == nil:
			c.warn("start the gateway once: it says what is damaged, or that the database is whole; then move the copy away",
				"a start found the database damaged and kept the copy gateway.db.damaged")
		default:
			c.ok("%s; only a gateway opens it, and each start checks it", humanize.IBytes(uint64(fi.Size())))
		}
	}
}

// storeWarning is a finding of what the gateway says of its store.
func (c *checkup) storeWarning(w ops.Warning) {
	switch w.Code {
	case health.WarnReadOnly, "store.unread":
		c.fail("stop the gateway, and repair the database or start once with --fresh-store", "the gateway says: %s", w.Message)
	case "store.rows", "store.fresh": // what a start has done
		c.warn("look at what was kept; nothing has to be done", "the gateway says: %s", w.Message)
	default:
		c.fail("make room on the disk of the home; service resumes by itself", "the gateway says: %s", w.Message)
	}
}
