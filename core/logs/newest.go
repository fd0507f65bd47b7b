package logs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"gatewaytui/core/ops"
)

const (
	// blockSize is how much of a file is read at a time, from its end on, in bytes.
	blockSize = 64 << 10
	// maxLooked bounds what one page looks at, in bytes: some ten milliseconds.
	maxLooked = 8 << 20
)

// Newest returns lines of the log file at path and of the files that were rotated before it, newest first. A page ends early where
// much was looked at and little of it is wanted: Scanned then says how many lines that was, and Next goes on. The error is an
// *ops.Error where the query is wrong.
func Newest(ctx context.Context, path string, q ops.LogQuery) (ops.Page[ops.LogLine], error) {
	t := newest{ctx: ctx, limit: ops.PageSize(q.Limit), level: slog.LevelDebug - 100}
	t.about = q.About
	if !strings.ContainsAny(q.About, "\\\"<>&") { // which may be escaped in a line
		t.part = []byte(q.About)
	}
	if q.Level != "" {
		if err := t.level.UnmarshalText([]byte(q.Level)); err != nil || !slices.Contains(ops.LogLevels, strings.ToLower(q.Level)) {
			return t.page, ops.UnknownName("level", q.Level, ops.LogLevels)
		}
	}
	from, err := readPlace(q.Cursor)
	if err == nil {
		t.until, err = readPlace(q.After)
	}
	if err != nil {
		return t.page, err
	}
	older, err := rotatedFiles(path)
	if errors.Is(err, fs.ErrNotExist) {
		return t.page, nil
	}
	if err != nil {
		return t.page, fmt.Errorf("read the log: %w", err)
	}
	for _, name := range slices.Backward(append(older, path)) {
		more, err := t.file(name, &from)
		if err != nil {
			return t.page, fmt.Errorf("read the log: %w", err)
		}
		if !more {
			break
		}
	}
	return t.page, nil
}

// place is where a line begins: its file, which keeps its inode when it is rotated, and the offset in bytes.
type place struct {
	inode  uint64
	offset int64
}

func (p place) String() string { return fmt.Sprintf("%d-%d", p.inode, p.offset) }

// readPlace reads the ID of a line; an empty one is the zero place.
func readPlace(id string) (p place, err error) {
	if id == "" {
		return p, nil
	}
	inode, offset, _ := strings.Cut(id, "-")
	p.inode, err = strconv.ParseUint(inode, 10, 64)
	if err == nil {
		p.offset, err = strconv.ParseInt(offset, 10, 64)
	}
	if err != nil || p.offset < 0 {
		return p, &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("%.64q is not the place of a log line", id), Hint: "give the id of a line, or the next of a page"}
	}
	return p, nil
}

// newest gathers one page.
type newest struct {
	ctx    context.Context
	about  string
	part   []byte // what a line about it has in it; empty: it may be any
	level  slog.Level
	limit  int
	until  place // of the line that ends the page; zero: none does
	looked int64 // bytes
	lines  int
	page   ops.Page[ops.LogLine]
}

// file adds the lines of a file from its end on, or before from if that is a place in it, and reports whether older files are wanted.
// Until the file of from has come, files are left out.
func (t *newest) file(name string, from *place) (more bool, err error) {
	f, err := openLog(name)
	if errors.Is(err, fs.ErrNotExist) { // deleted meanwhile
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	at := place{inodeOf(info), info.Size()}
	switch {
	case from.inode == at.inode:
		at.offset, *from = min(from.offset, at.offset), place{}
	case from.inode != 0:
		return true, nil
	}
	return t.backward(f, at, info.Size())
}

func inodeOf(info os.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}

// backward adds the lines of f, which has size bytes, that end at or before end, the last one first.
func (t *newest) backward(f io.ReaderAt, end place, size int64) (more bool, err error) {
	var rest []byte // the begin of the block behind, whose line begins further up
	block := make([]byte, blockSize)
	for at := end.offset; at > 0; {
		if err := t.ctx.Err(); err != nil {
			return false, err
		}
		n := min(at, blockSize)
		at -= n
		if _, err := f.ReadAt(block[:n], at); err != nil {
			return false, err
		}
		t.looked += n
		text := append(block[:n:n], rest...)
		if at+n == size { // what is being written at this moment has no end yet
			text = text[:bytes.LastIndexByte(text, '\n')+1]
		}
		for len(text) > 0 {
			i := bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n')
			if i < 0 && at > 0 && len(text) < maxLine {
				break
			}
			if !t.line(text[i+1:], place{end.inode, at + int64(i+1)}) {
				return false, nil
			}
			text = text[:i+1]
		}
		rest = bytes.Clone(text)
	}
	return true, nil
}

// line adds a line if it is wanted, and reports whether older ones are.
func (t *newest) line(text []byte, at place) (more bool) {
	if at == t.until {
		return false
	}
	t.lines++
	text = bytes.TrimSuffix(text, []byte("\n"))
	if len(text) > 0 && bytes.Contains(text, t.part) {
		if line, ok := t.read(text); ok {
			line.ID = at.String()
			t.page.Items = append(t.page.Items, line)
		}
	}
	switch {
	case len(t.page.Items) == t.limit:
		t.page.Next = at.String()
		return false
	case t.looked > maxLooked:
		t.page.Next, t.page.Scanned = at.String(), t.lines
		return false
	}
	return true
}

// read makes a row of a line, and reports whether it is wanted.
func (t *newest) read(text []byte) (row ops.LogLine, ok bool) {
	var head struct {
		Time  ops.Time `json:"time"`
		Level string   `json:"level"`
	}
	if err := json.Unmarshal(text, &head); err != nil { // damaged: the last line of a life that was killed
		return ops.LogLine{Text: string(text), Fields: []ops.LogField{}}, t.about == ""
	}
	var level slog.Level
	_ = level.UnmarshalText([]byte(head.Level)) // an unknown one counts as info
	record, _ := Line{JSON: text}.record()
	row = ops.LogLine{At: head.Time, Level: strings.ToLower(cmp.Or(head.Level, "info")), Text: record.Message, Fields: make([]ops.LogField, 0, record.NumAttrs())}
	about := t.about == ""
	record.Attrs(func(a slog.Attr) bool {
		row.Fields = append(row.Fields, ops.LogField{Key: a.Key, Value: a.Value.String()})
		about = about || a.Value.String() == t.about && (a.Key == "pid" || !numeric(t.about))
		return true
	})
	return row, about && level >= t.level
}

// numeric reports whether text is a number: a pid and no other figure is meant by it.
func numeric(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}
