package external

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
	"gatewaytui/core/process/pipe"
)

const (
	// maxLine bounds one line of a program, and maxNoise what it writes in a row that is not a JSON object, in bytes.
	maxLine  = 32 << 20
	maxNoise = 64 << 10
	// maxWaiting is how many messages of a program are not answered yet.
	maxWaiting = 64
	// exitMost is how long the exit code of a program is awaited that has closed its output, and restMost how long what it wrote is still
	// read after its exit.
	exitMost = 300 * time.Millisecond
	restMost = 200 * time.Millisecond
	// usualRetry is the pause after a rate limit that names none.
	usualRetry = 5 * time.Second
)

// read reads the lines of the program, until it ends or does not keep to the protocol.
func (c *conn) read() {
	defer close(c.unread)
	lines, noise, pace := bufio.NewReaderSize(c.run.out, 64<<10), 0, pace{}
	for pace.wait(c.shut) {
		line, err := pipe.ReadLine(lines, maxLine)
		if errors.Is(err, pipe.ErrLong) {
			c.fault(fmt.Sprintf("writes a line of more than %d MiB", maxLine>>20))
			return
		}
		if err != nil {
			c.broke("closed its standard output")
			return
		}
		pace.add(len(line))
		said, err := decode(line)
		switch {
		case errors.Is(err, errNoObject):
			if noise += len(line); noise > maxNoise {
				c.fault("writes text that is not the protocol to its standard output")
				return
			}
			continue
		case err != nil:
			c.fault("does not keep to the protocol: " + err.Error())
			return
		}
		noise = 0
		if !c.hear(said) {
			return
		}
	}
}

// hear takes a line of the program, and reports whether more may come. It waits while too many messages have no answer.
func (c *conn) hear(said any) (more bool) {
	switch said := said.(type) {
	case *ready:
		if c.said == nil {
			c.said = said.profile()
			close(c.begun)
		}
	case *failed:
		c.Fail(c.failure(said))
		return false
	case *result:
		c.open.settle(said)
	case *message:
		c.heard(0)
		if !c.window.enter(c.shut) {
			return false
		}
		if c.Tasks.Err() != nil {
			c.answer(said, typeLater)
			return true
		}
		c.in <- said // it has room for all that the window lets in
	}
	return true
}

// failure is why the program cannot go on.
func (c *conn) failure(f *failed) error {
	why := c.words.Clean(f.Text)
	switch f.Code {
	case codeCredentials:
		variable := c.words.Clean(f.Variable)
		if variable == "" {
			variable = "adapters." + c.p.o.Name + ".env_pass"
		}
		return &adapter.CredentialsError{Variable: variable, Why: why}
	case codeConflict:
		return &adapter.ConflictError{Why: why}
	case codeRateLimit:
		return &adapter.RateLimitError{RetryAfter: pause(f.RetryMS)}
	}
	if why == "" {
		return fmt.Errorf("the program gave up without a reason%s", c.last())
	}
	return errors.New(why)
}

// pause is the time that a rate limit names.
func pause(ms int64) time.Duration {
	if ms <= 0 {
		return usualRetry
	}
	return time.Duration(min(ms, bot.MaxRetryAfter*1000)) * time.Millisecond
}

// broke ends the connection of a program that did this to its pipes. Its exit code says more than that.
func (c *conn) broke(what string) {
	wait, cancel := context.WithTimeout(c.shut, exitMost)
	defer cancel()
	_, _ = c.run.Wait(wait) // ended knows what came of it
	if c.shut.Err() == nil {
		c.Fail(c.ended(what))
	}
}

// watch ends the connection of a program that has ended: what it started may hold its pipes open.
func (c *conn) watch() {
	if _, err := c.run.Wait(c.shut); err != nil {
		return // it is taken down
	}
	select {
	case <-c.unread:
	case <-time.After(restMost):
	case <-c.shut.Done():
		return
	}
	c.Fail(c.ended("closed its standard output"))
}

// pace slows down the reading of a program that floods its output with lines which cost it nothing.
type pace struct {
	since        time.Time // begins the current second
	lines, bytes int       // in it
}

const (
	// linesPerSecond and bytesPerSecond are read without a pause.
	linesPerSecond = 2000
	bytesPerSecond = 64 << 20
)

func (p *pace) add(bytes int) {
	if now := time.Now(); now.Sub(p.since) >= time.Second {
		*p = pace{since: now}
	}
	p.lines++
	p.bytes += bytes
}

// wait waits until more may be read, and reports whether that is before life ends.
func (p *pace) wait(life context.Context) bool {
	if p.lines < linesPerSecond && p.bytes < bytesPerSecond {
		return true
	}
	return adapter.Await(life, time.After(time.Until(p.since.Add(time.Second))), "the next second") == nil
}

// window bounds the messages that have no answer.
type window struct {
	slots chan struct{}
	// hurry gets one for each caller that waits for the program while nothing is read of it: what it waits for may be behind the next message.
	hurry chan struct{}
	// held is when the reading last waited, in Unix nanoseconds; while it does, it is in the future.
	held atomic.Int64
}

func newWindow() window {
	return window{slots: make(chan struct{}, maxWaiting), hurry: make(chan struct{})}
}

// enter counts a message in. It waits while there are too many, and reports whether there is room before life ends.
func (w *window) enter(life context.Context) bool {
	select {
	case w.slots <- struct{}{}:
		return true
	default:
	}
	w.held.Store(time.Now().AddDate(1, 0, 0).UnixNano())
	defer func() { w.held.Store(time.Now().UnixNano()) }()
	for {
		select {
		case w.slots <- struct{}{}:
			return true
		case w.hurry <- struct{}{}:
		case <-life.Done():
			return false
		}
	}
}

func (w *window) leave() { <-w.slots }

// heldSince reports whether the reading has waited since at.
func (w *window) heldSince(at time.Time) bool { return w.held.Load() >= at.UnixNano() }
