package model

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
)

// foreign is an answer that no chat-completions endpoint gives: a web page, a file, a line of another protocol (HF27). The
// same call gets the same answer, so it is not retried. what names it to an operator.
type foreign struct {
	status int // 0: that of an answer without an error
	what   string
}

func (f *foreign) Error() string { return f.what }

// foreignContent is an answer of the content type kind that is not a model's. line is how it begins.
func foreignContent(kind string, line []byte) *foreign {
	if isPage(kind, line) {
		return &foreign{what: "answered with a web page, not with a model's answer"}
	}
	if kind == "" {
		kind = "text without a content type"
	}
	return &foreign{what: "answered with " + kind + " that is not a model's answer"}
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

// otherProtocol is what answers at the address without speaking HTTP as the address says; nil if err is something else.
func otherProtocol(err error) *foreign {
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case plain, errors.Is(err, http.ErrSchemeMismatch):
		return &foreign{what: "does not speak TLS, and model.base_url begins with https"}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil
	case strings.Contains(err.Error(), "malformed HTTP"): // net/http has no error value for it
		return &foreign{what: "does not speak HTTP"}
	}
	return nil
}
