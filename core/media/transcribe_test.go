package media

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gatewaytui/core/adapter"
)

// endpoint is a transcription whose endpoint answers with handle.
func endpoint(t *testing.T, key string, handle http.HandlerFunc) *Transcription {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	tr, err := NewTranscription(s.URL+"/v1/", "whisper-1", key)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestCV9_AVoiceMessageBecomesItsText(t *testing.T) {
	tr := endpoint(t, "sk-canary", func(w http.ResponseWriter, r *http.Request) {
		f, head, err := r.FormFile("file")
		if err != nil {
			t.Error(err)
			return
		}
		content, err := io.ReadAll(f)
		if err != nil || string(content) != string(oggFile) || head.Filename != "voice.ogg" || r.FormValue("model") != "whisper-1" ||
			r.URL.Path != "/v1/audio/transcriptions" || r.Header.Get("Authorization") != "Bearer sk-canary" {
			t.Errorf("the endpoint got %s %v %q %v", r.URL, r.Form, head.Filename, err)
		}
		_, _ = io.WriteString(w, `{"text":" Call me back. "}`)
	})
	m := open(t, gives(map[string][]byte{"": oggFile}), func(o *Options) { o.Transcriber = tr })
	if got := take(t.Context(), m, "", true, adapter.File{Spoken: true}); got.Text != "[Voice message, as it was transcribed]\nCall me back." || len(saved(t, m)) != 0 {
		t.Errorf("the model reads\n%s", got.Text)
	}
	got := take(t.Context(), m, "who is it?", true, adapter.File{Name: "voice.ogg", Type: "audio/ogg"})
	if want := "who is it?\n\n[Sound \"voice.ogg\" (audio/ogg, 13 bytes), saved as received/" + folderOf(chatKey) + "/voice.ogg in your work folder. What is said in it, as it was transcribed]\nCall me back."; got.Text != want {
		t.Errorf("of a file the model reads\n%s", got.Text)
	}
}

func TestCV9_ATranscriptionThatFailsSaysWhyWithoutTheKeyAndTheFileIsKept(t *testing.T) {
	reached := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer elsewhere.Close()
	for name, tc := range map[string]struct {
		handle http.HandlerFunc
		want   string
	}{
		"a wrong key": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, "no such key: canary-1234\x1b[31m")
		}, "401 Unauthorized: no such key: [redacted]"},
		"not a transcript":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, "check transcription.base_url"},
		"an endless answer": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2*maxAnswer)) }, "gave no transcript"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, "307"},
		"a connection reset": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		tr := endpoint(t, "canary-1234", tc.handle)
		_, err := tr.Transcribe(t.Context(), "a.ogg", oggFile)
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
		m := open(t, gives(map[string][]byte{"": oggFile}), func(o *Options) { o.Transcriber = tr })
		got := take(t.Context(), m, "", true, adapter.File{Spoken: true})
		if !strings.HasSuffix(got.Text, "/voice.ogg in your work folder. You cannot hear it: it could not be transcribed]") || len(saved(t, m)) != 1 || len(got.Refused) != 1 {
			t.Errorf("%s: the model reads %s, the user %q", name, got.Text, got.Refused)
		}
	}
	if reached {
		t.Error("the redirect was followed")
	}
}

func TestCV9_ATranscriptionEndsWithItsTurn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tr := endpoint(t, "", func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil { // until then a server does not see that its client leaves
			t.Error(err)
		}
		cancel()
		<-r.Context().Done()
	})
	if _, err := tr.Transcribe(ctx, "a.ogg", oggFile); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestATranscriptionHasAPlainAddress(t *testing.T) {
	for base, ok := range map[string]bool{
		"http://127.0.0.1:1/v1": true, "https://api.example/v1/": true,
		"": false, "api.example": false, "ftp://x": false, "https://u:p@x/v1": false, "https://x/v1?a=b": false, "https://x/#a": false, "http://%zz": false,
	} {
		if _, err := NewTranscription(base, "m", ""); (err == nil) != ok {
			t.Errorf("%q: %v", base, err)
		}
	}
}
