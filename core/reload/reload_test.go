package reload

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/config"
	"gatewaytui/core/ops"
)

// load is the config of a file with this content.
func load(t *testing.T, content string) *config.Loaded {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := config.Load(config.Options{Path: path, Environ: []string{}})
	if err != nil {
		t.Fatalf("load %q: %v", content, err)
	}
	return &l
}

func TestOP4_EveryKeyHasAClass(t *testing.T) {
	for form, k := range classes {
		if k == unclassed {
			t.Errorf("%s has no class: say in classes.go when a change of it holds", form)
		}
	}
	for _, r := range rows {
		for form := range strings.FieldsSeq(r.keys) {
			if _, is := classes[form]; !is {
				t.Errorf("%s has a class, and the config has no such key", form)
			}
		}
	}
}

func TestOP4_AChangeHasTheClassOfWhatItDoes(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		want                []string // class, space, change
	}{
		{"nothing", "", "", nil},
		{"a comment", "# one", "# two", nil},
		{"the level of the log", "", "[log]\nlevel = \"debug\"", []string{`now log.level: "info" → "debug"`}},
		{"a further model and the agent that uses it", "", "[models.fast]\nmax_output = 9\n[agent]\nmodels = [\"fast\"]", []string{
			`now agent.models: ["default"] → ["fast"]`, "now models.fast: new", "now models.fast.max_output: 0 → 9",
		}},
		{"another endpoint", "[model]\nprovider = \"openai\"\nname = \"a\"\nbase_url = \"http://127.0.0.1:1/v1\"", "[model]\nprovider = \"openai\"\nname = \"b\"\nbase_url = \"http://127.0.0.1:2/v1\"", []string{
			`security model.base_url: "http://127.0.0.1:1/v1" → "http://127.0.0.1:2/v1"`, `now model.name: "a" → "b"`,
		}},
		{"a person more", "[adapters.telegram]\nallow = [1]", "[adapters.telegram]\nallow = [1, 2]", []string{"security adapters.telegram.allow: [1] → [1, 2]"}},
		{"a person fewer", "[adapters.telegram]\nallow = [1, 2]", "[adapters.telegram]\nallow = [2]", []string{"now adapters.telegram.allow: [1, 2] → [2]"}},
		{"a budget that rises", "[budgets.default]\nper_day = 2.0", "[budgets.default]\nper_day = 3.0", []string{"security budgets.default.per_day: 2.0 → 3.0"}},
		{"a budget that falls", "[budgets.default]\nper_day = 2.0", "[budgets.default]\nper_day = 1.5", []string{"now budgets.default.per_day: 2.0 → 1.5"}},
		{"a budget without a limit", "[budgets.default]\nper_day = 2.0", "[budgets.default]\nper_day = 0.0", []string{"security budgets.default.per_day: 2.0 → 0.0"}},
		{"a budget that returns to its default", "[budgets.default]\nper_day = 2.0", "", []string{"security budgets.default: removed", "security budgets.default.per_day: 2.0 → 10.0"}},
		{"approvals off", "", "[agent]\napprovals = \"off\"", []string{`security agent.approvals: "fence" → "off"`}},
		{"a rule that never runs is gone", "[approvals]\nnever = [\"git push\"]", "", []string{`security approvals.never: ["git push"] → []`}},
		{"a rule more that never runs", "", "[approvals]\nnever = [\"git push\"]", []string{`now approvals.never: [] → ["git push"]`}},
		{"the address of the API", "", "[adapters.api]\nlisten = \"127.0.0.1:9999\"", []string{`restart adapters.api.listen: "127.0.0.1:8642" → "127.0.0.1:9999"`}},
		{"a name of a variable with a key", "", "[model]\napi_key_env = \"OTHER\"", []string{"security model.api_key_env: (not shown) → (not shown)"}},
		{"a route", "", "[[routes]]\nmatch = \"api:*\"", []string{"security routes[1]: new", `security routes[1].match: "" → "api:*"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, change := range Compare(load(t, c.before), load(t, c.after)).Changes {
				got = append(got, string(change.Class)+" "+change.String())
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("the changes are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// Of every key that the contract names as one that loosens security, no change is applied by config.watch.
func TestOP4_WhatTheContractNamesAsLooseningIsNeverFree(t *testing.T) {
	for form, k := range classes {
		for _, name := range []string{"approvals", "allow_all", "strangers", "key_env", "listen", "environment", "may_stop", "env_pass", "owners", "allow", "base_url"} {
			if (form == name || strings.HasSuffix(form, "."+name)) && k == free {
				t.Errorf("%s is applied by config.watch", form)
			}
		}
	}
}

func TestOP4_WhatNeedsARestartStaysAsItIs(t *testing.T) {
	before := load(t, "[adapters.api]\nlisten = \"127.0.0.1:1\"\n[log]\nlevel = \"warn\"")
	p := Compare(before, load(t, "[adapters.api]\nlisten = \"127.0.0.1:2\"\n[log]\nlevel = \"debug\""))
	if got := p.Next.Config; got.Adapters.API.Listen != "127.0.0.1:1" || got.Log.Level != "debug" {
		t.Errorf("in force would be %q and %q", got.Adapters.API.Listen, got.Log.Level)
	}
	if again := Compare(&p.Next, load(t, "[adapters.api]\nlisten = \"127.0.0.1:2\"\n[log]\nlevel = \"debug\"")); again.Applies() || len(again.Changes) != 1 {
		t.Errorf("after the reload the changes are %v, want the restart alone", again.Changes)
	}
	if before.Config.Log.Level != "warn" {
		t.Error("the config in force was changed")
	}
}

func TestOP4_AnotherPromptInTheSameFileIsAChange(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.toml")
	read := func(prompt string) *config.Loaded {
		for name, content := range map[string]string{"prompt.md": prompt, "config.toml": "[agent]\nprompt_file = \"prompt.md\""} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		l, err := config.Load(config.Options{Path: path, Environ: []string{}})
		if err != nil {
			t.Fatal(err)
		}
		return &l
	}
	changes := Compare(read("short"), read("longer")).Changes
	if len(changes) != 1 || changes[0].String() != "agent.prompt_file: a file of 5 bytes → a file of 6 bytes" || changes[0].Class != ops.ChangeSecurity {
		t.Errorf("the changes are %v", changes)
	}
}

// The page for operators has the same classes as the code.
func TestOP4_TheContractHasTheClassOfEveryKey(t *testing.T) {
	data, err := os.ReadFile("../CONTRACT.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		begins string
		of     func(kind) bool
	}{
		{"| needs a restart |", func(k kind) bool { return k == restarts }},
		{"| applied, never by `config.watch` |", func(k kind) bool { return k == secure }},
		{"| applied, not by `config.watch` if it may loosen something |", func(k kind) bool { return k != restarts && k != secure && k != free }},
	} {
		var want, got []string
		for line := range strings.Lines(string(data)) {
			row, is := strings.CutPrefix(line, c.begins)
			for i, part := range strings.Split(row, "`") {
				if is && i%2 == 1 {
					got = append(got, part)
				}
			}
		}
		for _, r := range rows {
			if c.of(r.kind) {
				want = append(want, strings.Fields(r.keys)...)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("the row %q should have\n`%s`\nand has\n`%s`", c.begins, strings.Join(want, "`, `"), strings.Join(got, "`, `"))
		}
	}
}
