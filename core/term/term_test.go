package term

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestI4_Clean is the payload table of I4: each is shown, none acts.
func TestI4_Clean(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain text is unchanged", "hello, world", "hello, world"},
		{"letters of any script are unchanged", "Grüße 日本語 한국어 עברית", "Grüße 日本語 한국어 עברית"},
		{"an emoji is unchanged", "ok 👍", "ok 👍"},
		{"a colour is shown as text", "\x1b[31mred", "␛[31mred"},
		{"a clipboard write is shown as text", "\x1b]52;c;cm0gLXJm\x07", "␛]52;c;cm0gLXJm\uFFFD"},
		{"an unterminated title swallows nothing", "\x1b]0;title and the rest", "␛]0;title and the rest"},
		{"newlines stay in the line", "a\nb\r\nc", "a⏎b␍⏎c"},
		{"a tab is a space", "a\tb", "a b"},
		{"other C0 controls are replaced", "a\x00b\x08c\x0bd\x0ce\x0ef", "a\uFFFDb\uFFFDc\uFFFDd\uFFFDe\uFFFDf"},
		{"DEL is replaced", "a\x7fb", "a\uFFFDb"},
		{"C1 in UTF-8 is replaced", "a\u009b31mb\u009dc\u0085d", "a\uFFFD31mb\uFFFDc\uFFFDd"},
		{"a raw C1 byte is broken UTF-8", "a\x9bb", "a\uFFFDb"},
		{"private use is replaced", "a\ue000b\U000f0000c", "a\uFFFDb\uFFFDc"},
		{"bidi controls are dropped", "a\u202eb\u2066c\u200fd", "abcd"},
		{"zero-width and tag characters are dropped", "a\u200b\u200d\ufeff\u00ad\U000e0041b", "ab"},
		{"line and paragraph separators are dropped", "a\u2028b\u2029c", "abc"},
		{"variation selectors and the keycap are dropped", "0\ufe0f\u20e3 \U000e0100x", "0 x"},
		{"a base keeps four combining marks", "e" + strings.Repeat("\u0301", 9) + "x", "e" + strings.Repeat("\u0301", 4) + "x"},
		{"dropped characters do not renew the marks", "e" + strings.Repeat("\u0301\u200d", 9), "e" + strings.Repeat("\u0301", 4)},
		{"broken UTF-8 is replaced byte by byte", "a\xff\xc3(", "a\uFFFD\uFFFD("},
		{"a U+FFFD that stood there stays", "a\uFFFDb", "a\uFFFDb"},
		{"the empty string stays empty", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Clean(c.in, 0); got != c.want {
				t.Errorf("Clean(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestCleanIsBounded(t *testing.T) {
	for _, c := range []struct {
		name string
		in   string
		max  int
		want string
	}{
		{"what fits is whole", "abcd", 4, "abcd"},
		{"the ellipsis counts", "abcde", 4, "abc…"},
		{"one rune is the ellipsis", "abcde", 1, "…"},
		{"runes are counted, not bytes", "日本語テキスト", 4, "日本語…"},
		{"what fits of other scripts is whole", "日本語", 3, "日本語"},
		{"what is dropped does not count", "ab\u200b\u200b\u200bcd", 4, "abcd"},
		{"what is replaced counts once", "\x1b\x1b\x1b\x1b\x1b", 3, "␛␛…"},
		{"a negative bound is no bound", "abcde", -1, "abcde"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Clean(c.in, c.max); got != c.want {
				t.Errorf("Clean(%q, %d) = %q, want %q", c.in, c.max, got, c.want)
			}
		})
	}
}

func TestStripSGR(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"text without escapes is unchanged", "plain", "plain"},
		{"colours go", "\x1b[1;31merr\x1b[0m: no", "err: no"},
		{"an empty reset goes", "a\x1b[mb", "ab"},
		{"colon parameters go", "\x1b[38:2::1:2:3mx", "x"},
		{"a cursor movement stays for Clean", "a\x1b[2Jb", "a\x1b[2Jb"},
		{"a cut sequence stays for Clean", "a\x1b[31", "a\x1b[31"},
		{"an escape at the end stays for Clean", "a\x1b", "a\x1b"},
		{"other sequences do not hide later colours", "\x1b]0;t\x07\x1b[1mb", "\x1b]0;t\x07b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := StripSGR(c.in); got != c.want {
				t.Errorf("StripSGR(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestCleanOfCleanTextDoesNotAllocate(t *testing.T) {
	for _, s := range []string{"a plain line of a log", "eine Zeile über Äpfel, 日本語"} {
		if n := testing.AllocsPerRun(100, func() { Clean(s, 80) }); n != 0 {
			t.Errorf("Clean(%q) allocates %v times, want 0", s, n)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{
		"plain", "\x1b]52;c;x\x07", "0\ufe0f00000", "e\u0301\u0301\u0301\u0301\u0301\u0301", "\u202e\u2028\xff\u009b", "日本語…",
	} {
		f.Add(s, 4)
		f.Add(s, 0)
	}
	f.Fuzz(func(t *testing.T, s string, max int) {
		got := Clean(s, max)
		if !utf8.ValidString(got) {
			t.Fatalf("Clean(%q, %d) = %q is not UTF-8", s, max, got)
		}
		marks := 0
		for _, r := range got {
			if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, unicode.Variation_Selector) || r == 0x20e3 {
				t.Fatalf("Clean(%q, %d) = %q contains %U", s, max, got, r)
			}
			if marks++; !unicode.Is(unicode.M, r) {
				marks = 0
			}
			if marks > maxMarks {
				t.Fatalf("Clean(%q, %d) = %q has over %d marks on a base", s, max, got, maxMarks)
			}
		}
		if n := utf8.RuneCountInString(got); max > 0 && n > max {
			t.Fatalf("Clean(%q, %d) = %q has %d runes", s, max, got, n)
		}
		if again := Clean(got, max); again != got {
			t.Fatalf("Clean(%q, %d) = %q, cleaned again %q", s, max, got, again)
		}
		if stripped := StripSGR(s); len(stripped) > len(s) {
			t.Fatalf("StripSGR(%q) = %q is longer", s, stripped)
		}
	})
}

func BenchmarkClean(b *testing.B) {
	for _, c := range []struct{ name, in string }{
		{"ascii", strings.Repeat("a line of a log ", 5)},
		{"letters", strings.Repeat("eine Größe 日本 ", 5)},
		{"hostile", strings.Repeat("\x1b[31m\u202ex\u009b", 10)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.in)))
			b.ReportAllocs()
			for b.Loop() {
				Clean(c.in, 200)
			}
		})
	}
}
