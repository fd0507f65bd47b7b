package process

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// chunks are the buffers that output is read into. A silent process holds none.
var chunks = sync.Pool{New: func() any {
	b := make([]byte, 32<<10)
	return &b
}}

// pacer slows the reading of a flood that no turn waits for. A process that writes more than paceBytes within paceTime
// waits for the rest of that time, which costs both sides next to nothing (HF33). A process that writes less is never
// slowed.
type pacer struct {
	since time.Time
	bytes int
}

const (
	paceBytes = 1 << 20
	paceTime  = 100 * time.Millisecond
)

// pause is how long to wait after n bytes were read at now.
func (p *pacer) pause(n int, now time.Time) time.Duration {
	if now.Sub(p.since) >= paceTime {
		p.since, p.bytes = now, 0
	}
	if p.bytes += n; p.bytes < paceBytes {
		return 0
	}
	return p.since.Add(paceTime).Sub(now)
}

// read reads the output until the pipe is at its end or treeGone ends it. It continues after the leader's end, so that
// survivors of the tree neither block on the pipe nor fill it.
func (p *Process) read() {
	defer close(p.drained)
	defer p.pipe.Close()
	conn, err := p.pipe.SyscallConn()
	if err != nil {
		return
	}
	var pace pacer
	for {
		var n int
		var cause error
		err := conn.Read(func(fd uintptr) bool {
			buf := chunks.Get().(*[]byte)
			defer chunks.Put(buf)
			n, cause = unix.Read(int(fd), *buf)
			if n > 0 {
				p.out.add((*buf)[:n], time.Now())
			}
			return !errors.Is(cause, unix.EAGAIN)
		})
		if errors.Is(cause, unix.EINTR) {
			continue
		}
		// A terminal that no process has open reads as EIO (pty(7)).
		if err != nil || cause != nil || n <= 0 {
			return
		}
		if p.tree.policy == PolicyTurn {
			continue // its turn waits for it
		}
		if wait := pace.pause(n, time.Now()); wait > 0 {
			pause(wait, p.r.ctx.Done())
		}
	}
}

// unread reports whether the pipe holds unread bytes.
func (p *Process) unread() bool {
	conn, err := p.pipe.SyscallConn()
	if err != nil {
		return false
	}
	var n int
	if cerr := conn.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), inputWaits) }); cerr != nil {
		return false // closed: it is at its end
	}
	return err == nil && n > 0
}
