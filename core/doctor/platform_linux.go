package doctor

import "golang.org/x/sys/unix"

// missing is what this system cannot do: nothing.
var missing []string

// readOnly is the flag of a file system that is mounted read-only.
const readOnly = unix.ST_RDONLY

// remoteFilesystems are those on which locks and SQLite's shared memory are not to be relied on, by statfs(2)'s f_type.
var remoteFilesystems = map[int64]string{
	0x6969: "NFS", 0x517b: "SMB", 0xff534d42: "CIFS", 0xfe534d42: "SMB2", 0x5346414f: "AFS", 0x00c36400: "Ceph",
	0x01021997: "9P", 0x65735546: "FUSE",
}

// remoteFilesystem is the kind of file system, if it is one of those; else empty.
func remoteFilesystem(disk *unix.Statfs_t) string {
	return remoteFilesystems[int64(disk.Type)&0xffffffff]
}

// clockSynced reports whether the kernel takes the clock for right; known is false where it cannot be asked
// (adjtimex(2)).
func clockSynced() (synced, known bool) {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err != nil {
		return false, false
	}
	return t.Status&unix.STA_UNSYNC == 0, true
}
