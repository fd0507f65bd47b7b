package fence_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/fence"
	"gatewaytui/fixtures"
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

// helpExample matches a command in the help of the embedded script.
var helpExample = regexp.MustCompile(`(?m)\b(?:sh|bg): ([a-z][a-z0-9 -]*)$`)

func TestTR3_TheCommandsThatTheEmbeddedScriptShowsRunWithoutAQuestion(t *testing.T) {
	script, err := fixtures.Script("default")
	if err != nil {
		t.Fatal(err)
	}
	examples := helpExample.FindAllStringSubmatch(string(script), -1)
	if len(examples) < 3 {
		t.Fatalf("the help of the script shows only %q", examples)
	}
	for _, e := range fence.Environments() {
		for _, found := range examples {
			if j := home(e).Judge(found[1], "/home/u/work"); j.Verdict != fence.Allowed {
				t.Errorf("%s: %q is %s: %q", e, found[1], j.Verdict, j.Reasons)
			}
		}
	}
}

func TestTR3_TheVerdictDependsOnTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		name, command                      string
		local, partial, sandbox, container fence.Verdict
	}{
		{"harmless commands are allowed everywhere", "git status", fence.Allowed, fence.Allowed, fence.Allowed, fence.Allowed},
		{"a change is asked where no wall holds it", "npm install", fence.Ask, fence.Ask, fence.Allowed, fence.Allowed},
		{"what cannot be read is asked where no wall holds it", "$x", fence.Ask, fence.Ask, fence.Allowed, fence.Allowed},
		{"what only the host has is out of reach behind a wall", "cat /etc/shadow", fence.Never, fence.Never, fence.Allowed, fence.Allowed},
		{"a fork bomb is bounded by the limits of a sandbox", ":(){ :|:& };:", fence.Never, fence.Never, fence.Allowed, fence.Allowed},
		{"the work folder is everywhere that of the host", "rm -rf /", fence.Never, fence.Never, fence.Never, fence.Never},
		{"a rule of the config holds everywhere", "deploy now", fence.Never, fence.Never, fence.Never, fence.Never},
	} {
		t.Run(c.name, func(t *testing.T) {
			rule, err := fence.ParseRule("deploy")
			if err != nil {
				t.Fatal(err)
			}
			for e, want := range map[fence.Environment]fence.Verdict{fence.Local: c.local, fence.Partial: c.partial, fence.Sandbox: c.sandbox, fence.Container: c.container, "unknown": c.local} {
				f := home(e)
				f.Never = []fence.Rule{rule}
				if got := f.Judge(c.command, f.Work).Verdict; got != want {
					t.Errorf("in %s %q is %s, and should be %s", e, c.command, got, want)
				}
			}
		})
	}
}

