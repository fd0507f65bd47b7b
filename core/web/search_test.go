package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestHR3_TheAnswersOfKnownEndpointsAreRead(t *testing.T) {
	want := []Result{{"One & two", "https://one.example/", "the first page"}, {"Two", "https://two.example/", ""}}
	for name, answer := range map[string]string{
		"SearXNG":     `{"query":"q","results":[{"url":"https://one.example/","title":"One & two","content":"the first page"},{"url":"https://two.example/","title":"Two"}]}`,
		"Brave":       `{"type":"search","videos":{"results":[]},"web":{"results":[{"title":"One &amp; two","url":"https://one.example/","description":"the <strong>first</strong> page"},{"title":"Two","url":"https://two.example/"}]}}`,
		"Bing":        `{"webPages":{"value":[{"name":"One & two","url":"https://one.example/","snippet":"the first page"},{"name":"Two","url":"https://two.example/"}]}}`,
		"SerpApi":     `{"organic_results":[{"title":"One & two","link":"https://one.example/","snippet":"the first page"},{"title":"Two","link":"https://two.example/"}]}`,
		"a bare list": `[{"title":"One & two","href":"https://one.example/","body":"the first page"},{"title":"Two","href":"https://two.example/"}]`,
		"wrong entries": `{"results":[1,null,{"title":"no address"},{"url":"javascript:x"},{"url":"https://one.example/","title":"One & two","content":"the\n first\u001b page"},` +
			`{"url":"https://two.example/","title":["Two"],"name":"Two","content":7}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readResults([]byte(answer), 10)
			if err != nil || len(got) != 2 {
				t.Fatalf("%+v, %v", got, err)
			}
			got[0].Snippet = strings.ReplaceAll(got[0].Snippet, "␛", "")
			for i := range got {
				if got[i] != want[i] {
					t.Errorf("%+v, want %+v", got[i], want[i])
				}
			}
		})
	}
	if got, err := readResults([]byte(`{"results":[]}`), 10); err != nil || len(got) != 0 {
		t.Errorf("no results: %v, %v", got, err)
	}
	for _, wrong := range []string{"<html>", `{"error":"x"}`, `"text"`, ""} {
		if _, err := readResults([]byte(wrong), 10); err == nil {
			t.Errorf("%q is read", wrong)
		}
	}
}

func TestHR3_AnEndpointIsAskedWithItsKeyAndNotFollowed(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect of an endpoint was followed") }))
	defer elsewhere.Close()
	var seen string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = fmt.Sprint(r.URL.RawQuery, " ", r.Header.Get("Authorization"), " ", r.Header.Get("X-Subscription-Token"))
		switch r.URL.Query().Get("q") {
		case "moved":
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
		case "long":
			_, _ = w.Write(make([]byte, answerMost+1))
		case "slow":
			<-r.Context().Done()
		default:
			_, _ = w.Write([]byte(`{"results":[{"url":"https://a.example/","title":"a"},{"url":"https://b.example/"},{"url":"https://c.example/"}]}`))
		}
	}))
	defer server.Close()
	c := New(Options{Timeout: 5 * time.Second, SearchURL: server.URL + "/search?format=json&q={query}", SearchKey: "the-key"})
	got, err := c.Search(t.Context(), "cats & dogs", 2)
	if err != nil || len(got) != 2 || seen != "format=json&q=cats+%26+dogs Bearer the-key the-key" {
		t.Errorf("%+v, %v, seen %q", got, err, seen)
	}
	for query, want := range map[string]string{"moved": "answered 302", "long": "longer than"} {
		if _, err := c.Search(t.Context(), query, 2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", query, err)
		}
	}
	c.o.Timeout = 50 * time.Millisecond
	if _, err := c.Search(t.Context(), "slow", 2); err == nil || strings.Contains(err.Error(), "slow") || strings.Contains(err.Error(), "the-key") {
		t.Errorf("an endpoint that does not answer: %v", err)
	}
}

func FuzzReadResults(f *testing.F) {
	f.Add([]byte(`{"web":{"results":[{"url":"https://a.example/","title":"<b>a"}]}}`))
	f.Add([]byte(`[[],{"url":1}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := readResults(data, 5)
		if err == nil && len(got) > 5 {
			t.Fatalf("%d results", len(got))
		}
		for _, r := range got {
			if strings.ContainsAny(r.Title+r.Snippet, "\n\x1b") || !strings.HasPrefix(r.URL, "http") {
				t.Fatalf("%+v", r)
			}
		}
	})
}
