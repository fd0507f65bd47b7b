package model

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// HF10: a redirect is an error that names its target's host, and neither the key nor the transcript goes there.
func TestHF10_NoRedirectIsFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var asked, reached atomic.Int32
		target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
		defer target.Close()
		location := strings.Replace(target.URL, "http://", "http://user:canary@", 1) + "/path?key=canary#canary"
		endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			http.Redirect(w, r, location, status)
		}))
		defer endpoint.Close()
		p, err := NewOpenAI(OpenAIOptions{BaseURL: endpoint.URL, Model: "m", APIKey: "canary-key"})
		if err != nil {
			t.Fatal(err)
		}
		c := p.New()
		_, err = c.Complete(t.Context(), Request{Messages: []Message{{Role: RoleUser, Content: "canary"}}}, nil)
		if cerr := c.Close(); cerr != nil {
			t.Error(cerr)
		}
		failed, ok := err.(*Error)
		if !ok || failed.Kind != KindRedirected || failed.Status != status {
			t.Errorf("%d: %v", status, err)
			continue
		}
		if !strings.Contains(failed.Message, "redirect to "+target.URL+", which is not followed") || strings.Contains(failed.Message, "canary") {
			t.Errorf("%d: it says %q", status, failed.Message)
		}
		if n := reached.Load(); n != 0 || asked.Load() != 1 {
			t.Errorf("%d: the endpoint was asked %d times, the target %d times", status, asked.Load(), n)
		}
	}
}
