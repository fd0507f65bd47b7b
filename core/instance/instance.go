// Package instance is a gateway's place on the machine: its home, the lock that decides who owns it, the pid file and the
// clean-shutdown marker (CONTRACT.md, 2).
//
// What it promises: the lock on gateway.lock is the only truth about whether a gateway lives on a home. A start succeeds
// if and only if that lock is free, also if an earlier life left a pid file behind. Users never have to delete a file by
// hand (B1, B11, B16). The files written here have mode 0600, in folders with mode 0700, for every umask.
//
// A gateway calls Resolve, Open and Acquire. A verb that only asks calls Resolve and Locate, which create nothing.
package instance

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

// The files of a home (CONTRACT.md, 2).
const (
	lockFile   = "gateway.lock"
	pidFile    = "gateway.pid"
	markerFile = ".clean_shutdown"
	storeFile  = "gateway.db"
	searchFile = "search.db"
	socketFile = "control.sock"
	keyFile    = "api.key"
	logFile    = "gateway.jsonl"

	logsDir  = "logs"
	dumpsDir = "dumps"
	workDir  = "work"
	filesDir = "files"

	adaptersDir = "adapters"
)

const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// Resolve is the absolute path of the home that flag (--home) and the environment name: flag, else $GATEWAYTUI_HOME, else
// $XDG_STATE_HOME/gatewaytui, else ~/.local/state/gatewaytui. It does no I/O beyond asking for the working directory.
func Resolve(flag string, getenv func(string) string) (string, error) {
	dir, state, user := cmp.Or(flag, getenv("GATEWAYTUI_HOME")), getenv("XDG_STATE_HOME"), getenv("HOME")
	switch {
	case dir != "":
	case filepath.IsAbs(state): // a relative value must be ignored: XDG Base Directory Specification, "Basics"
		dir = filepath.Join(state, "gatewaytui")
	case filepath.IsAbs(user):
		dir = filepath.Join(user, ".local", "state", "gatewaytui")
	default:
		return "", &ops.Error{
			Code: ops.CodeInvalid, Message: "no home for the gateway: none of GATEWAYTUI_HOME, XDG_STATE_HOME and HOME is set",
			Hint: "name one with --home DIR",
		}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", problem(err, "find the home "+dir+": the working directory is gone", "name the home with an absolute path")
	}
	return abs, nil
}

// Home is an open home. Its methods may be called from any goroutine.
type Home struct {
	dir, id, socket, lockPath string
	flock                     func(*os.File) error // of flock(2)

	warnings []ops.Warning // set by Open

	mu          sync.Mutex
	quarantined []Quarantined
}

