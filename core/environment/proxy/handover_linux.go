package proxy

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// handoverMost is how long a command's first step may take to hand its listener over.
const handoverMost = 5 * time.Second

// listen opens the socket in folder. It is bound through the folder's descriptor, because the path may be too long for a socket (unix(7)).
func listen(folder string) (*net.UnixListener, error) {
	dir, err := os.OpenFile(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), socketName)})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // by then the descriptor may be another file; Close removes the folder
	if err := os.Chmod(filepath.Join(folder, socketName), 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// takeListeners takes listeners until Close.
func (p *Proxy) takeListeners() {
	for {
		conn, err := p.way.AcceptUnix()
		if err != nil && p.ctx.Err() != nil {
			return
		}
		if err != nil { // out of descriptors: the connection stays in the queue
			select {
			case <-p.ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		p.mu.Lock()
		room := !p.closed && p.listeners < listenersMost
		if room {
			p.listeners++
			p.work.Go(func() { p.serve(conn) })
		}
		p.mu.Unlock()
		if !room {
			conn.Close()
		}
	}
}

// serve takes one listener from conn and serves it until the process that handed it over has ended.
func (p *Proxy) serve(conn *net.UnixConn) {
	defer func() {
		p.mu.Lock()
		p.listeners--
		p.mu.Unlock()
	}()
	l, process, err := take(conn)
	if err != nil {
		p.counters.refused(line(err.Error()))
		conn.Close()
		return
	}
	done := make(chan struct{})
	go func() { // ends when l is closed
		defer close(done)
		_ = p.server.Serve(&bounded{Listener: l, proxy: p})
	}()
	if _, err := conn.Write([]byte{1}); err == nil {
		conn.Close()
		ended(p.ctx.Done(), process, done)
	}
	conn.Close()
	process.Close()
	l.Close()
	<-done
}

// take receives a listener and the pidfd of its sender, which waits for the answer.
func take(conn *net.UnixConn) (l net.Listener, process *os.File, err error) {
	_ = conn.SetDeadline(time.Now().Add(handoverMost))
	oob := make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := conn.ReadMsgUnix(make([]byte, 1), oob)
	if err != nil || n != 1 {
		return nil, nil, fmt.Errorf("a command did not hand its listener over: %w", errors.Join(err, errIncomplete(n)))
	}
	file, err := received(oob[:oobn])
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if err := isLoopbackListener(int(file.Fd())); err != nil {
		return nil, nil, fmt.Errorf("a command handed over something else than a listener: %w", err)
	}
	if process, err = sender(conn); err != nil {
		return nil, nil, fmt.Errorf("find out which command handed a listener over: %w", err)
	}
	if l, err = net.FileListener(file); err != nil {
		return nil, nil, errors.Join(err, process.Close())
	}
	return l, process, nil
}

func errIncomplete(n int) error {
	if n == 1 {
		return nil
	}
	return errors.New("it ended first")
}

// received is the one descriptor of a message.
func received(oob []byte) (*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(messages) != 1 {
		return nil, errors.New("a command handed nothing over")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, errors.New("a command did not hand one descriptor over")
	}
	return os.NewFile(uintptr(fds[0]), "listener of a command"), nil
}

// isLoopbackListener refuses what is not a listener for TCP on 127.0.0.1. The command that sends it is hostile.
func isLoopbackListener(fd int) error {
	for _, want := range []struct{ option, value int }{
		{unix.SO_DOMAIN, unix.AF_INET}, {unix.SO_PROTOCOL, unix.IPPROTO_TCP}, {unix.SO_ACCEPTCONN, 1},
	} {
		if got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, want.option); err != nil {
			return err
		} else if got != want.value {
			return errors.New("it is another socket")
		}
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	if at, is := name.(*unix.SockaddrInet4); !is || at.Addr[0] != 127 {
		return errors.New("it listens elsewhere than on 127.0.0.1")
	}
	return nil
}

// sender is a pidfd of the process at the other end of conn (SO_PEERCRED, unix(7)), which the poller of the runtime can wait for.
func sender(conn *net.UnixConn) (*os.File, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	var inner error
	err = raw.Control(func(s uintptr) {
		var peer *unix.Ucred
		if peer, inner = unix.GetsockoptUcred(int(s), unix.SOL_SOCKET, unix.SO_PEERCRED); inner == nil {
			fd, inner = unix.PidfdOpen(int(peer.Pid), unix.PIDFD_NONBLOCK)
		}
	})
	if err := errors.Join(err, inner); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "process of a command"), nil
}

// ended waits until process has ended, which makes its pidfd readable (pidfd_open(2)), or until one of the others is closed.
func ended(closed <-chan struct{}, process *os.File, broken <-chan struct{}) {
	gone := make(chan struct{})
	go func() { // ends when the caller closes process
		defer close(gone)
		raw, err := process.SyscallConn()
		if err != nil {
			return
		}
		_ = raw.Read(func(fd uintptr) bool {
			fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			n, err := unix.Poll(fds, 0)
			return n > 0 || err != nil && err != unix.EINTR
		})
	}()
	select {
	case <-gone:
	case <-closed:
	case <-broken:
	}
	_ = process.SetReadDeadline(time.Unix(1, 0))
	<-gone
}
