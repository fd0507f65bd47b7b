package config

import (
	"regexp"
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
		k, known := keyByName[c.Key]
		if !known {
			t.Errorf("%s: %q is not a config key", c.Name, c.Key)
			continue
		}
		d := Default()
		if now := literal(k.field(&d)); c.New != now || c.Old == now {
			t.Errorf("%s: the row says %s -> %s; the default is %s", c.Name, c.Old, c.New, now)
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
