package model

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// HF27: what answers at model.base_url and is not a model's endpoint is named as such, after one attempt.
func TestHF27_WhatIsNotAModelIsNamed(t *testing.T) {
	const page = "<!doctype html>\n<html><title>Welcome</title></html>\n"
	for name, tt := range map[string]struct {
		status     int
		kind, body string
		says       string
	}{
		"a web page":                             {200, "text/html; charset=utf-8", page, "answered with a web page, not with a model's answer"},
		"an empty web page":                      {200, "text/html", "\n", "answered with a web page"},
		"a web page without a content type":      {200, "", "\n\n" + page, "answered with a web page"},
		"a web page that is called JSON":         {200, "application/json", page, "answered with a web page"},
		"a web page that is called a stream":     {200, "text/event-stream", page, "answered with a web page"},
		"a web page for a method it has not":     {405, "text/html", page, "answered with a web page"},
		"a web page for a request it cannot use": {400, "", page, "answered with a web page"},
		"a text":                                 {200, "text/plain", "It works!\n", "answered with text/plain that is not a model's answer"},
		"a text without an end of line":          {200, "text/plain", "It works!", "answered with text/plain"},
		"garbage":                                {200, "application/octet-stream", "\x00\x01\xffgarbage\x1b[31m\n\n", "answered with application/octet-stream that"},
		"garbage without a content type":         {200, "", "7f454c46", "answered with text without a content type that"},
		"JSON of another protocol":               {200, "application/x-ndjson", `{"message":{"content":"hi"}}` + "\n", "answered with application/x-ndjson that"},
		"JSON that is not an object":             {200, "application/json", `["hi"]`, "answered with application/json that"},
	} {
		t.Run(name, func(t *testing.T) {
			c, n := clientOver(t, time.Hour, func(int, *http.Request) (*http.Response, error) {
				return respond(tt.status, map[string]string{"Content-Type": tt.kind}, tt.body), nil
			})
			checkNotAModel(t, c, tt.says)
			if n.Load() != 1 {
				t.Errorf("%d attempts, want 1", n.Load())
			}
		})
	}
	// A stream under another content type is one all the same.
	for _, kind := range []string{"", "text/plain", "text/html", "application/octet-stream"} {
		c, _ := clientOver(t, time.Hour, func(int, *http.Request) (*http.Response, error) {
			return respond(200, map[string]string{"Content-Type": kind}, "\ufeff\n: keep-alive\n\nevent: chunk\n"+sse(text("ok"), stopChunk, "[DONE]")), nil
		})
		if got, err := c.Complete(t.Context(), hi, nil); err != nil || got.Message.Content != "ok" {
			t.Errorf("a stream as %q gives %+v, %v", kind, got, err)
		}
	}
}

func checkNotAModel(t *testing.T, c Client, says string) {
	t.Helper()
	_, err := c.Complete(t.Context(), hi, nil)
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Kind != KindNotAModel || !strings.Contains(e.Message, says) || !strings.HasSuffix(e.Message, "; check model.base_url") {
		t.Errorf("it gives %v, want %q and what to check", err, says)
	}
}

// HF27: a port of another protocol is asked once.
func TestHF27_AnotherProtocolIsNamed(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer plain.Close()
	mail, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	over := make(chan struct{})
	go func() { // ends when the listener is closed
		defer close(over)
		for {
			conn, err := mail.Accept()
			if err != nil {
				return
			}
			asked++
			// It reads before it greets: a greeting that comes before the request is an unsolicited answer to net/http, which
			// closes the connection, and the second attempt names it.
			_, _ = conn.Read(make([]byte, 64<<10))
			_, _ = conn.Write([]byte("220 mail.test ESMTP\r\n"))
			_ = conn.Close()
		}
	}()
	for base, says := range map[string]string{
		strings.Replace(plain.URL, "http:", "https:", 1): "does not speak TLS",
		"http://" + mail.Addr().String():                 "does not speak HTTP",
	} {
		p, err := NewOpenAI(OpenAIOptions{BaseURL: base + "/v1", Model: "m", Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		c := p.New()
		checkNotAModel(t, c, says)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	_ = mail.Close()
	<-over
	if asked != 1 {
		t.Errorf("the mail server was asked %d times, want once", asked)
	}
}
