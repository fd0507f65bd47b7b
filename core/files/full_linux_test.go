package files

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// mountSmall mounts a file system of 64 KiB.
func mountSmall(dir string) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k")
}

func TestADiskThatIsFullLeavesTheOldFile(t *testing.T) {
	w := newWork(t)
	disk := filepath.Join(w.dir, "disk")
	if err := os.Mkdir(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := mountSmall(disk); err != nil {
		t.Skipf("runs as root, which may mount a small file system: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	w.put("disk/a.txt", "old")
	_, err := w.folder.Write(t.Context(), "disk/a.txt", strings.Repeat("x", 1<<20))
	w.refused("a write to a full disk", err, "the disk is full")
	_, err = w.folder.Edit(t.Context(), "disk/a.txt", "old", strings.Repeat("x", 1<<20), false)
	w.refused("an edit on a full disk", err, "the disk is full")
	w.has("disk/a.txt", "old")
	w.untouched()
}
