package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"gatewaytui/core/ops"
)

func newTree() *cobra.Command {
	return newRoot(&program{in: strings.NewReader(""), out: io.Discard, err: io.Discard, getenv: func(string) string { return "" }})
}

// every calls visit for each command that people see.
func every(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			every(sub, visit)
		}
	}
}

func TestEveryVerbOfTheGatewayHasATwinOnTheCommandLine(t *testing.T) {
	root := newTree()
	for _, spec := range ops.Verbs {
		path := strings.Fields(spec.Group + " " + spec.Name)
		c, _, err := root.Find(path)
		if err != nil || c.Name() != path[len(path)-1] {
			t.Errorf("%s: %q is not a command: %v", spec.Verb, path, err)
			continue
		}
		for flag, want := range map[string]bool{"dry-run": spec.Ends || spec.DryRun, "yes": spec.Ends || spec.Verb == ops.VerbMessage} {
			if has := c.Flags().Lookup(flag) != nil; has != want {
				t.Errorf("%s: --%s is there: %v, want %v", c.CommandPath(), flag, has, want)
			}
		}
		if c.Short != spec.Summary {
			t.Errorf("%s: its help says %q, the verb's summary %q", c.CommandPath(), c.Short, spec.Summary)
		}
	}
	for verb := range actions {
		if _, known := verb.Spec(); !known {
			t.Errorf("there is an action for %s, which is not a verb", verb)
		}
	}
}

func TestEveryCommandHasAnExampleThatParses(t *testing.T) {
	every(newTree(), func(c *cobra.Command) {
		if c.Example == "" || c.Short == "" {
			t.Errorf("%s: example %q, short %q: both are needed", c.CommandPath(), c.Example, c.Short)
		}
		for line := range strings.Lines(c.Example) {
			words := shellWords(t, line)
			at := slices.Index(words, "gatewaytui")
			if at < 0 {
				t.Errorf("%s: the example %q does not call the program", c.CommandPath(), line)
				continue
			}
			root := newTree() // flags keep what an earlier line set
			called, args, err := root.Find(words[at+1:])
			if err == nil {
				err = called.ParseFlags(args)
			}
			if err == nil && called.Args != nil {
				err = called.Args(called, called.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: the example %q is wrong: %v", c.CommandPath(), line, err)
			}
			if !strings.HasPrefix(called.CommandPath(), c.CommandPath()) && c.Name() != "help" {
				t.Errorf("%s: the example %q is one of %s", c.CommandPath(), line, called.CommandPath())
			}
		}
	})
}

func TestEveryVerbTakesJSONAndHome(t *testing.T) {
	every(newTree(), func(c *cobra.Command) {
		path := c.CommandPath()
		if c.Flag("home") == nil {
			t.Errorf("%s takes no --home", path)
		}
		script := strings.HasPrefix(path, "gatewaytui completion") || path == "gatewaytui help" || path == "gatewaytui"
		if !script && c.Flag("json") == nil {
			t.Errorf("%s takes no --json", path)
		}
	})
}

// shellWords splits an example as a shell would: quotes hold together, and what follows a comment, a pipe or a redirection
// is not the program's.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	var words []string
	var word strings.Builder
	quoted := false
	flush := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	for _, r := range strings.TrimSpace(line) {
		switch {
		case r == '"':
			quoted = !quoted
		case quoted:
			word.WriteRune(r)
		case r == ' ':
			flush()
		case r == '|' && slices.Contains(words, "gatewaytui"), r == '>', r == '#':
			flush()
			return words
		case r == '|':
			flush()
			words = nil
		default:
			word.WriteRune(r)
		}
	}
	if quoted {
		t.Errorf("the quotes of %q do not close", line)
	}
	flush()
	return words
}

func TestHelpShowsTheExampleOfEveryVerb(t *testing.T) {
	every(newTree(), func(c *cobra.Command) {
		args := append(strings.Fields(c.CommandPath())[1:], "--help")
		r := invocation{}.run(t, t.Context(), args...).must(t, exitDone)
		if !strings.Contains(r.out, strings.TrimSpace(c.Example)) {
			t.Errorf("%q does not show the example:\n%s", args, r.out)
		}
	})
}

func TestCompletionScriptsArePrintedForEveryShell(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		r := invocation{}.run(t, t.Context(), "completion", shell).must(t, exitDone)
		if !strings.Contains(r.out, "gatewaytui") {
			t.Errorf("the script for %s does not name the program:\n%.200s", shell, r.out)
		}
	}
	var out strings.Builder // with the tabs that shells want
	p := &program{in: strings.NewReader(""), out: &out, err: io.Discard, getenv: func(string) string { return "" }}
	if code := p.execute(t.Context(), []string{"__complete", "adapter", "pa"}); code != exitDone || !strings.HasPrefix(out.String(), "pause\t") {
		t.Errorf("completing \"adapter pa\" ends with %d and gives %q", code, out.String())
	}
}
