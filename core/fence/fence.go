// Package fence judges a shell command before it runs: allowed, ask or never.
//
// A command is parsed as bash, and every simple command inside is found and judged: those in pipelines, substitutions,
// functions and here-documents, and those behind bash -c, eval, sudo, env, xargs, find -exec and the like. A simple command
// is allowed if its program and each of its options are on a list of harmless ones. The files that it reads must be
// in the work folder or belong to the system. Everything else is a question. A few commands never run, even if a person
// agrees. The verdict on the whole is the worst one inside.
//
// What it promises: no input makes it panic. Its time and its memory are bounded, because the command and what is made
// of it are. What it cannot read is never allowed: a variable as the name of a program, the output of a program that
// a shell runs, a text that does not parse. No wrapping of a command is judged more kindly than the command.
//
// What it does not promise: it is a courtesy to the person who approves, and not a sandbox. It reads text; with Fence.Links
// it also reads where symbolic links lead, and a link may be replaced between the verdict and the command. It does not see a link
// behind a pattern of several names, a program that was replaced in $PATH, settings that make a harmless program run
// another one, or a script that the command starts. To hold a hostile command, run it in an environment that is a
// fence of its own (sandbox, container). There the kernel decides, and the verdict is milder (Environment).
//
// Sources are the Bash Reference Manual 5.2: 3.1.2 Quoting, 3.2 Shell Commands, 3.5 Shell Expansions, 3.6 Redirections,
// 4 Shell Builtin Commands, 6.5 Shell Arithmetic. POSIX.1-2024, XCU 2, is the source for sh -c. Options are those of the GNU
// manuals of coreutils, findutils, grep, sed, gawk and tar. The rest is from git(1), git-config(5), ssh(1), sudo(8), proc(5),
// man(1) and rg(1). The parser is mvdan.cc/sh/v3/syntax, with its option to recover from errors off.
package fence

import (
	"path"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"gatewaytui/core/term"
)

// Verdict is what happens to a command.
type Verdict string

// The verdicts, from the mildest on.
const (
	Allowed Verdict = "allowed" // it runs
	Ask     Verdict = "ask"     // a person decides
	Never   Verdict = "never"   // it does not run, even if a person agrees
)

// rank orders the verdicts.
func (v Verdict) rank() int { return slices.Index([]Verdict{Allowed, Ask, Never}, v) }

func worst(a, b Verdict) Verdict {
	if b.rank() > a.rank() {
		return b
	}
	return a
}

// Bounds on a command. What is beyond one of them is a question.
const (
	maxLength     = 64 << 10  // bytes of a command
	maxTotal      = 192 << 10 // bytes of a command and of all texts inside that are shell again
	maxNesting    = 100       // brackets within brackets
	maxBrackets   = 8000      // brackets
	maxDepth      = 10        // shells within shells, and wrappers within wrappers
	maxCommands   = 500       // simple commands that differ
	maxStatements = 1000      // statements of one text
	maxNodes      = 12_000    // words, parts of words and statements of one text
	maxReasons    = 20        // of the whole
	maxShown      = 160       // bytes of a text in a reason
)

// Fence is what a verdict depends on besides the command.
type Fence struct {
	Environment Environment
	Work        string   // the work folder, an absolute path
	Home        string   // the home folder of the user whose rights the command has; empty: unknown
	Own         []string // the gateway's own files and folders: home, config, credentials. Work may be below one
	Links       bool     // symbolic links are followed, as the disk has them at the judgement
	Never       []Rule   // further commands that are never run
	Allow       []Rule   // further commands that run in the work folder
}

// Judgement is the verdict on a command.
type Judgement struct {
	Verdict  Verdict   `json:"verdict"`
	Commands []Command `json:"commands"` // every simple command that was found, in the order of the text
	Reasons  []string  `json:"reasons"`  // why it is not allowed; for a mild environment also what would be asked elsewhere
}

// Command is one simple command inside. Its words are as the program gets them, where that is known.
type Command struct {
	Command string   `json:"command"`
	Within  []string `json:"within,omitempty"` // what runs it, the outermost first: "sudo", "bash -c"
	Verdict Verdict  `json:"verdict"`
	Reasons []string `json:"reasons"`
}

// Judge returns the verdict on a command that bash -c would run in folder, an absolute path. Texts in the answer are safe for a
// terminal.
func (f *Fence) Judge(command, folder string) Judgement {
	f, disk := f.onDisk()
	folder = disk.rebased(path.Clean(folder))
	a := &analysis{fence: f, left: maxTotal, rows: make([]Command, 0, 16)}
	s := scope{fence: f, folders: []string{folder}, open: !f.hides(), links: disk}
	a.text(s, command, syntax.LangBash)
	if a.over {
		a.row(&s, shorten(command), found{opaque, "it has more commands, or more shells within shells, than are analysed"})
	}
	return a.judgement()
}

