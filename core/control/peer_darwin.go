package control

import (
	"net"

	"golang.org/x/sys/unix"
)

// ucred is who connected.
type ucred struct {
	Pid int32
	Uid uint32
}

func credentials(c net.Conn) (*ucred, error) {
	var cred ucred
	err := onSocket(c, func(s int) error {
		x, err := unix.GetsockoptXucred(s, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		if err != nil {
			return err
		}
		pid, err := unix.GetsockoptInt(s, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
		cred = ucred{int32(pid), x.Uid}
		return err
	})
	return &cred, err
}

// connected cannot tell: macOS holds no process by its socket.
func connected(net.Conn) error { return unix.ENOSYS }

// ttyOf is not known on macOS.
func ttyOf(int) string { return "" }
