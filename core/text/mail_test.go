package text

import (
	"strings"
	"testing"
)

func TestAMailAddressIsOneThatPeopleHave(t *testing.T) {
	for s, want := range map[string]bool{
		"alice@example.org": true, "o'brien+work@mail.example.org": true, "a@1b": true, strings.Repeat("a", 64) + "@b1": true,
		"": false, "alice": false, "@example.org": false, "alice@": false, "a@b": false, "Alice@example.org": false, "a:b@example.org": false, "a/b@example.org": false,
		"a#b@example.org": false, "a b@example.org": false, `"a"@example.org`: false, "a@b@example.org": false, "a@[127.0.0.1]": false, "a@example.org\n": false,
		"a@-b1": false, "a@b-": false, strings.Repeat("a", 65) + "@b1": false, "a@" + strings.Repeat("b", 103): false,
	} {
		if got := IsMailAddress(s); got != want {
			t.Errorf("%q is an address: %v, want %v", s, got, want)
		}
	}
}
