package core

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/ops"
)

// spawners are the files that start processes, with what shows a process of theirs and what ends it.
var spawners = map[string]string{
	"core/tool/place.go":                        "a command of a session: a row of processes, which ends with its turn, session or the stop",
	"core/acp/start.go":                         "an external agent: a row of held",
	"core/adapter/external/program.go":          "the program of an adapter: a row of processes, which ends with its connection, by the levers of its adapter or in the phase adapters",
	"core/mcp/link.go":                          "a server or a browser: a row of held",
	"core/adapter/external/trial/program.go":    "the program under test of gatewaytui adapter test, which has no gateway: it ends with its row",
	"core/adapter/external/trial/peer.go":       "the peer of such a program: it ends with its row",
	"core/hook/command.go":                      "a hook: a row of held",
	"core/environment/container/commandline.go": "a call of a container engine: a row of processes, bounded by its call",
	"core/environment/sandbox/probe.go":         "a probe: a row of processes, bounded by its call",
	"core/environment/partial/partial.go":       "a probe: a row of processes, bounded by its call",
}

// servers are the files that serve connections, with what shows it and what ends it.
var servers = map[string]string{
	"core/environment/proxy/proxy.go": "the proxy of an environment or of a browser, which closes with it",
	"core/control/server.go":          "the control socket: the phase surrender",
	"core/control/scrape.go":          "the metrics: the phase surrender",
	"core/adapter/api/conn.go":        "an adapter: its row, and the phase adapters",
	"core/adapter/webhook/conn.go":    "an adapter: its row, and the phase adapters",
}

// composites calls do for each composite literal of a type such as process.Spec that has fields, outside of tests.
func composites(t *testing.T, under, pkg, name string, do func(s source, lit *ast.CompositeLit, keys []string)) {
	t.Helper()
	for _, s := range sources(t) {
		if s.isTest() || !strings.HasPrefix(s.path, under) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			lit, is := n.(*ast.CompositeLit)
			if !is || len(lit.Elts) == 0 {
				return true
			}
			sel, is := lit.Type.(*ast.SelectorExpr)
			if !is || sel.Sel.Name != name {
				return true
			}
			if x, is := sel.X.(*ast.Ident); !is || x.Name != pkg {
				return true
			}
			var keys []string
			for _, e := range lit.Elts {
				if kv, is := e.(*ast.KeyValueExpr); is {
					if key, is := kv.Key.(*ast.Ident); is {
						keys = append(keys, key.Name)
					}
				}
			}
			do(s, lit, keys)
			return true
		})
	}
}

// What starts a process is known, with its owner, its row and its end. A new kind of held resource joins the table with the place
// where it is started.
func TestWhatStartsProcessesHasAnOwnerARowAndAnEnd(t *testing.T) {
	found := map[string]bool{}
	composites(t, "core/", "process", "Spec", func(s source, lit *ast.CompositeLit, keys []string) {
		what := spawners[s.path]
		if found[s.path] = true; what == "" {
			t.Errorf("%s starts processes: say in spawners what shows them and what ends them", s.at(lit))
		}
		if strings.HasSuffix(what, "a row of held") && !slices.Contains(keys, "Owner") {
			t.Errorf("%s starts a process without an owner", s.at(lit))
		}
		if !slices.Contains(keys, "Policy") {
			t.Errorf("%s starts a process without a policy of when it ends", s.at(lit))
		}
	})
	for file := range spawners {
		if !found[file] {
			t.Errorf("%s starts no process any more", file)
		}
	}
}

// What serves connections is known, with what ends it.
func TestWhatServesConnectionsHasAnEnd(t *testing.T) {
	found := map[string]bool{}
	composites(t, "core/", "http", "Server", func(s source, lit *ast.CompositeLit, _ []string) {
		room := path.Dir(s.path)
		if double := strings.HasSuffix(room, "test"); double { // of a platform, for tests
			return
		}
		if found[s.path] = true; servers[s.path] == "" {
			t.Errorf("%s serves connections: say in servers what ends it", s.at(lit))
		}
	})
	for file := range servers {
		if !found[file] {
			t.Errorf("%s serves nothing any more", file)
		}
	}
}

// A room makes rows of each kind of held resource, and each row has an owner, a state and a time. Every holder is in the set of the
// gateway, by which the plan of the stop ends it.
func TestEachHolderIsInTheSetOfTheGateway(t *testing.T) {
	composites(t, "core/", "ops", "Held", func(s source, lit *ast.CompositeLit, keys []string) {
		for _, key := range []string{"Kind", "ID", "Owner", "State", "Since"} {
			if !slices.Contains(keys, key) {
				t.Errorf("%s makes a row of held without %s", s.at(lit), key)
			}
		}
	})
	named := map[string]bool{}   // the constants of kinds that rooms name
	holders := map[string]bool{} // the rooms that have the methods of held.Holder
	added := 0
	rows := regexp.MustCompile(`\) Rows\(\) \(?(\w+ )?\[\]ops\.Held\b`)
	for _, s := range sources(t) {
		room := path.Dir(s.path)
		if s.isTest() || !strings.HasPrefix(s.path, "core/") || room == "core/ops" {
			continue
		}
		text := page(t, s.path)
		if room != "core/held" && rows.MatchString(text) {
			holders[room] = true
		}
		if room == "core/gateway" {
			added += strings.Count(text, "g.held.Add(")
		}
		for _, m := range regexp.MustCompile(`ops\.(Held[A-Z]\w*)`).FindAllStringSubmatch(text, -1) {
			if room != "core/control" {
				named[m[1]] = true
			}
		}
	}
	if len(holders) < 3 || added != len(holders) {
		t.Errorf("%d holders are added to the set of the gateway, and %d rooms have one: %v", added, len(holders), holders)
	}
	kinds := regexp.MustCompile(`(Held\w+) +HeldKind = "(\w+)"`).FindAllStringSubmatch(page(t, "core/ops/held.go"), -1)
	for _, k := range kinds {
		if !slices.Contains(ops.HeldKinds, ops.HeldKind(k[2])) {
			t.Errorf("%s is not among ops.HeldKinds", k[1])
		}
		if !named[k[1]] {
			t.Errorf("no room makes rows of the kind %s", k[1])
		}
	}
	if len(kinds) != len(ops.HeldKinds) {
		t.Errorf("%d constants, %d kinds", len(kinds), len(ops.HeldKinds))
	}
}
