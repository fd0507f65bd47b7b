package process

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func TestAProcessWithPipesSpeaksToItsCaller(t *testing.T) {
	r := registry(t)
	p := start(t, r, spec(`echo ready >&2; while read -r line; do echo "got $line"; done; echo bye >&2`, func(s *Spec) { s.Pipes = true }))
	in, out := p.Pipes()
	t.Cleanup(func() { out.Close() })
	if _, err := io.WriteString(in, "one\ntwo\n"); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(out)
	for _, want := range []string{"got one\n", "got two\n"} {
		if got, err := answers.ReadString('\n'); got != want || err != nil {
			t.Errorf("the process answered %q, %v, and %q is promised", got, err, want)
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if exit := wait(t, p); exit.Code != 0 {
		t.Errorf("it ended with %d at the end of its input", exit.Code)
	}
	if rest, err := io.ReadAll(answers); len(rest) > 0 || err != nil {
		t.Errorf("its standard output ends with %q, %v", rest, err)
	}
	if text, _ := p.Output(); !strings.Contains(text, "ready") || !strings.Contains(text, "bye") || strings.Contains(text, "got") {
		t.Errorf("its output is %q, and its standard error alone is promised", text)
	}
}

func TestAWriteToAProcessThatDoesNotReadEndsAtItsDeadline(t *testing.T) {
	r := registry(t)
	p := start(t, r, spec(`sleep 60`, func(s *Spec) { s.Pipes = true }))
	in, out := p.Pipes()
	t.Cleanup(func() { in.Close(); out.Close() })
	if err := in.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(make([]byte, 1<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the write ended with %v", err)
	}
	verified(t, p.Kill(context.Background(), 0))
	if err := out.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("after the kill its standard output ends with %v", err)
	}
}
