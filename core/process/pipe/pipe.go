// Package pipe reads and writes lines over the standard streams of a program (process.Spec.Pipes) that may freeze, flood or write lines without
// an end.
package pipe

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

const (
	// chunk is what one write gives to a pipe, in bytes, and chunkMost the time in which the program must have read that.
	chunk     = 64 << 10
	chunkMost = 5 * time.Second
)

// ErrLong means that a line is longer than it may be.
var ErrLong = errors.New("the line is too long")

// ReadLine reads one line, with its end, of at most most bytes. The error is ErrLong or that of the reader; a line without its end is not a line.
func ReadLine(in *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > most {
			return nil, ErrLong
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// Inlet is our end of the standard input of a program.
type Inlet interface {
	io.Writer
	SetWriteDeadline(t time.Time) error
}

// Write writes data. A program that does not read 64 KiB within 5 s ends it with os.ErrDeadlineExceeded; so does one that has not read the rest
// within late after the end of ctx. After an error the program may have read a part of data. One call is made at a time.
func Write(ctx context.Context, in Inlet, data []byte, late time.Duration) error {
	var (
		mu    sync.Mutex
		ended time.Time // when all must be read; zero: ctx lasts
	)
	extend := func() error {
		mu.Lock()
		defer mu.Unlock()
		if !ended.IsZero() {
			return in.SetWriteDeadline(ended)
		}
		return in.SetWriteDeadline(time.Now().Add(chunkMost))
	}
	defer context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		ended = time.Now().Add(late)
		_ = in.SetWriteDeadline(ended) // fails if closed, which ends the write as well
	})()
	for len(data) > 0 {
		if err := extend(); err != nil {
			return err
		}
		n, err := in.Write(data[:min(len(data), chunk)])
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}
