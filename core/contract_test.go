package core

import (
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gatewaytui/core/config"
	"gatewaytui/core/ops"
)

// fileName matches the constants of package instance that name a file or a folder of the home.
var fileName = regexp.MustCompile(`^[a-z]+(File|Dir)$`)

// column returns the texts in backticks, or the numbers, of the first column of the table of CONTRACT.md that begins with
// the given header.
func column(t *testing.T, header string) []string {
	t.Helper()
	_, table, found := strings.Cut(page(t, "core/CONTRACT.md"), "\n| "+header+" |")
	if !found {
		t.Fatalf("CONTRACT.md has no table %q", header)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var cells []string
	for _, row := range strings.Split(strings.TrimRight(table, "\n"), "\n")[2:] {
		cell, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " |")
		cells = append(cells, strings.Trim(cell, "`"))
	}
	if len(cells) == 0 {
		t.Fatalf("the table %q of CONTRACT.md is empty", header)
	}
	return cells
}

// same checks that a table of CONTRACT.md has exactly the rows that the code has.
func same(t *testing.T, what string, page, code []string) {
	t.Helper()
	for _, name := range code {
		if !slices.Contains(page, name) {
			t.Errorf("%s: CONTRACT.md lacks %s", what, name)
		}
	}
	for _, name := range page {
		if !slices.Contains(code, name) {
			t.Errorf("%s: CONTRACT.md has %s, and the code does not", what, name)
		}
	}
}

// literals returns the strings of the composite literals and calls of the code for which pick returns one.
func literals(t *testing.T, dir string, pick func(n ast.Node) (ast.Expr, bool)) []string {
	t.Helper()
	found := map[string]bool{}
	for _, s := range sources(t) {
		if s.isTest() || !strings.HasPrefix(s.path, dir) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if e, ok := pick(n); ok {
				if text, ok := stringOf(e); ok {
					found[text] = true
				}
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(found))
}

func stringOf(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// constants returns the values of the constants of the given type, or whose name matches.
func constants(t *testing.T, dir string, is func(name, typ string) bool) []string {
	t.Helper()
	var values []string
	for _, s := range sources(t) {
		if s.isTest() || !strings.HasPrefix(s.path, dir) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			typ, _ := spec.Type.(*ast.Ident)
			name := ""
			if typ != nil {
				name = typ.Name
			}
			for i, v := range spec.Values {
				lit, ok := v.(*ast.BasicLit)
				if ok && is(spec.Names[i].Name, name) {
					values = append(values, strings.Trim(lit.Value, `"`))
				}
			}
			return true
		})
	}
	return values
}

