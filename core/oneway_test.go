package core

import (
	"go/ast"
	"strings"
	"testing"
)

// One way for each thing: these methods have one caller in the program, so that what they promise is decided in one place.
func TestATurnAndAConversationEndInTheStoreInOnePlace(t *testing.T) {
	calls := map[string][]string{"EndTurn": nil, "BeginTurn": nil, "ReopenSession": nil}
	for _, s := range sources(t) {
		if s.isTest() || strings.HasPrefix(s.path, "core/store/") || strings.HasPrefix(s.path, "fixtures/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if method, ok := call.Fun.(*ast.SelectorExpr); ok {
					if _, listed := calls[method.Sel.Name]; listed {
						calls[method.Sel.Name] = append(calls[method.Sel.Name], s.at(call))
					}
				}
			}
			return true
		})
	}
	for name, at := range calls {
		if len(at) != 1 || !strings.HasPrefix(at[0], "core/conversation/") {
			t.Errorf("%s is called at %q, want one place in core/conversation", name, at)
		}
	}
}
