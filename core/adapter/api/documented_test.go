package api

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/model"
)

// members are the names of the JSON members that a struct has itself.
func members(v any) (names []string) {
	for _, field := range reflect.VisibleFields(reflect.TypeOf(v)) {
		if len(field.Index) == 1 && !field.Anonymous {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return names
}

// CV2, TF17: the README and CONTRACT.md, 4 say of every parameter of a chat completion what becomes of it.
func TestCV2_TheTablesOfParametersAreThoseOfTheCode(t *testing.T) {
	honoured := slices.DeleteFunc(members(wireRequest{}), func(name string) bool { return name == "user" })
	for begins, want := range map[string][]string{
		"honoured":  honoured,
		"passed on": members(model.Params{}),
		"ignored":   append(members(ignoredParams{}), "user"),
		"refused":   members(refusedParams{}),
	} {
		slices.Sort(want)
		for _, file := range []string{"README.md", "core/CONTRACT.md"} {
			text, err := os.ReadFile("../../../" + file)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, row := range regexp.MustCompile(`(?m)^\| (.*`+"`"+`.*) \| `+begins+`.*$`).FindAllStringSubmatch(string(text), -1) {
				for _, name := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[1], -1) {
					got = append(got, name[1])
				}
			}
			got = slices.DeleteFunc(got, func(name string) bool { return name == "image_url" }) // a part of a message
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %s are %q, want %q", file, begins, got, want)
			}
		}
	}
}
