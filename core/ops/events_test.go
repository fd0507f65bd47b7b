package ops

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

func TestEveryTypeOfEventIsInTheList(t *testing.T) {
	source, err := os.ReadFile("events.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^\tEvent\w+\s+EventType = "([a-z_.]+)"`).FindAllSubmatch(source, -1)
	for _, m := range found {
		kind := EventType(m[1])
		stands := kind == EventDropped || kind == EventSkipped // they stand for others
		if slices.Contains(EventTypes, kind) == stands {
			t.Errorf("%s is in EventTypes: %t", kind, stands)
		}
	}
	if len(found) != len(EventTypes)+2 {
		t.Errorf("the source has %d types, the list %d", len(found), len(EventTypes))
	}
}
