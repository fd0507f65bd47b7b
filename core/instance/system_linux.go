package instance

import (
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"
)

// birthOf is the device, the inode and, where the file system keeps it, the time of birth of dir, as bytes (statx(2)).
func birthOf(dir string) ([]byte, error) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return nil, err
	}
	var b []byte
	for _, v := range []uint64{uint64(st.Dev_major), uint64(st.Dev_minor), st.Ino} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	if st.Mask&unix.STATX_BTIME != 0 {
		b = binary.BigEndian.AppendUint64(b, uint64(st.Btime.Sec))
		b = binary.BigEndian.AppendUint32(b, st.Btime.Nsec)
	}
	return b, nil
}

// exchange swaps two files in one step (renameat2(2)).
func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

func pidNamespace() string {
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return ns
}
