package gateway

import (
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/ops"
)

// CV13: an operator finds what was said in all sessions; a person in a direct message finds their own chats of the platform, and in a
// group what was said there.
func TestCV13_APersonSearchesTheirOwnChats(t *testing.T) {
	l := start(t)
	l.ask("chat:dm:1", "apples for maria")
	l.ask("chat:group:7", "apples for the group")
	l.ask("other:dm:1", "apples elsewhere")
	search := func(q ops.SearchQuery, want int) (found ops.Found) {
		t.Helper()
		l.wait("a search finds them", func() bool {
			var err error
			found, err = l.g.Search(t.Context(), q)
			return err == nil && len(found.Items) == want
		})
		return found
	}
	search(ops.SearchQuery{Text: "apples"}, 6)
	search(ops.SearchQuery{Text: "apples", Session: "chat:dm:1"}, 2)
	for _, tc := range []struct {
		key       string
		has, hasn []string
	}{
		{"chat:dm:1", []string{"maria: apples for maria", "agent: you said apples for maria", "maria: apples for the group"}, []string{"elsewhere"}},
		{"chat:group:7", []string{"maria: apples for the group"}, []string{"elsewhere", "for maria"}},
		{"other:dm:1", []string{"apples elsewhere"}, []string{"maria: apples for"}},
	} {
		got := l.ask(tc.key, "/search apples")
		for _, s := range tc.has {
			if !strings.Contains(got, s) {
				t.Errorf("%s does not find %q: %s", tc.key, s, got)
			}
		}
		for _, s := range tc.hasn {
			if strings.Contains(got, s) {
				t.Errorf("%s finds %q: %s", tc.key, s, got)
			}
		}
	}
	if got := l.ask("chat:dm:1", "/search pears"); got != "Nothing was found." {
		t.Errorf("/search of nothing answered %q", got)
	}
	if got := l.await(l.send("chat:dm:1", "/search")); !ops.HasCode(got.err, ops.CodeInvalid) {
		t.Errorf("/search without a word: %+v", got)
	}
}

// CV13: the index ends with the stores of a stop, and the next life goes on with it.
func TestCV13_TheIndexEndsWithTheStores(t *testing.T) {
	dir := t.TempDir()
	here := func(s *setup) { s.dir = dir }
	l := start(t, here)
	l.ask("chat:dm:1", "apples")
	l.wait("it is indexed", func() bool {
		found, err := l.g.Search(t.Context(), ops.SearchQuery{Text: "apples"})
		return err == nil && len(found.Items) == 2
	})
	report := l.stop(ops.ModeFast)
	i := slices.IndexFunc(report.Phases, func(p ops.Phase) bool { return p.Name == "stores" })
	if !slices.ContainsFunc(report.Phases[i].Items, func(it ops.Item) bool { return it.ID == "search.db" && it.State == ops.StepDone }) {
		t.Errorf("the phase stores has %+v", report.Phases[i].Items)
	}
	if _, err := l.g.Search(t.Context(), ops.SearchQuery{Text: "apples"}); !ops.HasCode(err, ops.CodeUnavailable) {
		t.Errorf("a search after the stop: %v", err)
	}
	l = start(t, here)
	l.wait("the next life finds it", func() bool {
		found, err := l.g.Search(t.Context(), ops.SearchQuery{Text: "apples"})
		return err == nil && len(found.Items) == 2
	})
}
