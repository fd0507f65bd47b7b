package adapter

import (
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func units(s string) int { return len(utf16.Encode([]rune(s))) }

func TestPartsJoinedAreTheTextAndEachFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(2, 64).Draw(t, "limit")
		s := rapid.StringOf(rapid.OneOf(
			rapid.Rune(), rapid.SampledFrom([]rune{' ', '\n', 'a', 'é', '€', '😀', '\u200d', '\u0301', '\uFFFD'}),
		)).Draw(t, "text")
		s = strings.ToValidUTF8(s, "\uFFFD")
		parts := Split(s, limit)
		if joined := strings.Join(parts, ""); joined != s {
			t.Fatalf("the parts of %q are %q", s, parts)
		}
		for _, p := range parts {
			if p == "" || units(p) > limit || !utf8.ValidString(p) {
				t.Fatalf("the part %q of %q is %d units, want 1 to %d, of whole characters", p, s, units(p), limit)
			}
		}
		for _, p := range parts[:max(len(parts)-1, 0)] {
			if 2*units(p) < limit {
				t.Fatalf("the part %q of %q is %d units, less than half of %d", p, s, units(p), limit)
			}
		}
	})
}

func TestWhereATextIsCut(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"what fits is whole", "12345678", []string{"12345678"}},
		{"after the last line that fits", "1234\n67890", []string{"1234\n", "67890"}},
		{"a line goes before a word", "123\n5 7 901", []string{"123\n", "5 7 901"}},
		{"after the last word that fits", "1 34 6 89012", []string{"1 34 6 ", "89012"}},
		{"not after a word in the first half", "1 345678901", []string{"1 345678", "901"}},
		{"not within a pair", "1234567😀9", []string{"1234567", "😀9"}},
		{"nothing of nothing", "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Split(tc.text, 8)
			if strings.Join(got, "|") != strings.Join(tc.want, "|") {
				t.Errorf("split into %q, want %q", got, tc.want)
			}
		})
	}
}

func TestASentenceIsOne(t *testing.T) {
	for in, want := range map[string]string{
		"": "", " ": "", "the gateway is stopping": "The gateway is stopping. ", "really?": "Really? ", "é": "É. ",
	} {
		if got := sentence(in); got != want {
			t.Errorf("sentence(%q) is %q, want %q", in, got, want)
		}
	}
}
