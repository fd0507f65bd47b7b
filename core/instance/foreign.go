package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

// ErrForeign marks a folder that is neither empty nor a gateway's home. Another try does not help: the command line, the
// environment or the folder has to change.
var ErrForeign = errors.New("the folder is not a gateway's home")

// signatures are the files that only a gateway writes into a home, of every edition. One of them makes the folder a home.
// The log is what remains after a user deleted the rest to start over.
var signatures = []string{lockFile, storeFile, pidFile, markerFile, socketFile, filepath.Join(logsDir, logFile)}

// harmless are the names that a folder may have before its first start, because a file system or an administrator puts
// them there, or a console that remembers its views.
var harmless = []string{"lost+found", "config.toml", "console.json", "console.json.corrupt"}

// folders are those that a gateway makes in its home.
var folders = []string{logsDir, dumpsDir, workDir, filesDir, adaptersDir, quarantineDir}

// maxForeign is how many names of a foreign folder's entries an error lists.
const maxForeign = 3

// CheckHome returns nil if a start may make dir its home: dir does not exist, is empty, or is a home already, of this
// edition or an earlier one. Any other folder is an error that wraps ErrForeign. A home is closed to everyone else (mode
// 0700), which would hide the files of a web root or of a source tree from their readers (TF46). CheckHome changes
// nothing. Open reports other faults of dir.
func CheckHome(dir string) error {
	fi, err := os.Stat(dir)
	if err != nil || !fi.IsDir() || dir == "/" || fi.Mode()&fs.ModeSticky != 0 || Owner(fi) != os.Geteuid() {
		return nil // there is none, or ensureDir has a better reason to refuse it
	}
	entries, err := os.ReadDir(dir)
	if err != nil || isHome(dir) {
		return nil
	}
	var foreign []string
	for _, e := range entries {
		if !leftByStart(dir, e) {
			foreign = append(foreign, fmt.Sprintf("%.60q", e.Name()))
		}
	}
	if len(foreign) == 0 {
		return nil
	}
	shown := text.Some(foreign, maxForeign)
	return &userError{ops.Error{
		Code: ops.CodeInvalid, Message: fmt.Sprintf("%s is not a gateway's home, and it is not empty (it has %s); it was not changed", dir, shown),
		Hint: "name a folder that is empty or does not exist yet, with --home DIR or GATEWAYTUI_HOME",
	}, ErrForeign}
}

// isHome reports whether a gateway has run in the folder dir.
func isHome(dir string) bool {
	return slices.ContainsFunc(signatures, func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

// leftByStart reports whether e may be in a folder in which no gateway has run yet. A start that was killed leaves empty
// folders.
func leftByStart(dir string, e fs.DirEntry) bool {
	if !slices.Contains(folders, e.Name()) {
		return slices.Contains(harmless, e.Name())
	}
	inside, err := os.ReadDir(filepath.Join(dir, e.Name()))
	return err == nil && len(inside) == 0
}
