package fence_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatewaytui/core/fence"
)

// home is a gateway of the user u, in whose home is the work folder.
func home(e fence.Environment) *fence.Fence {
	return &fence.Fence{
		Environment: e, Work: "/home/u/work", Home: "/home/u",
		Own: []string{"/home/u/.local/state/gatewaytui", "/home/u/.config/gatewaytui/config.toml"},
	}
}

type example struct {
	verdict      fence.Verdict
	why, command string
}

// corpus reads testdata/*.txt, by group: lines of verdict, why and command. A ⏎ in a command is a new line.
func corpus(t testing.TB) map[string][]example {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	groups := map[string][]example{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		group := strings.TrimSuffix(filepath.Base(file), ".txt")
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			if line == "" || strings.HasPrefix(line, "# ") {
				continue
			}
			parts := strings.SplitN(line, "\t", 3)
			if len(parts) != 3 {
				t.Fatalf("%s: %q is not verdict, why and command", file, line)
			}
			groups[group] = append(groups[group], example{fence.Verdict(parts[0]), parts[1], strings.ReplaceAll(parts[2], "⏎", "\n")})
		}
	}
	return groups
}

func TestTR3_TheCorpusHasTheVerdictOfEachCommand(t *testing.T) {
	n := 0
	for group, all := range corpus(t) {
		t.Run(group, func(t *testing.T) {
			for _, c := range all {
				n++
				j := home(fence.Local).Judge(c.command, "/home/u/work")
				if j.Verdict != c.verdict {
					t.Errorf("%q is %s, and should be %s (%s); reasons: %q", c.command, j.Verdict, c.verdict, c.why, j.Reasons)
				}
				if (j.Verdict == fence.Allowed) != (len(j.Reasons) == 0) {
					t.Errorf("%q is %s with the reasons %q", c.command, j.Verdict, j.Reasons)
				}
			}
		})
	}
	if n < 400 {
		t.Errorf("the corpus has %d commands, and should have 400 at least", n)
	}
}
