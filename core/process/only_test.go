package process

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// starters are what starts a process, by package. A nil list is the whole package.
var starters = map[string][]string{
	"os/exec":                               nil,
	"os":                                    {"StartProcess"},
	"syscall":                               {"ForkExec", "StartProcess", "SYS_FORK", "SYS_VFORK", "SYS_CLONE", "SYS_CLONE3"},
	"golang.org/x/sys/unix":                 {"SYS_FORK", "SYS_VFORK", "SYS_CLONE", "SYS_CLONE3"},
	"github.com/creack/pty":                 {"Start", "StartWithSize", "StartWithAttrs"},
	"github.com/shirou/gopsutil/v3/process": nil, // Children runs pgrep
}

// One registry: nothing else in the module starts a subprocess (DESIGN.md, 5; C3, C14, C15).
func TestC14_OnlyThisPackageStartsSubprocesses(t *testing.T) {
	root := moduleRoot(t)
	read := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			// The folders of fixtures are for tests alone. That the program imports none of them is checked in arrows_test.go.
			if path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" || path == filepath.Join(root, "core", "process") ||
				filepath.Dir(path) == filepath.Join(root, "fixtures")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		read++
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		where, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		for _, what := range starts(t, where, src) {
			t.Errorf("%s: only core/process starts subprocesses", what)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 50 {
		t.Errorf("only %d files were read below %s", read, root)
	}

	t.Run("the scan sees", func(t *testing.T) {
		for _, tt := range []struct {
			name, src string
			want      int
		}{
			{"an import of os/exec", `package x; import "os/exec"; var _ = exec.Command`, 1},
			{"one under another name", `package x; import run "os/exec"; var _ = run.Command`, 1},
			{"os.StartProcess", `package x; import "os"; var _ = os.StartProcess`, 1},
			{"syscall.ForkExec under another name", `package x; import s "syscall"; var _ = s.ForkExec`, 1},
			{"an import without a name in front", `package x; import . "syscall"; var _ = ForkExec`, 1},
			{"a package below one that is named whole", `package x; import "github.com/shirou/gopsutil/v3/process"; var _ = process.Pids`, 1},
			{"nothing in what starts nothing", `package x; import ("os"; "syscall"); var _, _ = os.Open, syscall.Kill`, 0},
		} {
			if got := starts(t, tt.name, []byte(tt.src)); len(got) != tt.want {
				t.Errorf("%s: %q", tt.name, got)
			}
		}
	})
}

// starts are the places in a file that can start a process.
func starts(t *testing.T, where string, src []byte) (found []string) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, where, src, parser.SkipObjectResolution)
	if err != nil {
		return nil // does not compile: others say so
	}
	at := func(n ast.Node, what string) { found = append(found, fset.Position(n.Pos()).String()+": "+what) }
	names := map[string][]string{} // what must not be selected, by the package's name in this file
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		for banned, functions := range starters {
			switch {
			case path != banned && (functions != nil || !strings.HasPrefix(path, banned+"/")):
			case functions == nil, spec.Name != nil && spec.Name.Name == ".":
				at(spec, path)
			case spec.Name != nil:
				names[spec.Name.Name] = functions
			default:
				names[path[strings.LastIndexByte(path, '/')+1:]] = functions
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := sel.X.(*ast.Ident); ok {
			for _, function := range names[pkg.Name] {
				if sel.Sel.Name == function {
					at(sel, pkg.Name+"."+function)
				}
			}
		}
		return true
	})
	return found
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the tests")
		}
		dir = parent
	}
}
