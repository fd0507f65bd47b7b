package core

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// declaredTests are the names of all tests and fuzz tests of the repository.
func declaredTests(t *testing.T) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	names := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != ".." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		src, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(src, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// securityChecks are the ids of the checks of package doctor: the second arguments of its calls of say. A check of each chat platform
// begins with the platform's name, which reads NAME here.
func securityChecks(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("doctor", "security.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "say" {
			arg, of := call.Args[1], ""
			if sum, is := arg.(*ast.BinaryExpr); is {
				arg, of = sum.Y, "NAME"
			}
			id, ok := arg.(*ast.BasicLit)
			if !ok {
				t.Fatalf("an id does not end with a literal: %v", arg)
			}
			text, err := strconv.Unquote(id.Value)
			if err != nil {
				t.Fatal(err)
			}
			ids[of+text] = true
		}
		return true
	})
	return slices.Sorted(maps.Keys(ids))
}

func TestThePageOnSecurityNamesTestsThatExistAndEveryCheck(t *testing.T) {
	b, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	exists := declaredTests(t)
	cited := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(page, -1)
	if len(cited) == 0 {
		t.Error("the page names no test")
	}
	for _, m := range cited {
		if !exists[m[1]] {
			t.Errorf("SECURITY.md names %s, which does not exist", m[1])
		}
	}

	_, table, found := strings.Cut(page, "| id | severity |")
	if !found {
		t.Fatal("SECURITY.md has no table of the checks of doctor")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1) {
		listed = append(listed, m[1])
	}
	if want := securityChecks(t); len(want) == 0 || !slices.Equal(listed, want) {
		t.Errorf("SECURITY.md lists the checks %q, and doctor has %q", listed, want)
	}
}
