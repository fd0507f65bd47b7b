package fence_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/fence"
)

// FuzzJudge feeds any bytes to every environment. No verdict may be missing, and no reason longer than a line.
func FuzzJudge(f *testing.F) {
	for _, all := range corpus(f) {
		for _, c := range all {
			f.Add(c.command)
		}
	}
	f.Fuzz(func(t *testing.T, command string) {
		began := time.Now()
		j := home(fence.Local).Judge(command, "/home/u/work")
		// A bound on what hangs, not a figure: the slowest machine is far from it.
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("the verdict took %s", took)
		}
		worst := fence.Allowed
		for _, c := range j.Commands {
			if c.Verdict == fence.Never || c.Verdict == fence.Ask && worst == fence.Allowed {
				worst = c.Verdict
			}
			if (c.Verdict != fence.Allowed) != (len(c.Reasons) > 0) {
				t.Errorf("%q is %s with the reasons %q", c.Command, c.Verdict, c.Reasons)
			}
		}
		if j.Verdict != worst {
			t.Errorf("the verdict is %s, and the worst command inside is %s", j.Verdict, worst)
		}
		if text := strings.Join(j.Reasons, ""); strings.ContainsAny(text, "\x1b\n\x00") {
			t.Errorf("the reasons hold control characters: %q", text)
		}
		if again := home(fence.Local).Judge(command, "/home/u/work"); again.Verdict != j.Verdict {
			t.Errorf("the verdict is %s, and the second time %s", j.Verdict, again.Verdict)
		}
	})
}

// quote puts a command into single quotes.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// document gives a command to a program as a here-document. The delimiter is not in it.
func document(program, c string) string {
	end := fmt.Sprintf("END%d", len(c))
	return program + " <<'" + end + "'\n" + c + "\n" + end
}

// wrap is a way to run a command inside another one. clear says that the gate sees through: never stays never.
type wrap struct {
	name  string
	clear bool
	of    func(command string) string
}

var wraps = []wrap{
	{"bash -c", true, func(c string) string { return "bash -c " + quote(c) }},
	{"sh -c", true, func(c string) string { return "sh -c " + quote(c) }},
	{"eval", true, func(c string) string { return "eval " + quote(c) }},
	{"sudo bash -c", true, func(c string) string { return "sudo bash -c " + quote(c) }},
	{"env", true, func(c string) string { return "env A=1 bash -c " + quote(c) }},
	{"timeout", true, func(c string) string { return "timeout 5 bash -c " + quote(c) }},
	{"nohup", true, func(c string) string { return "nohup bash -c " + quote(c) }},
	{"nice", true, func(c string) string { return "nice -n 5 sh -c " + quote(c) }},
	{"setsid", true, func(c string) string { return "setsid bash -c " + quote(c) }},
	{"stdbuf", true, func(c string) string { return "stdbuf -oL bash -c " + quote(c) }},
	{"command", true, func(c string) string { return "command bash -c " + quote(c) }},
	{"exec", true, func(c string) string { return "exec bash -c " + quote(c) }},
	{"builtin eval", true, func(c string) string { return "builtin eval " + quote(c) }},
	{"xargs", true, func(c string) string { return "xargs bash -c " + quote(c) + " < names.txt" }},
	{"find -exec", true, func(c string) string { return "find . -exec bash -c " + quote(c) + ` \;` }},
	{"ssh", true, func(c string) string { return "ssh host " + quote(c) }},
	{"watch", true, func(c string) string { return "watch " + quote(c) }},
	{"parallel", true, func(c string) string { return "parallel " + quote(c) }},
	{"trap", true, func(c string) string { return "trap " + quote(c) + " EXIT" }},
	{"su -c", true, func(c string) string { return "su -c " + quote(c) }},
	{"subshell", true, func(c string) string { return "(" + c + "\n)" }},
	{"block", true, func(c string) string { return "{ " + c + "\n}" }},
	{"substitution", true, func(c string) string { return `echo "$(` + c + "\n)\"" }},
	{"process substitution", true, func(c string) string { return "cat <(" + c + "\n)" }},
	{"condition", true, func(c string) string { return "if " + c + "\nthen ls; fi" }},
	{"loop", true, func(c string) string { return "for i in 1 2; do " + c + "\ndone" }},
	{"case", true, func(c string) string { return "case a in a) " + c + "\n;; esac" }},
	{"function", true, func(c string) string { return "f() {\n" + c + "\n}; f" }},
	{"background", true, func(c string) string { return "{ " + c + "\n} & ls" }},
	{"list", true, func(c string) string { return "ls && {\n" + c + "\n} || date" }},
	{"pipe", true, func(c string) string { return "ls | {\n" + c + "\n} | wc -l" }},
	{"document", true, func(c string) string { return document("bash", c) }},
	{"here-string", true, func(c string) string { return "bash <<< " + quote(c) }},
	{"echo to a shell", false, func(c string) string { return "echo " + quote(c) + " | sh" }},
	{"variable", false, func(c string) string { return "x=" + quote(c) + `; eval "$x"` }},
	{"variable as a command", false, func(c string) string { return "x=" + quote(c) + "; $x" }},
	{"file", false, func(c string) string { return document("cat > x.sh", c) + "\nbash x.sh" }},
	{"python", false, func(c string) string { return "python3 -c " + quote("import os; os.system("+quote(c)+")") }},
	{"awk", false, func(c string) string { return "awk " + quote("BEGIN { system(\""+c+"\") }") }},
	{"git pager", false, func(c string) string { return "git -c core.pager=" + quote(c) + " log" }},
	{"git alias", false, func(c string) string { return "git -c alias.x=" + quote("!"+c) + " x" }},
	{"tar", false, func(c string) string { return "tar --to-command=" + quote(c) + " -xf a.tar" }},
	{"unknown program", false, func(c string) string { return "strange-wrapper --run " + quote(c) }},
	{"pager", false, func(c string) string { return "PAGER=" + quote(c) + " git log" }},
	{"alias", false, func(c string) string { return "alias x=" + quote(c) + "\nx" }},
}

