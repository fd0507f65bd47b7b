package media

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"gatewaytui/core/adapter"
)

func TestCV9_OldFilesOfChatsGoAndWhatIsYoungOrStillToBeSentStays(t *testing.T) {
	p := gives(map[string][]byte{"": pdfFile})
	m := open(t, p)
	if n, err := m.Prune(t.Context(), time.Now()); err != nil || n.Files != 0 {
		t.Fatalf("without a file: %+v, %v", n, err)
	}
	take(t.Context(), m, "", true, adapter.File{Name: "old.pdf"}, adapter.File{Name: "young.pdf"})
	put(t, m, "own.txt", []byte("the agent's"))
	for range 3 { // sent long ago, waiting since then, sent now
		if _, _, err := m.Send(t.Context(), chatKey, "own.txt", ""); err != nil {
			t.Fatal(err)
		}
	}
	copies := map[string]bool{}
	var names []string
	for _, file := range p.files {
		f, err := parseSent(file)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, filepath.Join(m.o.Kept, f.Copy))
		copies[f.Copy] = true
	}
	p.files = p.files[1:2]
	folder := filepath.Join(m.o.Work, received, folderOf(chatKey))
	other := filepath.Join(m.o.Work, received, "0123456789ab")
	if err := os.MkdirAll(other, dirMode); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "mine")
	if err := os.WriteFile(outside, nil, fileMode); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-48 * time.Hour)
	for _, name := range []string{filepath.Join(folder, "old.pdf"), filepath.Join(other, "last.pdf"), filepath.Join(m.o.Work, "own.txt"), names[0], names[1], outside} {
		if f, err := os.OpenFile(name, os.O_CREATE, fileMode); err != nil {
			t.Fatal(err)
		} else if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	n, err := m.Prune(t.Context(), time.Now().Add(-24*time.Hour))
	if want := int64(len(pdfFile) + len("the agent's")); err != nil || n.Files != 3 || n.Bytes != want {
		t.Errorf("%+v, %v; want 3 files of %d bytes", n, err, want)
	}
	for name, want := range map[string]bool{
		filepath.Join(folder, "old.pdf"): false, other: false, names[0]: false,
		filepath.Join(folder, "young.pdf"): true, filepath.Join(m.o.Work, "own.txt"): true, names[1]: true, names[2]: true, outside: true,
	} {
		if _, err := os.Stat(name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n, err := m.Prune(t.Context(), time.Now().Add(time.Hour)); err != nil || n.Files != 0 {
		t.Errorf("what is younger than an hour: %+v, %v", n, err)
	}
}
