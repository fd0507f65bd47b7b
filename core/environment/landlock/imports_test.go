package landlock

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A package is set up after its imports. With the standard library alone this one comes before most of the program, and a
// restricted command starts without waiting for the rest (go.dev/ref/spec, Program initialization).
func TestTheStepBeforeExecImportsLittle(t *testing.T) {
	allowed := []string{"errors", "fmt", "os", "path/filepath", "runtime", "slices", "strconv", "strings", "syscall", "unsafe"}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			if path, err := strconv.Unquote(spec.Path.Value); err != nil || !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s", name, spec.Path.Value)
			}
		}
	}
}
