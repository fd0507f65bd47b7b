package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/dustin/go-humanize"

	"gatewaytui/core/limit"
	"gatewaytui/core/ops"
)

const (
	// readTimeout is how long a body of up to 1 MiB may take; a longer one has a second more for each 64 KiB beyond that.
	readTimeout = 30 * time.Second
	readSize    = 1 << 20
	// unreadTimeout bounds the wait for a body that no handler reads, lingerBody that for the rest of one that was refused.
	unreadTimeout = time.Second
	lingerBody    = 2 * time.Second
	// serverReads is how much of a body that no handler reads net/http reads itself (maxPostHandlerReadBytes in its server.go).
	serverReads = 256 << 10
)

// incoming is a request whose body comes in.
type incoming struct {
	c  *conn
	w  http.ResponseWriter
	r  *http.Request
	by ops.Caller // who was let in
	rc *http.ResponseController
	// begun says that a part of the body was read, whole that all of it was.
	begun, whole bool
}

// readBody reads a body in steps that count against the budget, which the receiver of the body gives back by upload.release. It is
// bounded in size by Options.BodyMax and in time by readTimeout. The time ends with the body: net/http lifts the deadline when it
// goes on reading to see the client go.
func (in *incoming) readBody() ([]byte, *upload, *problem) {
	most := in.c.platform.options.BodyMax
	if in.r.ContentLength > most {
		return nil, nil, tooLarge(most)
	}
	ctx, cut := context.WithCancelCause(in.c.tasks)
	defer cut(nil)
	stop := context.AfterFunc(ctx, func() { _ = in.rc.SetReadDeadline(time.Now()) })
	defer stop()
	in.begun = true
	claim := in.r.ContentLength
	if claim < 0 {
		claim = most
	}
	u := in.c.platform.bodies.begin(claim, cut)
	body, err := in.readSteps(ctx, u, most)
	switch {
	case err == nil && u.complete() && stop():
		in.whole = true
		return body, u, nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	u.release()
	return nil, nil, in.c.broken(err, most)
}

// readSteps reads the body. ctx ends when it has to give way, or when the requests must end.
func (in *incoming) readSteps(ctx context.Context, u *upload, most int64) (body []byte, err error) {
	var parts [][]byte
	defer func() {
		if len(parts) > 1 || err != nil { // a single one is the body
			for _, p := range parts {
				recycle(p)
			}
		}
	}()
	began := time.Now()
	length := in.r.ContentLength // -1: not known
	for have := int64(0); have != length; {
		step := stepAt(have)
		if length >= 0 {
			step = min(step, length-have)
		} else {
			step = min(step, most+1-have) // the last byte tells that it is too long
		}
		if err := u.grow(ctx, step); err != nil {
			return nil, err
		}
		_ = in.rc.SetReadDeadline(began.Add(readTimeout + time.Duration(max(have-readSize, 0)/maxStep)*time.Second))
		if ctx.Err() != nil { // it comes last, so that a cut that came meanwhile is seen here or by its deadline
			return nil, context.Cause(ctx)
		}
		become(in.r, connSending)
		part, n := part(step), int64(0)
		var err error
		for n < step && err == nil {
			var some int
			some, err = in.r.Body.Read(part[n:])
			n += int64(some)
		}
		have += n
		parts = append(parts, part[:n])
		switch {
		case have > most:
			return nil, errTooLarge
		case errors.Is(err, io.EOF) && (length < 0 || have == length):
			return join(parts, have), nil
		case err != nil && have != length:
			return nil, err
		}
	}
	return join(parts, length), nil
}

// join makes one of the parts, which are size bytes.
func join(parts [][]byte, size int64) []byte {
	if len(parts) == 1 {
		return parts[0]
	}
	whole := make([]byte, 0, max(size, 0))
	for _, part := range parts {
		whole = append(whole, part...)
	}
	return whole
}

var errTooLarge = errors.New("the body is too large")

func tooLarge(most int64) *problem {
	return &problem{
		status: http.StatusRequestEntityTooLarge, code: "request_too_large",
		message: fmt.Sprintf("the body is longer than %s (adapters.api.body_max)", humanize.IBytes(uint64(most))),
	}
}

// broken is the answer to a client whose body was not read to its end.
func (c *conn) broken(err error, most int64) *problem {
	switch {
	case errors.Is(err, errTooLarge):
		return tooLarge(most)
	case errors.Is(err, errNoBudget):
		return &problem{
			status: http.StatusTooManyRequests, code: string(ops.CodeLimit), retryAfter: bodyWait,
			message: fmt.Sprintf("%s (%s) is used up by the requests under way: send this one again later", limit.BodyBytes, humanize.IBytes(uint64(c.platform.options.BodyBytes))),
		}
	case errors.Is(err, errGaveWay):
		return &problem{
			status: http.StatusRequestTimeout, code: "request_timeout", retryAfter: time.Second,
			message: fmt.Sprintf("the body stalled while other requests waited for %s: send it again", limit.BodyBytes),
		}
	case errors.Is(err, context.Canceled):
		return stopping()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &problem{
			status: http.StatusRequestTimeout, code: "request_timeout",
			message: fmt.Sprintf("the body took longer than %s, and 1s more for each 64 KiB beyond 1 MiB", readTimeout),
		}
	}
	return invalid("", "the body ended early")
}

// unread bounds the wait for the body of a request that no handler reads: net/http reads what is left of it before it answers
// and before the next request. Meanwhile the connection is one that may be closed to make room.
func unread(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		become(r, connSending)
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unreadTimeout))
	}
}

// answer tells the client that it gets no answer. Where net/http would not read the rest of the body itself, it reads on for a
// moment: a client that sends all before it reads would meet a closed connection instead of the answer.
func (in *incoming) answer(p *problem) {
	_ = in.rc.SetWriteDeadline(time.Now().Add(writeTimeout))
	if in.whole {
		p.write(in.w)
		return
	}
	if length := in.r.ContentLength; !in.begun && length >= 0 && length <= serverReads {
		unread(in.w, in.r)
		p.write(in.w)
		return
	}
	become(in.r, connSending)
	_ = in.rc.EnableFullDuplex() // HTTP/1 has it
	in.w.Header().Set("Connection", "close")
	p.write(in.w)
	_ = in.rc.Flush()
	_ = in.rc.SetReadDeadline(time.Now().Add(lingerBody))
	stop := context.AfterFunc(in.c.tasks, func() { _ = in.rc.SetReadDeadline(time.Now()) })
	defer stop()
	_, _ = io.Copy(io.Discard, in.r.Body) // its end is all that is wanted of it
}
