package instance

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/shortdir"
)

// long is a path below a new folder that no socket can have.
func long(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), strings.Repeat("long/", 25), "home")
}

func TestTheSocketIsInTheHomeIfItsPathCanBe(t *testing.T) {
	base := "/" + strings.Repeat("h", maxSocketPath-len("/")-len("/"+socketFile))
	got, err := SocketPath(base, noEnv)
	if want := base + "/" + socketFile; err != nil || got != want || len(got) != 107 {
		t.Errorf("got %q (%d bytes), %v; want %q", got, len(got), err, want)
	}
}

func noEnv(string) string { return "" }

func TestASocketWhosePathWouldBeTooLongIsElsewhere(t *testing.T) {
	runtime, temp, public := shortdir.New(t), shortdir.New(t), shortdir.New(t)
	if err := os.Chmod(public, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, runtime, want string }{
		{"in the runtime folder", runtime, runtime},
		{"not in a runtime folder that others may enter", public, temp},
		{"not in a runtime folder that is missing", filepath.Join(temp, "missing"), temp},
		{"not in a relative one", "run", temp},
		{"in a private folder where there is no runtime folder", "", temp},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("XDG_RUNTIME_DIR", c.runtime)
			t.Setenv("TMPDIR", temp)
			dir := long(t)
			h := open(t, dir)
			if c.want == temp && strings.HasPrefix(h.Socket(), "/run/user/") {
				t.Skip("runs where this user has no /run/user folder, which comes before TMPDIR")
			}
			if !strings.HasPrefix(h.Socket(), c.want+"/") || !strings.Contains(h.Socket(), h.ID()) {
				t.Fatalf("the socket is %s, want one in %s", h.Socket(), c.want)
			}
			if got := mode(t, filepath.Dir(h.Socket())); got != 0o700 {
				t.Errorf("its folder has mode %04o", got)
			}
			l, err := net.Listen("unix", h.Socket())
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if other := open(t, long(t)); other.Socket() == h.Socket() {
				t.Errorf("two homes share %s", h.Socket())
			}
			if f, err := Locate(dir); err != nil || f.Control != h.Socket() {
				t.Errorf("a verb finds %+v, %v", f, err)
			}
		})
	}
}

func TestAFolderForTheSocketThatAnotherUserPreparedIsRefused(t *testing.T) {
	temp, elsewhere := shortdir.New(t), shortdir.New(t)
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("TMPDIR", temp)
	dir := long(t)
	h := open(t, dir)
	private := filepath.Dir(h.Socket())
	if !strings.HasPrefix(private, temp) {
		t.Skip("runs where this user has no /run/user folder: else no private folder is made")
	}
	for _, c := range []struct {
		name string
		put  func() error
	}{
		{"open to others", func() error { return os.Chmod(private, 0o777) }},
		{"a symbolic link", func() error {
			if err := os.Remove(private); err != nil {
				return err
			}
			return os.Symlink(elsewhere, private)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.put(); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir); err == nil || ops.AsError(err).Hint == "" {
				t.Errorf("it gives %v", err)
			}
		})
	}
}

func TestLocateMakesNothing(t *testing.T) {
	temp := t.TempDir()
	missing := filepath.Join(temp, "missing")
	_, err := Locate(missing)
	if !ops.HasCode(err, ops.CodeUnavailable) || !strings.Contains(err.Error(), missing) {
		t.Errorf("a missing home gives %v", err)
	}
	empty := filepath.Join(temp, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := Locate(empty)
	if want := (Found{Control: filepath.Join(empty, socketFile)}); err != nil || f != want {
		t.Errorf("an empty folder gives %+v, %v; want %+v", f, err, want)
	}
	for dir, want := range map[string]int{temp: 1, empty: 0} {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != want {
			t.Errorf("%s now holds %v, %v", dir, entries, err)
		}
	}
	if got := mode(t, empty); got != 0o755 {
		t.Errorf("its mode is now %04o", got)
	}
}

func TestLocateFindsTheSocketThatThePIDFileNames(t *testing.T) {
	h := open(t, t.TempDir())
	usual := filepath.Join(h.Dir(), socketFile)
	elsewhere := sample()
	elsewhere.Control = "/run/" + socketName(h.ID())
	l := acquire(t, h)
	if err := l.Update(elsewhere); err != nil {
		t.Fatal(err)
	}
	f, err := Locate(h.Dir())
	if err != nil || f.Control != elsewhere.Control || f.Record.PID != os.Getpid() || !f.Alive || !f.Known {
		t.Errorf("of a living gateway: %+v, %v", f, err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	for name, text := range pidFiles(t) {
		t.Run("pid file "+name, func(t *testing.T) {
			write(t, h.PIDFile(), strings.ReplaceAll(text, sample().Control, elsewhere.Control))
			f, err := Locate(h.Dir())
			want := usual // that of a life that is over is not asked
			if name == "own pid" {
				want = elsewhere.Control
			}
			if err != nil || f.Control != want {
				t.Errorf("it finds %+v, %v; want %s", f, err, want)
			}
		})
	}
}

// B13: a pid file that was copied from another home says nothing here, wherever the gateway listens that it speaks of.
func TestB13_LocateDoesNotFollowThePIDFileOfAnotherHome(t *testing.T) {
	other, h := open(t, t.TempDir()), open(t, t.TempDir())
	for _, control := range []string{other.Socket(), "/run/" + socketName(other.ID()), "/run/x.sock"} {
		l := acquire(t, other)
		record := sample()
		record.Control = control
		if err := l.Update(record); err != nil {
			t.Fatal(err)
		}
		write(t, h.PIDFile(), read(t, other.PIDFile()))
		if f, err := Locate(h.Dir()); err != nil || f != (Found{Control: h.Socket()}) {
			t.Errorf("with a pid file that names %s it finds %+v, %v", control, f, err)
		}
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestALookDoesNotTurnAStarterAway(t *testing.T) {
	h := open(t, t.TempDir())
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				if _, err := Locate(h.Dir()); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	for range 20 {
		l, err := h.Acquire(sample())
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	<-done
}
