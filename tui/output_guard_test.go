package tui

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// J6, and DESIGN.md, 8.1: to a terminal that is not read no kind of write waits for longer than its bound, and the end does
// not either.
func TestNoWriteWaitsForATerminalThatIsNotRead(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	frame := strings.Repeat("x", 256<<10) // more than a pipe holds
	for name, write := range map[string]func(w io.Writer) (int, error){
		"bytes":  func(w io.Writer) (int, error) { return w.Write([]byte(frame)) },
		"a text": func(w io.Writer) (int, error) { return io.WriteString(w, frame) },
	} {
		t.Run(name, func(t *testing.T) {
			g := newOutputGuard(writer, func() {})
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for range 4 * guardFrames {
					if n, err := write(g); n != len(frame) || err != nil {
						t.Errorf("a write answered %d, %v", n, err)
					}
				}
				g.close(true)
			}()
			select {
			case <-ended:
			case <-time.After(20 * time.Second):
				t.Fatal("a write waits for the terminal")
			}
			if !g.dropped.Load() {
				t.Error("nothing is said to have been dropped")
			}
		})
	}
}
