package model

import (
	"strings"
	"testing"

	"gatewaytui/fixtures"
)

func parse(t *testing.T, text string) *Script {
	t.Helper()
	s, err := ParseScript([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEveryEmbeddedScriptParses(t *testing.T) {
	for _, name := range fixtures.Scripts() {
		text, err := fixtures.Script(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseScript(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAWrongScriptIsRefusedWithItsLine(t *testing.T) {
	for name, tt := range map[string]struct{ script, says string }{
		"no rules":                      {"", "no [[rule]]"},
		"no TOML":                       {"[[rule]]\nreply = \n", "line 2"},
		"an unknown key":                {"[[rule]]\nreply = 'x'\nrepyl = 'y'\n", `line 3, column 1: unknown key "rule.repyl"`},
		"an unknown key of a call":      {"[[rule]]\ncall = [{ tool = 't', argument = {} }]\n", `line 2`},
		"a broken regexp":               {"\n[[rule]]\nmatch = '('\nreply = 'x'\n", "line 3"},
		"a broken duration":             {"[[rule]]\nreply = 'x'\ndelay = '5'\n", "line 3"},
		"a negative duration":           {"[[rule]]\nreply = 'x'\npace = '-5s'\n", "line 3"},
		"a wedge too long":              {"[[rule]]\nreply = 'x'\nwedge = '11m'\n", "at most 10m"},
		"an unknown word":               {"[[rule]]\nreply = '{{results}}'\n", "line 2"},
		"an unknown group":              {"[[rule]]\nmatch = '(a)'\nreply = '$2'\n", "line 1: rule 1: $2 is not a group"},
		"an unknown group of a call":    {"[[rule]]\nmatch = 'a'\ncall = [{ tool = 't', arguments = { a = ['${x}'] } }]\n", "$x is not a group"},
		"a rule after one for all":      {"[[rule]]\nreply = 'x'\n\n[[rule]]\nreply = 'y'\n", "line 1: rule 1: it has no match"},
		"a rule that does nothing":      {"[[rule]]\nmatch = 'a'\nreply = 'x'\n# second\n[[rule]]\nmatch = 'b'\n", "line 5: rule 2: it has none of reply"},
		"a call without a tool":         {"[[rule]]\ncall = [{ arguments = {} }]\n", "names no tool"},
		"a step that is never played":   {"[[rule]]\nreply = 'x'\nthen = [{ reply = 'y' }]\n", "never played"},
		"an error that is not a status": {"[[rule]]\nerror = { status = 200 }\n", "error.status is 200"},
		"an error with nothing after":   {"[[rule]]\nerror = { status = 500, times = 2 }\n", "nothing says what comes after"},
		"a negative count":              {"[[rule]]\nreply = 'x'\nerror = { status = 500, times = -1 }\n", "error.times is -1"},
		"a negative chunk":              {"[[rule]]\nreply = 'x'\nchunk = -1\n", "chunk is -1"},
		"more than a megabyte":          {strings.Repeat("#", maxScript+1), "longer than 1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseScript([]byte(tt.script))
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want one that says %q", err, tt.says)
			}
		})
	}
}
