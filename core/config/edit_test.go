package config

import (
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

func TestAnEditKeepsEverythingThatItDoesNotName(t *testing.T) {
	text := `# mine
[model] # the model
provider = "openai"   # as it is
base_url = "http://old/v1" # old
"name" = 'x'

[budgets.default]
per_day = 5

[adapters]
telegram.enabled = false
discord = { enabled = false }

[[routes]]
match = "a:*"
chat.join = "1s"

[models.big]
provider = "openai"
name = """
big"""
base_url = "http://x/v1"
`
	for _, tc := range []struct {
		name     string
		change   Setting
		from, to string
	}{
		{"a value is replaced, its comment stays", Setting{[]string{"model", "base_url"}, "http://new/v1"}, `"http://old/v1" # old`, `"http://new/v1" # old`},
		{"a quoted key is found", Setting{[]string{"model", "name"}, "y"}, `"name" = 'x'`, `"name" = "y"`},
		{"a key is added behind the last one of its table", Setting{[]string{"model", "vision"}, true}, "'x'\n", "'x'\nvision = true\n"},
		{"a number is replaced", Setting{[]string{"budgets", "default", "per_day"}, 2.5}, "per_day = 5", "per_day = 2.5"},
		{"a dotted key stays one", Setting{[]string{"adapters", "telegram", "allow"}, []int64{4711}}, "telegram.enabled = false\n", "telegram.enabled = false\ntelegram.allow = [4711]\n"},
		{"a key of an inline table is replaced", Setting{[]string{"adapters", "discord", "enabled"}, true}, "discord = { enabled = false }", "discord = { enabled = true }"},
		{"a key is added to an inline table", Setting{[]string{"adapters", "discord", "home"}, "1"}, "{ enabled", `{ home = "1", enabled`},
		{"a value of several lines is replaced", Setting{[]string{"models", "big", "name"}, "huge"}, "\"\"\"\nbig\"\"\"", `"huge"`},
		{"a table is added", Setting{[]string{"access", "owners"}, []string{"telegram:1"}}, "http://x/v1\"\n", "http://x/v1\"\n\n[access]\nowners = [\"telegram:1\"]\n"},
		{"a name with a sign is quoted", Setting{[]string{"models", "a.b", "name"}, "z"}, "http://x/v1\"\n", "http://x/v1\"\n\n[models.\"a.b\"]\nname = \"z\"\n"},
	} {
		got, err := Edit([]byte(text), []Setting{tc.change})
		if want := strings.Replace(text, tc.from, tc.to, 1); err != nil || string(got) != want || want == text {
			t.Errorf("%s: %v\n%s", tc.name, err, got)
		}
	}
}

func TestAnEditBeginsAFile(t *testing.T) {
	got, err := Edit(nil, []Setting{{[]string{"model", "provider"}, "openai"}, {[]string{"model", "name"}, "a"}, {[]string{"adapters", "telegram", "enabled"}, true}})
	want := "[model]\nprovider = \"openai\"\nname = \"a\"\n\n[adapters.telegram]\nenabled = true\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
	again, err := Edit(got, []Setting{{[]string{"model", "name"}, "a"}})
	if err != nil || string(again) != want {
		t.Errorf("the same value again changes the file: %v\n%s", err, again)
	}
}

func TestAnEditThatCannotBeMadeChangesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		text   string
		change Setting
	}{
		"the text is not TOML":          {"[model", Setting{[]string{"model", "name"}, "x"}},
		"the table is a value":          {"model = 1", Setting{[]string{"model", "name"}, "x"}},
		"the key is a table":            {"[model.name]\nx = 1", Setting{[]string{"model", "name"}, "x"}},
		"the value has a line break":    {"", Setting{[]string{"model", "name"}, "x\ny"}},
		"the key is not in a table":     {"", Setting{[]string{"model"}, "x"}},
		"the table is a list of tables": {"[[routes]]\nmatch = \"x\"", Setting{[]string{"routes", "match"}, "x"}},
	} {
		if got, err := Edit([]byte(tc.text), []Setting{tc.change}); err == nil {
			t.Errorf("%s: it became %q", name, got)
		}
	}
}

func FuzzEdit(f *testing.F) {
	for _, s := range []string{Example(), "", "[model]\nname='''a''''\n", "model={name=\"x\"}", "a.b=[1,\n#]\n2]\r\n[model]", "[[model]]\n[model.x]\ny=1"} {
		f.Add(s)
	}
	change := Setting{[]string{"model", "name"}, "fuzzed"}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Edit([]byte(text), []Setting{change})
		if err != nil {
			return
		}
		if Lookup(got, change.Path...) != change.Value {
			t.Fatalf("the change is not there:\n%s", got)
		}
		var before, after map[string]any
		if toml.Unmarshal([]byte(text), &before) != nil || toml.Unmarshal(got, &after) != nil || len(after) < len(before) {
			t.Fatalf("a key is lost:\n%s", got)
		}
	})
}
