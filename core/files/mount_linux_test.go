package files

import "syscall"

// mountSmall mounts a file system of 64 KiB.
func mountSmall(dir string) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k")
}
