package model

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestOP5_TheModelsOfAnEndpointAreListed(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/v1/models":
			fmt.Fprint(w, "<html>")
		case r.Header.Get("Authorization") != "Bearer right-key":
			http.Error(w, `{"error":{"message":"wrong key wrong-key"}}`, http.StatusUnauthorized)
		default:
			fmt.Fprint(w, `{"data":[{"id":"b"},{"id":"a"},{"id":"a"},{"id":"\u001b[2Jc"},{"id":""}]}`)
		}
	}))
	defer s.Close()
	names, err := List(t.Context(), OpenAIOptions{BaseURL: s.URL + "/v1", APIKey: "right-key"})
	if err != nil || !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("%q %v", names, err)
	}
	_, err = List(t.Context(), OpenAIOptions{BaseURL: s.URL + "/v1", APIKey: "wrong-key"})
	if refused, is := errors.AsType[*ListError](err); !is || !refused.Refused() || strings.Contains(err.Error(), "wrong-key") {
		t.Errorf("a wrong key returned %v", err)
	}
	if _, err = List(t.Context(), OpenAIOptions{BaseURL: s.URL}); err == nil || !strings.Contains(err.Error(), "not a list of models") {
		t.Errorf("a page returned %v", err)
	}
	s.Close()
	if _, err = List(t.Context(), OpenAIOptions{BaseURL: s.URL + "/v1"}); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("no server returned %v", err)
	}
}
