package console

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gatewaytui/tui"
)

func file(t *testing.T, home string) (habits, string) {
	t.Helper()
	dir := t.TempDir()
	f, found := habitsFile(home, func(name string) string { return map[string]string{"XDG_STATE_HOME": dir}[name] })
	if !found {
		t.Fatal("there is no file")
	}
	return f, dir
}

func TestTF37_HabitsAreKeptByHome(t *testing.T) {
	f, dir := file(t, "/srv/a")
	other := habits{f.path, "/srv/b"}
	if got := f.load(); got.View != "" {
		t.Errorf("a first console remembers %+v", got)
	}
	if err := f.keep(t.Context(), tui.Habits{View: "sessions"}); err != nil {
		t.Fatal(err)
	}
	if err := other.keep(t.Context(), tui.Habits{View: "events", Lines: []string{"theme mono"}}); err != nil {
		t.Fatal(err)
	}
	if f.load().View != "sessions" || other.load().View != "events" {
		t.Errorf("remembered are %+v and %+v", f.load(), other.load())
	}
	fi, err := os.Stat(filepath.Join(dir, "gatewaytui", "console.json"))
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", fi, err)
	}
	for i := range 2 * maxHomes {
		if err := (habits{f.path, fmt.Sprint("/srv/", i)}).keep(t.Context(), tui.Habits{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(f.read().Homes); n != maxHomes {
		t.Errorf("%d homes are kept, want %d", n, maxHomes)
	}
}

func TestTF37_AFileThatIsCorruptIsSetAside(t *testing.T) {
	f, dir := file(t, "/srv/a")
	if err := f.keep(t.Context(), tui.Habits{View: "sessions"}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.path, []byte(`{"homes": {"/srv/a": 7`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := f.load(); got.View != "" {
		t.Errorf("read is %+v", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "gatewaytui", "console.json.corrupt")); err != nil {
		t.Error(err)
	}
	if err := f.keep(t.Context(), tui.Habits{View: "events"}); err != nil || f.load().View != "events" {
		t.Errorf("after that nothing is kept: %v", err)
	}
}

func TestTF37_WithoutAStateFolderNothingIsKept(t *testing.T) {
	for name, env := range map[string]map[string]string{"no variable": nil, "relative": {"XDG_STATE_HOME": "x", "HOME": "y"}} {
		if _, found := habitsFile("/srv/a", func(name string) string { return env[name] }); found {
			t.Errorf("%s: a file was found", name)
		}
	}
	if _, found := habitsFile("", os.Getenv); found {
		t.Error("a console without a home has a file")
	}
}
