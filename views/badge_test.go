package views

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every state that the gateway can be in has a badge, and no badge stands for a state that nothing sets (HB2, HB6).
func TestEveryStateThatTheGatewaySetsHasABadgeAndEveryBadgeHasASource(t *testing.T) {
	declared := stateConstants(t)
	set := statesSet(t)
	for kind, shown := range map[string][]string{
		"SessionState": badged(sessionBadges), "AgentState": badged(agentBadges),
		"ProcessState": badged(processBadges), "AdapterState": badged(adapterBadges),
	} {
		if len(declared[kind]) < 3 {
			t.Errorf("only %d constants of type %s were found", len(declared[kind]), kind)
		}
		for name, value := range declared[kind] {
			has, isSet := slices.Contains(shown, value), set[name]
			switch {
			case isSet && !has:
				t.Errorf("the gateway sets %s (%q), which has no badge", name, value)
			case has && !isSet:
				t.Errorf("%q has a badge, and nothing in core sets ops.%s", value, name)
			case !has && !isSet:
				t.Errorf("ops.%s is neither set nor shown", name)
			}
		}
		for _, value := range shown {
			if !slices.Contains(slices.Collect(maps.Values(declared[kind])), value) {
				t.Errorf("the badge of %q stands for no constant of type %s", value, kind)
			}
		}
	}
}

func badged[S ~string](table badges[S]) []string {
	var out []string
	for _, row := range table {
		out = append(out, string(row.state))
	}
	return out
}

// stateConstants are the constants of core/ops by type, each with its value.
func stateConstants(t *testing.T) map[string]map[string]string {
	t.Helper()
	out := map[string]map[string]string{}
	each(t, "../core/ops", func(f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			kind, _ := spec.Type.(*ast.Ident)
			value, _ := spec.Values[0].(*ast.BasicLit)
			if kind != nil && value != nil && strings.HasSuffix(kind.Name, "State") {
				if out[kind.Name] == nil {
					out[kind.Name] = map[string]string{}
				}
				out[kind.Name][spec.Names[0].Name] = strings.Trim(value.Value, `"`)
			}
			return true
		})
	})
	return out
}

// statesSet are the constants of core/ops that core uses as values: assigned, returned, passed on or put into a struct. A
// comparison, a case and a conversion to another type set nothing.
func statesSet(t *testing.T) map[string]bool {
	t.Helper()
	set := map[string]bool{}
	each(t, "../core", func(f *ast.File) {
		if f.Name.Name == "ops" {
			return
		}
		skip := map[ast.Expr]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				skip[n.X], skip[n.Y] = true, true
			case *ast.CaseClause:
				for _, e := range n.List {
					skip[e] = true
				}
			case *ast.CallExpr:
				if kind, ok := n.Fun.(*ast.Ident); ok && kind.Name == "string" {
					skip[n.Args[0]] = true
				}
			case *ast.SelectorExpr:
				if from, ok := n.X.(*ast.Ident); ok && from.Name == "ops" && !skip[n] {
					set[n.Sel.Name] = true
				}
			}
			return true
		})
	})
	return set
}

// each parses the files of the program, not its tests, below dir.
func each(t *testing.T, dir string, look func(*ast.File)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err == nil {
			look(f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
