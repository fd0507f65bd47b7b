package instance

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// birthOf is the device, the inode and the time of birth of dir, as bytes.
func birthOf(dir string) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return nil, err
	}
	var b []byte
	for _, v := range []uint64{uint64(st.Dev), st.Ino, uint64(st.Btim.Sec), uint64(st.Btim.Nsec)} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	return b, nil
}

// exchange swaps two files (renamex_np(2)).
func exchange(a, b string) error { return unix.RenamexNp(a, b, unix.RENAME_SWAP) }

// LockHolder is not known: macOS does not tell who holds a lock.
func LockHolder(string) (pid int, held bool) { return 0, false }

// pidNamespace is empty: there is one for all.
func pidNamespace() string { return "" }
