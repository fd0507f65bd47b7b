package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestTheContractListsEveryVerb(t *testing.T) {
	b, err := os.ReadFile("../../core/CONTRACT.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(b), "\n| verb | what it does |\n|---|---|\n")
	if !found {
		t.Fatal("CONTRACT.md has no table of the verbs")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var listed, have []string
	for _, row := range strings.Split(table, "\n") {
		verb := strings.Split(row, "`")[1]
		words := strings.Fields(verb)
		for len(words) > 1 && words[len(words)-1] == strings.ToUpper(words[len(words)-1]) {
			words = words[:len(words)-1]
		}
		listed = append(listed, strings.Join(words, " "))
	}
	every(newTree(), func(c *cobra.Command) {
		have = append(have, strings.TrimPrefix(c.CommandPath(), "gatewaytui "))
	})
	for _, verb := range have {
		if !slices.Contains(listed, verb) {
			t.Errorf("CONTRACT.md, 1 lacks %q", verb)
		}
	}
	for _, verb := range listed {
		if !slices.Contains(have, verb) {
			t.Errorf("CONTRACT.md, 1 has %q, which is an unknown verb", verb)
		}
	}
}
