package media

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/model"
	"gatewaytui/core/session"
)

const (
	// received is the folder of the work folder that has a folder for each session.
	received = "received"
	fileMode = 0o600
	dirMode  = 0o700
	// maxNumber is the most files of one name in one folder.
	maxNumber = 1000
)

// folderOf is the name of a session's own folder. A /background session has that of its conversation.
func folderOf(key string) string {
	sum := sha256.Sum256([]byte(session.Owner(key)))
	return hex.EncodeToString(sum[:6])
}

// save writes a received file into the session's folder and returns its path from the work folder. A file of the same name and
// content, which an earlier life may have left, is taken for it.
func (m *Media) save(key, name string, content []byte) (string, error) {
	dir, err := m.folder(key)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	for n := 1; n <= maxNumber; n++ {
		one := numbered(name, n)
		err := write(dir, one, content)
		if errors.Is(err, fs.ErrExist) {
			if !holds(dir, one, content) {
				continue
			}
			now := time.Now()
			err = dir.Chtimes(one, now, now) // it is as young as this message
		}
		if err != nil {
			return "", err
		}
		return path.Join(received, folderOf(key), one), nil
	}
	return "", fmt.Errorf("%d files have this name", maxNumber)
}

// Keep saves what a tool has brought, as a file of the session, and returns its path from the work folder. The name is made fit for a file.
// It is deleted as files of chats are.
func (m *Media) Keep(key, name string, content []byte) (string, error) {
	return m.save(key, fileName(name, "file"), content)
}

// Picture is content as a model that can see is shown it. The error says why it is not.
func (m *Media) Picture(content []byte) (model.Image, error) {
	k, mediaType := kindOf(adapter.File{}, content)
	switch {
	case k != picture:
		return model.Image{}, errors.New("it is not a picture of a kind that models see")
	case len(content) > maxPicture:
		return model.Image{}, errors.New("it is too large")
	}
	return shownAs(mediaType, content), nil
}

// shownAs is a picture of a media type for a model.
func shownAs(mediaType string, content []byte) model.Image {
	return model.Image{URL: "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString(content)}
}

// folder opens the folder of a session, and makes it first. No folder on the way to it may be a link.
func (m *Media) folder(key string) (*os.Root, error) {
	if err := os.MkdirAll(m.o.Work, dirMode); err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(m.o.Work)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{received, folderOf(key)} {
		below, err := enter(dir, name, true)
		_ = dir.Close()
		if err != nil {
			return nil, err
		}
		dir = below
	}
	return dir, nil
}

// enter opens a folder in dir, which is not a link. With make it is made where it is missing.
func enter(dir *os.Root, name string, mayMake bool) (*os.Root, error) {
	if mayMake {
		if err := dir.Mkdir(name, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	fi, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", name)
	}
	return dir.OpenRoot(name)
}

// write makes a new file that is durable. Of one that cannot be written nothing stays.
func write(dir *os.Root, name string, content []byte) (err error) {
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, dir.Remove(name))
		}
	}()
	if _, err = f.Write(content); err != nil {
		return err
	}
	return f.Sync()
}

// holds reports whether a file has exactly this content.
func holds(dir *os.Root, name string, content []byte) bool {
	fi, err := dir.Lstat(name)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() != int64(len(content)) {
		return false
	}
	f, err := dir.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	there, err := io.ReadAll(io.LimitReader(f, int64(len(content))+1))
	return err == nil && bytes.Equal(there, content)
}
