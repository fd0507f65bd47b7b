package control

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"gatewaytui/core/ops"
)

type peerKey struct{}

// peer is who is at the other end of a connection, as the kernel tells it (SO_PEERCRED, unix(7)).
type peer struct {
	cred *unix.Ucred
	err  error
	// actor reads /proc at the first command: a connection that only looks costs nothing.
	actor func() ops.Actor
}

func newPeer(c net.Conn, life string) *peer {
	p := &peer{}
	p.cred, p.err = credentials(c)
	p.actor = sync.OnceValue(func() ops.Actor {
		a := ops.Actor{Via: "socket", UID: int(p.cred.Uid), PID: int(p.cred.Pid)}
		// The caller waits for our answer, so its pid is still its own.
		a.TTY = ttyOf(a.PID)
		a.Session = sessionOf(a.PID, life)
		return a
	})
	return p
}

func credentials(c net.Conn) (*unix.Ucred, error) {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("a %T has no credentials", c)
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *unix.Ucred
	var sockErr error
	if err := raw.Control(func(fd uintptr) {
		cred, sockErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return nil, err
	}
	return cred, sockErr
}

// refused says why the peer is not answered, nil if it is: it must be our own user or root.
func (p *peer) refused() error {
	switch {
	case p == nil:
		return errors.New("who asks is not known")
	case p.err != nil:
		return fmt.Errorf("who asks cannot be told: %w", p.err)
	case p.cred.Uid != 0 && int(p.cred.Uid) != os.Geteuid():
		return fmt.Errorf("uid %d may not ask the gateway of uid %d", p.cred.Uid, os.Geteuid())
	}
	return nil
}

// maxEnviron bounds how much of a process's environment is looked at, in bytes.
const maxEnviron = 256 << 10

// sessionOf is the session whose tool runs as pid: its environment has the markers of contract.md, 5. A tool of another
// life is not one of ours; an empty life does not tell them apart. What cannot be read is no session.
func sessionOf(pid int, life string) string {
	if pid <= 0 {
		return ""
	}
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return ""
	}
	defer f.Close()
	env := readAtMost(f, maxEnviron)
	var session string
	for v := range bytes.SplitSeq(env, []byte{0}) {
		name, value, _ := strings.Cut(string(v), "=")
		switch {
		case name == "GATEWAYTUI_SESSION" && len(value) <= maxTarget:
			session = value
		case name == "GATEWAYTUI_LIFE" && life != "" && value != life:
			return ""
		}
	}
	return session
}

// ttyOf is the name of pid's controlling terminal below /dev, empty if it has none or it cannot be told.
func ttyOf(pid int) string {
	if pid <= 0 {
		return ""
	}
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	defer f.Close()
	return ttyFromStat(string(readAtMost(f, 4096)))
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

// readAtMost is the first n bytes of f. A process that ends meanwhile gives fewer, which is as good as none.
func readAtMost(f *os.File, n int64) []byte {
	b, _ := io.ReadAll(io.LimitReader(f, n))
	return b
}
