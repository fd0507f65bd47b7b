package media

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gatewaytui/core/adapter"
)

func TestCV9_AFileOfTheWorkFolderIsCopiedAndPosted(t *testing.T) {
	p := gives(nil)
	m := open(t, p)
	at := put(t, m, "out/Q3 report.pdf", pdfFile)
	name, size, err := m.Send(t.Context(), chatKey+":bg:01HZZZZZZZZZZZZZZZZZZZZZZZ", "out/Q3 report.pdf", "as asked")
	if err != nil || name != "Q3_report.pdf" || size != int64(len(pdfFile)) {
		t.Fatalf("%q, %d bytes, %v", name, size, err)
	}
	if want := []string{chatKey + ` 1 "as asked"`}; !slices.Equal(p.posted, want) {
		t.Errorf("posted is %q, want %q", p.posted, want)
	}
	if err := os.WriteFile(at, []byte("changed since"), fileMode); err != nil {
		t.Fatal(err)
	}
	out, err := m.Outgoing(p.files[0])
	if err != nil || out.Name != name || out.Type != "application/pdf" || !bytes.Equal(out.Content, pdfFile) {
		t.Errorf("what goes out is %+v, %v", out, err)
	}
	copies, err := os.ReadDir(m.o.Kept)
	sum := sha256.Sum256(pdfFile)
	if err != nil || len(copies) != 1 || !strings.HasPrefix(copies[0].Name(), hex.EncodeToString(sum[:])) {
		t.Fatalf("the copies are %v, %v", copies, err)
	}
	if fi, err := copies[0].Info(); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the copy has the mode %v", fi.Mode())
	}
	if _, _, err := m.Send(t.Context(), chatKey, at, ""); err != nil {
		t.Errorf("by its whole path: %v", err)
	}
}

func TestCV9_WhatMayNotLeaveIsRefused(t *testing.T) {
	m := open(t, gives(nil))
	put(t, m, "a.txt", []byte("x"))
	put(t, m, "empty", nil)
	put(t, m, "dir/a", []byte("x"))
	put(t, m, "large", make([]byte, maxFile+1))
	put(t, m, "exact", make([]byte, maxFile))
	secret := filepath.Join(filepath.Dir(m.o.Kept), "api.key")
	if err := os.WriteFile(secret, []byte("key"), fileMode); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"out": secret, "up": "../api.key", "in": "a.txt", "devices": "/dev"} {
		if err := os.Symlink(target, filepath.Join(m.o.Work, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(m.o.Work, "pipe"), fileMode); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"a.txt": "", "./dir/../a.txt": "", "in": "", "exact": "",
		"../api.key": "outside of the work folder", secret: "outside of the work folder", "/etc/passwd": "outside of the work folder",
		"": "it is a folder", ".": "it is a folder", "dir": "it is a folder", "missing": "no such file", "a.txt/b": "not a folder",
		"out": "leads out", "up": "outside of the work folder", "devices/null": "leads out", "pipe": "only regular files", "empty": "it is empty",
		"large": "larger than the 20 MiB that this chat takes", "a\x00b": "the character NUL",
	} {
		_, _, err := m.Send(t.Context(), chatKey, path, "")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", path, err, want)
		}
	}
	if _, _, err := m.Send(t.Context(), chatKey, "a.txt", strings.Repeat("é", maxCaption+1)); err == nil || !strings.Contains(err.Error(), "901 characters") {
		t.Errorf("a long caption: %v", err)
	}
}

func TestCV9_NothingOfTheHomeIsSentThoughTheWorkFolderHoldsIt(t *testing.T) {
	top := t.TempDir()
	for _, work := range []string{top, filepath.Join(top, "home")} {
		m := open(t, gives(nil), func(o *Options) {
			o.Work, o.Kept = work, filepath.Join(top, "home", "files")
		})
		put(t, m, "notes.txt", []byte("mine"))
		key := filepath.Join(filepath.Dir(m.o.Kept), "api.key")
		if err := os.WriteFile(key, []byte("key"), fileMode); err != nil {
			t.Fatal(err)
		}
		if _, _, err := m.Send(t.Context(), chatKey, key, ""); err == nil || !strings.Contains(err.Error(), "belongs to the gateway") {
			t.Errorf("with the work folder %s the key is sent: %v", work, err)
		}
		if _, _, err := m.Send(t.Context(), chatKey, "notes.txt", ""); (err == nil) != (work == top) {
			t.Errorf("with the work folder %s: %v", work, err)
		}
	}
}

func TestCV9_OnlyAChatThatTakesFilesGetsOne(t *testing.T) {
	for _, tc := range []struct{ name, key, want string }{
		{"a caller of the API", "api:user:ann", "held over api, which takes no files"},
		{"the command line", "cli:local", "held over cli, which takes no files"},
	} {
		m := open(t, gives(nil))
		put(t, m, "a.txt", []byte("x"))
		if _, _, err := m.Send(t.Context(), tc.key, "a.txt", ""); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	p := gives(nil)
	p.bounds = adapter.Bounds{File: 4}
	m := open(t, p)
	put(t, m, "a.txt", []byte("12345"))
	if _, _, err := m.Send(t.Context(), chatKey, "a.txt", ""); err == nil || !strings.Contains(err.Error(), "larger than the 4 B") {
		t.Errorf("a chat with a bound of its own: %v", err)
	}
	p.unable = true
	if _, _, err := m.Send(t.Context(), chatKey, "a.txt", ""); err == nil || !strings.Contains(err.Error(), "takes no files") {
		t.Errorf("a platform that takes no files: %v", err)
	}
}

func TestCV9_NoCopyStaysOfAFileThatIsNotPosted(t *testing.T) {
	p := gives(nil)
	p.postErr = errors.New("disk full")
	m := open(t, p)
	put(t, m, "a.txt", []byte("x"))
	if _, _, err := m.Send(t.Context(), chatKey, "a.txt", ""); !errors.Is(err, p.postErr) {
		t.Errorf("the error is %v", err)
	}
	if copies, err := os.ReadDir(m.o.Kept); err != nil || len(copies) > 0 {
		t.Errorf("the copies are %v, %v", copies, err)
	}
}

func TestCV9_ACopyThatIsGoneOrChangedIsNotSent(t *testing.T) {
	p := gives(nil)
	m := open(t, p)
	put(t, m, "a.txt", []byte("x"))
	for range 3 {
		if _, _, err := m.Send(t.Context(), chatKey, "a.txt", ""); err != nil {
			t.Fatal(err)
		}
	}
	at := func(i int) string {
		f, err := parseSent(p.files[i])
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Join(m.o.Kept, f.Copy)
	}
	if err := errors.Join(os.Remove(at(0)), os.WriteFile(at(1), []byte("y"), fileMode), os.Remove(at(2)), os.Symlink("/etc/passwd", at(2))); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		p.files[0]: "is gone", p.files[1]: "was changed", p.files[2]: "is gone", `{"copy":"../gateway.db","name":"a"}`: "cannot be read", "{": "cannot be read",
	} {
		if out, err := m.Outgoing(file); err == nil || !strings.Contains(err.Error(), want) || len(out.Content) > 0 {
			t.Errorf("%s: %q, %v, want %q", file, out.Content, err, want)
		}
	}
}
