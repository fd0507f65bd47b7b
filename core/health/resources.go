package health

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// lowDisk is how little room on the database's disk is worth a warning.
const lowDisk = 64 << 20

// checkResources notes what the process is short of, so that the status can name the cause of what fails by it (F5).
func (h *Health) checkResources(now time.Time) {
	var found []ops.Warning
	add := func(code, text string) {
		if text != "" {
			found = append(found, ops.Warning{Code: code, Message: text, Since: ops.At(now)})
		}
	}
	add("resources", lowDescriptors())
	add("resources", lowSpace(filepath.Dir(h.o.Database)))
	add(WarnDatabaseSize, largeDatabase(h.o.Database))
	h.mu.Lock()
	before := h.lowResources
	for i := range found {
		if at := slices.IndexFunc(before, func(b ops.Warning) bool { return b.Code == found[i].Code }); at >= 0 { // it was low already
			found[i].Since = before[at].Since
		}
	}
	h.lowResources = found
	h.mu.Unlock()
	h.logNew(found, before)
}

// WarnDatabaseSize is the code of the warning that the database is large.
const WarnDatabaseSize = "store.size"

// muchDatabase is how large a database is worth a warning: conversations are kept for ever unless the config says otherwise.
const muchDatabase = 5 << 30

// largeDatabase says that the database at path is large; it is empty if it is not.
func largeDatabase(path string) string {
	info, err := os.Stat(path)
	if err != nil || info.Size() < muchDatabase {
		return ""
	}
	return fmt.Sprintf("the database has %s; retention.transcripts in the config says for how long conversations are kept", humanize.IBytes(uint64(info.Size())))
}

// lowDescriptors says that most file descriptors are in use; it is empty if they are not.
func lowDescriptors() string {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return ""
	}
	open, err := os.ReadDir("/proc/self/fd")
	if errors.Is(err, os.ErrNotExist) {
		open, err = os.ReadDir("/dev/fd") // macOS
	}
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return fmt.Sprintf("no file descriptor is left of %d; raise the limit (ulimit -n, LimitNOFILE=)", limit.Cur)
	}
	used := uint64(len(open))
	if err != nil || used*10 < limit.Cur*8 {
		return ""
	}
	return fmt.Sprintf("%d/%d file descriptors are in use; raise the limit (ulimit -n, LimitNOFILE=)", used, limit.Cur)
}

// lowSpace says that the disk of dir is nearly full; it is empty if it is not.
func lowSpace(dir string) string {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return ""
	}
	free := fs.Bavail * uint64(fs.Bsize)
	if free >= lowDisk {
		return ""
	}
	return fmt.Sprintf("%s left on the disk of %s; what cannot be written is refused until there is room", humanize.IBytes(free), term.Clean(dir, 200))
}

// WarnConfigChanged is the code of the warning that the config file has changed since the gateway read it.
const WarnConfigChanged = "config.changed"

// configEvery is how often the config file is checked. It is read whole: a time of change may stay the same.
const configEvery = 5 * time.Second

// WatchConfig checks whether the config file has changed since the start (TF29), until ctx ends. It needs a separate
// goroutine: a file system that hangs delays this check alone.
func (h *Health) WatchConfig(ctx context.Context) {
	tick := time.Tick(configEvery)
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick:
			changed, err := h.o.Host.ConfigChanged()
			h.noteConfig(now, changed, err)
		}
	}
}

// noteConfig keeps what a check of the config file found.
func (h *Health) noteConfig(now time.Time, changed bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.configError = ""
	switch {
	case err != nil:
		h.configError = term.Clean(err.Error(), 300)
	case !changed:
		h.configChanged = time.Time{}
	case h.configChanged.IsZero():
		h.configChanged = now
	}
}

// ConfigFile is the config file as operators see it, and what they should know of it.
func (h *Health) ConfigFile() (ops.ConfigFile, []ops.Warning) {
	row := h.o.Config
	h.mu.Lock()
	changed, unread := h.configChanged, h.configError
	h.mu.Unlock()
	row.Changed = !changed.IsZero()
	warning := func(text string, since ops.Time) []ops.Warning {
		return []ops.Warning{{Code: WarnConfigChanged, Message: text, Since: since}}
	}
	switch {
	case unread != "":
		return row, warning("the config file "+row.Path+" cannot be read: "+unread, row.LoadedAt)
	case row.Changed && row.Path == "":
		return row, warning("a config file exists now, and the gateway runs with the embedded default; a restart applies the file", ops.At(changed))
	case row.Changed:
		return row, warning("the config file "+row.Path+" has changed since the start; a restart applies it", ops.At(changed))
	}
	return row, nil
}
