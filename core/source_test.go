package core

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// source is a parsed Go file of the repository. path is relative to the top level, with slashes.
type source struct {
	path string
	fset *token.FileSet
	file *ast.File
}

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

func (s source) at(n ast.Node) string {
	p := s.fset.Position(n.Pos())
	return s.path + ":" + strconv.Itoa(p.Line)
}

// sources returns every Go file of the repository, parsed once for all tests.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parseAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 300 {
		t.Fatalf("only %d Go files were found", len(all))
	}
	return all
}

var parseAll = sync.OnceValues(func() (all []source, err error) {
	fset := token.NewFileSet()
	err = eachFile(func(path string) error {
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		file, err := parser.ParseFile(fset, filepath.Join("..", path), nil, parser.ParseComments|parser.SkipObjectResolution)
		all = append(all, source{path, fset, file})
		return err
	})
	return all, err
})

// eachFile calls do for each file of the repository that is written by hand: no hidden folder but .github, no bin, no testdata.
func eachFile(do func(path string) error) error {
	return filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(filepath.ToSlash(path), "../")
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != ".." && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".github" || rel == "bin" || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		return do(rel)
	})
}

// page returns the text of a document, whose path is relative to the top level.
func page(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