func TestTR3_RulesOfTheConfig(t *testing.T) {
	for _, c := range []struct {
		name, never, allow, command string
		want                        fence.Verdict
	}{
		{"a program that is allowed", "", "make", "make", fence.Allowed},
		{"with a target", "", "make", "make test", fence.Allowed},
		{"with a variable, which may be a command", "", "make", "make SHELL=/tmp/x", fence.Ask},
		{"with a makefile from elsewhere", "", "make", "make -f /tmp/x", fence.Ask},
		{"in another folder", "", "make", "make -C /tmp", fence.Ask},
		{"after a move to another folder", "", "make", "cd /tmp && make", fence.Ask},
		{"after a move within the work folder", "", "make", "cd src && make", fence.Allowed},
		{"after a move to a folder that is not known", "", "make", "cd $x && make", fence.Ask},
		{"with a variable in front that programs load", "", "make", "LD_PRELOAD=./x make", fence.Ask},
		{"with its output in a file", "", "make", "make > /etc/x", fence.Ask},
		{"a subcommand that is allowed", "", "go test", "go test ./...", fence.Allowed},
		{"with options", "", "go test", "go test -count=1 -run TestX ./core/...", fence.Allowed},
		{"with an option that runs a program", "", "go test", "go test -exec ./x ./...", fence.Ask},
		{"another subcommand", "", "go test", "go build", fence.Ask},
		{"an option in front of the subcommand", "", "go test", "go -C /tmp test", fence.Ask},
		{"a word that is not known", "", "go test", "go test $x", fence.Ask},
		{"a path outside", "", "go test", "go test ../other", fence.Ask},
		{"a program of the same name elsewhere", "", "make", "/tmp/make", fence.Ask},
		{"behind a wrapper that is harmless", "", "make", "timeout 60 make", fence.Allowed},
		{"behind a wrapper that is not", "", "make", "sudo make", fence.Ask},
		{"next to a question", "", "make", "make && rm x", fence.Ask},
		{"what ruins stays never", "", "rm", "rm -rf /", fence.Never},
		{"a path that is allowed", "", "rm build/**", "rm -rf build/x", fence.Allowed},
		{"another path", "", "rm build/**", "rm -rf src", fence.Ask},
		{"a program that never runs", "terraform", "", "terraform plan", fence.Never},
		{"by its full name", "terraform", "", "/usr/bin/terraform plan", fence.Never},
		{"behind wrappers", "terraform", "", "sudo bash -c 'terraform plan'", fence.Never},
		{"a subcommand that never runs", "git push", "", "git push origin main", fence.Never},
		{"behind options of the program", "git push", "", "git -C src push", fence.Never},
		{"another subcommand stays a question", "git push", "", "git commit -m push", fence.Ask},
		{"a path that is never touched", "rm /srv/**", "", "rm -rf /srv/data", fence.Never},
		{"the folder itself", "rm /srv/**", "", "rm /srv", fence.Never},
		{"by a relative path", "rm /srv/**", "", "cd /srv && rm x", fence.Never},
		{"by a pattern", "rm /srv/**", "", "rm /s*/x", fence.Never},
		{"another path stays a question", "rm /srv/**", "", "rm /tmp/x", fence.Ask},
		{"another program stays a question", "rm /srv/**", "", "mv /srv/x /tmp", fence.Ask},
		{"never is stronger than allow", "make deploy", "make", "make deploy", fence.Never},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := home(fence.Local)
			if c.never != "" {
				rule, err := fence.ParseRule(c.never)
				if err != nil {
					t.Fatal(err)
				}
				f.Never = []fence.Rule{rule}
			}
			if c.allow != "" {
				rule, err := fence.ParseAllowRule(c.allow)
				if err != nil {
					t.Fatal(err)
				}
				f.Allow = []fence.Rule{rule}
			}
			if j := f.Judge(c.command, f.Work); j.Verdict != c.want {
				t.Errorf("%q is %s, and should be %s: %q", c.command, j.Verdict, c.want, j.Reasons)
			}
		})
	}
}

func TestARuleThatCannotBeReadIsRefused(t *testing.T) {
	for _, text := range []string{"", "  ", "rm -rf $HOME", "ls | wc", "a;b", "'make'", "make >x", "-x", "A=1 make", "rm /a/**/b", "rm /a b", "rm [", "*"} {
		if r, err := fence.ParseRule(text); err == nil {
			t.Errorf("%q is the rule %+v", text, r)
		}
	}
	for _, text := range []string{"bash", "sh -c", "sudo", "env", "xargs rm", "eval", "find", "/bin/bash"} {
		if _, err := fence.ParseAllowRule(text); err == nil {
			t.Errorf("%q is allowed as a rule, and would allow every command", text)
		}
	}
}

func TestJudgementNamesTheCommandsInsideAndWhatRunsThem(t *testing.T) {
	f := home(fence.Local)
	j := f.Judge(`ls | sudo bash -c "git status; r'm' -rf build"`, f.Work)
	var got []string
	for _, c := range j.Commands {
		got = append(got, strings.Join(append(c.Within, c.Command), " > ")+" = "+string(c.Verdict))
	}
	want := []string{"ls = allowed", "sudo > bash -c > git status = allowed", "sudo > bash -c > rm -rf build = ask", `sudo bash -c 'git status; r'"'"'m'"'"' -rf build' = ask`}
	if len(got) != 4 || !slices.Equal(got[:3], want[:3]) || !strings.HasPrefix(got[3], "sudo bash -c ") {
		t.Errorf("the commands are %q", got)
	}
}

func BenchmarkVerdict1KB(b *testing.B) {
	command := strings.Repeat(`for f in *.go; do grep -n "func $f" "$f" | head -n 5; done; git log --oneline -5 && ls -la src 2>/dev/null; x=$(date +%F); echo "$x" `+"\n", 8)[:1024]
	command = command[:strings.LastIndexByte(command, '\n')]
	f := home(fence.Local)
	if j := f.Judge(command, f.Work); j.Verdict != fence.Allowed {
		b.Fatalf("the verdict is %s: %q", j.Verdict, j.Reasons)
	}
	b.ReportAllocs()
	for b.Loop() {
		f.Judge(command, f.Work)
	}
}
