package service

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"gatewaytui/fixtures/shortdir"
)

// double is a service manager: a notify socket, read without waiting, so that it serves in virtual time.
type double struct {
	fd   int
	name string
}

func listen(t *testing.T, name string) *double {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err != nil {
		t.Fatal(err)
	}
	return &double{fd, name}
}

// heard is every message that has come since the last look.
func (d *double) heard(t *testing.T) []string {
	t.Helper()
	var all []string
	b := make([]byte, 64<<10)
	for {
		n, _, err := unix.Recvfrom(d.fd, b, 0)
		if errors.Is(err, unix.EAGAIN) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(b[:n]))
	}
}

func (d *double) want(t *testing.T, messages ...string) {
	t.Helper()
	if got := d.heard(t); strings.Join(got, "|") != strings.Join(messages, "|") {
		t.Errorf("it heard %q, want %q", got, messages)
	}
}

func notifier(t *testing.T, pairs ...string) *Notifier {
	t.Helper()
	n, err := NewNotifier(env(pairs...), 77)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.close)
	return n
}

func TestTheServiceManagerIsNotified(t *testing.T) {
	for _, tt := range []struct{ name, socket string }{
		{"on a socket with a path", filepath.Join(shortdir.New(t), "notify")},
		{"on an abstract socket", "@gatewaytui-test-" + strconv.Itoa(os.Getpid())},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := listen(t, tt.socket)
			n := notifier(t, socketVariable, tt.socket)
			for _, step := range []struct {
				do   func() error
				want string
			}{
				{func() error { return n.Ready("serving") }, "READY=1\nSTATUS=serving\n"},
				{func() error { return n.Status("drain: 2 turns") }, "STATUS=drain: 2 turns\n"},
				{func() error { return n.Extend(30 * time.Second) }, "EXTEND_TIMEOUT_USEC=30000000\n"},
				{func() error { return n.Stopping("mark") }, "STOPPING=1\nSTATUS=mark\n"},
				{func() error { return n.Status("one\nREADY=1\x1b[2J\xff" + strings.Repeat("ä", 500)) }, ""},
			} {
				if err := step.do(); err != nil {
					t.Fatal(err)
				}
				got := d.heard(t)
				if step.want != "" && (len(got) != 1 || got[0] != step.want) {
					t.Errorf("it heard %q, want %q", got, step.want)
				}
				if step.want == "" && (len(got) != 1 || strings.Count(got[0], "\n") != 1 || !utf8.ValidString(got[0]) || len(got[0]) > 500 || strings.ContainsRune(got[0], '\x1b')) {
					t.Errorf("a hostile status is sent as %q", got)
				}
			}
		})
	}
}

func TestWithoutASocketNothingIsSaidAndNothingFails(t *testing.T) {
	for _, n := range []*Notifier{notifier(t), {}} {
		if n.Enabled() || n.Ready("x") != nil || n.Stopping("x") != nil || n.Extend(time.Second) != nil || n.watchdog != 0 {
			t.Error("a notifier without a listener does something")
		}
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		notifier(t).Run(ctx, nil) // returns when ctx ends
	})
}

func TestAWrongEnvironmentIsAnErrorAndNoMore(t *testing.T) {
	for _, pairs := range [][]string{
		{socketVariable, "notify"},
		{socketVariable, "@"},
		{socketVariable, "vsock:2:1234"},
		{socketVariable, "/" + strings.Repeat("x", 200)},
		{socketVariable, "/run/n", watchdogVariable, "soon"},
		{socketVariable, "/run/n", watchdogVariable, "-5"},
		{socketVariable, "/run/n", watchdogVariable, "9223372036854775807"},
	} {
		n, err := NewNotifier(env(pairs...), 77)
		if err == nil || n == nil || n.watchdog != 0 {
			t.Errorf("%q: %v", pairs, err)
		}
	}
	if n := notifier(t, socketVariable, "/run/n", watchdogVariable, "60000000", watchdogPIDVariable, "78"); n.watchdog != 0 {
		t.Error("the watchdog of another process is taken for ours")
	}
}

func TestAManagerThatIsGoneIsAnErrorAtOnce(t *testing.T) {
	n := notifier(t, socketVariable, filepath.Join(shortdir.New(t), "absent"))
	if err := n.Ready("x"); !errors.Is(err, unix.ENOENT) {
		t.Errorf("the error is %v", err)
	}
}

func TestWhatAManagerDoesNotTakeAtOnceIsSentLaterAndNoCallerWaits(t *testing.T) {
	d := listen(t, filepath.Join(shortdir.New(t), "notify"))
	synctest.Test(t, func(t *testing.T) {
		n := notifier(t, socketVariable, d.name)
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan struct{})
		go func() {
			defer close(ran)
			n.Run(ctx, nil)
		}()
		var err error
		for i := 0; err == nil; i++ { // its queue is bounded: net.unix.max_dgram_qlen, unix(7)
			if i > 1<<20 {
				t.Fatal("the queue has no end")
			}
			err = n.Status("filling")
		}
		if !errors.Is(err, unix.EAGAIN) {
			t.Fatalf("the error is %v", err)
		}
		if n.Ready("first") == nil || n.Status("second") == nil {
			t.Error("a full queue takes more")
		}
		d.heard(t)
		time.Sleep(2 * lateAgain)
		synctest.Wait()
		d.want(t, "READY=1\nSTATUS=second\n")
		cancel()
		<-ran
		if err := n.Status("late"); !errors.Is(err, errClosed) {
			t.Errorf("after its end: %v", err)
		}
	})
}

func TestG6_TheWatchdogHearsTwiceInAnIntervalWhileTheGatewayLives(t *testing.T) {
	d := listen(t, filepath.Join(shortdir.New(t), "notify"))
	synctest.Test(t, func(t *testing.T) {
		n := notifier(t, socketVariable, d.name, watchdogVariable, "60000000", watchdogPIDVariable, "77")
		var lives atomic.Bool
		lives.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan struct{})
		go func() {
			defer close(ran)
			n.Run(ctx, func(context.Context) bool { return lives.Load() })
		}()
		synctest.Wait()
		d.want(t, "WATCHDOG=1\n")
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		d.want(t, "WATCHDOG=1\n", "WATCHDOG=1\n")
		lives.Store(false)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		d.want(t)
		cancel()
		<-ran
		if n.fd >= 0 {
			t.Error("the socket is open after the end")
		}
	})
}

func TestALivenessThatHangsIsDeathAndEndsWithTheHalfInterval(t *testing.T) {
	d := listen(t, filepath.Join(shortdir.New(t), "notify"))
	synctest.Test(t, func(t *testing.T) {
		n := notifier(t, socketVariable, d.name, watchdogVariable, "2000000")
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan struct{})
		var asked atomic.Int64
		go func() {
			defer close(ran)
			n.Run(ctx, func(ctx context.Context) bool {
				asked.Add(1)
				<-ctx.Done()
				return false
			})
		}()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		d.want(t)
		if asked.Load() < 3 {
			t.Errorf("it was asked %d times in five half intervals", asked.Load())
		}
		cancel()
		<-ran
	})
}

func FuzzStatusLine(f *testing.F) {
	f.Add("drain: 2 turns")
	f.Add("a\nSTOPPING=1\u2028\x00\xff")
	f.Fuzz(func(t *testing.T, s string) {
		if got := line(s); len(got) > maxStatus || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\x00\x1b") {
			t.Errorf("%q", got)
		}
	})
}
