package text

import (
	"path"
	"slices"
	"strings"
	"testing"
)

func TestATemplateIsFilledAndTheRestStays(t *testing.T) {
	const in = `{{date}} {{ chat }} {{other}} {{ "quoted" }} {date} {{`
	if got := Holes(in); !slices.Equal(got, []string{"date", "chat", "other"}) {
		t.Errorf("holes %q", got)
	}
	if got, want := Fill(in, map[string]string{"date": "{{chat}}", "chat": "c"}), `{{chat}} c {{other}} {{ "quoted" }} {date} {{`; got != want {
		t.Errorf("filled %q, want %q", got, want)
	}
}

func TestAPatternMatchesAsInAShell(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"telegram:dm:4711", "telegram:dm:4711", true},
		{"telegram:dm:4711", "telegram:dm:47110", false},
		{"telegram:*", "telegram:group:-100:topic:7", true},
		{"*", "", true},
		{"*:topic:?", "telegram:group:-100:topic:7", true},
		{"*:topic:?", "telegram:group:-100:topic:77", false},
		{"a*b*c", "aXbbYc", true},
		{"a*b*c", "aXcYb", false},
		{"api:user:?", "api:user:世", true},
		{"api:user:*?世", "api:user:é世", true},
		{"**", "x", true},
		{"?", "", false},
		{"[a]", "[a]", true},
	} {
		if got := Glob(c.pattern, c.name); got != c.want {
			t.Errorf("%q matches %q: %v, want %v", c.pattern, c.name, got, c.want)
		}
	}
}

func FuzzGlobIsThatOfTheLibraryWithoutItsFurtherSyntax(f *testing.F) {
	f.Add("a*b?c", "axxbyc")
	f.Add("*?*", "é")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if strings.ContainsAny(pattern, `[]\/`) || strings.Contains(name, "/") || len(pattern) > 50 || len(name) > 50 {
			return
		}
		if strings.ToValidUTF8(pattern, "") != pattern || strings.ToValidUTF8(name, "") != name {
			return
		}
		want, err := path.Match(pattern, name)
		if got := Glob(pattern, name); err == nil && got != want {
			t.Errorf("%q matches %q: %v, want %v", pattern, name, got, want)
		}
	})
}

func TestCV10_ARouteOfAGroupIsThatOfItsMembersAndOfTheGroupItself(t *testing.T) {
	for _, c := range []struct {
		pattern, key string
		want         bool
	}{
		{"telegram:group:-100:*", "telegram:group:-100:user:4711", true},
		{"telegram:group:-100:*", "telegram:group:-100", true},
		{"telegram:group:-100", "telegram:group:-100:user:4711", true},
		{"telegram:group:-100:topic:7", "telegram:group:-100:topic:7:user:4711", true},
		{"telegram:group:-100", "telegram:group:-100:topic:7", false},
		{"telegram:group:-10", "telegram:group:-100", false},
		{"telegram:dm:4?", "telegram:dm:4", false},
		{"api:*", "api:user:alice", true},
		{"api", "api:user:alice", false},
	} {
		if got := GlobKey(c.pattern, c.key); got != c.want {
			t.Errorf("%q matches %q: %v, want %v", c.pattern, c.key, got, c.want)
		}
	}
}
