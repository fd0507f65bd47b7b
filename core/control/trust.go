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
