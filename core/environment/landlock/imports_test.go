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

// A package is set up after its imports. With the standard library alone a step before exec comes before most of the program, and a
// command starts without waiting for the rest (go.dev/ref/spec, Program initialization).
func TestTheStepBeforeExecImportsLittle(t *testing.T) {
	allowed := []string{"errors", "fmt", "os", "path/filepath", "runtime", "slices", "strconv", "strings", "syscall", "unsafe", "gatewaytui/core/environment/links", "gatewaytui/core/environment/step"}
	files, err := filepath.Glob("../*/*.go")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	offered, err := filepath.Glob("../proxy/offer/*.go")
	if err != nil || len(offered) == 0 {
		t.Fatalf("%d files, %v", len(offered), err)
	}
	files = slices.DeleteFunc(files, func(name string) bool {
		return !strings.HasPrefix(name, "../landlock/") && !strings.HasPrefix(name, "../links/") && !strings.HasPrefix(name, "../step/")
	})
	files = append(files, offered...)
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
