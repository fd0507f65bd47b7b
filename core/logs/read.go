package logs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Query selects lines of a log. The zero value selects all that there are.
type Query struct {
	// Session keeps the lines of the session with this key; empty: all.
	Session string
	// Level keeps lines from this level on. Since keeps those from this moment on; zero: all.
	Level slog.Level
	Since time.Time
	// Follow waits for new lines, also those of the next files and of the next lives, until the context ends.
	Follow bool
}

// Line is one line of a log file.
type Line struct {
	// JSON is the line as it stands in the file, without its end.
	JSON []byte
	// Level is its level and At its time; zero where the line has none.
	Level slog.Level
	At    time.Time
}

const (
	// readEvery is how often a file that is followed is looked at.
	readEvery = 200 * time.Millisecond
	// maxLine bounds one line, in bytes. A longer one, which no gateway writes, is cut.
	maxLine = 1 << 20
)

// Read yields the lines of the log file at path and of the files that were rotated before it, oldest first. The error of a file that
// cannot be read is the last that it yields. It reads the files alone, so that it works while no gateway runs.
func Read(ctx context.Context, path string, q Query) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		older, err := rotatedFiles(path)
		if err != nil {
			yield(Line{}, fmt.Errorf("read the log: %w", err))
			return
		}
		r := reader{ctx: ctx, path: path, q: q, yield: yield}
		for _, name := range older {
			if !r.whole(name) {
				return
			}
		}
		r.current()
	}
}

// rotatedFiles are the rotated files of the log at path, oldest first.
func rotatedFiles(path string) ([]string, error) {
	of := rotated{folder: filepath.Dir(path), name: filepath.Base(path)}
	entries, err := os.ReadDir(of.folder)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if of.isRotated(e) {
			names = append(names, filepath.Join(of.folder, e.Name()))
		}
	}
	slices.Sort(names) // their times order them
	return names, nil
}

// reader reads the files of one log.
type reader struct {
	ctx   context.Context
	path  string
	q     Query
	yield func(Line, error) bool
}

