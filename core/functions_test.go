package core

import (
	"go/ast"
	"go/token"
	"testing"
)

// The most that a function may have: lines, and decisions plus one (cyclomatic complexity).
const (
	mostLines      = 80
	mostComplexity = 20
)

// complexity counts the decisions of a function, those of its closures included, and one.
func complexity(f *ast.FuncDecl) int {
	n := 1
	ast.Inspect(f, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if node.List != nil {
				n++
			}
		case *ast.CommClause:
			if node.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if node.Op == token.LAND || node.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

func TestFunctionsAreShortAndSimple(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if lines := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1; lines > mostLines {
				t.Errorf("%s: %s has %d lines, at most %d", s.at(f), f.Name.Name, lines, mostLines)
			}
			if n := complexity(f); n > mostComplexity {
				t.Errorf("%s: %s has a complexity of %d, at most %d", s.at(f), f.Name.Name, n, mostComplexity)
			}
		}
	}
}
