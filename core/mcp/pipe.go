package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gatewaytui/core/process/pipe"
)

const (
	// maxMessage bounds one message of a server, in bytes.
	maxMessage = 16 << 20
	// maxJunk bounds the lines between two messages that are not messages, in bytes. Programs print a greeting at times.
	maxJunk = 1 << 20
	// lateMost is what a write has after the end of its caller.
	lateMost = time.Second
	// maxAsked bounds the requests of a server that are under way, such as questions.
	maxAsked = 16
	// notesPerSecond is how many notifications of a server are read without a pause.
	notesPerSecond = 2000
)

// Methods of notifications that are read.
const (
	methodToolsChanged = "notifications/tools/list_changed"
	methodCancelled    = "notifications/cancelled"
)

// errFrozen means that the server does not read what is written to it.
var errFrozen = errors.New("the server does not read its input")

// errNoMessage is the fault of a line that cannot be a message.
var errNoMessage = errors.New("not a message")

// pipes is a connection over the standard streams of a program. The SDK's own holds a lock over a write that has no deadline, so that a
// server which does not read would hold each later call and the close.
type pipes struct {
	in, out *os.File // its input, which is written, and its output
	lines   *bufio.Reader
	turn    chan struct{} // held over a write; holds one
	closed  chan struct{}
	once    sync.Once
	asked   atomic.Int64
	// changed is called for a notification that the list of tools has changed. It must not wait. broken gets the first error that ends the connection.
	changed func()
	broken  func(error)

	junk  int       // bytes since the last message
	notes int       // since noted
	noted time.Time // begins the current second
}

var _ sdk.Connection = (*pipes)(nil)

func newPipes(in, out *os.File, changed func(), broken func(error)) *pipes {
	return &pipes{in: in, out: out, lines: bufio.NewReaderSize(out, 64<<10), turn: make(chan struct{}, 1), closed: make(chan struct{}), changed: changed, broken: broken}
}

// Connect implements the SDK's Transport: the pipes are their own connection.
func (p *pipes) Connect(context.Context) (sdk.Connection, error) { return p, nil }

// SessionID implements the SDK's Connection: pipes have none.
func (p *pipes) SessionID() string { return "" }

// Read implements the SDK's Connection. Close ends it.
func (p *pipes) Read(context.Context) (jsonrpc.Message, error) {
	for {
		line, err := p.line()
		if err != nil {
			p.broken(err)
			return nil, err
		}
		var message jsonrpc.Message
		if err = errNoMessage; bytes.HasPrefix(line, []byte("{")) {
			message, err = jsonrpc.DecodeMessage(line)
		}
		if err != nil {
			if p.junk += len(line) + 1; p.junk > maxJunk {
				err = errors.New("the server prints what is not a message to its standard output")
				p.broken(err)
				return nil, err
			}
			continue
		}
		p.junk = 0
		request, is := message.(*jsonrpc.Request)
		switch {
		case !is:
			return message, nil
		case request.IsCall():
			if p.asked.Add(1) > maxAsked {
				err = fmt.Errorf("the server has more than %d requests of its own under way", maxAsked)
				p.broken(err)
				return nil, err
			}
			return message, nil
		case request.Method == methodCancelled:
			return message, nil
		case request.Method == methodToolsChanged:
			p.changed()
		}
		p.pace()
	}
}

// pace pauses the reading of a server that floods its connection with notifications.
func (p *pipes) pace() {
	now := time.Now()
	if now.Sub(p.noted) > time.Second {
		p.noted, p.notes = now, 0
	}
	if p.notes++; p.notes < notesPerSecond {
		return
	}
	select {
	case <-time.After(time.Second - now.Sub(p.noted)):
	case <-p.closed:
	}
}

// line reads one line without its end.
func (p *pipes) line() ([]byte, error) {
	line, err := pipe.ReadLine(p.lines, maxMessage)
	switch {
	case errors.Is(err, pipe.ErrLong):
		return nil, fmt.Errorf("a message of the server is longer than %d bytes", maxMessage)
	case errors.Is(err, os.ErrClosed):
		return nil, io.EOF
	}
	return bytes.TrimSpace(line), err
}

// Write implements the SDK's Connection. A server that does not read ends the connection. The end of ctx ends the wait for earlier
// writes at once, and a write that has begun within lateMost.
func (p *pipes) Write(ctx context.Context, message jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	if _, is := message.(*jsonrpc.Response); is {
		p.asked.Add(-1)
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-p.closed:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := pipe.Write(ctx, p.in, append(data, '\n'), lateMost); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = errFrozen
		}
		p.broken(err)
		return err
	}
	return nil
}

// closeInput tells the program that nothing more comes.
func (p *pipes) closeInput() { _ = p.in.Close() }

// Close implements the SDK's Connection. It ends reads and writes under way, and may be called more than once.
func (p *pipes) Close() error {
	p.once.Do(func() {
		close(p.closed)
		p.closeInput()
		_ = p.out.Close()
	})
	return nil
}