// whole yields the lines of a file that does not change. It reports whether the reader goes on.
func (r *reader) whole(path string) bool {
	f, err := openLog(path)
	if errors.Is(err, fs.ErrNotExist) { // deleted meanwhile, as the oldest
		return true
	}
	if err != nil {
		return r.fail(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !r.q.Since.IsZero() && info.ModTime().Before(r.q.Since) {
		return true
	}
	_, goOn := r.lines(bufio.NewReader(f), nil)
	return goOn
}

// current yields the lines of the file at the path and, to who follows it, what is written to it and to its successors.
func (r *reader) current() {
	f, err := openLog(r.path)
	for r.q.Follow && errors.Is(err, fs.ErrNotExist) && r.wait() {
		f, err = openLog(r.path)
	}
	if err != nil {
		if r.ctx.Err() == nil {
			r.fail(err)
		}
		return
	}
	defer func() { f.Close() }()
	var rest []byte
	in := bufio.NewReader(f)
	for goOn := true; ; {
		if rest, goOn = r.lines(in, rest); !goOn {
			return
		}
		if !r.q.Follow {
			if len(rest) > 0 { // the last line of a life that was killed
				r.line(rest)
			}
			return
		}
		if !r.wait() {
			return
		}
		next, err := openLog(r.path)
		if err != nil || same(f, next) {
			if err == nil {
				next.Close()
			}
			continue
		}
		if _, goOn = r.lines(in, rest); !goOn { // what came before the file was rotated
			next.Close()
			return
		}
		goOn = r.between(f, next)
		f.Close()
		f, rest = next, nil
		in.Reset(f)
		if !goOn {
			return
		}
	}
}

// between yields the lines of the files that were begun and rotated between from and to.
func (r *reader) between(from, to *os.File) (goOn bool) {
	names, err := rotatedFiles(r.path)
	if err != nil {
		return r.fail(err)
	}
	behind := false
	for _, name := range names {
		f, err := openLog(name)
		if err != nil {
			continue // deleted meanwhile
		}
		is, isTo := same(f, from), same(f, to)
		f.Close()
		switch {
		case isTo:
			return true
		case behind && !r.whole(name):
			return false
		}
		behind = behind || is
	}
	return true
}

func same(a, b *os.File) bool {
	x, err := a.Stat()
	y, err2 := b.Stat()
	return err == nil && err2 == nil && os.SameFile(x, y)
}

// openLog opens a regular file, and follows no link.
func openLog(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is not a regular file", path), err, f.Close())
	}
	return f, nil
}

// wait waits for a look at the file. It reports false when the context has ended.
func (r *reader) wait() bool {
	select {
	case <-r.ctx.Done():
		return false
	case <-time.After(readEvery):
		return true
	}
}

func (r *reader) fail(err error) bool {
	r.yield(Line{}, fmt.Errorf("read the log: %w", err))
	return false
}

// lines yields the whole lines that in has now, the first of which begins with rest, and returns the piece behind them.
func (r *reader) lines(in *bufio.Reader, rest []byte) (piece []byte, goOn bool) {
	for {
		if r.ctx.Err() != nil {
			return nil, false
		}
		part, err := in.ReadSlice('\n')
		rest = append(rest, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(rest) < maxLine:
			continue
		case errors.Is(err, io.EOF):
			return rest, true
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, r.fail(err)
		}
		if !r.line(bytes.TrimSuffix(rest, []byte("\n"))) {
			return nil, false
		}
		rest = rest[:0]
	}
}

// line yields a line if it is selected.
func (r *reader) line(text []byte) bool {
	var head struct {
		Time    time.Time  `json:"time"`
		Level   slog.Level `json:"level"`
		Session string     `json:"session"`
	}
	if err := json.Unmarshal(text, &head); err != nil && (r.q.Session != "" || !r.q.Since.IsZero()) {
		return true // damaged: it is not known whether it is selected
	}
	if r.q.Session != "" && head.Session != r.q.Session || head.Level < r.q.Level || head.Time.Before(r.q.Since) {
		return true
	}
	return r.yield(Line{JSON: bytes.Clone(text), Level: head.Level, At: head.Time}, nil)
}

// Text is the line as a person reads it: its local date and time, its level, its message and its attributes, inert on a terminal.
func (l Line) Text() string {
	record, ok := l.record()
	if !ok {
		record = slog.NewRecord(time.Time{}, slog.LevelInfo, string(l.JSON), 0)
	}
	var out strings.Builder
	_ = textForm(nil, false).handler(&out).Handle(context.Background(), record) // it writes to memory
	at := "unknown time"
	if !l.At.IsZero() {
		at = l.At.Local().Format("2006-01-02 15:04:05.000")
	}
	return at + " " + strings.TrimSuffix(out.String(), "\n")
}

// record is the line as it was logged: its attributes in their order.
func (l Line) record() (slog.Record, bool) {
	dec := json.NewDecoder(bytes.NewReader(l.JSON))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return slog.Record{}, false
	}
	r := slog.NewRecord(time.Time{}, l.Level, "", 0)
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return slog.Record{}, false
		}
		var value any
		if err := dec.Decode(&value); err != nil {
			return slog.Record{}, false
		}
		switch name := fmt.Sprint(key); name {
		case slog.TimeKey, slog.LevelKey:
		case slog.MessageKey:
			r.Message = fmt.Sprint(value)
		default:
			r.AddAttrs(slog.String(name, attribute(value)))
		}
	}
	return r, true
}

// attribute is a value of a line in words.
func attribute(value any) string {
	switch v := value.(type) {
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = fmt.Sprint(v[i])
		}
		return strings.Join(parts, ", ")
	case map[string]any:
		text, _ := json.Marshal(v) // it came from JSON
		return string(text)
	}
	return fmt.Sprint(value)
}
