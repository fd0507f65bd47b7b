package process

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// A wait ends with the leader, also while another process holds the pipe (C6: each of these lines held os/exec up, or made
// it leave the sleep alive).
func TestC6_APipeHeldOpenDelaysNoWait(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		want         string // in the output
	}{
		{"a grandchild holds it", `sleep 1000 & echo started`, "started"},
		{"a grandchild in a session of its own holds it", `setsid sleep 1000 & echo started`, "started"},
		{"a grandchild writes on for ever", `while :; do echo more; sleep 0.02; done & echo started`, "started"},
		{"a grandchild writes once more, as soon as the leader is gone", `(while kill -0 $$; do :; done 2>/dev/null; echo late; exec sleep 1000) & echo started`, "late"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := registry(t)
			p := sh(t, r, tt.script)
			exit := wait(t, p)
			if took := time.Since(exit.At); took > settleMost+late {
				t.Errorf("the wait went on for %v after the leader's end", took)
			}
			if text, truncated := p.Output(); !strings.Contains(text, tt.want) || truncated {
				t.Errorf("the output is %q, truncated: %v", text, truncated)
			}
			left, err := p.Left()
			if err != nil || left == 0 {
				t.Errorf("%d are left, %v", left, err)
			}
			verified(t, p.Kill(t.Context(), short))
		})
	}
}

func TestWait_EndsWithItsContext(t *testing.T) {
	r := registry(t)
	p := sh(t, r, `exec sleep 1000`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := p.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("wait: %v", err)
	}
	if _, exited := p.Exited(); exited {
		t.Error("the process was ended by a wait for it")
	}
}

func TestOutput_AllOfItInOrder(t *testing.T) {
	r := registry(t)
	p := sh(t, r, `for i in $(seq 500); do echo $i; echo e$i >&2; done`)
	wait(t, p)
	var want strings.Builder
	for i := 1; i <= 500; i++ {
		fmt.Fprintf(&want, "%d\ne%d\n", i, i)
	}
	if text, truncated := p.Output(); text != want.String() || truncated {
		t.Errorf("the output is %q, truncated: %v", text, truncated)
	}
}

