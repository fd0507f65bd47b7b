package config

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEachRowOfTheChangedDefaultsNamesAKeyItsNewDefaultAndASchema(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range changes {
		if !regexp.MustCompile(`^[a-z][a-z0-9_]*$`).MatchString(c.Name) || seen[c.Name] {
			t.Errorf("%q: a name is unique and made of small letters, digits and underscores", c.Name)
		}
		seen[c.Name] = true
		if c.What != "" {
			if _, known := keyByName[c.Key]; !known || c.Old != "" || c.New != "" || c.More != nil || c.When == nil {
				t.Errorf("%s: a row with a sentence names a key (%s), has no two defaults (%s -> %s), and says when it holds", c.Name, c.Key, c.Old, c.New)
			}
			continue
		}
		for _, is := range append([]NewDefault{{c.Key, c.New}}, c.More...) {
			k, known := keyByName[is.Key]
			if !known {
				t.Errorf("%s: %q is not a config key", c.Name, is.Key)
				continue
			}
			d := Default()
			if now := literal(k.field(&d)); is.Value != now || c.Old == now {
				t.Errorf("%s: the row says %s: %s -> %s; the default is %s", c.Name, is.Key, c.Old, is.Value, now)
			}
		}
		if c.Schema < 5 {
			t.Errorf("%s: schema version %d belongs to the first edition", c.Name, c.Schema)
		}
	}
}

func TestAChangedDefaultIsInForceUnlessTheFileOrTheEnvironmentSetsItsKey(t *testing.T) {
	rows := []Change{
		{Name: "by_file", Key: "shutdown.drain_timeout"},
		{Name: "by_environment", Key: "shutdown.store_timeout"},
		{Name: "by_nothing", Key: "shutdown.agent_timeout"},
	}
	// Setting a key to its default is a choice too.
	l, err := load(t, "[shutdown]\ndrain_timeout = \"60s\"\n", "GATEWAYTUI_SHUTDOWN_STORE_TIMEOUT=9s")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rows[2:], l.unset(rows)); diff != "" {
		t.Errorf("changes in force (-want +got):\n%s", diff)
	}
}

func TestDefaultsThatChangedTogetherAreOneWarningWithoutTheKeysThatAreSet(t *testing.T) {
	rows := []Change{{Name: "limits", Key: "limits.turns", Old: "none", New: "512", More: []NewDefault{{"limits.background", "8"}, {"limits.processes", "64"}}}}
	for _, tc := range []struct{ name, file, want string }{
		{"none is set", "", "defaults that were none changed: limits.turns = 512, limits.background = 8, and limits.processes = 64; set them in the config to choose, or ignore this to use the new defaults"},
		{"the first is set", "turns = 9", "defaults that were none changed: limits.background = 8 and limits.processes = 64; set them in the config to choose, or ignore this to use the new defaults"},
		{"one is left", "turns = 9\nbackground = 3", "the default of limits.processes changed from none to 64; set limits.processes in the config to choose, or ignore this to use the new default"},
		{"all are set", "turns = 9\nbackground = 3\nprocesses = 4", ""},
	} {
		l, err := load(t, "[limits]\n"+tc.file+"\n")
		if err != nil {
			t.Fatal(err)
		}
		var got string
		for _, c := range l.unset(rows) {
			got += c.Warning().Message
		}
		if got != tc.want {
			t.Errorf("%s: the warning is %q, want %q", tc.name, got, tc.want)
		}
	}
	if rows[0].Key != "limits.turns" || len(rows[0].More) != 2 {
		t.Errorf("the row itself was changed: %+v", rows[0])
	}
}

func TestHF1_AnAPIWithoutAKeyGetsAWarningThatItChecksTheUIDNow(t *testing.T) {
	for _, tt := range []struct {
		name, config string
		warned       bool
	}{
		{"no config", "", true},
		{"an empty key", "[adapters.api]\nkey_env = \"\"\n", true},
		{"a key", "[adapters.api]\nkey_env = \"API_KEY\"\n", false},
		{"a key in a file", "[adapters.api]\nkey_file = \"/run/key\"\n", false},
		{"no api", "[adapters.api]\nenabled = false\n", false},
	} {
		l, err := load(t, tt.config)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		warned := false
		for _, c := range l.Changes() {
			if w := c.Warning(); w.Code == "upgrade.api_callers" {
				warned = strings.Contains(w.Message, "api.key") && strings.Contains(w.Message, "adapters.api.key_env")
			}
		}
		if warned != tt.warned {
			t.Errorf("%s: warned %t, want %t", tt.name, warned, tt.warned)
		}
	}
}
