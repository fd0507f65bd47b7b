package media

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestCV13_FilesOfAForgottenPersonAreDeleted(t *testing.T) {
	home := t.TempDir()
	m := New(Options{Work: filepath.Join(home, "work"), Kept: filepath.Join(home, "media"), Log: slog.New(slog.DiscardHandler)})
	if p, err := m.Forget(t.Context(), []string{"telegram:dm:47"}, nil); err != nil || p.Files != 0 {
		t.Fatalf("without folders %+v was deleted: %v", p, err)
	}
	saved := map[string]string{}
	for _, key := range []string{"telegram:dm:47", "telegram:dm:48"} {
		path, err := m.save(key, "note.txt", []byte("of "+key))
		if err != nil {
			t.Fatal(err)
		}
		saved[key] = filepath.Join(home, "work", path)
	}
	late := time.Now().Add(time.Minute)
	if err := os.Chtimes(saved["telegram:dm:47"], late, late); err != nil {
		t.Fatal(err)
	}
	var copies []string
	for _, content := range []string{"to 47", "to 48"} {
		name, err := m.keep([]byte(content))
		if err != nil {
			t.Fatal(err)
		}
		copies = append(copies, name)
	}
	p, err := m.Forget(t.Context(), []string{"telegram:dm:47"}, []string{fmt.Sprintf(`{"copy":%q,"name":"x.txt"}`, copies[0])})
	if err != nil || p.Files != 2 {
		t.Fatalf("deleted was %+v (%v), want the received file and the copy of the sent one", p, err)
	}
	for path, there := range map[string]bool{
		saved["telegram:dm:47"]: false, saved["telegram:dm:48"]: true,
		filepath.Join(home, "media", copies[0]): false, filepath.Join(home, "media", copies[1]): true,
	} {
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("%s is there: %v, want %v", path, err == nil, there)
		}
	}
}
