package instance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"

	"github.com/google/renameio/v2"

	"gatewaytui/core/ops"
)

// Record is the content of the pid file about the gateway that wrote it. It is for people and scripts, and does not
// decide who owns the home.
type Record struct {
	// PID, StartTicks and BootID name the process for ever, because a pid alone is reused (B11).
	PID int `json:"pid"`
	// StartTicks is when the process started, in the unit of kernel.Stat; 0 is unknown.
	StartTicks uint64 `json:"start_ticks"`
	// BootID is of kernel.BootID; empty is unknown.
	BootID string `json:"boot_id"`
	// PIDNamespace is the namespace in which PID means this process, as in /proc/self/ns/pid (pid_namespaces(7)); empty:
	// unknown.
	PIDNamespace string `json:"pid_namespace,omitempty"`
	Life         string `json:"life"`
	Version      string `json:"version"`
	// Control is the path of the control socket.
	Control   string   `json:"control"`
	StartedAt ops.Time `json:"started_at"`
}

// parseRecord reads a pid file. It ignores unknown keys. A file that is not a gateway's record is an error.
func parseRecord(b []byte) (Record, error) {
	var r Record
	if err := decode(b, &r); err != nil {
		return Record{}, err
	}
	if r.PID <= 0 || int64(r.PID) > maxPID {
		return Record{}, fmt.Errorf("invalid pid %d", r.PID)
	}
	for _, s := range []string{r.BootID, r.PIDNamespace, r.Life, r.Version} {
		if !plain(s) {
			return Record{}, fmt.Errorf("invalid text %.40q", s)
		}
	}
	// It is only ever connected to, so every valid path is allowed.
	if r.Control != "" && (!filepath.IsAbs(r.Control) || len(r.Control) > maxSocketPath || strings.ContainsRune(r.Control, 0)) {
		return Record{}, fmt.Errorf("invalid socket path %.120q", r.Control)
	}
	return r, nil
}

// readRecord reads the pid file of the home dir.
func readRecord(dir string) (Record, error) {
	b, err := ReadFile(filepath.Join(dir, pidFile), maxFile)
	if err != nil {
		return Record{}, err
	}
	return parseRecord(b)
}

// maxPID is the largest that a pid can be (pid_t).
const maxPID = 1<<31 - 1

// maxText bounds one text in a pid file or marker, in bytes.
const maxText = 4 << 10

// plain reports whether s may be shown unchanged.
func plain(s string) bool {
	return len(s) <= maxText && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// encode writes v as one JSON object that people can read.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}

// decode reads one JSON object and nothing after it.
func decode(b []byte, into any) error {
	b = bytes.TrimSpace(b)
	switch {
	case len(b) == 0:
		return errors.New("the file is empty")
	case b[0] != '{':
		return errors.New("the file is not a JSON object")
	}
	return json.Unmarshal(b, into)
}

// maxFile bounds what is read of a pid file or marker, in bytes. The gateway's own have a few hundred.
const maxFile = 64 << 10

// ReadFile reads a regular file of a home of at most limit bytes. It follows no symbolic link and never waits: a fifo in
// place of the file would block the start for ever.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil {
		return nil, err
	} else if !fi.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("it is not a regular file")}
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = &fs.PathError{Op: "read", Path: path, Err: syscall.EFBIG}
	}
	return b, err
}

// writeFile replaces a small file in one step, so that a reader sees the whole old or new file. It returns when the new
// one would survive a power cut.
func writeFile(path string, b []byte) error {
	if err := renameio.WriteFile(path, b, fileMode, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(fileMode)); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes the names in the folder dir durable (fsync(2)).
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil // a file system without anything to sync
	}
	return err
}
