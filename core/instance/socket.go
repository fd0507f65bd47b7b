package instance

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"gatewaytui/core/ops"
)

// maxSocketPath is the longest path of a unix socket, in bytes: sun_path of unix(7), less the final NUL.
const maxSocketPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// SocketPath is where the control socket of the home dir is: control.sock in it. Where that path is too long for a
// socket, it is a name made from the home's id, in the first usable one of $XDG_RUNTIME_DIR, /run/user/UID and a private
// folder below $TMPDIR or /tmp. It creates nothing. A process with another environment may get another result, so the pid
// file names the real one.
func SocketPath(dir string, getenv func(string) string) (string, error) {
	if p := filepath.Join(dir, socketFile); len(p) <= maxSocketPath {
		return p, nil
	}
	id, err := idOf(dir)
	if err != nil {
		return "", problem(err, "read the home "+dir, "")
	}
	path, _ := socketPath(dir, id, getenv)
	return path, nil
}

// socketPath also returns the private folder that contains path, if the listener has to make it.
func socketPath(dir, id string, getenv func(string) string) (path, private string) {
	if path = filepath.Join(dir, socketFile); len(path) <= maxSocketPath {
		return path, ""
	}
	uid := strconv.Itoa(os.Geteuid())
	name := socketName(id)
	for _, runtime := range []string{getenv("XDG_RUNTIME_DIR"), filepath.Join("/run/user", uid)} {
		if path = filepath.Join(runtime, name); filepath.IsAbs(runtime) && len(path) <= maxSocketPath && isPrivate(runtime) == nil {
			return path, ""
		}
	}
	for _, temp := range []string{getenv("TMPDIR"), "/tmp"} {
		private = filepath.Join(temp, "gatewaytui-"+uid)
		if path = filepath.Join(private, name); filepath.IsAbs(temp) && len(path) <= maxSocketPath {
			break
		}
	}
	return path, private
}

// socketName is the name of a socket outside of its home.
func socketName(id string) string { return "gatewaytui-" + id + ".sock" }

// ensurePrivate makes the folder for the socket where there is no runtime folder. Any user may make a folder of this name
// in a shared one beforehand, so it must be ours and closed to others.
func ensurePrivate(dir string) error {
	err := makeDir(dir)
	if err == nil {
		err = isPrivate(dir)
	}
	if err != nil {
		return &userError{ops.Error{
			Code: ops.CodeInternal, Message: "make a folder for the control socket: " + reason(err),
			Hint: "use a home with a shorter path, or set XDG_RUNTIME_DIR to a private folder",
		}, err}
	}
	return nil
}

// isPrivate returns why the socket cannot be in dir. Nil: it can, because dir is a folder, not a symbolic link, ours, and
// closed to others.
func isPrivate(dir string) error {
	fi, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !fi.IsDir():
		return fmt.Errorf("%s: %w", dir, syscall.ENOTDIR)
	case Owner(fi) != os.Geteuid():
		return fmt.Errorf("%s belongs to uid %d", dir, Owner(fi))
	case fi.Mode().Perm()&0o077 != 0 || fi.Mode().Perm()&fs.FileMode(0o700) != 0o700:
		return fmt.Errorf("%s has mode %04o and not 0700", dir, fi.Mode().Perm())
	}
	return nil
}
