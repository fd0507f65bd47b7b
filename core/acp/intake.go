package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"gatewaytui/core/process/pipe"
)

const (
	// maxLine bounds one message of a program, in bytes. The library of the protocol reads at most 10 MiB.
	maxLine = 8 << 20
	// maxOpen is how many messages of a program may wait for the gateway; the library closes the connection at 1,024. A program that writes
	// more waits in its own write.
	maxOpen = 256
	// maxNoise is how much text that is not a message a program may write, in bytes: some print a greeting.
	maxNoise = 64 << 10
)

// intake reads what a program writes, and hands only whole messages of the protocol to the library, as many as the gateway works on. The
// library alone would write the rest into the log.
type intake struct {
	in *bufio.Reader
	// begin is closed when reading may begin.
	begin chan struct{}
	rest  []byte
	noise int
	// open has one for each message that is not done with; closed ends a wait for room in it.
	open   chan struct{}
	closed <-chan struct{}
	// fail gets why nothing more is read.
	fail func(error)
}

func newIntake(out io.Reader, closed <-chan struct{}, fail func(error)) *intake {
	return &intake{in: bufio.NewReaderSize(out, 64<<10), begin: make(chan struct{}), open: make(chan struct{}, maxOpen), closed: closed, fail: fail}
}

// Read implements io.Reader.
func (i *intake) Read(b []byte) (int, error) {
	select {
	case <-i.begin:
	case <-i.closed:
		return 0, io.EOF
	}
	for len(i.rest) == 0 {
		line, err := i.line()
		if err == nil && !i.takes(line) {
			i.noise += len(line) + 1
			if i.noise > maxNoise {
				err = errors.New("it writes text that is not the Agent Client Protocol")
			}
			line = nil
		}
		if err != nil {
			i.fail(err)
			return 0, io.EOF
		}
		i.rest = line
	}
	n := copy(b, i.rest)
	i.rest = i.rest[n:]
	return n, nil
}

// line is the next line with its end.
func (i *intake) line() ([]byte, error) {
	line, err := pipe.ReadLine(i.in, maxLine)
	switch {
	case errors.Is(err, pipe.ErrLong):
		return nil, fmt.Errorf("it writes a message of more than %d MiB", maxLine>>20)
	case err != nil:
		return nil, errEnded
	}
	return line, nil
}

// errEnded is why nothing more is read from a program that closed its standard output.
var errEnded = errors.New("it closed its standard output")

// takes reports whether a line is a message of the protocol, and waits until there is room for one that the gateway has to work on.
func (i *intake) takes(line []byte) bool {
	line = bytes.TrimSpace(line)
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &m) != nil || m.Method == "" && len(m.ID) == 0 {
		return false
	}
	if m.Method == "" || m.Method == "$/cancel_request" && len(m.ID) == 0 { // the library answers for these
		return true
	}
	select {
	case i.open <- struct{}{}:
		return true
	case <-i.closed:
		return false
	}
}

// done says that a message is worked on.
func (i *intake) done() {
	select {
	case <-i.open:
	default:
	}
}

// outlet writes to a program, which may not read. The library holds a lock over each write.
type outlet struct {
	in   *os.File
	fail func(error)
}

// Write implements io.Writer.
func (o outlet) Write(b []byte) (int, error) {
	if err := pipe.Write(context.Background(), o.in, b, 0); err != nil { // it has a bound of its own, and the end of the program ends it
		err = fmt.Errorf("write to its standard input: %w", err)
		o.fail(err)
		return 0, err
	}
	return len(b), nil
}
