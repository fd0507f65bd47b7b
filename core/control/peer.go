package control

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

type peerKey struct{}

// peer is who is at the other end of a connection, as the kernel (SO_PEERCRED, unix(7); LOCAL_PEERCRED on macOS) and the
// process registry tell it.
type peer struct {
	// full is why the connection is refused: there are too many; nil: it is not.
	full   *ops.Error
	conn   net.Conn
	cred   *ucred
	err    error
	isTool func(pid int) (session string, tool bool, err error) // nil: no process is

	mu      sync.Mutex // guards what follows
	known   bool       // what follows is known
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
// says why it is unknown.
func (p *peer) tell() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	// Pid 0 is a process outside of our pid namespace, and so none that we have started (pid_namespaces(7)).
	if p.known || p.isTool == nil || p.cred.Pid == 0 {
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
	p.known, p.asTool, p.session = true, tool, session
	return nil
}

var errPeerGone = errors.New("the process that connected has ended")

// gone is nil if the process that connected still exists. Kernels before Linux 6.5, without SO_PEERPIDFD, and macOS can only
// say that of some process with its pid.
func (p *peer) gone() error {
	err := connected(p.conn)
	switch {
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
		return asUser("the caller is unknown: " + p.err.Error())
	case p.cred.Uid != 0 && int(p.cred.Uid) != os.Geteuid():
		return asUser(fmt.Sprintf("uid %d may not ask the gateway of uid %d", p.cred.Uid, os.Geteuid()))
	}
	if err := p.tell(); err != nil {
		return &ops.Error{
			Code: ops.CodeForbidden, Message: fmt.Sprintf("it is unknown whether pid %d is a tool of the gateway: %v", p.cred.Pid, err),
			Hint: "ask again, from the process that connects, which must live until it has the answer",
		}
	}
	return nil
}

// refusalsNamed is how many different refusals of tools have a line in the log; more are at the level debug.
const refusalsNamed = 256

// refusals are the refusals of tools that the log has. The zero value is none.
type refusals struct {
	mu    sync.Mutex
	named map[string]bool
}

// first reports whether session is refused for this call for the first time. A tool that asks again and again does not fill the
// log.
func (r *refusals) first(session, call string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := session + "\x00" + call
	if r.named[key] || len(r.named) >= refusalsNamed {
		return false
	}
	if r.named == nil {
		r.named = map[string]bool{}
	}
	r.named[key] = true
	return true
}

// refuseTool answers a tool that asks for what only operators may have (HF7).
func (s *Server) refuseTool(w http.ResponseWriter, rt route, target string, p *peer) {
	call := rt.method + " " + strings.TrimSuffix(rt.path, "{rest...}")
	by := p.actor()
	log := s.log.Debug
	if s.refusals.first(by.Session, call) {
		log = s.log.Warn
	}
	log("control caller refused", "code", string(ops.CodeToolCaller), "call", call, "session", term.Clean(by.Session, 120), "pid", by.PID)
	if s.opt.ToolRefused != nil {
		s.opt.ToolRefused(by, call, target)
	}
	w.Header().Set("Connection", "close")
	s.fail(w, ops.ToolRefused(call))
}