// analysis is one command on its way to a verdict.
type analysis struct {
	fence *Fence
	rows  []Command
	left  int  // bytes that may still be parsed
	over  bool // a bound was met
	probe bool // only what is never run counts
}

// found is something that speaks against a command.
type found struct {
	class class
	text  string
}

// row notes a simple command and what was found about it.
func (a *analysis) row(s *scope, command string, all ...found) {
	c := Command{Command: shorten(command), Within: slices.Clone(s.within), Verdict: Allowed, Reasons: []string{}}
	for _, one := range all {
		v := a.fence.Environment.verdict(one.class)
		if a.probe && v != Never {
			continue
		}
		c.Verdict = worst(c.Verdict, v)
		text := shorten(one.text)
		if v == Allowed {
			text = "contained by the " + string(a.fence.Environment) + ": " + text
		}
		if !slices.Contains(c.Reasons, text) {
			c.Reasons = append(c.Reasons, text)
		}
	}
	if a.probe && c.Verdict != Never || a.has(&c) {
		return
	}
	if len(a.rows) >= maxCommands && c.Verdict != Never {
		a.over = a.over || len(a.rows) == maxCommands
		if len(a.rows) > maxCommands {
			return
		}
	}
	a.rows = append(a.rows, c)
}

// has reports whether a row like c is there.
func (a *analysis) has(c *Command) bool {
	for i := range a.rows {
		d := &a.rows[i]
		if c.Command == d.Command && c.Verdict == d.Verdict && slices.Equal(c.Within, d.Within) && slices.Equal(c.Reasons, d.Reasons) {
			return true
		}
	}
	return false
}

func (a *analysis) judgement() Judgement {
	j := Judgement{Verdict: Allowed, Commands: a.rows, Reasons: []string{}}
	for _, v := range []Verdict{Never, Ask, Allowed} { // the weightiest reasons first
		for _, c := range a.rows {
			if c.Verdict != v {
				continue
			}
			j.Verdict = worst(j.Verdict, v)
			for _, r := range c.Reasons {
				if len(j.Reasons) < maxReasons && !slices.Contains(j.Reasons, r) {
					j.Reasons = append(j.Reasons, r)
				}
			}
		}
	}
	return j
}

// text judges a shell text in a scope of its own variables.
func (a *analysis) text(s scope, text string, lang syntax.LangVariant) {
	if s.depth > maxDepth || len(text) > a.left || a.over {
		a.over = true
		return
	}
	a.left -= len(text)
	switch {
	case len(text) > maxLength:
		a.row(&s, shorten(text), found{opaque, "it is longer than 64 KiB, which is more than is analysed"})
		return
	case nested(text):
		a.row(&s, shorten(text), found{opaque, "it has more brackets within brackets than are analysed"})
		return
	}
	if strings.ContainsFunc(text, strange) {
		a.row(&s, shorten(text), found{opaque, "it has control characters, which shells and people read differently"})
	}
	file, err := parse(text, lang)
	if err != nil {
		// A shell runs the lines before the one that it cannot parse.
		a.row(&s, shorten(text), found{opaque, "it cannot be parsed: " + strings.TrimPrefix(err.Error(), "1:")})
		if strings.Contains(text, "((") { // where this is not arithmetic, bash takes it for a subshell in a subshell
			a.tryText(&s, strings.ReplaceAll(text, "((", "( ("))
		}
	}
	if file == nil || len(file.Stmts) == 0 {
		return
	}
	s.source, s.depth = text, s.depth+1
	if s.known, a.over = a.variables(s, file); a.over {
		return
	}
	s.functions = map[string]bool{}
	if s.known.moves {
		s.folders = nil
	}
	a.statements(&s, file.Stmts)
}

// parsers are kept, because each has a buffer of its own.
var parsers = map[syntax.LangVariant]*sync.Pool{
	syntax.LangBash:  {New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }},
	syntax.LangPOSIX: {New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangPOSIX)) }},
}

func parse(text string, lang syntax.LangVariant) (*syntax.File, error) {
	pool := parsers[lang]
	p := pool.Get().(*syntax.Parser)
	file, err := p.Parse(strings.NewReader(text), "")
	pool.Put(p)
	return file, err
}

// strange reports whether a character makes what is shown differ from what is run.
func strange(r rune) bool { return r < ' ' && r != '\t' && r != '\n' || r == 0x7f || r == 0xFFFD }

// nested reports whether a text has so many brackets, or so many within each other, that a person cannot read it. Quotes are not
// looked at. The bound on their number keeps the parser's stack small.
func nested(text string) bool {
	depth, deepest, opened := 0, 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '[', '`':
			opened++
			if text[i] != '`' {
				depth++
				deepest = max(deepest, depth)
			}
		case ')', '}', ']':
			depth = max(0, depth-1)
		}
	}
	return deepest > maxNesting || opened > maxBrackets
}

// shorten bounds a text of the command in an answer and cleans it for a terminal.
func shorten(text string) string { return term.Clean(text, maxShown) }
