// Package links checks paths of a config against symbolic links that commands can change (TR6).
//
// What it promises: a path that is named for an environment leads where its owner meant when an environment is made, because no link on
// its way lies in a folder that commands can write to. It does no more than look at the machine, and imports next to nothing, because a
// step before exec is set up after its imports (core/environment/landlock).
package links

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Check refuses each path whose way leads through a symbolic link in one of the writable folders, which commands can change. All are
// absolute. The error names the path and the link. What does not exist is not refused.
func Check(paths, writable []string) error {
	folders := Follow(writable)
	var errs []error
	for _, path := range paths {
		if link := linkIn(path, folders); link != "" {
			errs = append(errs, fmt.Errorf("use %s in an environment: commands can change the symbolic link %s; name the path that is meant", path, link))
		}
	}
	return errors.Join(errs...)
}

// Follow returns the paths without links, where they exist; the others are as they are named.
func Follow(paths []string) []string {
	out := make([]string, len(paths))
	for i, path := range paths {
		out[i] = filepath.Clean(path)
		if at, err := filepath.EvalSymlinks(path); err == nil {
			out[i] = at
		}
	}
	return out
}

// Below reports whether path is at or in the folder at. Both are clean.
func Below(path, at string) bool {
	return path == at || strings.HasPrefix(path, strings.TrimSuffix(at, "/")+"/")
}

// linkIn is the first symbolic link on the way to path that lies in one of the folders; empty: there is none.
func linkIn(path string, folders []string) string {
	for at := filepath.Clean(path); at != "/" && at != "."; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		parent, parentErr := filepath.EvalSymlinks(filepath.Dir(at))
		if err == nil && parentErr == nil && info.Mode()&os.ModeSymlink != 0 && slices.ContainsFunc(folders, func(f string) bool { return Below(parent, f) }) {
			return at
		}
	}
	return ""
}
