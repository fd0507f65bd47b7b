package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatewaytui/core/config"
	"gatewaytui/core/ops"
)

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestJ15_ConfigCheckSaysWhereAndWhatIsNearest(t *testing.T) {
	path := writeConfig(t, "[shutdown]\ndrain_timeout = \"60s\"\n  drain_timeot = \"5s\"\n")
	check := func(args ...string) result {
		return invocation{}.run(t, t.Context(), append([]string{"config", "check", "--config", path}, args...)...)
	}
	check().must(t, ops.ExitConfig).says(t, path+":3:3: ", "drain_timeot", "did you mean shutdown.drain_timeout?", "gatewaytui config example")
	var got configVerdict
	decodeLine(t, check("--json").must(t, ops.ExitConfig).out, &got)
	if got.Valid || got.Source != path || got.Line != 3 || got.Column != 3 || got.Nearest != "shutdown.drain_timeout" || got.Message == "" {
		t.Errorf("the JSON says %+v", got)
	}
}

func TestConfigCheckShowsWarningsAndWhereEachValueIsFrom(t *testing.T) {
	t.Setenv("GATEWAYTUI_SHUTDOWN_ADAPTER_TIMEOUT", "2s")
	t.Setenv("GATEWAYTUI_SHUTDOWN_ADAPTER_TIMOUT", "3s")
	path := writeConfig(t, "[agent]\ncache_size = 7\n")
	check := func(args ...string) result {
		return invocation{}.run(t, t.Context(), append([]string{"config", "check", "--config", path}, args...)...).must(t, exitDone)
	}
	check().says(t, path+" is valid", "warning: unknown environment variable GATEWAYTUI_SHUTDOWN_ADAPTER_TIMOUT")
	check("--values").says(t, "agent.cache_size", "7", path+":2", "shutdown.adapter_timeout", `"2s"`, "GATEWAYTUI_SHUTDOWN_ADAPTER_TIMEOUT", "default")
	var got configVerdict
	decodeLine(t, check("--json", "--values").out, &got)
	if !got.Valid || len(got.Warnings) != 1 || len(got.Values) < 30 {
		t.Errorf("the JSON says %+v", got)
	}
}

// HF18: a config that is valid and dangerous was valid without a word.
func TestHF18_ConfigCheckPointsToDoctorWhereSomethingIsDangerous(t *testing.T) {
	check := func(text string) result {
		return invocation{}.run(t, t.Context(), "config", "check", "--config", writeConfig(t, text)).must(t, exitDone)
	}
	const hint = "gatewaytui doctor says what is dangerous"
	check("[model]\nprovider = \"openai\"\nname = \"m\"\nbase_url = \"http://models.internal/v1\"\n").says(t, "is valid", "dangerous settings: 1", hint)
	for _, quiet := range []string{"", "[process]\nguardian = false\n"} {
		if r := check(quiet); strings.Contains(r.out+r.err, hint) {
			t.Errorf("with the config %q it says\n%s", quiet, r.out)
		}
	}
}

func TestTheExampleConfigIsValid(t *testing.T) {
	r := invocation{}.run(t, t.Context(), "config", "example").must(t, exitDone)
	if r.out != config.Example() {
		t.Errorf("it is not the example:\n%s", r.out)
	}
	invocation{}.run(t, t.Context(), "config", "check", "--config", writeConfig(t, r.out)).must(t, exitDone).says(t, "is valid")
	var got struct{ Example string }
	decodeLine(t, invocation{}.run(t, t.Context(), "config", "example", "--json").must(t, exitDone).out, &got)
	if got.Example != r.out {
		t.Errorf("the JSON has another example:\n%s", got.Example)
	}
}

func TestVersion(t *testing.T) {
	r := invocation{}.run(t, t.Context(), "version").must(t, exitDone).says(t, "gatewaytui ", ", commit ", ", go1.")
	if flag := (invocation{}).run(t, t.Context(), "--version").must(t, exitDone); flag.out != r.out {
		t.Errorf("--version says %q, version %q", flag.out, r.out)
	}
	var got buildInfo
	decodeLine(t, invocation{}.run(t, t.Context(), "version", "--json").must(t, exitDone).out, &got)
	if got != versionInfo() {
		t.Errorf("the JSON says %+v", got)
	}
}
