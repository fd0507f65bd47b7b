package instance

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// HF25: what is spent needs no room but its own: the file is the one that was kept, and it can be spent again and again.
func TestHF25_AReserveIsSpentInPlace(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	reserves := []string{filepath.Join(dir, "r1"), filepath.Join(dir, "r2")}
	kept := map[uint64]bool{}
	for _, r := range reserves {
		if err := Reserve(r, 4096); err != nil {
			t.Fatal(err)
		}
		kept[inode(t, r)] = true
	}
	for i, text := range []string{"one", "two, which is longer", "3", strings.Repeat("4", 4096)} {
		err := Spend(reserves[0], target, []byte(text))
		if err != nil {
			err = Spend(reserves[1], target, []byte(text))
		}
		if err != nil {
			t.Fatalf("spending %d: %v", i, err)
		}
		b, err := os.ReadFile(target)
		if err != nil || string(bytes.TrimRight(b, "\n")) != text || len(b) != 4096 {
			t.Errorf("the target holds %.40q in %d bytes, %v; want %.40q", b, len(b), err, text)
		}
		if !kept[inode(t, target)] {
			t.Error("the target is a file that took room of its own")
		}
	}
	if err := Spend(reserves[1], target, make([]byte, 4097)); err == nil {
		t.Error("more than was kept is spent")
	}
	if b, err := os.ReadFile(target); err != nil || !strings.HasPrefix(string(b), "4444") {
		t.Errorf("what could not be replaced holds %.40q, %v", b, err)
	}
}

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return fi.Sys().(*syscall.Stat_t).Ino
}

func TestAReserveIsMadeOnceAndMadeGood(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reserve")
	if err := Reserve(path, 4096); err != nil {
		t.Fatal(err)
	}
	first := inode(t, path)
	if err := Reserve(path, 4096); err != nil || inode(t, path) != first {
		t.Errorf("a reserve that is there is made again, %v", err)
	}
	if err := os.Truncate(path, 10); err != nil {
		t.Fatal(err)
	}
	if err := Reserve(path, 4096); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Size() != 4096 || fi.Mode().Perm() != fileMode {
		t.Errorf("it is %v, %v", fi, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", path); err != nil {
		t.Fatal(err)
	}
	if err := Reserve(path, 4096); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Lstat(path); err != nil || !fi.Mode().IsRegular() {
		t.Errorf("a link in its place stays, %v", err)
	}
}
