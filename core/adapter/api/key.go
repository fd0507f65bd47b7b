package api

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/renameio/v2"
)

// Bounds of a key in a file, in bytes: what is shorter can be guessed.
const (
	minKey = 16
	maxKey = 512
)

const keyMode fs.FileMode = 0o600

// LocalKey returns the key in the file at path, and makes the file on the first start: mode 0600 with any umask, a random
// key that is kept from then on. The key may be an operator's own. Another mode is corrected. A file that could be another
// user's doing is refused: a symbolic link, one that is not regular, or one of another owner. The error is one sentence that
// says what to do. It is called by the one gateway of the home, which holds its lock.
func LocalKey(path string) (string, error) {
	key, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = rand.Text(), nil // 130 bits
		if err := renameio.WriteFile(path, []byte(key+"\n"), keyMode, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(keyMode)); err != nil {
			return "", fmt.Errorf("write the key of the api adapter to %s: %w", path, err)
		}
	}
	if err != nil {
		return "", fmt.Errorf("the key file %s cannot be used: %w; move it away and start the gateway again to get a new one", path, err)
	}
	return key, nil
}

func readKey(path string) (string, error) {
	const flags = os.O_RDONLY | syscall.O_NOFOLLOW | syscall.O_NONBLOCK // a fifo in its place holds up nothing
	f, err := os.OpenFile(path, flags, 0)
	if errors.Is(err, fs.ErrPermission) { // its mode, if it is ours; of another's file this fails as well
		if fi, statErr := os.Lstat(path); statErr == nil && fi.Mode().IsRegular() && os.Chmod(path, keyMode) == nil {
			f, err = os.OpenFile(path, flags, 0)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", err
	case errors.Is(err, syscall.ELOOP):
		return "", errors.New("it is a symbolic link")
	case err != nil:
		return "", plain(err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return "", plain(err)
	}
	if !fi.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	if st := fi.Sys().(*syscall.Stat_t); int(st.Uid) != os.Geteuid() { // os says so: it is one on Linux
		return "", fmt.Errorf("it belongs to uid %d and the gateway runs as uid %d", st.Uid, os.Geteuid())
	}
	if fi.Mode() != keyMode {
		if err := f.Chmod(keyMode); err != nil {
			return "", plain(err)
		}
	}
	b, err := io.ReadAll(io.LimitReader(f, maxKey+2))
	if err != nil {
		return "", plain(err)
	}
	key := strings.TrimSpace(string(b))
	if len(key) < minKey || len(key) > maxKey {
		return "", fmt.Errorf("it has to hold a key of %d to %d characters", minKey, maxKey)
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("the key in it has characters that a header cannot hold")
	}
	return key, nil
}

// plain leaves out the path, which the sentence around the error has.
func plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