// A process that floods costs its limit and no more, and its last line is there.
func TestOutput_AFloodIsBounded(t *testing.T) {
	r := registry(t)
	const limit = 64 << 10
	flood := soak.Count(t, 20_000_000, 100_000_000) // bytes
	before := heap()
	p := sh(t, r, fmt.Sprintf(`head -c %d /dev/zero | tr '\0' x; echo; echo the end`, flood), func(s *Spec) { s.OutputLimit = limit })
	wait(t, p)
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("%d bytes of memory for a limit of %d", grown, limit)
	}
	text, truncated := p.Output()
	if len(text) > limit+100 || !truncated || !strings.HasSuffix(text, "x\nthe end\n") || !strings.HasPrefix(text, "xxx") {
		t.Errorf("%d bytes, truncated: %v, ends %q", len(text), truncated, text[len(text)-20:])
	}
	if want := fmt.Sprintf("[%d bytes left out]", flood+len("\nthe end\n")-limit); !strings.Contains(text, want) {
		t.Errorf("it does not say %q", want)
	}
	if last := p.LastLine(); last != "the end" {
		t.Errorf("the last line is %q", last)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestOutput_IsValidAndItsLastLineInert(t *testing.T) {
	r := registry(t)
	p := sh(t, r, `printf 'a\xff\xfeb\n\e]0;title\a\e[31mred\e[0m\n\n\n'`)
	wait(t, p)
	text, _ := p.Output()
	if !utf8.ValidString(text) || !strings.HasPrefix(text, "a\uFFFDb\n") {
		t.Errorf("the output is %q", text)
	}
	if last := p.LastLine(); strings.ContainsAny(last, "\x1b\a\n") || !strings.Contains(last, "red") {
		t.Errorf("the last line is %q", last)
	}
}

func TestWrite_ReachesTheInput(t *testing.T) {
	r := registry(t)
	p := sh(t, r, `cat; echo over`, func(s *Spec) { s.Stdin = true })
	for _, line := range []string{"one\n", "two\n"} {
		if n, err := p.Write(t.Context(), []byte(line)); n != len(line) || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
	for range 2 {
		if err := p.CloseInput(); err != nil {
			t.Error(err)
		}
	}
	if exit := wait(t, p); exit.Code != 0 {
		t.Errorf("it ended with %+v", exit)
	}
	if text, _ := p.Output(); text != "one\ntwo\nover\n" {
		t.Errorf("the output is %q", text)
	}
	if _, err := p.Write(t.Context(), []byte("three\n")); !errors.Is(err, ErrNoInput) {
		t.Errorf("a write after the end: %v", err)
	}
}

func TestWrite_SaysThatTheReaderIsGone(t *testing.T) {
	r := registry(t)
	t.Run("started without an input", func(t *testing.T) {
		p := sh(t, r, `exec sleep 1000`)
		if _, err := p.Write(t.Context(), []byte("x")); !errors.Is(err, ErrNoInput) {
			t.Error(err)
		}
		if err := p.CloseInput(); !errors.Is(err, ErrNoInput) {
			t.Error(err)
		}
	})
	t.Run("its input was closed by itself", func(t *testing.T) {
		p := sh(t, r, `exec <&-; echo ready; exec sleep 1000`, func(s *Spec) { s.Stdin = true })
		ready(t, p)
		if _, err := p.Write(t.Context(), []byte("x")); !errors.Is(err, ErrNoInput) {
			t.Error(err)
		}
	})
	t.Run("it does not read", func(t *testing.T) {
		p := sh(t, r, `exec sleep 1000`, func(s *Spec) { s.Stdin = true })
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		big := make([]byte, 1<<20)
		began := time.Now()
		if n, err := p.Write(ctx, big); err == nil || errors.Is(err, ErrNoInput) || n <= 0 || n >= len(big) {
			t.Errorf("%d of %d bytes, %v", n, len(big), err)
		}
		if took := time.Since(began); took > late {
			t.Errorf("it took %v", took)
		}
		// The kill closes the input: a writer that waits is let go.
		done := make(chan error, 1)
		go func() {
			_, err := p.Write(context.Background(), big)
			done <- err
		}()
		verified(t, p.Kill(t.Context(), short))
		if err := <-done; err == nil {
			t.Error("a write to a killed process worked")
		}
	})
}

func TestPTY_IsAControllingTerminal(t *testing.T) {
	r := registry(t)
	p := sh(t, r, `[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && : </dev/tty && echo "a terminal of $(stty size)"; read x; echo "got <$x>"; trap 'echo stopped; exit 4' INT; echo ready; while :; do sleep 0.05; done`,
		func(s *Spec) { s.PTY = true })
	eventually.True(t, "it has a terminal", func() bool {
		text, _ := p.Output()
		return strings.Contains(text, "a terminal of 24 80\r\n")
	})
	if err := p.CloseInput(); !errors.Is(err, ErrNoInput) {
		t.Errorf("a terminal's input was closed: %v", err)
	}
	if _, err := p.Write(t.Context(), []byte("some words\n")); err != nil {
		t.Fatal(err)
	}
	ready(t, p)
	if _, err := p.Write(t.Context(), []byte{3}); err != nil { // ^C
		t.Fatal(err)
	}
	if exit := wait(t, p); exit.Code != 4 {
		t.Errorf("it ended with %+v", exit)
	}
	if text, _ := p.Output(); !strings.Contains(text, "got <some words>\r\n") || !strings.Contains(text, "stopped") {
		t.Errorf("the output is %q", text)
	}
	if _, err := p.Write(t.Context(), []byte("x")); err != nil && !errors.Is(err, ErrNoInput) {
		t.Errorf("a write after the end: %v", err)
	}
}

// A daemon that keeps the terminal open does not hold a wait up either (C6).
func TestC6_ATerminalHeldOpenDelaysNoWait(t *testing.T) {
	r := registry(t)
	p := sh(t, r, `trap '' HUP; setsid sleep 1000 & echo started`, func(s *Spec) { s.PTY = true })
	exit := wait(t, p)
	if took := time.Since(exit.At); took > settleMost+late {
		t.Errorf("the wait went on for %v after the leader's end", took)
	}
	verified(t, p.Kill(t.Context(), short))
}
