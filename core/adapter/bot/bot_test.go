package bot

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"gatewaytui/core/adapter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "4242:c4naryc4naryc4nary"

func TestI3_TheWordsOfAnErrorHoldNoTokenAndNoAddress(t *testing.T) {
	w := NewWords(token)
	for _, tc := range []struct {
		name string
		err  error
		want string
	}{
		{"an error of the HTTP client", &url.Error{Op: "Get", URL: "http://x/bot" + token, Err: errors.New("refused")}, "refused"},
		{"a deadline", fmt.Errorf("call: %w", context.DeadlineExceeded), "no answer in time"},
		{"a page with the token", errors.New("bad " + token), "bad [redacted]"},
	} {
		if got := w.Why(tc.err); strings.Contains(got, token) || !strings.HasPrefix(got, strings.Fields(tc.want)[0]) {
			t.Errorf("%s reads %q, want %q", tc.name, got, tc.want)
		}
	}
	err := error(&CallError{Call: "getMe", Why: "no answer in time", Cause: fmt.Errorf("x: %w", context.DeadlineExceeded)})
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, http.ErrUseLastResponse) || errors.Unwrap(err) != nil {
		t.Errorf("%v does not say what its cause is, or shows it", err)
	}
}

func TestADownloadStopsAtItsBound(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/file":
			fmt.Fprint(w, "content")
		case "/elsewhere":
			http.Redirect(w, r, "/file", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	client := Client(nil)
	defer client.CloseIdleConnections()
	get := func(path string, most int64) (string, error) {
		content, err := Download(t.Context(), client, s.URL+path, most, func(err error) error { return &CallError{Call: "x", Why: err.Error()} })
		return string(content), err
	}
	if got, err := get("/file", 7); got != "content" || err != nil {
		t.Errorf("downloaded %q: %v", got, err)
	}
	if _, err := get("/file", 6); !is[*adapter.RefusedError](err) {
		t.Errorf("a file beyond the bound returned %v", err)
	}
	for _, path := range []string{"/none", "/elsewhere"} {
		if _, err := get(path, 7); !is[*CallError](err) {
			t.Errorf("%s returned %v", path, err)
		}
	}
	s.Close()
	if _, err := get("/file", 7); !is[*adapter.UnsentError](err) {
		t.Errorf("a server that is gone returned %v", err)
	}
}

func is[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}

func TestAFormHasItsFieldsAndAFileWithAPlainName(t *testing.T) {
	for name, want := range map[string]string{"../../etc/passwd": "passwd", `C:\dir\a.txt`: "a.txt", "": "file", "..": "file", `q".txt`: `q".txt`} {
		body, kind, err := Form(url.Values{"chat_id": {"7"}}, "document", adapter.OutgoingFile{Name: name, Content: []byte("content")})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(string(body)))
		r.Header.Set("Content-Type", kind)
		file, header, err := r.FormFile("document")
		if err != nil {
			t.Fatal(err)
		}
		file.Close()
		if header.Filename != want || header.Size != 7 || r.FormValue("chat_id") != "7" {
			t.Errorf("%q arrived as %q with %d bytes, chat %q", name, header.Filename, header.Size, r.FormValue("chat_id"))
		}
	}
}

func TestATokenHasNoSignsThatChangeAnAddress(t *testing.T) {
	for token, want := range map[string]bool{token: true, "a-b_c": true, "a/b": false, "a b": false, "ä": false} {
		if IsToken(token, ":_-") != want {
			t.Errorf("%q is a token: %t", token, !want)
		}
	}
}
