package pipe

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestALineOfAProgramIsReadWholeOrNotAtAll(t *testing.T) {
	const most = 40
	for name, tc := range map[string]struct {
		written, line string
		err           error
	}{
		"a line":                     {"one\ntwo\n", "one\n", nil},
		"an empty line":              {"\n", "\n", nil},
		"a line of the most":         {strings.Repeat("x", most-1) + "\n", strings.Repeat("x", most-1) + "\n", nil},
		"a line that is longer":      {strings.Repeat("x", most) + "\n", "", ErrLong},
		"a line that has no end":     {strings.Repeat("x", 10*most), "", ErrLong},
		"what is written at the end": {"one", "", io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			line, err := ReadLine(bufio.NewReaderSize(strings.NewReader(tc.written), 16), most)
			if string(line) != tc.line || !errors.Is(err, tc.err) {
				t.Errorf("it reads %q: %v", line, err)
			}
		})
	}
}

func TestAWriteHasABoundForEachPartAndOneAfterItsCallersEnd(t *testing.T) {
	data := bytes.Repeat([]byte("x"), 3*chunk)
	for name, tc := range map[string]struct {
		pause  time.Duration // before the program reads 64 KiB
		caller time.Duration // how long the caller waits; 0: for ever
		late   time.Duration
		took   time.Duration
		err    error
	}{
		"a program that reads slowly gets all":                       {4 * time.Second, 0, 0, 12 * time.Second, nil},
		"one that does not read has 5 s":                             {time.Hour, 0, 0, chunkMost, os.ErrDeadlineExceeded},
		"the caller's end leaves a moment for the rest":              {time.Second, 1500 * time.Millisecond, 2 * time.Second, 3 * time.Second, nil},
		"what is not read in that moment is not written":             {time.Second, 1500 * time.Millisecond, time.Second, 2500 * time.Millisecond, os.ErrDeadlineExceeded},
		"a caller that has ended before leaves that moment for all":  {time.Second, time.Nanosecond, 10 * time.Second, 3 * time.Second, nil},
		"a caller that has ended leaves no 5 s for a frozen program": {time.Hour, time.Nanosecond, time.Second, time.Second, os.ErrDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, program := net.Pipe()
				read := make(chan []byte)
				go func() {
					var all []byte
					part := make([]byte, chunk)
					for {
						time.Sleep(tc.pause) // virtual
						n, err := io.ReadFull(program, part)
						if all = append(all, part[:n]...); err != nil {
							read <- all
							return
						}
					}
				}()
				ctx := t.Context()
				if tc.caller > 0 {
					within, cancel := context.WithTimeout(ctx, tc.caller)
					defer cancel()
					ctx = within
				}
				began := time.Now()
				err := Write(ctx, in, data, tc.late)
				if took := time.Since(began).Round(time.Millisecond); !errors.Is(err, tc.err) || took != tc.took {
					t.Errorf("after %s it returned %v, want %s and %v", took, err, tc.took, tc.err)
				}
				_ = in.Close()
				if got := <-read; err == nil && !bytes.Equal(got, data) {
					t.Errorf("%d bytes arrived", len(got))
				}
			})
		})
	}
}
