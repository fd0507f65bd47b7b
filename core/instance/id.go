package instance

import (
	"crypto/sha256"
	"encoding/base32"
)

// idOf makes a home's id from the kernel's identity of the folder: device, inode and, where the file system keeps it, the
// time of its birth (see birthOf). Two paths to one folder agree, also over symbolic links or bind mounts. Two folders that
// exist at the same time never agree, nor does a folder that replaces a deleted one. A file with a random id would be
// shared by a copy of the home, and one gateway's sweep would then kill the other's processes (B13, B14). A hash of the
// path would be shared by two containers. A copy, or a restored backup, is another home.
func idOf(dir string) (string, error) {
	numbers, err := birthOf(dir)
	if err != nil {
		return "", err
	}
	b := append([]byte("gatewaytui home"), numbers...)
	sum := sha256.Sum256(b)
	return base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").EncodeToString(sum[:10]), nil // 80 bits in 16 letters
}
