package core

import (
	"go/ast"
	"path"
	"regexp"
	"strings"
	"testing"
)

// step matches a function in the walks of DESIGN.md: after a package, or after the type of a method.
var step = regexp.MustCompile("`([A-Za-z]+)\\.([A-Za-z]+)`")

func TestTheWalksNameFunctionsThatExist(t *testing.T) {
	exist := map[string]bool{}
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			exist[path.Base(path.Dir(s.path))+"."+f.Name.Name] = true
			exist[s.file.Name.Name+"."+f.Name.Name] = true
			if f.Recv != nil {
				recv := f.Recv.List[0].Type
				if p, ok := recv.(*ast.StarExpr); ok {
					recv = p.X
				}
				if id, ok := recv.(*ast.Ident); ok {
					exist[id.Name+"."+f.Name.Name] = true
				}
			}
		}
	}
	exist["ops.Verbs"] = true // a table, which the walks name as well
	_, walks, found := strings.Cut(page(t, "core/DESIGN.md"), "\n## 13. Six walks\n")
	steps := step.FindAllStringSubmatch(walks, -1)
	if !found || len(steps) < 50 {
		t.Fatalf("DESIGN.md has %d steps of walks", len(steps))
	}
	for _, m := range steps {
		if name := m[1] + "." + m[2]; !exist[name] {
			t.Errorf("DESIGN.md, 13 names %s, which does not exist", name)
		}
	}
}
