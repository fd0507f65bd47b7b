package media

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf16"

	"github.com/dustin/go-humanize"

	"gatewaytui/core/adapter"
	"gatewaytui/core/files"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
)

// maxCaption is the longest text next to a file, in UTF-16 units: what every platform takes, with a mark that it is sent again.
const maxCaption = 900

// sentFile is a file on its way to a chat, as the outbox keeps it.
type sentFile struct {
	// Copy is the name of its copy in Options.Kept, which begins with the SHA-256 of the content.
	Copy string `json:"copy"`
	Name string `json:"name"`
	Type string `json:"type,omitempty"`
}

// Send sends a file of the work folder to the chat of a session, behind what that chat gets already. It returns when the
// copy and its message are durable. The error is for the model.
func (m *Media) Send(ctx context.Context, key, file, caption string) (name string, size int64, err error) {
	owner := session.Owner(key)
	platform := session.Platform(owner)
	target, _ := m.chat(key)
	if target == "" || !m.platforms.Can(platform, adapter.AbilityFilesOut) {
		return "", 0, fmt.Errorf("this conversation is held over %s, which takes no files; say where the file is, or put what matters into your answer", term.Clean(platform, 40))
	}
	if n := len(utf16.Encode([]rune(caption))); n > maxCaption {
		return "", 0, fmt.Errorf("the caption has %d characters, at most %d are taken; put the rest into your answer", n, maxCaption)
	}
	most := int64(maxFile)
	if b := m.platforms.Bounds(platform, target); b.File > 0 {
		most = min(most, b.File)
	}
	content, err := m.read(file, most)
	if err != nil {
		return "", 0, fmt.Errorf("send %s: %w", term.Quote(file), err)
	}
	f := sentFile{Name: fileName(file, "file"), Type: http.DetectContentType(content)}
	if f.Copy, err = m.keep(content); err != nil {
		return "", 0, fmt.Errorf("copy the file into the gateway's home: %w", cause(err))
	}
	text, err := json.Marshal(f)
	if err == nil {
		err = m.outbox.PostFile(ctx, owner, target, caption, string(text))
	}
	if err != nil {
		return "", 0, errors.Join(err, os.Remove(filepath.Join(m.o.Kept, f.Copy)))
	}
	return f.Name, int64(len(content)), nil
}

// read reads a regular file of the work folder, of at most most bytes.
func (m *Media) read(file string, most int64) ([]byte, error) {
	f, err := m.o.Folder.Open(file)
	if errors.Is(err, files.ErrFolder) {
		return nil, errors.New("it is a folder; pack it into one file first")
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, cause(err)
	case int64(len(content)) > most:
		return nil, fmt.Errorf("it is larger than the %s that this chat takes", humanize.IBytes(uint64(most)))
	case len(content) == 0:
		return nil, errors.New("it is empty")
	}
	return content, nil
}

// keep writes a durable copy into the home, and returns its name.
func (m *Media) keep(content []byte) (string, error) {
	if err := os.MkdirAll(m.o.Kept, dirMode); err != nil {
		return "", err
	}
	dir, err := os.OpenRoot(m.o.Kept)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	sum := sha256.Sum256(content)
	name := hex.EncodeToString(sum[:]) + "-" + strings.ToLower(rand.Text()[:10])
	if err := write(dir, name, content); err != nil {
		return "", err
	}
	folder, err := dir.Open(".")
	if err != nil {
		return "", err
	}
	return name, errors.Join(folder.Sync(), folder.Close())
}

// parseSent reads what Send wrote into the outbox.
func parseSent(file string) (f sentFile, err error) {
	if err := json.Unmarshal([]byte(file), &f); err != nil || f.Copy == "" || f.Copy != filepath.Base(f.Copy) {
		return f, errors.New("what is known of the file cannot be read")
	}
	return f, nil
}

// Outgoing is the file that a message of the outbox is, as Send wrote it there. It has its name also with an error, if that is
// known.
func (m *Media) Outgoing(file string) (adapter.OutgoingFile, error) {
	f, err := parseSent(file)
	if err != nil {
		return adapter.OutgoingFile{}, err
	}
	out := adapter.OutgoingFile{Name: f.Name, Type: f.Type}
	dir, err := os.OpenRoot(m.o.Kept)
	if err != nil {
		return out, errors.New("the copy of the file is gone")
	}
	defer dir.Close()
	if fi, err := dir.Lstat(f.Copy); err != nil || !fi.Mode().IsRegular() || fi.Size() > maxFile {
		return out, errors.New("the copy of the file is gone")
	}
	if out.Content, err = dir.ReadFile(f.Copy); err != nil {
		return out, fmt.Errorf("read the copy of the file: %w", cause(err))
	}
	if sum := sha256.Sum256(out.Content); !strings.HasPrefix(f.Copy, hex.EncodeToString(sum[:])) {
		return adapter.OutgoingFile{Name: f.Name}, errors.New("the copy of the file was changed")
	}
	return out, nil
}
