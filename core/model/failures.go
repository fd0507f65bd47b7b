package model

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const maxErrBody = 64 << 10 // bytes read of an error answer

// foreign is the error for an answer that no chat-completions endpoint gives: a web page, a file, a line of another protocol
// (HF27). kind is its content type, line how it begins. The same call gets the same answer, so it is not retried.
func foreign(kind string, line []byte) *Error {
	what := "a web page, not with a model's answer"
	if !isPage(kind, line) {
		what = cmp.Or(kind, "text without a content type") + " that is not a model's answer"
	}
	return &Error{Kind: KindNotAModel, Message: "answered with " + what}
}

// isPage reports whether an answer is made for a browser.
func isPage(kind string, line []byte) bool {
	return kind == "text/html" || kind == "application/xhtml+xml" || bytes.HasPrefix(line, []byte("<"))
}

// contentType is the media type of an answer, empty if it names none.
func contentType(h http.Header) string {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return kind
}

// eventFields are the fields of an event stream (https://html.spec.whatwg.org/multipage/server-sent-events.html).
var eventFields = []string{"data", "event", "id", "retry"}

// opensStream reports whether an event stream can begin with line, which has no spaces around it. The content type does not
// decide it: endpoints stream under several. cut says that the line was not read to its end.
func opensStream(line []byte, cut bool) bool {
	field, _, whole := strings.Cut(string(line), ":")
	return whole && field == "" || slices.ContainsFunc(eventFields, func(f string) bool {
		return field == f || cut && strings.HasPrefix(f, field)
	})
}

// unreachable is the error for a request that failed with err before an answer came.
func unreachable(err error) *Error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // the rest of it repeats the URL
	}
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err) // it will not be better next time
	switch {
	case plain, errors.Is(err, http.ErrSchemeMismatch):
		return &Error{Kind: KindNotAModel, cause: err, Message: "does not speak TLS, and its base_url begins with https"}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return cutOff(err)
	case strings.Contains(err.Error(), "malformed HTTP"): // net/http has no error value for it
		return &Error{Kind: KindNotAModel, cause: err, Message: "does not speak HTTP"}
	}
	return &Error{Kind: KindUnavailable, retry: !certificate, cause: err, Message: "could not be reached", said: err.Error()}
}

// cutOff is the error for a connection that broke while an answer was read.
func cutOff(err error) *Error {
	return &Error{Kind: KindUnavailable, retry: true, cause: err, Message: "closed the connection before its answer was complete"}
}

// refused is the error for an answer with an error status.
func refused(resp *http.Response) *Error {
	// A part of the message is enough, because the status says what failed.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrBody))
	said := parseSaid(body)
	e := &Error{
		Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header, time.Now()),
		Message: fmt.Sprintf("answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode)), said: said.message,
	}
	e.judge(said)
	if e.Kind == KindRefused && isPage(contentType(resp.Header), bytes.TrimSpace(body)) {
		e = foreign("text/html", nil)
		e.Status = resp.StatusCode
	}
	return e
}

// redirected is the error for a redirect (RFC 9110, 15.4); nil: resp is none. Only the scheme and the host of its target are
// named: the rest may hold a secret.
func redirected(resp *http.Response, key string) *Error {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil
	}
	to := "nowhere"
	if target, err := resp.Location(); err == nil {
		to = clean(target.Scheme+"://"+target.Host, key)
	}
	return &Error{
		Kind: KindRedirected, Status: resp.StatusCode,
		Message: fmt.Sprintf("answered %d, a redirect to %s, which is not followed", resp.StatusCode, to),
	}
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
