package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// faults are the places and messages of all that is wrong with a text, and an environment.
func faults(t *testing.T, text string, environ ...string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(Options{Path: path, Environ: append([]string{"HOME=/nonexistent"}, environ...)})
	if err == nil {
		return nil
	}
	all, ok := errors.AsType[Errors](err)
	if !ok {
		t.Fatalf("the error is a %T, want Errors", err)
	}
	var list []string
	for _, e := range all {
		at := fmt.Sprintf("%d:%d", e.Line, e.Column)
		if e.Variable != "" {
			at = e.Variable
		}
		list = append(list, at+" "+e.Key+" "+e.Nearest)
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != len(all) {
		t.Errorf("%d errors have %d lines", len(all), len(lines))
	}
	return list
}

// TF26: a user sees all errors of a file at once.
func TestEveryErrorOfAConfigIsReportedAtOnce(t *testing.T) {
	for _, c := range []struct {
		name, text string
		environ    []string
		want       []string
	}{
		{"six mistakes of six kinds", `[shutdown]
drain_timeot = "60s"
store_timeout = 3
[agent]
cache_size = 0
[agnt]
cache_size = 7
[log]
level = "loud"
level = "info"
`, nil, []string{"2:1 shutdown.drain_timeot shutdown.drain_timeout", "3:1 shutdown.store_timeout ", "5:1 agent.cache_size ", "6:2 agnt agent", "9:1 log.level ", "10:1 log.level "}},
		{"an unknown table is one error, with any content", "[agnt]\na = 1\nb = 2\n[agnt.c]\nd = 1\n", nil, []string{"1:2 agnt agent"}},
		{"a value that is used as a table is one error", "[agent.cache_size]\na = 1\nb = 2\n", nil, []string{"1:2 agent.cache_size "}},
		{"what is not TOML hides nothing below it", "[agent]\ncache_size = = 7\nmax_iterations = -1\n[log]\nlevel = 3\n", nil, []string{"2:14  ", "3:1 agent.max_iterations ", "5:1 log.level "}},
		{"a broken header takes its keys with it", "[agent\ncache_size = 7\n[log]\nlevel = 3\n", nil, []string{"1:7  ", "4:1 log.level "}},
		{
			"the environment comes after the file", "[agent]\ncache_size = 0\n",
			[]string{"GATEWAYTUI_LOG_LEVEL=loud", "GATEWAYTUI_SHUTDOWN_DRAIN_TIMEOUT=soon", "GATEWAYTUI_AGENT_MAX_ITERATIONS=many"},
			[]string{"2:1 agent.cache_size ", "GATEWAYTUI_AGENT_MAX_ITERATIONS agent.max_iterations ", "GATEWAYTUI_SHUTDOWN_DRAIN_TIMEOUT shutdown.drain_timeout ", "GATEWAYTUI_LOG_LEVEL log.level "},
		},
		{"an openai model lacks two keys", "[model]\nprovider = \"openai\"\n", nil, []string{"2:1 model.base_url ", "2:1 model.name "}},
		{"a value that is not taken breaks no further rule", "[agent]\nstall_warn = \"long\"\nstall_after = \"1s\"\n", nil, []string{"2:1 agent.stall_warn "}},
		{"a file without an error", "[agent]\ncache_size = 7\n", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := faults(t, c.text, c.environ...); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
	if got := faults(t, strings.Repeat("x", 3)+" = 1\n"+strings.Repeat("[", 10_000)); len(got) == 0 || len(got) > maxErrors {
		t.Errorf("a hostile file has %d errors", len(got))
	}
}

func TestALoadedConfigKnowsWhetherItsFileHasChanged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "gatewaytui", "config.toml")
	environ := []string{"XDG_CONFIG_HOME=" + dir}
	changed := func(l Loaded) bool {
		t.Helper()
		digest, err := l.Look()
		if err != nil {
			t.Fatal(err)
		}
		return digest != l.Digest()
	}
	none, err := Load(Options{Environ: environ})
	if err != nil || none.Path != "" || changed(none) {
		t.Fatalf("without a file: %q, %v", none.Path, err)
	}
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("[log]\nlevel = \"info\"\n")
	if !changed(none) {
		t.Error("a new file was not reported as a change")
	}
	l, err := Load(Options{Environ: environ})
	if err != nil || l.Path != path || l.At.IsZero() || changed(l) {
		t.Fatalf("with a file: %q at %s, %v", l.Path, l.At, err)
	}
	put("[log]\nlevel = \"warn\"\n")
	if !changed(l) {
		t.Error("new content of the same length was not reported as a change")
	}
	put("[log]\nlevel = \"info\"\n")
	if changed(l) {
		t.Error("the same content again is a change")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if digest, err := l.Look(); err == nil && digest == l.Digest() {
		t.Error("a removed file was not reported as a change")
	}
}