// texts are the commands of the corpus with a verdict.
func texts(t testing.TB, v fence.Verdict) (all []string) {
	for _, group := range corpus(t) {
		for _, c := range group {
			// A here-document needs its end on a line of its own, and an open quote takes in what stands around it.
			if c.verdict == v && !strings.Contains(c.command, "<<") && !strings.HasSuffix(c.command, "\nif") && !strings.Contains(c.why, "in any surroundings") {
				all = append(all, c.command)
			}
		}
	}
	slices.Sort(all)
	return all
}

func TestTR3_NoWrappingIsJudgedMoreKindlyThanWhatItWraps(t *testing.T) {
	nevers, asks := texts(t, fence.Never), texts(t, fence.Ask)
	f := home(fence.Local)
	rapid.Check(t, func(t *rapid.T) {
		never := rapid.Bool().Draw(t, "never")
		pool := asks
		if never {
			pool = nevers
		}
		command := rapid.SampledFrom(pool).Draw(t, "command")
		for range rapid.IntRange(1, 4).Draw(t, "depth") {
			w := rapid.SampledFrom(wraps).Draw(t, "wrap")
			command = w.of(command)
		}
		if j := f.Judge(command, f.Work); j.Verdict == fence.Allowed {
			t.Fatalf("%q is allowed; commands: %+v", command, j.Commands)
		}
	})
}

func TestTR3_WhatIsNeverRunStaysSoBehindAWrapperThatIsUnfolded(t *testing.T) {
	f := home(fence.Local)
	for _, command := range []string{"rm -rf /", "cat /etc/shadow", "shutdown -h now", "dd if=a of=/dev/sda", "rm -rf ~/*", "echo x > /dev/sda", "kill -9 -1"} {
		for _, outer := range wraps {
			for _, inner := range wraps {
				if !outer.clear || !inner.clear {
					continue
				}
				if wrapped := outer.of(inner.of(command)); f.Judge(wrapped, f.Work).Verdict != fence.Never {
					t.Errorf("%s around %s around %q is not refused: %q", outer.name, inner.name, command, wrapped)
				}
			}
		}
	}
}
