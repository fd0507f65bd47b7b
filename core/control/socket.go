package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// maxPath is the longest path of a unix socket, in bytes: sun_path of unix(7), less the final NUL.
const maxPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// listen makes a socket at path that only its owner can connect to. A file at path is removed only if it is a socket without
// a listener.
func listen(path string) (net.Listener, error) {
	if len(path) > maxPath {
		return nil, fmt.Errorf("listen on the control socket: the path has %d bytes, a socket's can have %d: %s; use a shorter home", len(path), maxPath, path)
	}
	if err := clearStale(path); err != nil {
		return nil, fmt.Errorf("listen on the control socket %s: %w", path, err)
	}
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		// Linux makes the file with the mode of the descriptor less the umask, so that it is at no moment open to others.
		// Where that is not so the chmod below and the home's 0700 do it.
		return c.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), 0o600) })
	}}
	l, err := lc.Listen(context.Background(), "unix", path) // it does not block
	if err != nil {
		return nil, fmt.Errorf("listen on the control socket: %w", err)
	}
	// A umask can have taken bits of the owner's as well.
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("listen on the control socket: %w", err), l.Close())
	}
	return l, nil
}

// clearStale removes a dead socket. The caller owns the home, so no other gateway makes one here meanwhile.
func clearStale(path string) error {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if fi.Mode().Type() != fs.ModeSocket {
		return errors.New("a file that is not a socket is in the way; move it away")
	}
	c, err := net.DialTimeout("unix", path, dialTime)
	switch {
	case err == nil:
		c.Close()
		return errors.New("another process answers there; stop it first")
	case errors.Is(err, syscall.ECONNREFUSED):
		return os.Remove(path)
	default:
		return fmt.Errorf("cannot tell whether it is stale: %w", err)
	}
}
