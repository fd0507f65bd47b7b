package store

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"modernc.org/sqlite"
)

// F1: rows that no reader would see are not acknowledged.
func TestF1_WritesIntoADisplacedDatabaseAreRefused(t *testing.T) {
	for name, displace := range map[string]func(t *testing.T, path string){
		"the log was deleted": func(t *testing.T, path string) {
			if err := os.Remove(path + "-wal"); err != nil {
				t.Fatal(err)
			}
		},
		"the database was deleted": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
		"another file was put in its place": func(t *testing.T, path string) {
			if err := os.WriteFile(path+".new", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			mustWrite(t, s, "before")
			if err := s.Check(t.Context()); err != nil {
				t.Fatalf("check of a sound store: %v", err)
			}
			displace(t, s.path)
			for range 2 {
				if err := s.PutLife(t.Context(), Life{ID: "after"}); !errors.Is(err, ErrDisplaced) {
					t.Errorf("the write was answered %v, want ErrDisplaced", err)
				}
			}
			if err := s.Check(t.Context()); !errors.Is(err, ErrDisplaced) {
				t.Errorf("check says %v, want ErrDisplaced", err)
			}
		})
	}
}

// The second line of defence: where the platform has locks of the open file, a stray open and close of the database in
// this process leaves SQLite's lock alone. Another process that comes and goes does not delete the log.
func TestF1_AStrayOpenAndCloseOfTheDatabaseKeepsItsLock(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if !sqlite.OFDLockingEnabled() {
		t.Skip("runs where the kernel has open file description locks (F_OFD_SETLK)")
	}
	mustWrite(t, s, "before")
	f, err := os.Open(s.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	start(t, "write one life", dir).End(t)
	mustWrite(t, s, "after")
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if lives, _, err := s.Lives(t.Context(), 0, ""); err != nil || len(lives) != 3 {
		t.Errorf("%d lives are there (%v), 3 were acknowledged", len(lives), err)
	}
	for file := range descriptors(t, dir) {
		if strings.Contains(file, "(deleted)") {
			t.Errorf("%s is held", file)
		}
	}
}

// Other processes may come and go, read and write.
func TestF1_OtherProcessesThatUseTheDatabaseLoseNoRow(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	mustWrite(t, s, "before")
	start(t, "write one life", dir).End(t)
	check := start(t, "check integrity", dir)
	if word := check.Line(t); word != "ok" {
		t.Errorf("integrity check says %q", word)
	}
	check.End(t)
	mustWrite(t, s, "after")
	if lives, _, err := s.Lives(t.Context(), 0, ""); err != nil || len(lives) != 3 {
		t.Errorf("%d lives are there (%v), 3 were acknowledged", len(lives), err)
	}
}

// opensFiles are the calls of the standard library and of x/sys that open a file by its path.
var opensFiles = map[string][]string{
	"os": {"Open", "OpenFile", "Create", "ReadFile", "WriteFile", "Truncate", "CopyFS", "DirFS", "OpenRoot"}, "ioutil": {"ReadFile", "WriteFile"},
	"unix": {"Open", "Openat", "Openat2", "Creat"}, "syscall": {"Open", "Openat", "Creat"},
}

// The rule of F1, held by the source: nothing in this package opens a file but SQLite, and nothing in the
// program opens one whose path is said to be the database's. damage.go is left out: it copies a database that could not be
// opened, of which this process holds no descriptor and no lock.
func TestF1_NothingOpensTheDatabaseByItsPath(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	here, scanned := filepath.Join(root, "core", "store"), 0
	databases := []string{here, filepath.Join(root, "core", "search"), filepath.Join(root, "core", "importer", "statedb")} // the search index is a database of its own; the importer reads that of another program
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || path == filepath.Join(here, "damage.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		scanned++
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
		if err != nil {
			return nil // it does not compile; other tests say so
		}
		for _, imp := range file.Imports {
			if !slices.Contains(databases, filepath.Dir(path)) && slices.Contains([]string{`"database/sql"`, `"modernc.org/sqlite"`}, imp.Path.Value) {
				t.Errorf("%s imports %s: the store, the search index and the importer alone open databases", path, imp.Path.Value)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if !ok || !slices.Contains(opensFiles[pkg.Name], sel.Sel.Name) {
				return true
			}
			text := string(src[fset.Position(call.Pos()).Offset:fset.Position(call.End()).Offset])
			ofDatabase := slices.ContainsFunc([]string{"Database()", "gateway.db", "-wal", "-shm"}, func(s string) bool { return strings.Contains(text, s) })
			if filepath.Dir(path) == here || ofDatabase {
				t.Errorf("%s: %s opens a file by its path; closing a descriptor of the database drops SQLite's locks", fset.Position(call.Pos()), text)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if scanned < 10 {
		t.Errorf("only %d files were scanned below %s", scanned, root)
	}
}
