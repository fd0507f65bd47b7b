package media

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCV9_ANameIsFitForAFolderAndAShell(t *testing.T) {
	for name, want := range map[string]string{
		"report.pdf":                      "report.pdf",
		"Übersicht 2026.xlsx":             "Übersicht_2026.xlsx",
		"../../.ssh/authorized_keys":      "authorized_keys",
		`C:\Users\me\notes.txt`:           "notes.txt",
		"/etc/passwd":                     "passwd",
		".bashrc":                         "bashrc",
		"--delete":                        "delete",
		"$(rm -rf ~).txt":                 "__rm_-rf___.txt",
		"a\nb\x1b[31m.txt":                "ab_31m.txt",
		"photo\u202egpj.exe":              "photogpj.exe",
		"..":                              "fallback",
		"":                                "fallback",
		"???":                             "fallback",
		"\xff\xfe":                        "fallback",
		strings.Repeat("x", 300) + ".tar": strings.Repeat("x", 96) + ".tar",
	} {
		if got := fileName(name, "fallback"); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
	if got := numbered("a.tar.gz", 2); got != "a.tar-2.gz" {
		t.Errorf("the second one is %q", got)
	}
}

func FuzzFileName(f *testing.F) {
	for _, name := range []string{"a.txt", "../x", ".x", "\xff", "é.é", "a/", strings.Repeat("é", 200) + ".é"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := fileName(name, "fallback")
		if got == "" || got != filepath.Base(got) || len(got) > maxName || !utf8.ValidString(got) || strings.ContainsAny(got[:1], ".-+=@") ||
			strings.ContainsAny(got, " \t\n\x00\x1b'\"`$&;|<>()*?[]{}!#~\\/:%^,") {
			t.Errorf("%q becomes %q", name, got)
		}
		if again := fileName(got, "fallback"); again != got {
			t.Errorf("%q becomes %q, and that %q", name, got, again)
		}
	})
}
