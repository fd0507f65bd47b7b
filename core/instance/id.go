package instance

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// idOf makes a home's id of what the kernel knows the folder by: device, inode and, where the file system keeps it, the
// time of its birth (statx(2)). So two paths to one folder agree, be it over symbolic links or bind mounts. Two folders
// that exist at the same time never do, and neither does a new folder where one was deleted. A file with a random
// id in the home would be shared by a copy of it, and then one gateway's sweep would kill the other's processes (B13,
// B14); a hash of the path would be shared by two containers. A copy, or a restored backup, is another home.
func idOf(dir string) (string, error) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return "", err
	}
	b := []byte("gatewaytui home")
	for _, v := range []uint64{uint64(st.Dev_major), uint64(st.Dev_minor), st.Ino} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	if st.Mask&unix.STATX_BTIME != 0 {
		b = binary.BigEndian.AppendUint64(b, uint64(st.Btime.Sec))
		b = binary.BigEndian.AppendUint32(b, st.Btime.Nsec)
	}
	sum := sha256.Sum256(b)
	return base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").EncodeToString(sum[:10]), nil // 80 bits in 16 letters
}
