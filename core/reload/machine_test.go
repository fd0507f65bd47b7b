package reload

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gatewaytui/core/config"
	"gatewaytui/core/ops"
	"gatewaytui/fixtures/soak"
)

// edited are keys with values that they may have, the default first.
var edited = map[string][]string{
	"log.level": {`"info"`, `"debug"`, `"warn"`}, "session.queue_limit": {"32", "7"}, "agent.approvals": {`"fence"`, `"off"`, `"strict"`},
	"access.owners": {"[]", `["telegram:1"]`}, "console.theme": {`"auto"`, `"dark"`}, "adapters.api.listen": {`"127.0.0.1:8642"`, `"127.0.0.1:1"`},
}

// restarted are those of them that need a restart.
var restarted = []string{"console.theme", "adapters.api.listen"}

// Files are edited, broken, cut off and put back in any order, and reloaded by an operator and by the watch. What is in force is always what
// the model says: the last valid file that might be applied, with the start's values where a restart is needed.
func TestOP4_WhatIsInForceIsTheLastFileThatMightBeApplied(t *testing.T) {
	soak.Checks(t, 25, 200)
	path := filepath.Join(t.TempDir(), "config.toml")
	rapid.Check(t, func(t *rapid.T) {
		file, valid, digest := map[string]string{}, true, ""
		write := func(half bool) {
			var b strings.Builder
			last := ""
			for _, key := range slices.Sorted(maps.Keys(file)) {
				table, name := key[:strings.LastIndexByte(key, '.')], key[strings.LastIndexByte(key, '.')+1:]
				fmt.Fprintf(&b, "[%s]\n%s = %s\n", table, name, file[key])
				last = file[key]
			}
			content := b.String()
			if valid = !half || content == ""; !valid {
				content = strings.TrimSuffix(content, last+"\n")
			}
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(false)
		first, err := config.Load(config.Options{Path: path, Environ: []string{}})
		if err != nil {
			t.Fatal(err)
		}
		inForce, model, before := &first, map[string]string{}, map[string]string{}
		value := func(of map[string]string, key string) string {
			if v, set := of[key]; set {
				return v
			}
			return edited[key][0]
		}
		reload := func(operator bool) {
			loaded, err := inForce.Again()
			if (err == nil) != valid {
				t.Fatalf("the file is valid: %v, and loading it says %v", valid, err)
			}
			if err != nil {
				return
			}
			p := Compare(inForce, &loaded)
			loosens := value(file, "agent.approvals") != value(model, "agent.approvals") || len(value(file, "access.owners")) > len(value(model, "access.owners"))
			if p.Loosens() != loosens {
				t.Fatalf("it loosens: %v, the model says %v: %v", p.Loosens(), loosens, p.Changes)
			}
			if !operator && p.Loosens() {
				return
			}
			inForce, digest = &p.Next, p.Digest
			for key := range edited {
				if !slices.Contains(restarted, key) {
					model[key] = value(file, key)
				}
			}
			if again := Compare(inForce, &loaded); again.Applies() || len(again.Changes) != len(p.Of(ops.ChangeRestart)) || inForce.Digest() != digest {
				t.Fatalf("after the reload the file still changes %v", again.Changes)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"edit": func(t *rapid.T) {
				key := rapid.SampledFrom(slices.Sorted(maps.Keys(edited))).Draw(t, "key")
				before = maps.Clone(file)
				file[key] = rapid.SampledFrom(edited[key]).Draw(t, "value")
				write(false)
			},
			"cut off":  func(*rapid.T) { write(true) },
			"put back": func(*rapid.T) { file = maps.Clone(before); write(false) },
			"operator": func(*rapid.T) { reload(true) },
			"watch":    func(*rapid.T) { reload(false) },
			"": func(t *rapid.T) {
				for _, v := range inForce.Values() {
					if _, is := edited[v.Key]; is && v.Value != value(model, v.Key) {
						t.Fatalf("%s is %s, the model has %s", v.Key, v.Value, value(model, v.Key))
					}
				}
			},
		})
	})
}
