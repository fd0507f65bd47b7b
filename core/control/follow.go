package control

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

const (
	// silence is how long a stream may say nothing, its heartbeat included, before the client takes it for dead.
	silence = 3 * heartbeat
	// maxLine bounds one line of a stream, in bytes.
	maxLine = 1 << 20
	// retries is how often in a row a stream is begun again without an event before the client gives up.
	retries = 5
	// retryPause is the first pause between two attempts; each is twice the one before.
	retryPause = 50 * time.Millisecond
)

// Events implements ops.Console. A stream that is cut while the gateway lives is resumed where it ended, so that each
// event comes once; when the gateway is gone, or another life has taken its place, the sequence ends with an error.
func (c *Client) Events(ctx context.Context, after uint64, kinds ...ops.EventType) iter.Seq2[ops.Event, error] {
	return func(yield func(ops.Event, error) bool) {
		f := follower{c: c, after: after, kinds: kinds}
		failed := 0
		for {
			before, began := f.after, time.Now()
			more, err := f.once(ctx, yield)
			if !more || ctx.Err() != nil {
				return
			}
			if f.after != before || time.Since(began) > silence {
				failed = 0
			}
			if failed++; err == nil && failed > retries {
				err = c.unreachable(errors.New("it ends every stream at once"))
			}
			if err != nil && (!f.begun || !resumable(err) || failed > retries) {
				yield(ops.Event{}, err)
				return
			}
			select {
			case <-time.After(retryPause << (failed - 1)):
			case <-ctx.Done():
				return
			}
		}
	}
}

// resumable reports whether the stream is worth another attempt: an answer of the gateway itself is final, and so is a
// socket without a listener.
func resumable(err error) bool {
	u, ok := errors.AsType[*Unreachable](err)
	return ok && !u.Gone
}

// follower is one reading of the events, over as many streams as it takes.
type follower struct {
	c     *Client
	after uint64
	kinds []ops.EventType
	life  string
	begun bool // a stream has been open: what fails now is a cut
}

// once reads one stream to its end. It reports false when the reader wants no more; the error is nil for a stream that
// ended in order.
func (f *follower) once(ctx context.Context, yield func(ops.Event, error) bool) (more bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	dead := time.AfterFunc(f.c.opt.Timeout, func() { cancel(os.ErrDeadlineExceeded) })
	defer dead.Stop()

	header := http.Header{"Accept": {"text/event-stream"}}
	path := "/v1/events"
	if len(f.kinds) > 0 {
		names := make([]string, len(f.kinds))
		for i, k := range f.kinds {
			names[i] = string(k)
		}
		path += "?kinds=" + url.QueryEscape(strings.Join(names, ","))
	}
	if f.after > 0 {
		header.Set("Last-Event-ID", strconv.FormatUint(f.after, 10))
	}
	resp, err := f.c.send(ctx, http.MethodGet, path, nil, header)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return true, f.c.unreachable(cause)
	}
	if err != nil {
		return true, err
	}
	defer resp.Body.Close()
	life := resp.Header.Get(HeaderLife)
	if f.life != "" && life != f.life {
		return true, &ops.Error{
			Code: ops.CodeUnavailable, Message: fmt.Sprintf("life %s of the gateway has ended; life %.64q answers now", f.life, life),
			Hint: "follow it again; its history says how the former one ended",
		}
	}
	f.life, f.begun = life, true

	lines := linesOf(resp.Body, maxLine)
	for {
		ev, err := readEvent(lines, func() { dead.Reset(silence) })
		switch cause := context.Cause(ctx); {
		case err != nil && cause != nil:
			return true, f.c.unreachable(cause)
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil:
			return true, f.c.unreachable(fmt.Errorf("read events: %w", err))
		}
		if ev.Seq > 0 {
			f.after = ev.Seq
		}
		if !yield(ev, nil) {
			return false, nil
		}
	}
}

// linesOf reads the lines of a stream, each of at most most bytes.
func linesOf(r io.Reader, most int) *bufio.Scanner {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, together), most)
	return lines
}

// readEvent reads the next event of a stream: see readData.
func readEvent(lines *bufio.Scanner, heard func()) (ev ops.Event, err error) {
	data, err := readData(lines, maxLine, heard)
	if err != nil {
		return ev, err
	}
	return decodeEvent(string(data))
}

// readData reads the data of the next event of a stream, passing over comments and what it does not know; heard is called at
// each event and comment. io.EOF is the stream's end, between two events or, as the format asks, instead of an unfinished one.
func readData(lines *bufio.Scanner, most int, heard func()) (data []byte, err error) {
	for lines.Scan() {
		line := lines.Bytes()
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if len(data)+len(value) > most {
				return nil, fmt.Errorf("an event has more than %d bytes", most)
			}
			data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
		}
		if len(line) > 0 {
			continue
		}
		heard()
		if len(data) > 0 {
			return data, nil
		}
	}
	return nil, cmp.Or(lines.Err(), io.EOF)
}
