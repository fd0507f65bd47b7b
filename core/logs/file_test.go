package logs

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// sizeOf is how much the files in dir hold together, and their paths.
func sizeOf(t *testing.T, dir string) (size int64, paths []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		fi, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		size += fi.Size()
		paths = append(paths, filepath.Join(dir, e.Name()))
	}
	return size, paths
}

func TestH9_TheFilesAreBoundedInSizeAndNumber(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "gateway.jsonl")
	const mib, keep = 1 << 20, 2
	synctest.Test(t, func(t *testing.T) {
		l := open(t, Options{Path: path, MaxBytes: mib, Keep: keep})
		text := strings.Repeat("many words ", 700)
		for i := range 6 * mib / len(text) {
			l.Logger().Info("filler", "i", i, "text", text)
			if i%100 == 0 {
				time.Sleep(time.Second) // the time is in the rotated files' names
				synctest.Wait()
			}
		}
		l.Logger().Info("last")
		closeLog(t, l)
	})
	size, files := sizeOf(t, dir)
	if len(files) != keep+1 || size > (keep+1)*mib || size < keep*mib/2 {
		t.Errorf("%d bytes in %v", size, files)
	}
	for _, f := range files {
		fi, err := os.Stat(f)
		if err != nil || fi.Mode() != 0o600 { // under a umask of 0: see TestMain
			t.Errorf("%s: %v, %v", f, fi.Mode(), err)
		}
		parse(t, read(t, f)) // each line whole
	}
	if lines := parse(t, read(t, path)); lines[len(lines)-1]["msg"] != "last" {
		t.Errorf("the current file ends with %v", lines[len(lines)-1])
	}
}

func TestI3_AFileThatIsOpenToOthersIsClosedAndGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gateway.jsonl")
	if err := os.WriteFile(path, []byte("{\"msg\":\"of an earlier life\"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	l := open(t, Options{Path: path})
	if fi, err := os.Stat(path); err != nil || fi.Mode() != 0o600 {
		t.Errorf("its mode is %v, %v", fi.Mode(), err)
	}
	l.Logger().Info("of this life")
	closeLog(t, l)
	if lines := parse(t, read(t, path)); count(lines, "of an earlier life") != 1 || count(lines, "of this life") != 1 {
		t.Errorf("it has %v", lines)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		says string
	}{
		{"a level that there is not", Options{Level: "loud"}, `log level "loud"`},
		{"a format that there is not", Options{Format: "xml"}, `log format "xml"`},
		{"a folder that is missing", Options{Path: filepath.Join(t.TempDir(), "missing", "gateway.jsonl")}, "open log file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if l, err := Open(c.o); l != nil || err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("it gives %v, %v", l, err)
			}
		})
	}
}

func TestTheLevelIsTheLowestThatIsLogged(t *testing.T) {
	for level, want := range map[string]int{"": 3, "debug": 4, "info": 3, "warn": 2, "error": 1} {
		p := &page{}
		l := open(t, Options{Stderr: p, Level: level})
		for _, at := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
			l.Logger().Log(t.Context(), at, "line")
		}
		closeLog(t, l)
		if got := len(p.lines(t)); got != want {
			t.Errorf("at level %q %d lines are logged, want %d", level, got, want)
		}
	}
}

// CONTRACT.md, 8: who waits for the life's beginning, its end and the phases of its stop waits at every level.
func TestMilestonesAreLoggedAtEveryLevel(t *testing.T) {
	p := &page{}
	l := open(t, Options{Stderr: p, Level: "error"})
	for _, msg := range []string{"ready", "line", "shutdown.phase", "stopped"} {
		l.Logger().Info(msg)
	}
	closeLog(t, l)
	var got []any
	for _, line := range p.lines(t) {
		got = append(got, line["msg"])
	}
	if want := []any{"ready", "shutdown.phase", "stopped"}; !slices.Equal(got, want) {
		t.Fatalf("logged are %v, want %v", got, want)
	}
}

func TestTheFormatFollowsTheTerminal(t *testing.T) {
	for _, c := range []struct {
		name         string
		o            Options
		env          map[string]string
		text, colour bool
	}{
		{"JSON where there is no terminal", Options{}, nil, false, false},
		{"coloured text on a terminal", Options{StderrIsTerminal: true}, nil, true, true},
		{"plain text where NO_COLOR is set", Options{StderrIsTerminal: true}, map[string]string{"NO_COLOR": "1"}, true, false},
		{"plain text on a dumb terminal", Options{StderrIsTerminal: true}, map[string]string{"TERM": "dumb"}, true, false},
		{"plain text where it is asked for and there is no terminal", Options{Format: "text"}, nil, true, false},
		{"JSON where it is asked for", Options{Format: "json", StderrIsTerminal: true}, nil, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("NO_COLOR", "")
			t.Setenv("TERM", "xterm")
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			p := &page{}
			c.o.Stderr = p
			l := open(t, c.o)
			l.Logger().Info("hello", "k", "v")
			closeLog(t, l)
			if got := !strings.HasPrefix(p.String(), "{"); got != c.text {
				t.Errorf("text is %v: %q", got, p)
			}
			if got := strings.Contains(p.String(), "\x1b["); got != c.colour {
				t.Errorf("colour is %v: %q", got, p)
			}
		})
	}
}

func TestALogWithoutSinksDropsEverything(t *testing.T) {
	l := open(t, Options{})
	l.Logger().Error("it is not written")
	if l.Logger().Enabled(t.Context(), slog.LevelError) {
		t.Error("it takes lines")
	}
	closeLog(t, l)
}

// A console has the terminal; when it is left, the log goes on there.
func TestStderrTakesNothingUntilItIsShown(t *testing.T) {
	var stderr page
	l, err := Open(Options{Stderr: &stderr, StderrLater: true})
	if err != nil {
		t.Fatal(err)
	}
	with := l.Logger().With("part", "a")
	l.Logger().Info("before")
	l.Logger().Info("stopped") // not even a milestone
	with.Info("before as well")
	l.ShowStderr()
	l.Logger().Info("after")
	with.Info("after as well")
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	stderr.mu.Lock()
	defer stderr.mu.Unlock()
	if text := stderr.text.String(); strings.Contains(text, "before") || strings.Contains(text, "stopped") || strings.Count(text, "after") != 2 {
		t.Errorf("stderr has %q", text)
	}
}
