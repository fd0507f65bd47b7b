package health

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// WarnConfigChanged is the code of the warning that the config file has changed since the gateway read it, and WarnConfigRestart of the
// one that it has keys which need a restart.
const (
	WarnConfigChanged = "config.changed"
	WarnConfigRestart = "config.restart"
)

// ConfigSeen is what a look at the config file found.
type ConfigSeen struct {
	// Generation numbers the config in force, which was read at LoadedAt.
	Generation int
	LoadedAt   time.Time
	// Changed means that the file would change something, Changes are the keys. Restart are the keys of the config in force that need a
	// restart.
	Changed          bool
	Changes, Restart []ops.ConfigChange
	// Problem says why the file cannot be applied; empty: it can.
	Problem string
}

// same reports whether two looks found the same.
func (s ConfigSeen) same(other ConfigSeen) bool {
	return s.Changed == other.Changed && s.Problem == other.Problem && slices.Equal(s.Changes, other.Changes) && slices.Equal(s.Restart, other.Restart)
}

// NoteConfig keeps what a look at the config file found (TF29, OP4).
func (h *Health) NoteConfig(now time.Time, s ConfigSeen) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !s.same(h.config) {
		h.configSince = now
	}
	h.config = s
}

// ConfigFile is the config file as operators see it, and what they should know of it.
func (h *Health) ConfigFile() (ops.ConfigFile, []ops.Warning) {
	row := h.o.Config
	h.mu.Lock()
	seen, since := h.config, ops.At(h.configSince)
	h.mu.Unlock()
	row.Generation = max(seen.Generation, 1)
	if !seen.LoadedAt.IsZero() {
		row.LoadedAt = ops.At(seen.LoadedAt)
	}
	row.Changed, row.Problem, row.Changes = seen.Changed, term.Clean(seen.Problem, 600), append(slices.Clone(seen.Changes), seen.Restart...)
	warning := func(code, text string) []ops.Warning {
		return []ops.Warning{{Code: code, Message: text, Since: since}}
	}
	switch {
	case seen.Problem != "":
		return row, warning(WarnConfigChanged, "the config file is not applied, and nothing changes: "+row.Problem)
	case row.Changed && row.Path == "":
		return row, warning(WarnConfigChanged, "a config file exists now, and the gateway runs with the embedded default; `gatewaytui reload` applies the file")
	case row.Changed:
		return row, warning(WarnConfigChanged, "the config file "+row.Path+" has changed ("+keysOf(seen.Changes)+"); `gatewaytui reload` applies it, `gatewaytui reload --dry-run` shows how")
	case len(seen.Restart) > 0:
		return row, warning(WarnConfigRestart, "needs a restart: "+keysOf(seen.Restart))
	}
	return row, nil
}

// keysOf are the keys of changes, of many the first.
func keysOf(changes []ops.ConfigChange) string {
	var keys []string
	for _, c := range changes {
		keys = append(keys, c.Key)
	}
	if more := len(keys) - 5; more > 0 {
		keys = append(keys[:5], fmt.Sprintf("%d more", more))
	}
	return strings.Join(keys, ", ")
}
