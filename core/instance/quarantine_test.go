package instance

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// kept is what is in the quarantine folder, by name.
func kept(t *testing.T, h *Home) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(filepath.Join(h.Dir(), quarantineDir))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		files[e.Name()] = ""
		if e.Type().IsRegular() { // a fifo would be read for ever
			files[e.Name()] = content(filepath.Join(h.Dir(), quarantineDir, e.Name()))
		}
	}
	return files
}

// checkKept reports it if one file, which was called name and held text, was not quarantined and reported.
func checkKept(t *testing.T, h *Home, name, text string) {
	t.Helper()
	said := h.Quarantined()
	if len(said) != 1 || said[0].File != name || said[0].Err != nil || said[0].Why == nil {
		t.Fatalf("it says that it quarantined %+v, want one %s", said, name)
	}
	if got := content(said[0].Kept); got != text {
		t.Errorf("%s holds %q, want %q", said[0].Kept, got, text)
	}
	if !strings.HasPrefix(filepath.Base(said[0].Kept), strings.TrimPrefix(name, ".")+"."+time.Now().UTC().Format("2006")) {
		t.Errorf("its new name %s does not tell what it was and when", said[0].Kept)
	}
	for _, part := range []string{name, said[0].Kept, reason(said[0].Why)} {
		if !strings.Contains(said[0].String(), part) {
			t.Errorf("%q does not say %q", said[0], part)
		}
	}
}

// A19: a marker that is cut off at any byte, or says what cannot be, is kept; that it was there is what it still says.
func TestA19_AMarkerThatCannotBeReadIsQuarantined(t *testing.T) {
	whole := open(t, t.TempDir())
	if err := whole.WriteMarker(Marker{Life: "01LIFE", At: sample().StartedAt, Reason: "update", By: "uid 0"}); err != nil {
		t.Fatal(err)
	}
	text := read(t, whole.Marker())
	cases := map[string]string{
		"garbage": "\x00{", "no life": "{}", "null": "null", "a life with control characters": `{"life":"\u001b[2J"}`,
		"a life that is a number": `{"life":7}`, "an invalid time": `{"life":"l","at":"yesterday"}`, "two of them": text + text, "a list": "[]",
		"a huge one": strings.Repeat("x", maxFile+1),
	}
	for i := range len(strings.TrimSpace(text)) {
		cases[fmt.Sprintf("the first %d bytes", i)] = text[:i]
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			h := open(t, t.TempDir())
			write(t, h.Marker(), text)
			if m, found, err := h.ConsumeMarker(); m != (Marker{}) || !found || err != nil {
				t.Errorf("it is %+v, %v, %v; want found, and nothing in it", m, found, err)
			}
			checkKept(t, h, markerFile, text)
			if m, found, err := h.ConsumeMarker(); m != (Marker{}) || found || err != nil {
				t.Errorf("the next start finds %+v, %v, %v", m, found, err)
			}
		})
	}
}

func TestWhatIsNotAFileIsQuarantined(t *testing.T) {
	for _, c := range []struct {
		name string
		put  func(path string) error
	}{
		{"a fifo", func(p string) error { return unix.Mkfifo(p, 0o600) }},
		{"a symbolic link", func(p string) error { return os.Symlink("/etc/hostname", p) }},
		{"a folder", func(p string) error { return os.Mkdir(p, 0o700) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := open(t, t.TempDir())
			for _, path := range []string{h.Marker(), h.PIDFile()} {
				if err := c.put(path); err != nil {
					t.Fatal(err)
				}
			}
			acquire(t, h)
			if _, found, err := h.ConsumeMarker(); !found || err != nil {
				t.Errorf("the marker is found: %v, %v", found, err)
			}
			if got := len(h.Quarantined()); got != 2 || len(kept(t, h)) != 2 {
				t.Errorf("%d were quarantined, want 2: %v", got, kept(t, h))
			}
			if _, err := os.Stat("/etc/hostname"); err != nil {
				t.Error(err)
			}
		})
	}
}

// B1: a pid file that is cut off at any byte, or is invalid, is kept next to the one that takes its place.
func TestB1_AnInvalidPIDFileIsQuarantined(t *testing.T) {
	r := sample()
	r.PID, r.StartTicks, r.BootID = 4194000, 1, "b"
	b, err := encode(r)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	cases := map[string]string{
		"garbage": "\x00{", "no pid": "{}", "a number": "4711", "a pid below 1": `{"pid":-4}`, "an impossible pid": `{"pid":4294967296}`,
		"a version with control characters": `{"pid":1,"version":"\u001b[2J"}`, "an invalid time": `{"pid":1,"started_at":"soon"}`,
		"negative ticks": `{"pid":1,"start_ticks":-1}`, "a socket that is not a path": `{"pid":1,"control":"x"}`,
	}
	for i := range len(strings.TrimSpace(text)) {
		cases[fmt.Sprintf("the first %d bytes", i)] = text[:i]
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			h := open(t, t.TempDir())
			write(t, h.PIDFile(), text)
			acquire(t, h)
			checkKept(t, h, pidFile, text)
			if now, ok := h.holder(); !ok || now.PID != os.Getpid() {
				t.Errorf("the pid file says %+v, %v", now, ok)
			}
		})
	}
	t.Run("one that an earlier life left is replaced", func(t *testing.T) {
		h := open(t, t.TempDir())
		write(t, h.PIDFile(), text)
		acquire(t, h)
		if said := h.Quarantined(); len(said) > 0 {
			t.Errorf("it quarantined %v", said)
		}
	})
}

// F10: a quarantined file is kept, never overwritten, private, and bounded in number.
func TestF10_QuarantinedFilesAreKeptAndBounded(t *testing.T) {
	h := open(t, t.TempDir())
	var newest []string
	for i := range 3 * quarantineKept {
		write(t, h.Marker(), fmt.Sprint("marker ", i))
		if err := os.Chmod(h.Marker(), 0o644); err != nil {
			t.Fatal(err)
		}
		a := h.Quarantine(h.Marker(), errors.New("it is a test's"))
		if a.Err != nil || mode(t, a.Kept) != fileMode {
			t.Fatalf("%+v", a)
		}
		if newest = append(newest, fmt.Sprint("marker ", i)); len(newest) > quarantineKept {
			newest = newest[1:]
		}
	}
	all := kept(t, h)
	if len(all) != quarantineKept {
		t.Errorf("%d are kept, want %d", len(all), quarantineKept)
	}
	texts := map[string]bool{}
	for _, text := range all {
		texts[text] = true
	}
	for _, want := range newest {
		if !texts[want] {
			t.Errorf("%q is not among those that are kept", want)
		}
	}
	if got := mode(t, filepath.Join(h.Dir(), quarantineDir)); got != dirMode {
		t.Errorf("the folder has mode %04o", got)
	}
}

func TestWhatCannotBeQuarantinedStaysAndIsReported(t *testing.T) {
	h := open(t, t.TempDir())
	write(t, filepath.Join(h.Dir(), quarantineDir), "in the folder's place")
	write(t, h.Marker(), "garbage")
	if _, found, err := h.ConsumeMarker(); !found || err != nil {
		t.Errorf("the marker is found: %v, %v", found, err)
	}
	said := h.Quarantined()
	if len(said) != 1 || said[0].Err == nil || !strings.Contains(said[0].String(), "is still in its place") || content(h.Marker()) != "garbage" {
		t.Errorf("it says %v, and the marker holds %q", said, content(h.Marker()))
	}
}