// Open makes the home and its folders, or corrects their modes and those of the files in them. It refuses a home of
// another user, a folder that can only be a mistake (such as / or /tmp), and a folder with other contents (CheckHome). It
// also refuses one that others could write to and that has a symbolic link in place of a folder (ErrExposed). A refused
// folder is not changed. Files of other users are not changed and are named in Warnings, except the lock and the
// database, which must belong to us. dir must be absolute. Open does not take ownership: Acquire does.
func Open(dir string) (*Home, error) {
	if err := CheckHome(dir); err != nil {
		return nil, err
	}
	h := &Home{dir: dir, lockPath: filepath.Join(dir, lockFile), flock: flock}
	if fi, err := os.Stat(dir); err == nil {
		if err := checkLinks(dir, fi.Mode()); err != nil {
			return nil, err
		}
		h.warnOpen(fi.Mode())
	}
	if err := ensureHome(dir); err != nil {
		return nil, err
	}
	used := []string{logsDir, dumpsDir, workDir}
	for _, sub := range []string{filesDir, adaptersDir, quarantineDir} {
		if _, err := os.Lstat(filepath.Join(dir, sub)); err == nil { // each is made when it is needed
			used = append(used, sub)
		}
	}
	for _, sub := range used {
		if err := ensureDir(filepath.Join(dir, sub)); err != nil {
			return nil, err
		}
	}
	var foreign []string
	// The contents of work belong to the tools, those of adapters to their programs.
	for _, sub := range []string{"", logsDir, dumpsDir, filesDir, quarantineDir} {
		found, err := closeFiles(dir, filepath.Join(dir, sub))
		if err != nil {
			return nil, err
		}
		foreign = append(foreign, found...)
	}
	if len(foreign) > 0 {
		h.warn(WarnForeignFile, "the home has files of other users, which were not changed: "+text.Some(foreign, maxForeign)+". Change their owner with chown, or move them away")
	}
	var err error
	if h.id, err = idOf(dir); err != nil {
		return nil, problem(err, "read the home "+dir, "")
	}
	socket, private := socketPath(dir, h.id, os.Getenv)
	h.socket = socket
	if private != "" {
		if err := ensurePrivate(private); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// Dir is the home's absolute path.
func (h *Home) Dir() string { return h.dir }

// ID names the home for the children's GATEWAYTUI_HOME_ID. It is the same for every path to the home, never that of
// another home on this machine, and the same again at the next start.
func (h *Home) ID() string { return h.id }

// Lock is the path of the lock file: gateway.lock in the home, or in the folder given to LockIn.
func (h *Home) Lock() string { return h.lockPath }

// PIDFile is the path of the pid file.
func (h *Home) PIDFile() string { return filepath.Join(h.dir, pidFile) }

// Marker is the path of the clean-shutdown marker.
func (h *Home) Marker() string { return filepath.Join(h.dir, markerFile) }

// Database is the path of the SQLite store. Only the store may open it, or its -wal and -shm (F1).
func (h *Home) Database() string { return filepath.Join(h.dir, storeFile) }

// Search is the path of the search index, which can be made again.
func (h *Home) Search() string { return filepath.Join(h.dir, searchFile) }

// APIKey is the path of the generated key of the api adapter.
func (h *Home) APIKey() string { return filepath.Join(h.dir, keyFile) }

// Log is the path of the current log file.
func (h *Home) Log() string { return LogOf(h.dir) }

// LogOf is the path of the current log file of the home dir.
func LogOf(dir string) string { return filepath.Join(dir, logsDir, logFile) }

// Dumps is the folder of goroutine dumps and shutdown reports.
func (h *Home) Dumps() string { return filepath.Join(h.dir, dumpsDir) }

// Work is the folder that tools work in unless the config names another.
func (h *Home) Work() string { return WorkDir(h.dir) }

// WorkDir is the same for the home at dir, which need not exist.
func WorkDir(dir string) string { return filepath.Join(dir, workDir) }

// Files is where copies of files are that go to chats.
func (h *Home) Files() string { return filepath.Join(h.dir, filesDir) }

// Adapters has the folders of external adapters, each the work folder of one program.
func (h *Home) Adapters() string { return filepath.Join(h.dir, adaptersDir) }

// Socket is the path of the control socket: in the home if the path is short enough for a socket, else in a folder that
// only we may enter (SocketPath).
func (h *Home) Socket() string { return h.socket }

const otherHome = "name another home with --home DIR or GATEWAYTUI_HOME"

// ensureHome makes dir and its missing parents, or checks and corrects an existing home.
func ensureHome(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("open home %q: the path is not absolute", dir)
	}
	if err := makeParents(dir, dir); err != nil {
		return err
	}
	return ensureDir(dir)
}

// makeParents makes the missing folders above path, which is dir or above it.
func makeParents(path, dir string) error {
	_, err := os.Stat(path)
	parent := filepath.Dir(path)
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist) || path == parent:
		return problem(err, "open the home "+dir, otherHome)
	}
	if err := makeParents(parent, dir); err != nil || path == dir {
		return err
	}
	return makeDir(path)
}

// makeDir makes one folder. It sets the mode again after the umask: with one of 0777 the next level could not be made.
// Two starters may make it at once.
func makeDir(path string) error {
	err := os.Mkdir(path, dirMode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		err = os.Chmod(path, dirMode)
	}
	if err != nil {
		return problem(err, "make the folder "+path, otherHome)
	}
	return nil
}

// ensureDir makes the folder at path, or corrects its mode. A symbolic link to a folder serves as well as a folder.
func ensureDir(path string) error {
	if err := makeDir(path); err != nil {
		return err
	}
	fi, err := os.Stat(path)
	switch {
	case err != nil:
		return problem(err, "open the folder "+path, otherHome)
	case !fi.IsDir():
		return problem(syscall.ENOTDIR, "open the folder "+path+": it is not a folder", "move it away, or "+otherHome)
	case path == "/" || fi.Mode()&fs.ModeSticky != 0: // making it 0700 would lock all other users out
		return problem(syscall.EPERM, path+" is shared with others and cannot be a gateway's home", otherHome)
	case Owner(fi) != os.Geteuid():
		return problem(syscall.EPERM, fmt.Sprintf("%s belongs to uid %d and we run as uid %d", path, Owner(fi), os.Geteuid()),
			"run the gateway as that user, or "+otherHome)
	case fi.Mode().Perm() != dirMode:
		if err := os.Chmod(path, dirMode); err != nil {
			return problem(err, "make the folder "+path+" private", otherHome)
		}
	}
	return nil
}

// Owner is the uid of a file's owner; -1: unknown.
func Owner(fi fs.FileInfo) int {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// userError is an *ops.Error for display, and its cause for callers that decide on it.
type userError struct {
	answer ops.Error
	cause  error
}

func problem(cause error, what, hint string) error {
	return &userError{ops.Error{Code: ops.CodeInternal, Message: what + ": " + reason(cause), Hint: hint}, cause}
}

// reason is the text of a cause without the path that it repeats.
func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}

func (t *userError) Error() string   { return t.answer.Error() }
func (t *userError) Unwrap() []error { return []error{&t.answer, t.cause} }
