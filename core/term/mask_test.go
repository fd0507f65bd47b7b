package term

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pieces is what a Masker of r makes of text that is cut at random.
func pieces(t *rapid.T, r *Redactor, text string) string {
	m := r.Masker()
	var got strings.Builder
	for len(text) > 0 {
		n := rapid.IntRange(1, len(text)).Draw(t, "piece")
		got.Write(m.Next([]byte(text[:n])))
		text = text[n:]
	}
	got.Write(m.Rest())
	return got.String()
}

// HF23: a known value is masked however the text that has it is cut, and the rest of the text stays.
func TestHF23_AKnownValueIsMaskedWhereverTheTextIsCut(t *testing.T) {
	secrets := []string{"abababab-1", "abababab", "k\"ey <&> +value", "aaaaaaaa"}
	r := NewRedactor(append(secrets, "short")...)
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{
			"abababab-1", "abababab", "k\"ey <&> +value", `k\"ey <&> +value`, `k\"ey \u003c\u0026\u003e +value`, "k%22ey+%3C%26%3E+%2Bvalue",
			"aaaaaaaa", "a", "ab", "abababa", "short", "\n", "k\"e", "Wort für Wort ", "-1",
		})
		text := strings.Join(rapid.SliceOfN(word, 0, 12).Draw(t, "words"), "")
		whole := r.Mask(text)
		for _, s := range secrets {
			if strings.Contains(whole, s) {
				t.Fatalf("%q holds %q, of %q", whole, s, text)
			}
		}
		got := pieces(t, r, text)
		// An end that begins a secret is masked in a stream alone.
		if got != whole && !strings.HasSuffix(got, Mask) || len(got) > len(text)+len(text)*len(Mask)/MinMasked+len(Mask) {
			t.Fatalf("in pieces %q, whole %q, of %q", got, whole, text)
		}
	})
}

func TestMaskTouchesNothingElse(t *testing.T) {
	const text = "password=hunter2 short sk-0123456789abcdef0123 x\xffy"
	for name, r := range map[string]*Redactor{"without a redactor": nil, "without values": NewRedactor(), "with others": NewRedactor("short", "something else")} {
		if got := r.Mask(text); got != text {
			t.Errorf("%s: %q", name, got)
		}
		m := r.Masker()
		if got := string(m.Next([]byte(text))) + string(m.Rest()); got != text {
			t.Errorf("%s, in pieces: %q", name, got)
		}
	}
	if got := NewRedactor("12345678").Mask("a 12345678 b 1234567 c"); got != "a "+Mask+" b 1234567 c" {
		t.Errorf("got %q", got)
	}
}

func BenchmarkMask64KiB(b *testing.B) {
	text := strings.Repeat("a line of output of a build, with a k and an s in it\n", 64<<10/53)
	r := NewRedactor("sk-0123456789abcdef0123456789", "the-key-of-the-api-0123456789", "7123456789:AAE-0123456789012345678901234567890")
	for name, in := range map[string]string{"without a secret": text, "with one": text + "sk-0123456789abcdef0123456789"} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				if r.Mask(in) == "" {
					b.Fatal("nothing")
				}
			}
		})
	}
}
