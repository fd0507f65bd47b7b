package process

import (
	"time"

	"gatewaytui/core/process/kernel"
)

// Bounds of what is read about another process, in bytes, and of the wait for it.
const (
	environMax = 256 << 10
	cmdlineMax = 4 << 10
	peekWait   = 200 * time.Millisecond
)

// peeker reads environments and command lines on a separate goroutine. Unlike stat, these reads wait for the memory lock
// of the process that they describe, and a process whose memory is on a dead filesystem keeps that lock for ever. A read
// that hangs costs one peekWait. From then on the answer is "unknown" at once, until the read returns.
type peeker struct {
	requests chan peekRequest
	ended    chan struct{} // closed when run has returned
	stuck    bool          // the caller's: whether the last request was abandoned
}

type peekRequest struct {
	kernel.Ident
	answer chan procInfo // holds one
}

// procInfo is what a process shows of its origin. Without said the answer is unknown, which does not mean that it has no
// markers: the process is in the middle of an exec or of its end, or the read hangs.
type procInfo struct {
	marks
	cmdline []byte
	said    bool
	// bare means that it has arguments and no environment: it was started so, or an exec has not set the environment up
	// yet.
	bare bool
	// shed means that it took its tag off. pipes are then the inodes of the pipes among its standard streams. The caller
	// of ask fills them in.
	shed  bool
	pipes []uint64
}

func newPeeker() *peeker {
	return &peeker{requests: make(chan peekRequest), ended: make(chan struct{})}
}

func (p *peeker) run(stop <-chan struct{}) {
	defer close(p.ended)
	var buf []byte
	for {
		select {
		case <-stop:
			return
		case req := <-p.requests:
			if buf == nil {
				buf = make([]byte, environMax)
			}
			req.answer <- peekAt(req.Ident, buf)
		}
	}
}

// ask returns what the process i shows of its origin. It returns the zero value if i is gone, not readable for us, or
// does not answer. After run has returned it does so at once, because a scan that outlives the registry's Close asks
// about every process of the machine. It is called only while holding the turn to scan.
func (p *peeker) ask(i ident) procInfo {
	req := peekRequest{i, make(chan procInfo, 1)}
	last := time.After(peekWait)
	if p.stuck { // perhaps it still is
		select {
		case p.requests <- req:
		default:
			return procInfo{}
		}
	} else {
		select {
		case p.requests <- req:
		case <-p.ended:
			return procInfo{}
		case <-last: // the previous read hangs
			return procInfo{}
		}
	}
	select {
	case got := <-req.answer:
		p.stuck = false
		return got
	case <-last:
		p.stuck = true
		return procInfo{}
	}
}

func peekAt(i ident, buf []byte) procInfo {
	var got procInfo
	environ := kernel.Environ(i.PID, buf)
	got.marks, got.said = parseEnviron(environ), len(environ) > 0
	got.cmdline = append(got.cmdline, kernel.Arguments(i.PID, buf[:cmdlineMax])...)
	got.bare = !got.said && len(got.cmdline) > 0
	// The data belongs to process i only if i still exists.
	if now, err := statOf(i.PID); err != nil || now.Start != i.Start {
		return procInfo{}
	}
	return got
}
