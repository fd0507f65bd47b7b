package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"unicode/utf8"
)

const (
	// sniffed is how much of a file tells whether it is text, in bytes.
	sniffed = 8 << 10
	// checkEvery is after how many lines a context is looked at.
	checkEvery = 1 << 10
)

// utf8BOM begins some files of Windows programs.
const utf8BOM = "\ufeff"

// Part is which lines of a file to read.
type Part struct {
	// First is the number of the first line, from 1, and Count how many to read, at most.
	First, Count int
	// Bytes bounds the lines together, approximately, and Width one line, which is cut there.
	Bytes, Width int
}

// Text is a part of a text file, or what a binary file is.
type Text struct {
	Path string `json:"path"`
	// Binary is the media type of a file that is not text; then there are no lines.
	Binary string `json:"binary,omitempty"`
	Bytes  int64  `json:"bytes"`
	// Lines is how many the file has.
	Lines int `json:"lines,omitempty"`
	// Content is the lines that were asked for, without their ends.
	Content []string `json:"-"`
	// LineEnds is "crlf" or "mixed" where the lines do not end with LF alone; BOM says that the file begins with one.
	LineEnds string `json:"line_ends,omitempty"`
	BOM      bool   `json:"bom,omitempty"`
	// Cut says that the file is longer than what is read of it.
	Cut bool `json:"-"`
}

// Read reads lines of a file.
func (f *Folder) Read(ctx context.Context, name string, part Part) (Text, error) {
	p, err := f.find(name, false)
	if err != nil {
		return Text{}, err
	}
	defer p.close()
	file, err := p.open(os.O_RDONLY)
	if err != nil {
		return Text{}, err
	}
	defer file.Close()
	t := Text{Path: p.path(), Bytes: p.info.Size()}
	r := bufio.NewReaderSize(io.LimitReader(file, maxRead), sniffed)
	if t.Binary, err = binary(r); err != nil || t.Binary != "" {
		return t, cause(err)
	}
	if start, _ := r.Peek(len(utf8BOM)); string(start) == utf8BOM {
		t.BOM = true
		_, _ = r.Discard(len(utf8BOM))
	}
	if err := t.scan(ctx, r, part); err != nil {
		return Text{}, cause(err)
	}
	if t.Cut = t.Bytes > maxRead; part.First > max(t.Lines, 1) {
		return Text{}, fmt.Errorf("argument %q is %d, but the file has %d lines", "from", part.First, t.Lines)
	}
	return t, nil
}

// scan counts the lines and keeps those that were asked for.
func (t *Text) scan(ctx context.Context, r *bufio.Reader, part Part) error {
	var crlf, lf int
	err := lines(ctx, r, part.Width, func(n int, line []byte, size int, end string) bool {
		t.Lines = n
		switch end {
		case "\r\n":
			crlf++
		case "\n":
			lf++
		}
		if n >= part.First && len(t.Content) < part.Count && part.Bytes > 0 {
			text := cut(line, size)
			t.Content = append(t.Content, text)
			part.Bytes -= len(text) + 1
		}
		return true
	})
	switch {
	case crlf > 0 && lf > 0:
		t.LineEnds = "mixed"
	case crlf > 0:
		t.LineEnds = "crlf"
	}
	return err
}

// cut is a line as it is shown: valid, and with a note where it is cut.
func cut(line []byte, size int) string {
	text := strings.ToValidUTF8(string(line), "\uFFFD")
	if size <= len(line) {
		return text
	}
	for i := len(line); i > 0 && i > len(line)-utf8.UTFMax; i-- { // a character that the cut divides is not shown
		if utf8.Valid(line[:i]) {
			text = string(line[:i])
			break
		}
	}
	return fmt.Sprintf("%s [cut: the line has %d bytes]", text, size)
}

// binary is the media type of a file that is not text; empty: it is. It reads nothing away.
func binary(r *bufio.Reader) (string, error) {
	start, err := r.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if bytes.IndexByte(start, 0) < 0 {
		return "", nil
	}
	return http.DetectContentType(start), nil
}

// Open opens a file for reading, a regular one. Close it.
func (f *Folder) Open(name string) (*os.File, error) {
	p, err := f.find(name, false)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return p.open(os.O_RDONLY)
}

// lines calls each with every line: its number from 1, up to most bytes of it without its end, its size and its end. It goes on
// until each returns false.
func lines(ctx context.Context, r *bufio.Reader, most int, each func(n int, line []byte, size int, end string) bool) error {
	var line []byte
	for n := 1; ; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		line = line[:0]
		size, end := 0, ""
		for more := true; more; {
			part, err := r.ReadSlice('\n')
			if more = errors.Is(err, bufio.ErrBufferFull); err != nil && !more && !errors.Is(err, io.EOF) {
				return err
			}
			if err != nil && !more && size+len(part) == 0 {
				return nil
			}
			size += len(part)
			if err == nil {
				end = "\n"
			}
			line = append(line, part[:min(len(part), most+2-len(line))]...) // with its end
			if more && ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		if end != "" {
			size--
			line = line[:min(len(line), size)]
			if len(line) == size && bytes.HasSuffix(line, []byte("\r")) {
				size, line, end = size-1, line[:size-1], "\r\n"
			}
		}
		if !each(n, line[:min(len(line), most)], size, end) {
			return nil
		}
	}
}
