package adapter_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/demo"
	"gatewaytui/core/adapter/discord"
	"gatewaytui/core/adapter/feishu"
	"gatewaytui/core/adapter/irc"
	"gatewaytui/core/adapter/mail"
	"gatewaytui/core/adapter/matrix"
	"gatewaytui/core/adapter/slack"
	"gatewaytui/core/adapter/telegram"
)

// cell is what a cell of the table reads: tests in backticks, and what their peers were.
var cell = regexp.MustCompile("^(`[^`]+`(?:, `[^`]+`)*) \\((double|peer|double, peer)\\)$")

func TestPL1_TheTableOfAbilitiesIsTrue(t *testing.T) {
	platforms := map[string]adapter.Able{
		"telegram": telegram.New(telegram.Options{}), "discord": discord.New(discord.Options{}), "feishu": feishu.New(feishu.Options{}), "mail": mail.New(mail.Options{}), "slack": slack.New(slack.Options{}),
		"matrix": matrix.New(matrix.Options{}), "irc": irc.New(irc.Options{}), "demo": demo.New(demo.Spec{Name: "harbour", Behaviour: "good"}, demo.Options{}),
	}
	table := rowsOf(t, "| ability |")
	header := table[0]
	if want := len(platforms) + 1; len(header) != want {
		t.Fatalf("the table has the columns %q, want %d", header, want)
	}
	var named []string
	for _, row := range table[1:] {
		named = append(named, row[0])
		ability := adapter.Ability(row[0])
		if ability == "voice" { // a kind of file
			ability = adapter.AbilityFilesIn
		}
		for i, platform := range header[1:] {
			p, known := platforms[platform]
			if !known {
				t.Fatalf("there is no platform %q", platform)
			}
			shown := row[i+1] != ""
			if has := slices.Contains(p.Abilities(), ability); has != shown {
				t.Errorf("%s of %s: the table says %t, the platform %t", row[0], platform, shown, has)
			}
			if shown {
				exists(t, platform, row[i+1])
			}
		}
	}
	if want := declared(t); !slices.Equal(slices.Sorted(slices.Values(named)), slices.Sorted(slices.Values(want))) {
		t.Errorf("the table has the abilities %q, want %q", named, want)
	}
}

// rowsOf are the cells of the table whose header begins so, with the header first.
func rowsOf(t *testing.T, begin string) (rows [][]string) {
	t.Helper()
	page, err := os.ReadFile("ABILITIES.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), begin)
	if !found {
		t.Fatalf("there is no table that begins with %q", begin)
	}
	for line := range strings.Lines(begin + rest) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			break
		}
		var row []string
		for field := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
			row = append(row, strings.TrimSpace(field))
		}
		if len(rows) > 0 && len(row) != len(rows[0]) {
			t.Fatalf("the row %q has not as many cells as the header", line)
		}
		if !strings.HasPrefix(row[0], "---") {
			rows = append(rows, row)
		}
	}
	return rows
}

// declared are the abilities that there are, and the voice of the table.
func declared(t *testing.T) (all []string) {
	t.Helper()
	source, err := os.ReadFile("abilities.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`Ability\w+\s+Ability = "([^"]+)"`).FindAllStringSubmatch(string(source), -1) {
		all = append(all, found[1])
	}
	return append(all, "voice")
}

// exists fails the test unless every test that a cell names is one of the platform or a row of the conformance suite.
func exists(t *testing.T, platform, text string) {
	t.Helper()
	found := cell.FindStringSubmatch(text)
	if found == nil {
		t.Errorf("%s: %q does not name tests and their peers", platform, text)
		return
	}
	suite := source(t, filepath.Join("conformance", "*.go"))
	tests := source(t, filepath.Join(platform, "*_test.go"))
	for name := range strings.SplitSeq(found[1], ", `") {
		name = strings.Trim(name, "`")
		row, conforms := strings.CutPrefix(name, "PL2: ")
		switch {
		case conforms && (!strings.Contains(suite, `{"`+row+`", `) || !strings.Contains(tests, "conformance.Run(t")):
			t.Errorf("%s: the conformance suite has no row %q, or is not run", platform, row)
		case !conforms && !strings.Contains(tests, "func "+name+"(t *testing.T)"):
			t.Errorf("%s: there is no test %s", platform, name)
		}
	}
}

// source is the text of the files.
func source(t *testing.T, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no file matches %s: %v", pattern, err)
	}
	var b strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	return b.String()
}
