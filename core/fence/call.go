package fence

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call judges a simple command as it stands in the source.
func (a *analysis) call(s *scope, c *syntax.CallExpr, all []found) {
	for _, as := range c.Assigns {
		all = append(all, a.assignment(s, as, len(c.Args) > 0)...)
	}
	for _, w := range c.Args {
		all = append(all, a.inside(s, w)...)
	}
	words := s.fields(c.Args...)
	if len(words) == 0 {
		if len(c.Args) > 0 {
			all = append(all, found{opaque, "the command is known only when it runs"})
		}
		a.row(s, s.textOf(c), all...)
		return
	}
	a.simple(s, words, all...)
}

// shown is a command for people: each word as the program gets it, or as the source has it where that is not known.
func shown(words []field) string {
	var b strings.Builder
	size := 0
	for _, f := range words {
		size += len(f.text) + len(f.source) + 3
	}
	b.Grow(min(size, 5*maxShown))
	for i, f := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch {
		case b.Len() > 4*maxShown:
			b.WriteString("…")
			return b.String()
		case f.trust == unknown && f.source != "":
			b.WriteString(f.source)
		case f.trust == unknown:
			b.WriteString("…" + f.text)
		case f.glob:
			b.WriteString(f.text)
		default:
			b.WriteString(quote(f.text))
		}
	}
	return b.String()
}

// quote puts quotes around a word that needs them.
func quote(text string) string {
	if len(text) > 4*maxShown {
		text = text[:4*maxShown]
	}
	if !syntax.IsKeyword(text) && text != "" && strings.IndexFunc(text, needsQuotes) < 0 {
		return text
	}
	if q, err := syntax.Quote(text, syntax.LangBash); err == nil {
		return q
	}
	return text
}

// needsQuotes reports whether a shell, or a person, may read a character as more than a part of a name.
func needsQuotes(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '/' && r != '_' && r != ':' && r != ','
}

// trusted are the folders whose programs are those of the system.
var trusted = set("/bin /sbin /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin")

// simple judges the words of a simple command; all is what was found about its assignments and redirections.
func (a *analysis) simple(s *scope, words []field, all ...found) {
	if s.depth > maxDepth {
		a.over = true
		return
	}
	name, args := path.Base(words[0].text), words[1:]
	known, unnamed := a.named(s, words)
	all = append(all, unnamed...)
	all = append(all, a.fence.forbidden(s, name, words)...)
	all = append(all, ruin(s, name, args)...)
	all = append(all, s.betrayals(name, args)...)

	if handled, more := a.unfold(s, name, args); handled {
		if all = append(all, more...); len(all) > 0 {
			a.row(s, shown(words), all...)
		}
		return
	}
	called := known && s.functions[words[0].text] && !s.known.wild && harmless[name].args == other // its body was judged where it stands
	if !called && !(known && a.fence.permitted(s, name, args)) {
		all = a.unlisted(s, words, known, all)
	}
	a.row(s, shown(words), all...)
	switch name {
	case "cd", "pushd":
		s.move(args)
	case "popd":
		s.folders = nil
	}
}

// named says what speaks against the first word as the name of a program of the system; known: it is one.
func (a *analysis) named(s *scope, words []field) (known bool, all []found) {
	first := words[0]
	if known = first.exact(); !known {
		all = append(all, found{opaque, "the program is known only when it runs: " + shown(words[:1])})
		if first.trust == unknown && first.text == "" && len(words) > 1 {
			a.suffixes(s, words)
		}
	}
	if strings.Contains(first.text, "/") && !trusted[path.Dir(first.text)] {
		all = append(all, found{plain, "it runs the file " + first.text})
		known = false
	}
	return known, all
}

// unlisted adds to all what speaks against a command that no rule of the config allows.
func (a *analysis) unlisted(s *scope, words []field, known bool, all []found) []found {
	name, args := path.Base(words[0].text), words[1:]
	more := a.options(s, name, args)
	if len(more) == 0 && known && !slices.ContainsFunc(all, func(f found) bool { return f.class >= host }) {
		more = s.harmful(name, args)
	}
	if len(more) > 0 || !known {
		a.suffixes(s, words)
	}
	return append(all, more...)
}

// suffixes looks for a command that is never run among the last words of one that is not known: a wrapper that no list has.
func (a *analysis) suffixes(s *scope, words []field) {
	for i := 1; i < min(len(words), 40); i++ {
		name := path.Base(words[i].text)
		if !grave[name] && !strings.HasPrefix(name, "mkfs") {
			continue
		}
		if wrong := ruin(s, name, words[i+1:]); len(wrong) > 0 {
			a.row(s.in(path.Base(words[0].text)), shown(words[i:]), wrong...)
			return
		}
		if shells[name] {
			inner := s.in(path.Base(words[0].text))
			inner.stdin = nil
			a.try(inner, words[i:])
			return
		}
	}
}

// try judges words as a command of which only what is never run counts.
func (a *analysis) try(s *scope, words []field) {
	before := a.probe
	a.probe = true
	a.simple(s, words)
	a.probe = before
}

// tryText judges a text that may be a command, as try does.
func (a *analysis) tryText(s *scope, text string) {
	before := a.probe
	a.probe = true
	a.text(*s, text, syntax.LangBash)
	a.probe = before
}
