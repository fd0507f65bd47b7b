package text

import "testing"

func TestTheNearestWordTakesTheFewestEdits(t *testing.T) {
	for name, want := range map[string]string{"stat": "state", "sate": "state", "usr": "user", "": "user", "state": "state", "zzzz": "user"} {
		if got := Nearest(name, []string{"user", "state", "session"}); got != want {
			t.Errorf("the nearest to %q is %q, want %q", name, got, want)
		}
	}
	if got := Nearest("x", nil); got != "" {
		t.Errorf("of no words the nearest is %q", got)
	}
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"kitten", "sitting", 3}, {"ab", "ba", 2}} {
		if got := Distance(tc.a, tc.b); got != tc.want {
			t.Errorf("from %q to %q: %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

func TestASuggestionIsWhatWasProbablyMeant(t *testing.T) {
	for name, want := range map[string]string{
		"statsu": "status", "STOP": "stop", "sess": "sessions", "sp": "stop", "s": "", "": "", "xyzzyx": "", "stpo": "stop",
	} {
		if got := Suggest(name, []string{"sessions", "status", "stop"}); got != want {
			t.Errorf("for %q it suggests %q, want %q", name, got, want)
		}
	}
}
