package logs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Before anything is made: a file is 0600 by our own doing.
	syscall.Umask(0)
	goleak.VerifyTestMain(m)
}

// page is a writer that can be read, that fails while broken is set, and that blocks writers while stalled is
// not nil.
type page struct {
	mu      sync.Mutex
	text    bytes.Buffer
	broken  error
	part    int // how many bytes of a write it takes while it is broken
	stalled chan struct{}
	waiting chan struct{} // receives when a write begins to wait
}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	stalled, waiting := p.stalled, p.waiting
	p.mu.Unlock()
	if stalled != nil {
		select {
		case waiting <- struct{}{}:
		default:
		}
		<-stalled
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken != nil {
		n, _ := p.text.Write(b[:min(p.part, len(b))]) // a buffer takes everything
		return n, p.broken
	}
	return p.text.Write(b)
}

// stall makes the next write wait until resume.
func stalledPage() *page {
	return &page{stalled: make(chan struct{}), waiting: make(chan struct{}, 1)}
}

func (p *page) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.stalled)
	p.stalled = nil
}

func (p *page) breaks(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = err
}

func (p *page) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func (p *page) lines(t *testing.T) []map[string]any { t.Helper(); return parse(t, p.String()) }

// parse reads JSON lines.
func parse(t *testing.T, text string) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for line := range strings.Lines(text) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%q is not a JSON line: %v", line, err)
		}
		lines = append(lines, m)
	}
	return lines
}

// count is how many of lines have msg.
func count(lines []map[string]any, msg string) (n int) {
	for _, l := range lines {
		if l["msg"] == msg {
			n++
		}
	}
	return n
}

func open(t *testing.T, o Options) *Log {
	t.Helper()
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// onPage opens a log of JSON lines on p.
func onPage(t *testing.T, p *page) *Log {
	t.Helper()
	return open(t, Options{Stderr: p, Level: "debug"})
}

// bound is generous for a busy machine; nothing here takes a hundredth of it.
const bound = 20 * time.Second

func closeLog(t *testing.T, l *Log) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	if err := l.Close(ctx); err != nil {
		t.Error(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var errBroken = errors.New("no space left on device")
