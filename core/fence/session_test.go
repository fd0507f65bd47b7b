package fence_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/fence"
)

// TestTR3_ACodingSessionIsAskedLittle counts the questions of a recorded coding session. Where a wall holds, there are none. Where
// none does, every program that runs code of the folder is asked about: the second figure is what is left if a person allows each
// program and its subcommand for the session.
func TestTR3_ACodingSessionIsAskedLittle(t *testing.T) {
	text, err := os.ReadFile("testdata/session/coding.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		environment fence.Environment
		most, once  int // questions, and those that differ
	}{
		{fence.Sandbox, 0, 0},
		{fence.Container, 0, 0},
		{fence.Partial, 99, 63},
		{fence.Local, 99, 63},
	} {
		t.Run(string(c.environment), func(t *testing.T) {
			f := home(c.environment)
			calls, commands, asked := 0, 0, 0
			allowed := map[string]bool{} // for the session
			once := 0
			for line := range strings.Lines(string(text)) {
				kind, command, is := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
				if !is {
					continue
				}
				if calls++; kind != "terminal" {
					continue // a file in the work folder is never asked
				}
				commands++
				j := f.Judge(strings.ReplaceAll(command, "⏎", "\n"), f.Work)
				if j.Verdict == fence.Never {
					t.Errorf("%q never runs: %q", command, j.Reasons)
				}
				if j.Verdict == fence.Allowed {
					continue
				}
				asked++
				again := true
				for _, one := range j.Commands {
					key := subject(one.Command)
					again = again && (one.Verdict == fence.Allowed || allowed[key])
					allowed[key] = allowed[key] || one.Verdict == fence.Ask
				}
				if !again {
					once++
				}
			}
			t.Logf("%d calls, of them %d commands: %d questions, or %d if each is answered for the session (%.1f and %.1f per 100 calls)",
				calls, commands, asked, once, 100*float64(asked)/float64(calls), 100*float64(once)/float64(calls))
			if calls < 200 {
				t.Errorf("the session has %d calls", calls)
			}
			if asked > c.most || once > c.once {
				t.Errorf("%d questions, %d different ones; at most %d and %d are expected", asked, once, c.most, c.once)
			}
		})
	}
}

// subject is the program of a command and its subcommand.
func subject(command string) string {
	words := strings.Fields(command)
	words = slices.DeleteFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") })
	return strings.Join(words[:min(2, len(words))], " ")
}
