package health

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	for _, text := range []string{lowDescriptors(), lowSpace(filepath.Dir(h.o.Database))} {
		if text != "" {
			found = append(found, ops.Warning{Code: "resources", Message: text, Since: ops.At(now)})
		}
	}
	h.mu.Lock()
	before := h.lowResources
	for i := range found {
		for _, w := range before {
			if w.Code == found[i].Code {
				found[i].Since = w.Since
			}
		}
	}
	h.lowResources = found
	h.mu.Unlock()
	for _, w := range found {
		if len(before) == 0 {
			h.log.Warn("warning", "code", w.Code, "text", w.Message)
		}
	}
}

// lowDescriptors says that most file descriptors are in use; it is empty if they are not.
func lowDescriptors() string {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return ""
	}
	open, err := os.ReadDir("/proc/self/fd")
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
