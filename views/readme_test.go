package views

import (
	"os"
	"strings"
	"testing"
)

// The screens that the README shows are the golden frames, to the letter.
func TestTheREADMEShowsGoldenFrames(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, block := range strings.Split(string(text), "\n```console ")[1:] {
		name, rest, _ := strings.Cut(block, "\n")
		frame, _, _ := strings.Cut(rest, "\n```\n")
		golden, err := os.ReadFile("testdata/" + name + ".golden")
		if err != nil {
			t.Fatal(err)
		}
		_, section, _ := strings.Cut(string(golden), "=== 80x24 ascii\n")
		section, _, _ = strings.Cut(section, "\n=== ")
		if frame != section {
			t.Errorf("the README's %s is not the golden frame, which is:\n%s", name, section)
		}
		shown++
	}
	if shown == 0 {
		t.Fatal("the README shows no screen")
	}
}
