package fence

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// shells run a text, a file or their input.
var shells = set("bash sh dash zsh ksh mksh ash rbash fish csh tcsh yash")

// calmShell are long options of shells that make them run less.
var calmShell = set("--norc --noprofile --posix")

// nested judges a shell text inside a command. What is not known to the last letter is a question.
func (a *analysis) nested(s *scope, text field) {
	if !text.exact() {
		a.row(s, text.text, found{opaque, "the text of the command is known only when it runs"})
	}
	inner := *s
	inner.arguments, inner.nested = true, true
	a.text(inner, text.text, syntax.LangBash)
}

// shell judges bash and its like: -c TEXT, a file, or the standard input.
func (a *analysis) shell(s *scope, name string, args []field) (all []found) {
	inner := s.in(name)
	for i := 0; i < len(args); i++ {
		text := args[i].text
		switch {
		case !args[i].exact():
			return append(all, found{opaque, name + " runs what is known only when it runs"})
		case text == "--":
		case strings.HasPrefix(text, "--"):
			if !calmShell[text] {
				all = append(all, found{plain, "the option " + text + " of " + name + " may run a file"})
			}
			if text == "--rcfile" || text == "--init-file" {
				i++
			}
		case len(text) > 1 && (text[0] == '-' || text[0] == '+'):
			if strings.Trim(text[1:], "ceuxlnfsov") != "" {
				all = append(all, found{plain, "the option " + text + " of " + name + " is not known as harmless"})
			}
			if last := text[len(text)-1]; last == 'o' || last == 'O' {
				i++
			}
			if text[0] == '-' && strings.Contains(text, "c") {
				return append(all, a.commandText(inner, name, args[min(i+1, len(args)):])...)
			}
		default:
			return append(all, found{plain, name + " runs the file " + text})
		}
	}
	a.fed(s, name)
	if s.stdin == nil {
		all = append(all, found{plain, name + " runs what it reads"})
	}
	return all
}

// commandText judges the text behind -c; further options may stand in front of it.
func (a *analysis) commandText(s *scope, name string, args []field) []found {
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		if args[0].text == "-o" {
			args = args[min(1, len(args)-1):]
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return []found{{opaque, name + " -c has no text"}}
	}
	a.suffixes(s, args) // the text may run what stands behind it: "$@"
	return a.script(s, name, args[0])
}

// script judges the text of bash -c. What is not bash is read as POSIX has it, and as bash.
func (a *analysis) script(s *scope, name string, text field) (all []found) {
	s.within[len(s.within)-1] = name + " -c"
	a.nested(s, text)
	switch name {
	case "bash", "rbash":
	case "sh", "dash", "ash":
		inner := *s
		inner.arguments, inner.nested = true, true
		a.text(inner, text.text, syntax.LangPOSIX)
	default:
		all = append(all, found{opaque, name + " is not bash, and reads a text in its own way"})
	}
	return all
}

// fed judges what a shell reads from its standard input.
func (a *analysis) fed(s *scope, name string) {
	if s.stdin == nil {
		return
	}
	inner := s.in(name)
	inner.stdin, inner.functions = nil, nil
	if s.stdin.trust == unknown {
		a.row(inner, name, found{opaque, name + " runs what another program writes, which is known only when it runs"})
		return
	}
	a.nested(inner, *s.stdin)
}

// evaluated judges eval.
func (a *analysis) evaluated(s *scope, args []field) []found {
	inner := s.in("eval")
	inner.functions = nil
	a.joined(inner, args)
	if strings.Contains(strings.Join(texts(args), " "), "cd") || strings.Contains(strings.Join(texts(args), " "), "pushd") {
		s.folders = nil
	}
	return nil
}

// aliases looks at what alias NAME=TEXT stands for.
func (a *analysis) aliases(s *scope, args []field) {
	for _, f := range args {
		if _, value, sets := strings.Cut(f.text, "="); sets {
			a.tryText(s.in("alias"), value)
		}
	}
}

// trapped judges trap TEXT SIGNAL.
func (a *analysis) trapped(s *scope, args []field) []found {
	if len(args) > 0 && args[0].text == "--" {
		args = args[1:]
	}
	if len(args) < 2 || args[0].text == "-" || args[0].text == "" {
		return nil
	}
	inner := s.in("trap")
	inner.folders = nil
	a.nested(inner, args[0])
	return nil
}
