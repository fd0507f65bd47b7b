package process

import (
	"context"
	"sync/atomic"
	"time"

	"gatewaytui/core/bound"
	"gatewaytui/core/process/kernel"
)

// Bounds of what is read about another process, in bytes, and of the wait for it.
const (
	environMax = 256 << 10
	cmdlineMax = 4 << 10
	peekWait   = 200 * time.Millisecond
)

// peeker reads environments and command lines. Unlike stat, these reads wait for the memory lock of the process that they
// describe, and a process whose memory is on a dead filesystem keeps that lock for ever. A read that hangs costs one
// peekWait. From then on the answer is "unknown" at once, until the read returns.
type peeker struct {
	read func(ident, []byte) procInfo // peekAt, but for tests
	buf  []byte                       // of the read under way
	busy atomic.Bool                  // a read is under way
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

// ask returns what the process i shows of its origin. It returns the zero value if i is gone, not readable for us, or
// does not answer. It is called only while holding the turn to scan.
func (p *peeker) ask(i ident) procInfo {
	if !p.busy.CompareAndSwap(false, true) {
		return procInfo{}
	}
	if p.buf == nil {
		p.buf = make([]byte, environMax)
	}
	read := func(context.Context) (procInfo, error) { return p.read(i, p.buf), nil }
	got, abandoned, _ := bound.Call(context.Background(), peekWait, read, func(procInfo, error) { p.busy.Store(false) })
	if !abandoned {
		p.busy.Store(false)
	}
	return got
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
