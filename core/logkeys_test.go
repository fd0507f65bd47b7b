package core

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// logCalls are the methods and functions that take the keys of log lines.
var logCalls = []string{
	"Debug", "Info", "Warn", "Error", "Log", "LogAttrs", "With", "Any", "String",
	"DebugContext", "InfoContext", "WarnContext", "ErrorContext",
}

// otherErrorKeys returns the calls in a source file that log an error under another key than "error".
func otherErrorKeys(t *testing.T, name string, src any) (found []string) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !slices.Contains(logCalls, sel.Sel.Name) {
			return true
		}
		for _, arg := range call.Args {
			if lit, ok := arg.(*ast.BasicLit); ok && (lit.Value == `"err"` || lit.Value == "`err`") {
				found = append(found, fset.Position(call.Pos()).String())
			}
		}
		return true
	})
	return found
}

// HB10: someone who searches the log for an error has one key to look for.
func TestHB10_EveryLogLineHasItsErrorUnderTheKeyError(t *testing.T) {
	bad := otherErrorKeys(t, "bad.go", "package bad\nfunc f() { log.Warn(\"save.failed\", \"path\", path, \"err\", err); l.With(slog.Any(`err`, err)) }")
	if len(bad) != 2 {
		t.Errorf("in a file with two such calls it finds %q", bad)
	}
	read := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		read++
		for _, at := range otherErrorKeys(t, path, nil) {
			t.Errorf("%s: an error is logged under the key err; the key is error", at)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 100 {
		t.Errorf("only %d files were read", read)
	}
}

// eventID is the form of the id of an event: words with dots between them.
var eventID = regexp.MustCompile(`^[a-z_]+(\.[a-z_]+)+$`)

// Programs that read the log look for ids: each is in the one list of core/ops/logevents.go, or is the type of an event.
func TestEveryIDOfALogLineIsAConstantOfTheOneList(t *testing.T) {
	const list = "core/ops/logevents.go"
	used, ids := map[string]bool{}, []string{}
	for _, s := range sources(t) {
		if s.isTest() || strings.HasPrefix(s.path, "fixtures/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if s.path == list {
					ids = append(ids, n.Names[0].Name)
				}
			case *ast.SelectorExpr:
				used[n.Sel.Name] = true
			case *ast.CallExpr:
				sel, ok := n.Fun.(*ast.SelectorExpr)
				if !ok || !slices.Contains(append(logCalls, "log", "compose"), sel.Sel.Name) || isHealth(sel.X) {
					break
				}
				for _, arg := range n.Args {
					if text, _ := stringOf(arg); eventID.MatchString(text) {
						t.Errorf("%s: the id %q of a log line is a literal; it belongs into %s", s.at(arg), text, list)
					}
				}
			}
			return true
		})
	}
	if len(ids) < 20 {
		t.Errorf("only %d ids were found in %s", len(ids), list)
	}
	for _, id := range ids {
		if !used[id] {
			t.Errorf("%s: no line of the log has %s", list, id)
		}
	}
}

// isHealth reports whether a method called Warn is that of the warnings that a status shows, whose first argument is a code.
func isHealth(x ast.Expr) bool {
	sel, ok := x.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Health"
}
