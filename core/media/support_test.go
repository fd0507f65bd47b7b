package media

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"gatewaytui/core/adapter"
	"gatewaytui/core/files"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const chatKey = "chat:dm:1"

// Contents that a sniffer knows, as short as they can be.
var (
	jpegFile = drawn(func(b *bytes.Buffer, i image.Image) error { return jpeg.Encode(b, i, nil) })
	pngFile  = drawn(func(b *bytes.Buffer, i image.Image) error { return png.Encode(b, i) })
	gifFile  = drawn(func(b *bytes.Buffer, i image.Image) error { return gif.Encode(b, i, nil) })
	webpFile = []byte("RIFF\x10\x00\x00\x00WEBPVP8 a picture")
	pdfFile  = []byte("%PDF-1.7\x00\x01 a document")
	zipFile  = []byte("PK\x03\x04\x00 an archive")
	oggFile  = []byte("OggS\x00 a voice")
)

// drawn is a picture of one point.
func drawn(encode func(*bytes.Buffer, image.Image) error) []byte {
	var b bytes.Buffer
	if err := encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// platform is a platform and an outbox that do what the test says.
type platform struct {
	fetch  func(ctx context.Context, ref string, most int64) ([]byte, error)
	bounds adapter.Bounds
	unable bool

	mu      sync.Mutex
	fetched []string
	posted  []string // key, target, caption
	files   []string
	postErr error
}

func (p *platform) Fetch(ctx context.Context, name, ref string, most int64) ([]byte, error) {
	p.mu.Lock()
	p.fetched = append(p.fetched, name+" "+ref)
	p.mu.Unlock()
	return p.fetch(ctx, ref, most)
}

func (p *platform) Can(name string, a adapter.Ability) bool {
	return name == "chat" && a == adapter.AbilityFilesOut && !p.unable
}

func (p *platform) Bounds(string, string) adapter.Bounds { return p.bounds }

func (p *platform) PostFile(_ context.Context, key, target, caption, file string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.postErr != nil {
		return p.postErr
	}
	p.posted, p.files = append(p.posted, fmt.Sprintf("%s %s %q", key, target, caption)), append(p.files, file)
	return nil
}

func (p *platform) WaitingFiles() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.files)
}

// gives answers a fetch with these contents by their refs.
func gives(of map[string][]byte) *platform {
	return &platform{fetch: func(_ context.Context, ref string, _ int64) ([]byte, error) {
		if content, found := of[ref]; found {
			return content, nil
		}
		return nil, &adapter.RefusedError{Why: "the file is gone"}
	}}
}

// open returns media over p, with folders of their own.
func open(t *testing.T, p *platform, change ...func(*Options)) *Media {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	o := Options{Work: filepath.Join(home, "work"), Kept: filepath.Join(home, "files"), Log: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&o)
	}
	home = filepath.Dir(o.Kept)
	o.Folder = files.New(o.Work, files.Own{Home: home, Work: filepath.Join(home, "work")})
	if err := os.MkdirAll(home, dirMode); err != nil {
		t.Fatal(err)
	}
	m := New(o)
	m.Open(p, p, func(key string) (string, bool) {
		return "1", strings.HasPrefix(key, "chat:") || strings.HasPrefix(key, "api:")
	})
	return m
}

// take is Take of a message with these files.
func take(ctx context.Context, m *Media, text string, sees bool, files ...adapter.File) Taken {
	return m.Take(ctx, Message{Session: chatKey, Text: text, Files: adapter.EncodeFiles(files), Sees: sees, Progress: func(string) {}})
}

// put writes a file of the work folder.
func put(t *testing.T, m *Media, name string, content []byte) string {
	t.Helper()
	at := filepath.Join(m.o.Work, name)
	if err := os.MkdirAll(filepath.Dir(at), dirMode); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, content, fileMode); err != nil {
		t.Fatal(err)
	}
	return at
}

// saved are the received files by their names, with their contents.
func saved(t *testing.T, m *Media) map[string]string {
	t.Helper()
	dir := filepath.Join(m.o.Work, received, folderOf(chatKey))
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(content)
		if fi, err := e.Info(); err != nil || fi.Mode().Perm() != fileMode {
			t.Errorf("%s has the mode %v", e.Name(), fi.Mode())
		}
	}
	return all
}
