package conversation

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"gatewaytui/core/session"
	"gatewaytui/core/term"
)

// CV13: a conversation is named by the first words of its first message.
func TestCV13_ATitleIsTheFirstWordsOfAMessage(t *testing.T) {
	for text, want := range map[string]string{
		"hello":                          "hello",
		"  plan\n\nour \t holidays \r\n": "plan our holidays",
		"please look at the logs of the web server, and tell me why it fails": "please look at the logs of the web server, and…",
		strings.Repeat("天气", 40):                                              strings.Repeat("天气", 23) + "天…",
		"\x1b]0;x\x07\x1b[31mred":                                             "␛]0;x�␛[31mred",
		"":                                                                    "",
		" \n ":                                                                "",
		"my key is sk-proj-" + strings.Repeat("a1B2", 12): "",
	} {
		got := firstWords(text)
		if strings.Contains(text, "sk-") {
			if strings.Contains(got, "a1B2") {
				t.Errorf("%q has a secret", got)
			}
			continue
		}
		if got != want {
			t.Errorf("%q is named %q, want %q", text, got, want)
		}
	}
}

func TestATitleOfAnyTextIsShortAndClean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		title := firstWords(rapid.String().Draw(t, "text"))
		if n := utf8.RuneCountInString(title); n > madeTitle || len(title) > session.MaxTitle || term.Clean(title, 0) != title {
			t.Fatalf("the title %q has %d characters, %d bytes", title, n, len(title))
		}
	})
}
