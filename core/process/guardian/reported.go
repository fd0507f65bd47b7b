package guardian

import (
	"errors"
	"syscall"
)

// Socket is the descriptor at which the guardian expects its end of a stream socket.
const Socket = 3

// The messages on the socket: a byte, followed by an identity after Add and Drop (see AppendIdentity).
const (
	// Ready is sent by the guardian: it watches from now on.
	Ready = 'r'
	// Release is sent by the gateway: nothing is left, exit.
	Release = 'b'
	// Add and Drop are sent by the gateway: a process belongs to the life, or has ended.
	Add  = 'a'
	Drop = 'd'
)

// reportedMost is how many identities a guardian keeps: a quarter of a megabyte. Only its marks identify a process beyond
// that.
const reportedMost = 1 << 14

// identityBytes is the length of an identity on the socket: the pid in four bytes, the start ticks in eight.
const identityBytes = 4 + 8

// AppendIdentity appends the message Add or Drop about a process to b.
func AppendIdentity(b []byte, what byte, pid int, start uint64) []byte {
	b = append(b, what)
	for i := range 4 {
		b = append(b, byte(uint32(pid)>>(8*i)))
	}
	for i := range 8 {
		b = append(b, byte(start>>(8*i)))
	}
	return b
}

// littleEndian is the number that AppendIdentity wrote. encoding/binary is set up too late for this package.
func littleEndian(b []byte) (v uint64) {
	for i, c := range b {
		v |= uint64(c) << (8 * i)
	}
	return v
}

// reported is what the gateway sent: the identities of the processes that it started and adopted, and the incomplete
// message.
type reported struct {
	start map[int32]uint64 // by pid
	rest  [1 + identityBytes]byte
	n     int // bytes in rest
}

func (t *reported) has(pid int, start uint64) bool {
	s, is := t.start[int32(pid)]
	return is && s == start
}

// read reads bytes from the socket, and reports whether a release was among them.
func (t *reported) read(b []byte) (released bool) {
	for _, c := range b {
		if t.n == 0 && c != Add && c != Drop {
			released = released || c == Release
			continue
		}
		t.rest[t.n] = c
		if t.n++; t.n < len(t.rest) {
			continue
		}
		t.n = 0
		pid, start := int32(littleEndian(t.rest[1:5])), littleEndian(t.rest[5:])
		switch _, known := t.start[pid]; {
		case t.rest[0] == Drop && t.start[pid] == start:
			delete(t.start, pid)
		case t.rest[0] == Drop, !known && len(t.start) >= reportedMost:
		default:
			if t.start == nil {
				t.start = map[int32]uint64{}
			}
			t.start[pid] = start
		}
	}
	return released
}

// drain reads what is on the socket. It reports a release, and whether one may still come.
func (t *reported) drain() (released, open bool) {
	var b [1 << 10]byte
	for {
		n, err := syscall.Read(Socket, b[:])
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return false, true
		case err != nil || n == 0:
			return false, false
		case t.read(b[:n]):
			return true, false
		}
	}
}