func TestTheTablesOfTheContractAreThoseOfTheCode(t *testing.T) {
	t.Run("config keys and their defaults", func(t *testing.T) {
		section := ""
		var want []string
		for _, line := range strings.Split(config.Example(), "\n") {
			if name, is := strings.CutPrefix(line, "["); is {
				section = strings.TrimSuffix(name, "]")
			} else if key, value, is := strings.Cut(line, " = "); is && !strings.HasPrefix(line, "#") {
				want = append(want, "| `"+section+"."+key+"` | `"+value+"` |")
			}
		}
		var got []string
		for _, row := range strings.Split(page(t, "core/CONTRACT.md"), "\n") {
			if regexp.MustCompile("^\\| `[a-z.]+\\.[a-z_]+` \\| `.*` \\|$").MatchString(row) {
				got = append(got, row)
			}
		}
		if len(want) < 50 {
			t.Fatalf("the example has %d keys", len(want))
		}
		same(t, "config keys", got, want)
	})
	t.Run("exit codes", func(t *testing.T) {
		codes := constants(t, "", func(name, _ string) bool { return regexp.MustCompile(`^[eE]xit[A-Z]`).MatchString(name) })
		codes = append(codes, "129", "128+n") // what the kernel and a shell make of SIGHUP and of other signals
		same(t, "exit codes", column(t, "code | meaning"), codes)
	})
	t.Run("files of the home", func(t *testing.T) {
		files := constants(t, "core/instance/", func(name, _ string) bool { return fileName.MatchString(name) })
		got := strings.Join(column(t, "file | what"), " ")
		for _, name := range files {
			if !strings.Contains(got, name) {
				t.Errorf("CONTRACT.md does not list %s of the home", name)
			}
		}
		if len(files) < 8 {
			t.Errorf("the code has only the files %q", files)
		}
	})
	t.Run("chat commands", func(t *testing.T) {
		var commands []string
		for _, name := range literals(t, "core/", inTable("chatCommand")) {
			commands = append(commands, "/"+name)
		}
		var got []string
		for _, cell := range column(t, "command | what it does") {
			got = append(got, strings.Fields(cell)[0])
		}
		same(t, "chat commands", got, commands)
	})
	t.Run("calls of the control socket", func(t *testing.T) {
		var calls []string
		for _, s := range sources(t) {
			if s.isTest() || !strings.HasPrefix(s.path, "core/control/") {
				continue
			}
			ast.Inspect(s.file, func(n ast.Node) bool {
				if row, ok := n.(*ast.CompositeLit); ok && len(row.Elts) >= 2 {
					method, is := stringOf(row.Elts[0])
					if path, ok := stringOf(row.Elts[1]); is && ok && method == "GET" {
						calls = append(calls, method+" "+path)
					}
				}
				return true
			})
		}
		for _, v := range ops.Verbs {
			calls = append(calls, "POST "+v.Path)
		}
		_, socket, _ := strings.Cut(page(t, "core/CONTRACT.md"), "\n## 7.")
		var got []string
		for _, m := range regexp.MustCompile("(?m)^\\| `((?:GET|POST) [^`]+)` \\|").FindAllStringSubmatch(socket, -1) {
			got = append(got, m[1])
		}
		same(t, "calls", got, calls)
	})
	t.Run("events", func(t *testing.T) {
		same(t, "events", column(t, "event | when"), constants(t, "core/ops/", func(_, typ string) bool { return typ == "EventType" }))
	})
	t.Run("error codes with their status", func(t *testing.T) {
		codes := constants(t, "core/ops/", func(_, typ string) bool { return typ == "Code" })
		same(t, "error codes", column(t, "code | HTTP | meaning"), codes)
		for _, c := range codes {
			row := "| `" + c + "` | " + strconv.Itoa((&ops.Error{Code: ops.Code(c)}).HTTPStatus()) + " |"
			if !strings.Contains(page(t, "core/CONTRACT.md"), "\n"+row) {
				t.Errorf("CONTRACT.md has no row %q", row)
			}
		}
	})
	t.Run("metrics", func(t *testing.T) {
		metric := regexp.MustCompile(`^gatewaytui_[a-z0-9_]+$`)
		names := literals(t, "core/", func(n ast.Node) (ast.Expr, bool) {
			e, ok := n.(*ast.BasicLit)
			if !ok {
				return nil, false
			}
			text, _ := stringOf(e)
			return e, metric.MatchString(text)
		})
		for _, name := range literals(t, "core/control/", func(n ast.Node) (ast.Expr, bool) {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return nil, false
			}
			if f, ok := call.Fun.(*ast.Ident); !ok || f.Name != "desc" {
				return nil, false
			}
			return call.Args[0], true
		}) {
			names = append(names, "gatewaytui_"+name)
		}
		same(t, "metrics", column(t, "metric | what"), names)
	})
}

// inTable picks the first string of each row of a table of the named type.
func inTable(row string) func(n ast.Node) (ast.Expr, bool) {
	inside := map[ast.Node]bool{}
	return func(n ast.Node) (ast.Expr, bool) {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return nil, false
		}
		if list, ok := lit.Type.(*ast.ArrayType); ok {
			if of, ok := list.Elt.(*ast.Ident); ok && of.Name == row {
				for _, e := range lit.Elts {
					inside[e] = true
				}
			}
		}
		if !inside[lit] || len(lit.Elts) == 0 {
			return nil, false
		}
		if kv, ok := lit.Elts[0].(*ast.KeyValueExpr); ok {
			return kv.Value, true
		}
		return lit.Elts[0], true
	}
}
