package delivery

import (
	"strings"
	"testing"
)

func TestAPathIsNotACommand(t *testing.T) {
	for text, want := range map[string]string{
		"/new": "new", "  /New  ": "new", "/stop@bot now": "stop", "/help\nplease": "help",
		"/etc/hosts is broken": "", "/": "", "new": "", "/1": "", "see /new": "", "//new": "",
	} {
		if got, _, _ := ParseCommand(text); got != want {
			t.Errorf("%q is command %q, want %q", text, got, want)
		}
	}
}

func FuzzParseCommand(f *testing.F) {
	for _, seed := range []string{"/new", "/background do it", "/stop@bot", "/\x1b[31m", "text", "/a\nb c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, arg, is := ParseCommand(text)
		if !is {
			if name != "" || arg != "" {
				t.Fatalf("%q is not a command and has name %q, argument %q", text, name, arg)
			}
			return
		}
		if !strings.Contains(strings.ToLower(text), "/"+name) {
			t.Fatalf("%q is read as command %q", text, name)
		}
		for _, r := range name {
			if (r < 'a' || r > 'z') && r != '_' && r != '-' {
				t.Fatalf("%q is read as command %q, which holds %q", text, name, r)
			}
		}
	})
}
