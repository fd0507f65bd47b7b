package core

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"
)

// callOf returns the package or variable, and the name, of a call such as time.Sleep(d): without the first for a plain
// function, and with "?" for a method of what is more than a name. Another node has neither.
func callOf(n ast.Node) (of, name string) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return "", ""
	}
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return "", f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			return x.Name, f.Sel.Name
		}
		return "?", f.Sel.Name
	}
	return "", ""
}

// realSleeps returns the calls of time.Sleep in the tests of one package that wait in real time and do not say what they
// model. A function is in virtual time if it, or what it calls in these files, runs synctest.Test.
func realSleeps(files []source) (found []string) {
	var funcs []*ast.FuncDecl
	in := map[*ast.FuncDecl]source{}
	for _, s := range files {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				funcs, in[f] = append(funcs, f), s
			}
		}
	}
	virtual := map[string]bool{} // by the function's name
	for grown := true; grown; {
		grown = false
		for _, f := range funcs {
			ast.Inspect(f, func(n ast.Node) bool {
				of, name := callOf(n)
				if !virtual[f.Name.Name] && (of == "synctest" && name == "Test" || of == "" && virtual[name]) {
					virtual[f.Name.Name], grown = true, true
				}
				return true
			})
		}
	}
	for _, f := range funcs {
		s := in[f]
		said := map[int]bool{} // by the line
		for _, group := range s.file.Comments {
			if text := group.Text(); strings.Contains(text, "virtual") || strings.Contains(text, "modelled: ") {
				said[s.fset.Position(group.Pos()).Line] = true
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			of, name := callOf(n)
			if of == "time" && name == "Sleep" && !virtual[f.Name.Name] && !said[s.fset.Position(n.Pos()).Line] {
				found = append(found, s.at(n))
			}
			return true
		})
	}
	return found
}

// A sleep in real time is a machine's speed in disguise: a test waits for a fact, or for virtual time.
func TestNoTestSleepsToWaitForAFact(t *testing.T) {
	packages := map[string][]source{}
	for _, s := range sources(t) {
		if s.isTest() {
			packages[path.Dir(s.path)] = append(packages[path.Dir(s.path)], s)
		}
	}
	for _, files := range packages {
		for _, at := range realSleeps(files) {
			t.Errorf("%s: a sleep in real time: wait for the fact (fixtures/eventually), use testing/synctest, or say what the pause models", at)
		}
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "bad_test.go", `package bad
func inTime(f func()) { synctest.Test(t, f) }
func TestA() { inTime(func() { time.Sleep(1) }) }
func TestB() { time.Sleep(1) // modelled: a slow peer
}
func TestC() { start(); time.Sleep(1) }`, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if found := realSleeps([]source{{"bad_test.go", fset, file}}); len(found) != 1 || found[0] != "bad_test.go:6" {
		t.Errorf("of three sleeps it finds %q, want the one in line 6", found)
	}
}

func TestEverySkipSaysWhereItsTestRuns(t *testing.T) {
	seen := 0
	for _, s := range sources(t) {
		if !s.isTest() && !strings.HasPrefix(s.path, "fixtures/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			of, name := callOf(n)
			if of != "t" && of != "tb" && of != "b" || name != "Skip" && name != "Skipf" && name != "SkipNow" {
				return true
			}
			seen++
			if args := n.(*ast.CallExpr).Args; len(args) == 0 || !saysWhere(args[0]) {
				t.Errorf("%s: a skip whose reason does not begin with \"runs\"", s.at(n))
			}
			return true
		})
	}
	if seen < 30 {
		t.Errorf("only %d skips were found", seen)
	}
}

// saysWhere reports whether the reason begins with "runs", or is handed in by a caller that is checked itself.
func saysWhere(reason ast.Expr) bool {
	for {
		sum, ok := reason.(*ast.BinaryExpr)
		if !ok {
			break
		}
		reason = sum.X
	}
	if lit, ok := reason.(*ast.BasicLit); ok {
		text, _ := stringOf(lit)
		return strings.HasPrefix(text, "runs ")
	}
	id, ok := reason.(*ast.Ident)
	return ok && id.Name == "format"
}
