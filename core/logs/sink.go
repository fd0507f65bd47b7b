package logs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"gatewaytui/core/ops"
)

// Bounds of one sink's queue. Lines beyond them are dropped and counted.
const (
	maxQueued      = 4096
	maxQueuedBytes = 4 << 20
)

// sink is one target of lines. It has its own queue, so that a stalled sink does not affect the others.
type sink struct {
	name        string
	form        form
	w           io.Writer
	closeWriter func() error       // nil: the writer belongs to another owner
	failed      func(*sink, error) // called when writing begins to fail

	off     atomic.Bool   // no lines are accepted
	wake    chan struct{} // has room for one: run checks everything each time
	done    chan struct{} // closed when run is over
	err     error         // of closeWriter; read after done
	pending atomic.Int64  // lines accepted and not yet written

	mu      sync.Mutex // guards what follows; never held over a write
	queue   []entry
	bytes   int
	dropped int // lines that were dropped because the queue was full, and not reported yet
	folds   folds
	closing bool      // no more lines are accepted
	broken  string    // why the last write failed; empty: it did not
	since   time.Time // of the first of the failed writes
}

// entry is a line without its time; repeated says how many more times it came.
type entry struct {
	line     string
	at       time.Time
	repeated int
}

func newSink(name string, w io.Writer, closeWriter func() error, f form) *sink {
	return &sink{
		name: name, form: f, w: w, closeWriter: closeWriter,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// branch is the way to s for a logger.
func (s *sink) branch() branch {
	return branch{fold: s.form.handler(intake{s, true}), straight: s.form.handler(intake{s, false}), off: &s.off}
}

// intake is the writer for a handler of slog.
type intake struct {
	sink *sink
	fold bool
}

func (i intake) Write(line []byte) (int, error) {
	i.sink.take(line, i.fold)
	return len(line), nil
}

// log writes a line about the log itself.
func (s *sink) log(level slog.Level, msg string, attrs ...slog.Attr) {
	s.take([]byte(s.compose(level, msg, attrs...)), true)
}

// compose is a line in s's form.
func (s *sink) compose(level slog.Level, msg string, attrs ...slog.Attr) string {
	var b bytes.Buffer
	r := slog.NewRecord(time.Time{}, level, msg, 0)
	r.AddAttrs(attrs...)
	_ = s.form.handler(&b).Handle(context.Background(), r) // a buffer never fails
	return b.String()
}

// take queues a line, folds it or drops it. It never waits for a writer.
func (s *sink) take(line []byte, fold bool) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing, s.off.Load():
		return
	case fold && s.folds.repeat(line):
		return // the end of its window will wake run
	}
	e := entry{line: string(line), at: now}
	if s.push(e) && fold {
		for _, old := range s.folds.open(e) {
			s.push(old)
		}
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// push queues e, or counts its lines as lost. The caller holds mu.
func (s *sink) push(e entry) bool {
	if len(s.queue) >= maxQueued || s.bytes+len(e.line) > maxQueuedBytes {
		s.dropped += max(1, e.repeated)
		return false
	}
	s.queue = append(s.queue, e)
	s.bytes += len(e.line)
	s.pending.Add(1)
	return true
}

// batch is what run writes next.
type batch struct {
	lines   []entry
	dropped int
	next    time.Time // when a fold window ends; zero: none is open
	last    bool      // it is the last batch
}

// drain takes everything that waits to be written. spare becomes the queue's memory.
func (s *sink) drain(spare []entry) batch {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	b := batch{lines: s.queue, dropped: s.dropped, last: s.closing}
	clear(spare)
	s.queue, s.bytes, s.dropped = spare[:0], 0, 0
	folded := s.folds.ended(now, s.closing)
	s.pending.Add(int64(len(folded)))
	b.lines = append(b.lines, folded...)
	b.next = s.folds.next()
	return b
}

// run writes until close, and then what is left.
func (s *sink) run() {
	defer close(s.done)
	window := time.NewTimer(foldWindow)
	defer window.Stop()
	var (
		b    batch
		buf  []byte
		lost int  // lines that the writer refused or that found the queue full
		torn bool // the writer took a part of a line, as a full disk does
	)
	write := func(e entry) bool {
		buf = buf[:0]
		if torn {
			buf = append(buf, '\n') // so that it does not spoil the next line
		}
		buf = s.form.stamp(buf, e.at, e.line, e.repeated)
		n, err := s.w.Write(buf)
		if err == nil || n > 0 {
			torn = err != nil && n < len(buf)
		}
		if cap(buf) > maxBuffer {
			buf = nil
		}
		if s.note(err) {
			s.failed(s, err)
		}
		return err == nil
	}
	for !b.last {
		b = s.drain(b.lines)
		for _, e := range b.lines {
			if !write(e) {
				lost += max(1, e.repeated)
			}
			s.pending.Add(-1)
		}
		lost += b.dropped
		if lost > 0 && write(entry{at: time.Now(), line: s.compose(slog.LevelWarn, ops.LogDropped, slog.String("sink", s.name), slog.Int("count", lost))}) {
			lost = 0
		}
		if b.last {
			break
		}
		if lost > 0 { // the next line may come late, and a failing writer must be known
			window.Reset(lookEvery)
		} else if !b.next.IsZero() {
			window.Reset(time.Until(b.next))
		}
		select { // until a line comes, a window ends, or the log is closed
		case <-s.wake:
		case <-window.C:
		}
	}
	if s.closeWriter != nil {
		s.err = s.closeWriter()
	}
}

// note keeps why a write failed; nil: it succeeded. It reports whether writing begins to fail with it.
func (s *sink) note(err error) (begins bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.broken = ""
		return false
	}
	if begins = s.broken == ""; begins {
		s.since = time.Now()
	}
	s.broken = err.Error()
	return begins
}

// trouble is why the last write failed, and since when writes fail; empty: it succeeded.
func (s *sink) trouble() (text string, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken, s.since
}

// maxBuffer is how large a buffer is kept for the next line, in bytes.
const maxBuffer = 64 << 10

// close makes run end once everything is written.
func (s *sink) close() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// wait waits for run's end, or for ctx's.
func (s *sink) wait(ctx context.Context) error {
	select {
	case <-s.done:
		return s.err
	default:
	}
	select {
	case <-s.done:
		return s.err
	case <-ctx.Done():
		return fmt.Errorf("%d lines are not written: %w", s.pending.Load(), context.Cause(ctx))
	}
}

// foldWindow is how long identical lines are folded into one. An endless repetition is written once at its beginning and
// once per window, with its count. So the log neither fills the disk nor goes silent (H9).
const foldWindow = 10 * time.Second

// How many lines are remembered, so that alternating lines are folded as well. The line whose window ends first is
// forgotten early.
const (
	maxFolds     = 512
	maxFoldBytes = 1 << 20
)

// folds are the lines whose windows are open. The zero value has none.
type folds struct {
	lines map[string]*fold
	order []*fold // by the end of their windows
	bytes int
}

type fold struct {
	line    string
	until   time.Time
	repeats int
}

// repeat counts line and reports whether its window is open.
func (f *folds) repeat(line []byte) bool {
	o := f.lines[string(line)]
	if o == nil {
		return false
	}
	o.repeats++
	return true
}

// open begins the window of a line that is about to be written. It returns the entries of the windows that were closed
// early for it.
func (f *folds) open(e entry) []entry {
	var forgotten []entry
	for len(f.order) > 0 && (len(f.order) >= maxFolds || f.bytes+len(e.line) > maxFoldBytes) {
		if o := f.pop(); o.repeats > 0 {
			forgotten = append(forgotten, entry{o.line, e.at, o.repeats})
		}
	}
	f.push(&fold{line: e.line, until: e.at.Add(foldWindow)})
	return forgotten
}

// ended returns the entries of the windows that end by now, or of all. A line that was repeated is folded again.
func (f *folds) ended(now time.Time, all bool) []entry {
	var said []entry
	for n := len(f.order); n > 0 && (all || !f.order[0].until.After(now)); n-- {
		o := f.pop()
		if o.repeats == 0 {
			continue
		}
		said = append(said, entry{o.line, now, o.repeats})
		o.until, o.repeats = now.Add(foldWindow), 0
		f.push(o)
	}
	return said
}

// next is when the first window ends, zero if none is open.
func (f *folds) next() time.Time {
	if len(f.order) == 0 {
		return time.Time{}
	}
	return f.order[0].until
}

func (f *folds) push(o *fold) {
	if f.lines == nil {
		f.lines = make(map[string]*fold)
	}
	f.lines[o.line] = o
	f.order = append(f.order, o)
	f.bytes += len(o.line)
}

func (f *folds) pop() *fold {
	o := f.order[0]
	f.order[0] = nil
	f.order = f.order[1:]
	delete(f.lines, o.line)
	f.bytes -= len(o.line)
	return o
}
