package external

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/process/pipe"
)

// maxQueue bounds the lines that wait to be written. Who writes more waits.
const maxQueue = 128

// pingEvery is the time between two pings, and that in which each is answered.
const pingEvery = 15 * time.Second

// States of a line that goes out.
const (
	lineWaits int32 = iota
	lineGoes
	lineDropped
)

// outgoing is a line to the program.
type outgoing struct {
	data  []byte
	state atomic.Int32
	gone  chan struct{} // closed when it was written
}

// drop takes the line back, and reports whether nothing of it was written. A line that was taken back keeps its place until the program has
// read those before it, but not its data. It is called once.
func (o *outgoing) drop() bool {
	if !o.state.CompareAndSwap(lineWaits, lineDropped) {
		return false
	}
	o.data = nil // the writer does not look at it any more
	return true
}

// errHeld means that nothing is read of the program while its messages have no answer.
var errHeld = errors.New("the program's messages wait for an answer")

// push puts a line behind those that wait. The error is an *adapter.UnsentError. hurry, if not nil, ends the wait with errHeld.
func (c *conn) push(ctx context.Context, line command, hurry <-chan struct{}) (*outgoing, error) {
	data, err := line.encode()
	if err != nil {
		return nil, unsent(err)
	}
	switch {
	case ctx.Err() != nil:
		return nil, unsent(c.failed("wait for the program", ctx.Err()))
	case c.Err() != nil:
		return nil, unsent(c.Err())
	}
	o := &outgoing{data: data, gone: make(chan struct{})}
	select {
	case c.out <- o:
		return o, nil
	default:
	}
	select {
	case c.out <- o:
		return o, nil
	case <-c.shut.Done():
		return nil, adapter.ErrDisconnected
	case <-c.Done():
		return nil, unsent(c.Err())
	case <-ctx.Done():
		return nil, unsent(c.failed("wait for the program", ctx.Err()))
	case <-hurry:
		return nil, unsent(errHeld)
	}
}

func unsent(err error) error { return &adapter.UnsentError{Err: err} }

// write writes the lines.
func (c *conn) write() {
	defer close(c.written)
	for {
		select {
		case <-c.shut.Done():
			c.writeRest()
			return
		case o := <-c.out:
			if !o.state.CompareAndSwap(lineWaits, lineGoes) {
				continue
			}
			if err := pipe.Write(c.shut, c.run.in, o.data, lastWord); err != nil {
				c.torn = true
				c.stuck(err)
				return
			}
			close(o.gone)
		}
	}
}

// writeRest writes what waited when the connection was taken down: answers to messages, which the program else gives again.
func (c *conn) writeRest() {
	if c.run.in.SetWriteDeadline(time.Now().Add(lastWord)) != nil {
		return
	}
	for {
		select {
		case o := <-c.out:
			if !o.state.CompareAndSwap(lineWaits, lineGoes) {
				continue
			}
			if _, err := c.run.in.Write(o.data); err != nil {
				c.torn = true
				return
			}
		default:
			return
		}
	}
}

// stuck ends the connection after a write that failed.
func (c *conn) stuck(err error) {
	switch {
	case c.shut.Err() != nil:
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.fault("does not read its standard input")
	default:
		c.broke("closed its standard input")
	}
}

// stop writes the last line. Nothing else writes any more.
func (c *conn) stop() {
	line, err := command{Type: typeStop}.encode()
	if err == nil && c.run.in.SetWriteDeadline(time.Now().Add(lastWord)) == nil {
		_, _ = c.run.in.Write(line) // one that does not read it sees the end of its input
	}
}

// ping asks the program for a sign of life, and ends the connection without one.
func (c *conn) ping() {
	every := time.NewTicker(pingEvery)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-c.shut.Done():
			return
		case <-c.Done():
			return
		}
		if !c.alive() {
			return
		}
	}
}

// alive makes one ping, and reports whether the connection goes on.
func (c *conn) alive() bool {
	id, answer := c.open.add()
	defer c.open.drop(id)
	o, err := c.push(c.shut, command{Type: typePing, ID: id}, nil)
	if err != nil {
		return false
	}
	select {
	case <-o.gone:
	case <-c.shut.Done():
		return false
	case <-c.Done():
		return false
	}
	for {
		asked := time.Now()
		late := time.NewTimer(pingEvery)
		select {
		case r := <-answer:
			late.Stop()
			if r.Error == nil {
				c.heard(max(0, time.Duration(min(r.QuietMS, maxQuiet))*time.Millisecond))
			}
			return true
		case <-c.shut.Done():
			late.Stop()
			return false
		case <-c.Done():
			late.Stop()
			return false
		case <-late.C:
			if !c.window.heldSince(asked) { // else the answer may be behind what is not read
				c.fault("does not answer a ping within " + pingEvery.String())
				return false
			}
		}
	}
}

// maxQuiet bounds how long ago a program says it heard from its platform, in milliseconds.
const maxQuiet = 24 * 3600 * 1000
