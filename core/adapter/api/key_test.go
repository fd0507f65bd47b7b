package api

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestHF1_TheKeyOfTheHomeIsMadeOnceAndPrivate(t *testing.T) {
	for _, umask := range []int{0, 0o022, 0o777} {
		was := unix.Umask(umask)
		path := filepath.Join(t.TempDir(), "api.key")
		if umask == 0o777 { // the folder has to be usable
			if err := os.Chmod(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		key, err := LocalKey(path)
		unix.Umask(was)
		if err != nil || len(key) < 26 {
			t.Fatalf("umask %o: %q, %v", umask, key, err)
		}
		if fi, err := os.Lstat(path); err != nil || fi.Mode() != 0o600 {
			t.Errorf("umask %o: the file has mode %v, %v", umask, fi.Mode(), err)
		}
		if again, err := LocalKey(path); err != nil || again != key {
			t.Errorf("umask %o: the next start has %q, not %q (%v)", umask, again, key, err)
		}
		other, err := LocalKey(filepath.Join(t.TempDir(), "api.key"))
		if err != nil || other == key {
			t.Errorf("two homes have the key %q (%v)", other, err)
		}
	}
}

func TestHF1_AnOperatorsOwnKeyIsTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "api.key")
	if err := os.WriteFile(path, []byte("  my-own-key-of-the-api \n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if key, err := LocalKey(path); err != nil || key != "my-own-key-of-the-api" {
		t.Errorf("%q, %v", key, err)
	}
	if fi, err := os.Lstat(path); err != nil || fi.Mode() != 0o600 {
		t.Errorf("its mode is %v, %v", fi.Mode(), err)
	}
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if key, err := LocalKey(path); err != nil || key != "my-own-key-of-the-api" {
		t.Errorf("with mode 0: %q, %v", key, err)
	}
}

func TestHF1_AKeyFileThatIsNotOursIsRefusedInASentence(t *testing.T) {
	for name, tt := range map[string]struct {
		make func(path string) error
		says string
	}{
		"a symbolic link":   {func(path string) error { return os.Symlink("/etc/hostname", path) }, "symbolic link"},
		"a link to nowhere": {func(path string) error { return os.Symlink(path+".x", path) }, "symbolic link"},
		"a folder":          {func(path string) error { return os.Mkdir(path, 0o700) }, "not a regular file"},
		"a fifo":            {func(path string) error { return unix.Mkfifo(path, 0o600) }, "not a regular file"},
		"an empty file":     {func(path string) error { return os.WriteFile(path, nil, 0o600) }, "16 to 512"},
		"a short key":       {func(path string) error { return os.WriteFile(path, []byte("short\n"), 0o600) }, "16 to 512"},
		"a large file":      {func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("k", 600)), 0o600) }, "16 to 512"},
		"two lines": {func(path string) error {
			return os.WriteFile(path, []byte("one-key-of-two-lines\nand-another\n"), 0o600)
		}, "characters"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "api.key")
			if err := tt.make(path); err != nil {
				t.Fatal(err)
			}
			key, err := LocalKey(path)
			if err == nil || key != "" || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%q, %v", key, err)
			}
		})
	}
	t.Run("another user's", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("runs as root: it gives a file away")
		}
		path := filepath.Join(t.TempDir(), "api.key")
		if err := os.WriteFile(path, []byte("a-key-that-another-knows\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if key, err := LocalKey(path); err == nil || !strings.Contains(err.Error(), "uid 65534") {
			t.Errorf("%q, %v", key, err)
		}
	})
}
