package platforms

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestABuildTagLeavesAPlatformOutOfTheProgram(t *testing.T) {
	const adapters = "gatewaytui/core/adapter/"
	names := append(slices.Sorted(maps.Keys(kinds)), "external")
	var tags []string
	for _, name := range names {
		if name != "telegram" {
			tags = append(tags, "no_"+name)
		}
	}
	linked := func(tags ...string) []string {
		t.Helper()
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", strings.Join(tags, ","), "gatewaytui/cmd/gatewaytui")
		out, err := list.Output()
		if err != nil {
			t.Fatalf("%s: %v", list, err)
		}
		return strings.Fields(string(out))
	}
	all, few := linked(), linked(tags...)
	for _, name := range names {
		if !slices.Contains(all, adapters+name) {
			t.Errorf("the program has no %s", name)
		}
		if want := name == "telegram"; slices.Contains(few, adapters+name) != want {
			t.Errorf("with the tags %v the program has %s: %t", tags, name, !want)
		}
	}
}
