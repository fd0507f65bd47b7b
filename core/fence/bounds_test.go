package fence_test

import (
	"strings"
	"testing"
	"time"

	"gatewaytui/core/fence"
	"gatewaytui/fixtures/soak"
)

// pieces are texts that make parsers slow or deep when they are repeated.
var pieces = []string{
	"(", "{ ", "$(", "a|", "a&&", "a;", "!", "if ", "while ", "case a in a) ", "for x in ", "${a:-", "`", "\\`", "{a,b}", "{a,b}{a,b};", "[[ ! ", "[[ ( ", "$((", "((", "$((-",
	"<<a ", "<<a\n", "x=$x$x;", "x+=$x$x;", "f(){ ", "'a'", "\"$(", "\\", "a[", "time ", "coproc ", "echo $(echo ", "echo $(echo a);", "cat <<< $(cat <<< ", "cat <(", "bash -c '", "eval ", "eval eval eval a;",
	"sudo ", "env ", "xargs ", "find . -exec ", "sh -c 'sh -c a';", "*", "?*", "[a-", "@(", "~", "{1..9}", "cd a;", "cd ..;", "for x in a b; do x=$x$x; done;", "a=({a,b}{a,b}{a,b});", "$a$a", "python3 -c \"'a'\" ;", "\"", "\x00", "\xff", "é", "😀",
	"echo cm0= | base64 -d |", "| rev ", "printf %s%s a |", "$'\\x41'", "git -c a=b ", "rm -rf / ",
}

func TestTR3_EveryRepeatedPieceIsJudgedInABoundedTime(t *testing.T) {
	f := home(fence.Local)
	for i, piece := range pieces {
		for _, n := range []int{40, 99, 900, 60_000 / len(piece)} {
			commands := []string{strings.Repeat(piece, n), strings.Repeat(piece, n) + "a", "a " + strings.Repeat(piece, n)}
			if n > 99 && !soak.On() {
				commands = commands[i%3 : i%3+1] // the long ones take turns
			}
			for _, command := range commands {
				began := time.Now()
				j := f.Judge(command, f.Work)
				// A bound on what hangs, not a figure.
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("%q, repeated %d times, took %s", piece, n, took)
				} else if testing.Verbose() && took > 50*time.Millisecond {
					t.Logf("%q, repeated %d times, took %s", piece, n, took)
				}
				if j.Verdict == "" {
					t.Errorf("%q, repeated %d times, has no verdict", piece, n)
				}
			}
		}
	}
}

func TestTR3_WhatIsBeyondABoundIsAQuestionWithItsReason(t *testing.T) {
	for _, c := range []struct{ name, command, reason string }{
		{"a command that is too long", "echo " + strings.Repeat("a", 65<<10), "longer than 64 KiB"},
		{"too many brackets within brackets", strings.Repeat("(", 101) + "ls" + strings.Repeat(")", 101), "more brackets within brackets"},
		{"too many shells within shells", strings.Repeat("eval ", 20) + "ls", "more shells within shells"},
		{"too many commands", strings.Repeat("ls $RANDOM;make x;", 600), "more commands"},
		{"a text that does not parse", "if then", "cannot be parsed"},
		{"a control character", "ls\x1b[2J", "control characters"},
		{"a text that is not UTF-8", "ls \xff", "control characters"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := home(fence.Local)
			j := f.Judge(c.command, f.Work)
			if j.Verdict != fence.Ask || !strings.Contains(strings.Join(j.Reasons, "\n"), c.reason) {
				t.Errorf("the verdict is %s, with the reasons %q", j.Verdict, j.Reasons)
			}
		})
	}
}
