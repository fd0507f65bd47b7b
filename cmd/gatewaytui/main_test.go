package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"go.uber.org/goleak"

	"gatewaytui/core/control"
	"gatewaytui/core/instance"
	"gatewaytui/fixtures/shortdir"
	"gatewaytui/fixtures/soak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if folder != "" {
			os.RemoveAll(folder)
		}
		os.Exit(code)
	}))
}

var (
	folder string // what build made
	// build makes a folder with the program as it is shipped. Scripts and terminals run that and not the test's own
	// binary: the race detector makes each start of a process ten times as slow.
	build = sync.OnceValue(func() error {
		var err error
		if folder, err = os.MkdirTemp("", "gatewaytui-verbs"); err != nil {
			return err
		}
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(folder, "gatewaytui"), ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build the program: %w\n%s", err, out)
		}
		return nil
	})
)

// programFolder is the folder that has the program.
func programFolder(t *testing.T) string {
	t.Helper()
	soak.Long(t)
	if err := build(); err != nil {
		t.Fatal(err)
	}
	return folder
}

// hostile is what a chat, a model or a process would write to take over a terminal: OSC 52, a cleared screen, a C1
// control sequence, a bidi override, a carriage return, NUL.
const hostile = "\x1b]52;c;cm0gLXJm\a\x1b[2J\u009b31m\u202eevil\r\x00"

// shownHostile is what people see of it.
const shownHostile = "␛]52;c;cm0gLXJm\uFFFD␛[2J\uFFFD31mevil␍\uFFFD"

// newHome is a home with a path that is short enough for a socket, for a test of any name.
func newHome(t *testing.T) *instance.Home {
	t.Helper()
	home, err := instance.Open(shortdir.New(t))
	if err != nil {
		t.Fatal(err)
	}
	return home
}

// live is a home on which a fake gateway lives and answers.
type live struct {
	*fake
	home  *instance.Home
	leave func() // closes the control socket and removes the pid file; twice is harmless
}

func start(t *testing.T, f *fake) *live {
	t.Helper()
	home := newHome(t)
	// Without start ticks it is unknown whether the process lives: ours does, and the gateway that it plays ends.
	text := fmt.Sprintf(`{"pid":%d,"life":%q,"version":"1.2.3","control":%q}`, os.Getpid(), fakeLife, home.Socket())
	if err := os.WriteFile(home.PIDFile(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &live{fake: f, home: home}
	closeSocket := serve(t, f, home.Socket())
	l.leave = sync.OnceFunc(func() {
		closeSocket()
		if err := os.Remove(home.PIDFile()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(l.leave)
	return l
}

// serve answers on a socket until the function that it returns is called.
func serve(t *testing.T, f *fake, path string) (stop func()) {
	t.Helper()
	server := control.NewServer(control.Options{Console: f, Path: path, Life: fakeLife})
	if err := server.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}

// result is what one invocation printed, and how it ended.
type result struct {
	out, err string
	code     int
}

// invocation is one command line in its surroundings.
type invocation struct {
	home  string
	stdin string
	// in is the input of a terminal whose lines come later; nil: stdin is the input.
	in       io.Reader
	err      io.Writer
	armAfter time.Duration
	asks     bool
	out      interface{ Write([]byte) (int, error) }
	// columns is the width of the terminal; 0: there is no terminal.
	columns int
}

func (i invocation) run(t *testing.T, ctx context.Context, args ...string) result {
	t.Helper()
	var out, errOut bytes.Buffer
	p := &program{
		in: strings.NewReader(i.stdin), out: &out, err: &errOut, asks: i.asks, columns: i.columns, armAfter: i.armAfter,
		getenv: func(name string) string { return map[string]string{"GATEWAYTUI_HOME": i.home}[name] },
	}
	if i.out != nil {
		p.out = i.out
	}
	if i.in != nil {
		p.in = i.in
	}
	if i.err != nil {
		p.err = i.err
	}
	code := p.execute(ctx, args)
	r := result{out.String(), errOut.String(), code}
	if r.code != exitDone && r.err == "" && r.out == "" {
		t.Errorf("%q ended with %d and said nothing", args, r.code)
	}
	safe(t, args, r.out)
	safe(t, args, r.err)
	return r
}

// safe checks what every output must be, for any content: fit for a terminal (I4).
func safe(t *testing.T, args []string, s string) {
	t.Helper()
	if r, raw := rawRune(s); raw {
		t.Errorf("%q printed %U raw:\n%q", args, r, s)
	}
}

// rawRune finds what no output may have.
func rawRune(s string) (rune, bool) {
	for _, r := range s {
		if r != '\n' && r != '\t' && (!unicode.IsPrint(r) || unicode.In(r, unicode.Cf, unicode.Co)) {
			return r, true
		}
	}
	return 0, false
}

// run runs a command line against l, without a terminal.
func (l *live) run(t *testing.T, args ...string) result {
	t.Helper()
	return invocation{home: l.home.Dir()}.run(t, t.Context(), args...)
}

// must checks how an invocation ended.
func (r result) must(t *testing.T, code int) result {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", r.code, code, r.out, r.err)
	}
	return r
}

// says checks that all of the parts were printed, on stdout or stderr.
func (r result) says(t *testing.T, parts ...string) result {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(r.out+r.err, part) {
			t.Errorf("%q is missing in\nstdout: %s\nstderr: %s", part, r.out, r.err)
		}
	}
	return r
}

// printed is a place for output that can be waited for.
type printed struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{}
}

func newPrinted() *printed { return &printed{more: make(chan struct{})} }

func (l *printed) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(b)
	close(l.more)
	l.more = make(chan struct{})
	return len(b), nil
}

func (l *printed) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await waits until part has been printed.
func (l *printed) await(part string) error {
	deadline := time.After(20 * time.Second)
	for {
		l.mu.Lock()
		text, more := l.text.String(), l.more
		l.mu.Unlock()
		if strings.Contains(text, part) {
			return nil
		}
		select {
		case <-more:
		case <-deadline:
			return errors.New("within 20 s " + part + " was not printed, only:\n" + text)
		}
	}
}
