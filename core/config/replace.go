package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// OldEnd ends the name of the file that keeps a config as it was before it was replaced.
const OldEnd = ".old"

// The modes of what is written.
const (
	fileMode   = 0o600
	folderMode = 0o700
)

// Replace replaces the config file in one step, and keeps the text before next to it. before is what the caller has read, nil for a
// file that was not there: where the file is another one now, it is left alone.
func Replace(path string, before, after []byte) error {
	now, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write the config: %w", err)
	}
	if (err == nil) != (before != nil) || !bytes.Equal(now, before) {
		return fmt.Errorf("write the config: %s was changed meanwhile by another program; try again", path)
	}
	if before != nil && bytes.Equal(before, after) {
		return nil
	}
	if before != nil {
		if err := WriteFile(path+OldEnd, before); err != nil {
			return err
		}
	}
	return WriteFile(path, after)
}

// WriteFile replaces a file in one step. It makes its folder where there is none. No other user can read the file.
func WriteFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
		return fmt.Errorf("make the folder of %s: %w", path, err)
	}
	err := renameio.WriteFile(path, data, fileMode, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(fileMode))
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
