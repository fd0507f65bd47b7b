package config

import (
	"strings"
	"testing"
)

func TestPL3_TheTableOfMatrixIsRead(t *testing.T) {
	const table = "[adapters.matrix]\nenabled = true\n"
	for _, tc := range []struct{ name, more, wrong string }{
		{"the table of the contract", "homeserver = \"https://matrix.example\"\nuser = \"@bot:matrix.example\"\ntoken_env = \"MATRIX_TOKEN\"\nallow = [\"@alice:matrix.example\"]\ngroups = [\"!abc:matrix.example\"]\n", ""},
		{"no homeserver", "", "adapters.matrix.homeserver must be the address"},
		{"a homeserver without a scheme", "homeserver = \"matrix.example\"\n", "adapters.matrix.homeserver"},
		{"a bot that is not an id", "homeserver = \"https://m.example\"\nuser = \"bot\"\n", "adapters.matrix.user must be a user id"},
		{"a person that is a number", "homeserver = \"https://m.example\"\nallow = [4711]\n", "adapters.matrix.allow must hold user ids"},
		{"a name of a room", "homeserver = \"https://m.example\"\ngroups = [\"#ops:m.example\"]\n", "adapters.matrix.groups must hold ids of rooms"},
		{"a home that is a room", "homeserver = \"https://m.example\"\nhome = \"!abc:m.example\"\n", ""},
		{"a home that is a name", "homeserver = \"https://m.example\"\nhome = \"#ops:m.example\"\n", "adapters.matrix.home must be the id of a chat"},
		{"no place for the token", "homeserver = \"https://m.example\"\ntoken_env = \"\"\n", "adapters.matrix.token_env must say where"},
	} {
		l, err := Load(Options{Path: write(t, table+tc.more), Environ: []string{}})
		switch {
		case tc.wrong == "" && err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.wrong != "" && (err == nil || !strings.Contains(err.Error(), tc.wrong)):
			t.Errorf("%s: it says %v, want %q", tc.name, err, tc.wrong)
		case tc.wrong == "" && !l.Config.Adapters.Matrix.Enabled:
			t.Errorf("%s: it is not enabled", tc.name)
		}
	}
}

func TestCV14_AHomeOnMatrixIsARoomAThreadOrAKey(t *testing.T) {
	for text, want := range map[string]Home{
		"!r:b.c":                                {"matrix:group:!r:b.c", "!r:b.c"},
		"!r:b.c/$root":                          {"matrix:group:!r:b.c:thread:$root", "!r:b.c/$root"},
		"matrix:group:!r:b.c":                   {"matrix:group:!r:b.c", "!r:b.c"},
		"matrix:group:!r:b.c:80:thread:$root":   {"matrix:group:!r:b.c:80:thread:$root", "!r:b.c:80/$root"},
		"matrix:group:!r:b.c:user:@a:b.c":       {"matrix:group:!r:b.c:user:@a:b.c", "!r:b.c"},
		"matrix:group:!r:b:thread:$x:user:@a:b": {"matrix:group:!r:b:thread:$x:user:@a:b", "!r:b/$x"},
		"matrix:dm:@a:b.c":                      {"matrix:dm:@a:b.c", ""},
		"#r:b.c":                                {}, "@a:b.c": {}, "matrix:group:x": {}, "matrix:dm:x": {}, "!r b:c": {}, "telegram:dm:4711": {}, "!r:b/../x": {},
	} {
		if got, is := matrixHome(text); got != want || is != (want != Home{}) {
			t.Errorf("%q is %+v, want %+v", text, got, want)
		}
	}
}
