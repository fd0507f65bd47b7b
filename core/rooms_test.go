package core

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestTheMapOfRoomsIsComplete(t *testing.T) {
	src, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	onMap := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^//\t([a-z]+)  `).FindAllStringSubmatch(string(src), -1) {
		onMap[m[1]] = true
	}
	for _, p := range list(t) {
		room, inCore := strings.CutPrefix(p.ImportPath, "gatewaytui/core/")
		if inCore && !strings.Contains(room, "/") && !onMap[room] {
			t.Errorf("core/doc.go does not say what room %s is", room)
		}
		delete(onMap, room)
	}
	for room := range onMap {
		t.Errorf("core/doc.go has a room %s, which does not exist", room)
	}
}

func TestTheFilesThatContributorsAreSentToExist(t *testing.T) {
	named := regexp.MustCompile("`((?:core|views|tui|cmd)/[a-z/_]+\\.go)`").FindAllStringSubmatch(page(t, ".github/CONTRIBUTING.md"), -1)
	if len(named) < 15 {
		t.Fatalf("CONTRIBUTING.md names %d files", len(named))
	}
	for _, m := range named {
		if _, err := os.Stat("../" + m[1]); err != nil {
			t.Errorf("CONTRIBUTING.md names a file that does not exist: %v", err)
		}
	}
}
