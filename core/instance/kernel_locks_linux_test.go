package instance

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestTheHolderOfALockIsReadFromTheKernel(t *testing.T) {
	const locks = `1: POSIX  ADVISORY  WRITE 10 fd:01:99 0 EOF
2: FLOCK  ADVISORY  WRITE 4711 fd:01:99 0 EOF
2: -> FLOCK  ADVISORY  WRITE 4712 fd:01:77 0 EOF
3: FLOCK  ADVISORY  WRITE 4713 fd:02:99 0 EOF
nonsense
4: FLOCK  ADVISORY  WRITE what fd:01:55 0 EOF
`
	for inode, want := range map[uint64]int{99: 4711, 77: 0, 55: 0, 1: 0} {
		pid, held := holderOf(strings.NewReader(locks), unix.Mkdev(0xfd, 1), inode)
		if pid != want || held != (want != 0) {
			t.Errorf("inode %d: pid %d, held %v; want %d", inode, pid, held, want)
		}
	}
}
