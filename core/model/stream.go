package model

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Bounds on what an endpoint may send.
const (
	maxAnswer  = 16 << 20 // bytes of one answer, framing included
	maxErrBody = 64 << 10 // bytes read of an error answer
)

var errTooLarge = fmt.Errorf("answer is longer than %d MiB", maxAnswer>>20)

// refusal is an answer with an error status.
type refusal struct {
	status     int
	retryAfter time.Duration
	apiErr     apiError
}

func (r *refusal) Error() string { return http.StatusText(r.status) }

// redirected is an answer that sends the request elsewhere. to is the scheme and host of its target.
type redirected struct {
	status int
	to     string
}

func (r *redirected) Error() string { return http.StatusText(r.status) }

// redirect is the redirect that resp is, nil if it is none (RFC 9110, 15.4). The rest of the target is left out: it may hold
// a secret.
func redirect(resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil
	}
	r := &redirected{status: resp.StatusCode}
	if target, err := resp.Location(); err == nil {
		r.to = target.Scheme + "://" + target.Host
	}
	return r
}

// streamFailure is an error that came inside a stream.
type streamFailure struct{ apiErr apiError }

func (b *streamFailure) Error() string { return b.apiErr.message }

// bufferedResponse is an answer that came in one piece though a stream was asked for. It is an error because the library's
// stream reader cannot return it.
type bufferedResponse struct{ body []byte }

func (*bufferedResponse) Error() string { return "answer is not a stream" }

// connLost is a connection that broke while an answer was read.
type connLost struct{ cause error }

func (l *connLost) Error() string { return l.cause.Error() }

func (l *connLost) Unwrap() error { return l.cause }

// transport is between go-openai and the network. It reads three things that the library does not return: the headers of an
// error answer, an answer in one piece, and the stream's raw lines. It bounds all reads.
type transport struct{ http *http.Client }

// Do implements openai.HTTPDoer.
func (d transport) Do(req *http.Request) (*http.Response, error) {
	resp, err := d.http.Do(req)
	if err != nil {
		return nil, err
	}
	if err := redirect(resp); err != nil {
		_ = resp.Body.Close() // nothing of it is read
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		// A part of the message is enough, because the status says what failed.
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrBody))
		r := &refusal{status: resp.StatusCode, retryAfter: retryAfter(resp.Header, time.Now()), apiErr: parseSaid(body)}
		if kind, _ := classify(r.status, r.apiErr); kind == KindRefused && isPage(contentType(resp.Header), bytes.TrimSpace(body)) {
			f := foreignContent("text/html", nil)
			f.status = r.status
			return nil, f
		}
		return nil, r
	}
	kind := contentType(resp.Header)
	if kind == "application/json" {
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
		if err != nil {
			return nil, &connLost{err}
		}
		if len(body) > maxAnswer {
			return nil, errTooLarge
		}
		if text := bytes.TrimSpace(body); len(text) > 0 && text[0] != '{' {
			return nil, foreignContent(kind, text)
		}
		return nil, &bufferedResponse{body: body}
	}
	resp.Body = newEvents(kind, resp.Body)
	return resp, nil
}

// retryAfter reads the header of RFC 9110, 10.2.3: seconds or a date. 0: the header asks for no wait.
func retryAfter(h http.Header, now time.Time) time.Duration {
	const most = 1e6 * time.Second
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 {
		return time.Duration(min(seconds, most.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), most)
	}
	return 0
}

// events passes on the data lines of an event stream. go-openai counts comments (keep-alives of slow endpoints) as
// errors, and mixes them into the error that it reports. It reads one line more after an error (for ever, where the endpoint
// keeps the connection) and knows one of the shapes that errors have. So it gets to see neither. A stream that ends
// without [DONE] ends with io.ErrUnexpectedEOF, one that does not begin as an event stream does with a *foreign.
type events struct {
	kind  string // the content type
	body  io.ReadCloser
	limit *io.LimitedReader
	lines *bufio.Reader
	rest  []byte // what of the current line was not read yet
	begun bool   // a line of an event stream was seen
	done  bool   // [DONE] was seen
	err   error
}

func newEvents(kind string, body io.ReadCloser) *events {
	limit := &io.LimitedReader{R: body, N: maxAnswer + 1}
	return &events{kind: kind, body: body, limit: limit, lines: bufio.NewReader(limit)}
}

// drainPatience is how long Close waits for the end of a body after [DONE]. Only a body that was read to its end leaves
// a connection that can be used again; most endpoints end it at once.
const drainPatience = 50 * time.Millisecond

func (e *events) Close() error {
	if e.done {
		late := time.AfterFunc(drainPatience, func() { e.body.Close() })
		defer late.Stop()
		_, _ = io.Copy(io.Discard, e.lines)
	}
	return e.body.Close()
}

func (e *events) Read(p []byte) (int, error) {
	for len(e.rest) == 0 {
		if e.err != nil {
			return 0, e.err
		}
		e.rest, e.err = e.next()
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// next returns the next line that the reader needs, nil for one that it does not, and why there is none after it.
func (e *events) next() ([]byte, error) {
	line, err := e.lines.ReadBytes('\n')
	switch {
	case e.limit.N <= 0:
		return nil, errTooLarge
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	case err != nil:
		return nil, &connLost{err}
	}
	line = bytes.TrimSpace(line)
	if !e.begun {
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
	}
	data, isData := bytes.CutPrefix(line, []byte("data:"))
	if !isData {
		data = line // an error may come without the framing
	}
	data = bytes.TrimSpace(data)
	if s, bad := streamError(data); bad {
		return nil, &streamFailure{apiErr: s}
	}
	if empty := len(line) == 0; !e.begun && (!empty && !opensStream(line, err != nil) || empty && err != nil && isPage(e.kind, nil)) {
		return nil, foreignContent(e.kind, line)
	}
	e.begun = e.begun || len(line) > 0
	e.done = isData && string(data) == "[DONE]"
	if !isData || len(data) == 0 || err != nil && !e.done && !json.Valid(data) {
		return nil, err
	}
	return append(line, '\n'), err
}

// streamError reads an error out of an event's data.
func streamError(data []byte) (apiError, bool) {
	if !bytes.HasPrefix(data, []byte("{")) || !bytes.Contains(data, []byte(`"error"`)) {
		return apiError{}, false
	}
	var event struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(data, &event) != nil {
		return apiError{}, false
	}
	return parseErrorValue(event.Error)
}
