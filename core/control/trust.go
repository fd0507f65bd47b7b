package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"gatewaytui/core/ops"
)

// homeSocket is the name of a control socket that is in its home (CONTRACT.md, 2).
const homeSocket = "control.sock"

// dial connects to the gateway at path. Nothing is sent to a socket that another user could have made, nor to a process of
// another user (HF15): the listener reads the prompts, and the caller believes its answers. If we are root, owner is trusted
// in addition to our own user and root.
func dial(ctx context.Context, path string, owner int) (net.Conn, error) {
	if err := trustFolder(path, owner); err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	cred, err := credentials(conn)
	switch {
	case err != nil:
		err = untrusted("the gateway's end of the control socket %s cannot be looked at: %v", path, err)
	case !trusted(int(cred.Uid), owner):
		err = untrusted("what answers on the control socket %s is a process of uid %d, not of uid %d", path, cred.Uid, expected(owner))
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// trustFolder looks at the folder of the socket before the dial: it is ours or root's, and no other user can put a socket
// there. A home may be readable by others, and be reached by a symbolic link; the folder of a socket that is elsewhere is
// private. A folder that is not there is left to the dial.
func trustFolder(path string, owner int) error {
	dir := filepath.Dir(path)
	look, rights := os.Lstat, fs.FileMode(0o077)
	if filepath.Base(path) == homeSocket {
		look, rights = os.Stat, 0o022
	}
	fi, err := look(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	switch {
	case !fi.IsDir():
		return untrusted("the folder %s of the control socket is not a folder", dir)
	case !ok || !trusted(int(st.Uid), owner):
		return untrusted("the folder %s of the control socket belongs to uid %d, not to uid %d", dir, st.Uid, expected(owner))
	case fi.Mode().Perm()&rights != 0:
		return untrusted("the folder %s of the control socket has mode %04o: other users can put a socket there", dir, fi.Mode().Perm())
	}
	return nil
}

func trusted(uid, owner int) bool {
	self := os.Geteuid()
	return uid == 0 || uid == self || self == 0 && owner > 0 && uid == owner
}

// expected is whose gateway is asked.
func expected(owner int) int {
	if self := os.Geteuid(); self != 0 || owner <= 0 {
		return self
	}
	return owner
}

func untrusted(format string, args ...any) error {
	return &ops.Error{
		Code: ops.CodeForbidden, Message: fmt.Sprintf(format, args...) + "; nothing was sent",
		Hint: "ask as the user that runs the gateway; if it is that user, another one took the place of its socket: remove that, and make the folder private with chmod 700",
	}
}

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
