package fence

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Rule names commands: a program, words that follow it, and patterns of paths: "go test", "make", "rm /srv/**".
type Rule struct {
	text    string
	program string
	words   []string // subcommands
	paths   []string // patterns, with * for a part of a name and ** at the end for all below
}

// String is the rule as it was written.
func (r Rule) String() string { return r.text }

// ParseRule reads a rule. The error completes "the rule …".
func ParseRule(text string) (Rule, error) {
	r := Rule{text: text}
	for i, w := range strings.Fields(text) {
		switch {
		case strings.ContainsAny(w, "|&;<>()$`\"'\\{}!#"):
			return Rule{}, fmt.Errorf("has %q, but a rule is a program, its subcommands and paths, without quotes and signs of the shell", w)
		case i == 0 && (strings.ContainsAny(w, "*?[=~") || strings.HasPrefix(w, "-")):
			return Rule{}, fmt.Errorf("begins with %q, which is not the name of a program", w)
		case i == 0:
			r.program = w
		case strings.ContainsAny(w, "/*?[") || w == "." || w == "..":
			if _, err := path.Match(w, ""); err != nil || strings.Contains(strings.TrimSuffix(w, "/**"), "**") {
				return Rule{}, fmt.Errorf("has the pattern %q; ** is for all below a folder and stands at the end", w)
			}
			r.paths = append(r.paths, w)
		case len(r.paths) > 0:
			return Rule{}, fmt.Errorf("has %q behind a path; the paths stand at the end", w)
		default:
			r.words = append(r.words, w)
		}
	}
	if r.program == "" {
		return Rule{}, fmt.Errorf("is empty; write a program, such as \"make\"")
	}
	return r, nil
}

// ParseAllowRule reads a rule of what is allowed. It may not be about a program that runs any command: such a command is
// judged by what it runs.
func ParseAllowRule(text string) (Rule, error) {
	r, err := ParseRule(text)
	if err != nil {
		return r, err
	}
	name := path.Base(r.program)
	if _, wraps := wrappers[name]; wraps || shells[name] || name == "eval" || name == "source" || name == "find" {
		return Rule{}, fmt.Errorf("is about %s, which runs other commands; name the command that it runs", name)
	}
	return r, nil
}

// forbidden says which rule of the config forbids a command.
func (f *Fence) forbidden(s *scope, name string, words []field) []found {
	for _, r := range f.Never {
		if path.Base(r.program) == name && (!strings.Contains(r.program, "/") || words[0].text == r.program) && r.begins(words[1:]) && r.touches(s, words[1:]) {
			return []found{{everywhere, fmt.Sprintf("the config never allows %q", r.text)}}
		}
	}
	return nil
}

// begins reports whether the subcommands of a rule follow the program. Options may stand between, with a value each.
func (r Rule) begins(args []field) bool {
	if len(r.words) == 0 {
		return true
	}
	for i := 0; i < len(args); i++ {
		text := args[i].text
		if text == r.words[0] && (Rule{words: r.words[1:]}).begins(args[i+1:]) {
			return true
		}
		afterOption := i > 0 && strings.HasPrefix(args[i-1].text, "-")
		if !strings.HasPrefix(text, "-") && !afterOption {
			return false
		}
	}
	return false
}

// touches reports whether a word may lead to a path of a rule, or to a folder above it.
func (r Rule) touches(s *scope, args []field) bool {
	if len(r.paths) == 0 {
		return true
	}
	for _, f := range args {
		text := f.text
		if i := strings.IndexByte(text, '='); i >= 0 {
			text = text[i+1:]
		}
		for _, p := range s.leads(text) {
			for _, want := range r.paths {
				want = absolute(want, s.fence.Work)
				plain := strings.TrimSuffix(want, "/**")
				if matches(want, p) || under(p, plain) || under(plain, p) || f.glob && (matches(p, plain) || under(fixed(p), plain) || under(plain, fixed(p)) && strings.Contains(p, "*")) {
					return !strings.HasPrefix(f.text, "-") || strings.Contains(f.text, "=")
				}
			}
		}
	}
	return false
}

// permitted reports whether a rule of the config allows a command. It must run in the work folder, be known to the last
// word, lead nowhere else, and have no option that makes it run another program.
func (f *Fence) permitted(s *scope, name string, args []field) bool {
	if len(f.Allow) == 0 || s.folders == nil || slices.ContainsFunc(s.folders, func(dir string) bool { return !under(dir, f.Work) }) {
		return false
	}
	return slices.ContainsFunc(f.Allow, func(r Rule) bool {
		return r.program == name && r.covers(s, name, args)
	})
}

func (r Rule) covers(s *scope, name string, args []field) bool {
	if len(args) < len(r.words) {
		return false
	}
	for i, f := range args {
		switch {
		case f.trust != exact || f.glob && strings.HasPrefix(f.text, "-"):
			return false
		case i < len(r.words):
			if f.text != r.words[i] {
				return false
			}
			continue
		case s.elsewhere(f, r.paths) || startsProgram(name, f.text):
			return false
		}
	}
	return true
}

// elsewhere reports whether a word leads out of the work folder, or past the paths of a rule if it has some.
func (s *scope) elsewhere(f field, allowed []string) bool {
	text := f.text
	if i := strings.IndexByte(text, '='); i >= 0 {
		text = text[i+1:]
	} else if strings.HasPrefix(text, "-") {
		return strings.Contains(text, "/") || len(text) > 2 && !strings.HasPrefix(text, "--") && strings.Contains(text, "..")
	}
	for _, p := range s.leads(text) {
		if len(allowed) > 0 {
			if !slices.ContainsFunc(allowed, func(want string) bool { return matches(absolute(want, s.fence.Work), p) }) {
				return true
			}
		} else if !under(p, s.fence.Work) || strings.Contains(text, ":/") {
			return true
		}
	}
	return false
}

// starting are options that name a program, or a file that names one.
var starting = set("exec toolexec vettool eval command script-shell shell config rsh use-compress-program to-command checkpoint-action pager ext-diff upload-pack receive-pack e c x I f C p")

// startsProgram reports whether a word of a command that a rule allows makes it run a program that the rule does not name.
func startsProgram(name, word string) bool {
	if strings.Contains(word, "=") && !strings.HasPrefix(word, "-") {
		return true // make SHELL=…, a variable of the makefile
	}
	option, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	if strings.HasPrefix(word, "-") && starting[option] {
		return true
	}
	return name == "make" && (strings.HasPrefix(word, "-f") || strings.HasPrefix(word, "-C") || strings.HasPrefix(word, "-I") || strings.HasPrefix(word, "-E"))
}
