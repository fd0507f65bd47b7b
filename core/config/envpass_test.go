package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// HF8: tools see the variables that the config names, not all but a few.
func TestHF8_ToolsSeeWhatTheConfigNames(t *testing.T) {
	const url = "https://user:password-of-a-proxy@proxy.example"
	for _, tc := range []struct {
		name, value string
		pass        []string
		want        bool
	}{
		{"PATH", "/bin", nil, true},
		{"LC_ALL", "C", nil, true},
		{"XDG_RUNTIME_DIR", "/run/user/1", nil, true},
		{"SSL_CERT_FILE", "/etc/ca", nil, true},
		{"https_proxy", url, nil, true}, // named exactly
		{"AWS_SECRET_ACCESS_KEY", "a", nil, false},
		{"GITHUB_TOKEN", "b", nil, false},
		{"DATABASE_URL", "c", nil, false},
		{"SSH_AUTH_SOCK", "/tmp/s", nil, false},
		{"EDITOR", "vi", nil, false},
		{"path", "/bin", nil, false},
		{"GATEWAYTUI_LOG_LEVEL", "debug", []string{"*"}, false},
		{"EDITOR", "vi", []string{"EDITOR"}, true},
		{"EDITOR", "vi", []string{"*"}, false},
		{"HARMLESS", "1", []string{"*"}, true},
		{"HARMLESS", "1", []string{"HARM"}, false},
		{"LD_PRELOAD", "x.so", []string{"*"}, false},
		{"LD_PRELOAD", "x.so", []string{"LD_PRELOAD"}, true},
		{"NODE_OPTIONS", "-r x", []string{"NODE_*"}, false},
		{"NODE_ENV", "test", []string{"NODE_*"}, true},
		{"GIT_CONFIG_KEY_0", "core.pager", []string{"GIT_*"}, false},
		{"GITHUB_TOKEN", "b", []string{"GITHUB_*"}, false},
		{"GITHUB_TOKEN", "b", []string{"GITHUB_TOKEN"}, true},
		{"DATABASE_URL", "postgres://u:secret-word@h/db", []string{"DATABASE_*"}, false},
		{"DATABASE_URL", "postgres://u:secret-word@h/db", []string{"DATABASE_URL"}, true},
		{"XDG_NOTE", "sk-0123456789abcdef0123", nil, false},
	} {
		tools := Default().Tools
		if tc.pass != nil {
			tools.EnvPass = tc.pass
		}
		if got := tools.Passes(tc.name, tc.value); got != tc.want {
			t.Errorf("%s=%s passes with %q: %v, want %v", tc.name, tc.value, tools.EnvPass, got, tc.want)
		}
	}
}

func TestEnvPassIsOfNames(t *testing.T) {
	for list, want := range map[string]string{
		`["LANG", "LC_*", "*", "LD_LIBRARY_PATH", "NODE_*"]`: "",
		`[]`:                 "",
		`["A=B"]`:            `must hold names of variables`,
		`["A*B"]`:            `must hold names of variables`,
		`[""]`:               `must hold names of variables`,
		`["GATEWAYTUI_*"]`:   `never passes to tools`,
		`["LD_*"]`:           `must name each variable of LD_* exactly, not "LD_*"`,
		`["LD_AUDI*"]`:       `exactly`,
		`["OPENAI_API_KEY"]`: `in which the config has a secret of the gateway`,
	} {
		_, err := load(t, "[tools]\nenv_pass = "+list+"\n")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", list, err, want)
		}
	}
}

// The warning of an upgrade names the variables that no longer pass, and no value.
func TestAnUpgradeNamesTheVariablesThatNoLongerPass(t *testing.T) {
	row := func(text string, env ...string) []Change {
		t.Helper()
		l, err := Load(Options{Path: write(t, text), Environ: env})
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(l.Changes(), func(c Change) bool { return c.Name != "tools_environment" })
	}
	env := []string{"PATH=/bin", "PWD=/", "GITHUB_TOKEN=canary", "EDITOR=canary", "OPENAI_API_KEY=canary"}
	got := row("", env...)
	if len(got) != 1 {
		t.Fatalf("%d changes, want one", len(got))
	}
	want := "tools no longer see these variables of the gateway's environment: EDITOR, GITHUB_TOKEN; name those that they need in tools.env_pass, or ignore this"
	if diff := cmp.Diff(want, got[0].Warning().Message); diff != "" {
		t.Errorf("the warning (-want +got):\n%s", diff)
	}
	if got := row("", "PATH=/bin"); len(got) > 0 {
		t.Errorf("nothing is withheld, and yet: %+v", got)
	}
	if got := row("[tools]\nenv_pass = []\n", env...); len(got) > 0 {
		t.Errorf("the config chose, and yet: %+v", got)
	}
	var many []string
	for i := range 30 {
		many = append(many, "V"+strings.Repeat("X", i)+"=1")
	}
	if got := row("", many...)[0].Warning().Message; !strings.Contains(got, " and 10 more; ") {
		t.Errorf("of 30 variables it says %q", got)
	}
}
