package control

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"gatewaytui/core/ops"
)

type peerKey struct{}

// peer is who is at the other end of a connection, as the kernel and the process registry tell it (SO_PEERCRED, unix(7)).
type peer struct {
	// full is why the connection is refused: there are too many; nil: it is not.
	full   *ops.Error
	conn   net.Conn
	cred   *unix.Ucred
	err    error
	isTool func(pid int) (session string, tool bool, err error) // nil: no process is

	mu      sync.Mutex // guards what follows
	told    bool       // what follows is known
	asTool  bool
	session string
}

func newPeer(c net.Conn, isTool func(int) (string, bool, error)) *peer {
	p := &peer{conn: c, isTool: isTool}
	if p.cred, p.err = credentials(c); p.err == nil {
		_ = p.tell() // the first request asks again
	}
	return p
}

// tell finds out whether the peer is a tool. What is known once stays: a process does not change whose it is. The error
// says why it cannot be told.
func (p *peer) tell() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	// Pid 0 is a process outside of our pid namespace, and so none that we have started (pid_namespaces(7)).
	if p.told || p.isTool == nil || p.cred.Pid == 0 {
		return nil
	}
	session, tool, err := p.isTool(int(p.cred.Pid))
	// Read after the answer: the process that connected has had this pid all the time, so the answer was about it.
	if gone := p.gone(); gone != nil {
		return gone
	}
	// With hidepid= (proc(5)) the processes of root cannot be looked at by others.
	if errors.Is(err, fs.ErrNotExist) && p.cred.Uid == 0 && os.Geteuid() != 0 {
		session, tool, err = "", false, nil
	}
	if err != nil {
		return err
	}
	p.told, p.asTool, p.session = true, tool, session
	return nil
}

var errPeerGone = errors.New("the process that connected has ended")

// gone is nil if the process that connected still exists. Kernels before Linux 6.5, without SO_PEERPIDFD, can only say that
// of some process with its pid.
func (p *peer) gone() error {
	fd, err := peerPidfd(p.conn)
	switch {
	case err == nil:
		err = unix.PidfdSendSignal(fd, 0, nil, 0)
		unix.Close(fd)
	case errors.Is(err, unix.ENOPROTOOPT), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		err = unix.Kill(int(p.cred.Pid), 0)
	case errors.Is(err, unix.ENODATA):
		err = unix.ESRCH
	}
	switch {
	case err == nil, errors.Is(err, unix.EPERM):
		return nil
	case errors.Is(err, unix.ESRCH):
		return errPeerGone
	}
	return err
}

// pid is the process that connected; 0: it is not known, or outside of our pid namespace.
func (p *peer) pid() int32 {
	if p.err != nil {
		return 0
	}
	return p.cred.Pid
}

// tool reports whether the peer is known to be a tool.
func (p *peer) tool() bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asTool
}

// actor is the peer for the audit. It reads /proc: a connection that only looks costs nothing.
func (p *peer) actor() ops.Actor {
	p.mu.Lock()
	defer p.mu.Unlock()
	return ops.Actor{
		Via: "socket", UID: int(p.cred.Uid), PID: int(p.cred.Pid), TTY: ttyOf(int(p.cred.Pid)), Tool: p.asTool, Session: p.session,
	}
}

// peerPidfd is a descriptor of the process that connected (SO_PEERPIDFD, unix(7)). The caller closes it.
func peerPidfd(c net.Conn) (fd int, err error) {
	fd = -1
	err = onSocket(c, func(s int) (err error) {
		fd, err = unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
		return err
	})
	return fd, err
}

func credentials(c net.Conn) (cred *unix.Ucred, err error) {
	err = onSocket(c, func(s int) (err error) {
		cred, err = unix.GetsockoptUcred(s, unix.SOL_SOCKET, unix.SO_PEERCRED)
		return err
	})
	return cred, err
}

// onSocket calls f with the descriptor of c.
func onSocket(c net.Conn, f func(s int) error) error {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("a %T has no credentials", c)
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return err
	}
	var sockErr error
	if err := raw.Control(func(fd uintptr) { sockErr = f(int(fd)) }); err != nil {
		return err
	}
	return sockErr
}

// refused says why the peer is not answered, nil if it is: it must be our own user or root, and it must be known whether it is
// a tool.
func (p *peer) refused() error {
	asUser := func(message string) error {
		return &ops.Error{Code: ops.CodeForbidden, Message: message, Hint: "ask as the user that runs the gateway"}
	}
	switch {
	case p == nil:
		return asUser("who asks is not known")
	case p.err != nil:
		return asUser("who asks cannot be told: " + p.err.Error())
	case p.cred.Uid != 0 && int(p.cred.Uid) != os.Geteuid():
		return asUser(fmt.Sprintf("uid %d may not ask the gateway of uid %d", p.cred.Uid, os.Geteuid()))
	}
	if err := p.tell(); err != nil {
		return &ops.Error{
			Code: ops.CodeForbidden, Message: fmt.Sprintf("it cannot be told whether pid %d is a tool of the gateway: %v", p.cred.Pid, err),
			Hint: "ask again, from the process that connects, which must live until it has the answer",
		}
	}
	return nil
}

// ttyOf is the name of pid's controlling terminal below /dev, empty if it has none or it cannot be told.
func ttyOf(pid int) string {
	if pid <= 0 {
		return ""
	}
	stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat") // of a process that has ended it is empty
	return ttyFromStat(string(stat))
}

// ttyFromStat reads tty_nr, the seventh field of proc_pid_stat(5). The second one, the command, is in parentheses and
// may itself hold parentheses and spaces.
func ttyFromStat(stat string) string {
	i := strings.LastIndexByte(stat, ')')
	if i < 0 {
		return ""
	}
	fields := strings.Fields(stat[i+1:])
	const ttyField = 4 // state, ppid, pgrp, session, tty_nr
	if len(fields) <= ttyField {
		return ""
	}
	nr, err := strconv.ParseInt(fields[ttyField], 10, 32)
	if err != nil || nr == 0 {
		return ""
	}
	major, minor := nr>>8&0xfff, nr&0xff|nr>>12&0xfff00
	switch {
	case major >= 136 && major <= 143: // unix98 terminals, devices.txt
		return "pts/" + strconv.FormatInt((major-136)<<8+minor, 10)
	case major == 4 && minor < 64:
		return "tty" + strconv.FormatInt(minor, 10)
	case major == 4:
		return "ttyS" + strconv.FormatInt(minor-64, 10)
	}
	return fmt.Sprintf("%d:%d", major, minor)
}
