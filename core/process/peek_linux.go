package process

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of what is read of another process, in bytes, and of the wait for it.
const (
	environMax = 256 << 10
	cmdlineMax = 4 << 10
	peekWait   = 200 * time.Millisecond
)

// peeker reads environments and command lines on a goroutine of its own: unlike stat, these wait for the memory lock of
// the process that they describe, and a process whose memory is on a dead filesystem keeps it for ever. A read that
// hangs costs one peekWait; from then on the answer is "unknown" at once, until it returns.
type peeker struct {
	requests chan peekRequest
	ended    chan struct{} // closed when run has returned
	stuck    bool          // the caller's: whether the last request was given up
}

type peekRequest struct {
	ident
	answer chan peeked // holds one
}

// peeked is what a process says of itself. Without said it said nothing, which is not that it has no markers: it is in
// the middle of an exec or of its end, or a look at it hangs.
type peeked struct {
	marks
	cmdline []byte
	said    bool
	// bare says that it has arguments and no environment: it was started so, or an exec has not set it up yet.
	bare bool
	// shed says that it took its tag off, and pipes are then the inodes of those pipes that are its standard streams. The
	// asker fills them in.
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
			req.answer <- peekAt(req.ident, buf)
		}
	}
}

// ask returns what the process i says of itself; the zero value if it is gone, not ours to read, or does not answer, and at
// once after run has returned: a scan that outlives the registry's Close asks about every process of the machine. It is
// called with the turn to scan alone.
func (p *peeker) ask(i ident) peeked {
	req := peekRequest{i, make(chan peeked, 1)}
	timer := time.NewTimer(peekWait)
	defer timer.Stop()
	if p.stuck {
		select {
		case p.requests <- req:
			p.stuck = false
		default:
			return peeked{}
		}
	} else {
		select {
		case p.requests <- req:
		case <-p.ended:
			return peeked{}
		case <-timer.C: // the read before hangs
			return peeked{}
		}
	}
	select {
	case got := <-req.answer:
		return got
	case <-timer.C:
		p.stuck = true
		return peeked{}
	}
}

func peekAt(i ident, buf []byte) peeked {
	dir := "/proc/" + strconv.Itoa(i.pid)
	var got peeked
	environ := readUpTo(dir+"/environ", buf)
	got.marks, got.said = parseEnviron(environ), len(environ) > 0
	got.cmdline = append(got.cmdline, readUpTo(dir+"/cmdline", buf[:cmdlineMax])...)
	got.bare = !got.said && len(got.cmdline) > 0
	// What was read is of process i only if i is still there.
	if now, err := statOf(i.pid); err != nil || now.start != i.start {
		return peeked{}
	}
	return got
}

// readUpTo reads at most len(buf) bytes; what cannot be read is empty.
func readUpTo(path string, buf []byte) []byte {
	fd, err := unix.Open(path, os.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	total := 0
	for total < len(buf) {
		n, err := unix.Read(fd, buf[total:])
		if n <= 0 || err != nil {
			break
		}
		total += n
	}
	return buf[:total]
}
