package fence

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds on what one word may become: x+=$x$x doubles a text with each repetition.
const (
	maxFields = 64
	maxText   = 64 << 10 // bytes of one field, and of all values of the variables of a text
)

// trust says how well the text of a field is known.
type trust uint8

const (
	exact   trust = iota // the program gets this text
	guessed              // it probably does: it comes from a variable or a program whose output is known
	unknown              // a part is known only when the command runs; the text has nothing in its place
)

// field is a word as a program gets it.
type field struct {
	text  string
	trust trust
	glob  bool // the shell replaces it by names of files that it matches
	solid bool // it has text or quotes: it does not vanish if it is empty

	source string // how the word stands in the source, if it is not known
}

// exact reports whether the program gets the text of f and nothing else.
func (f field) exact() bool { return f.trust == exact && !f.glob }

// fields is what the shell makes of words.
func (s *scope) fields(words ...*syntax.Word) []field {
	all := make([]field, 0, len(words))
	for _, w := range words {
		all = s.word(all, w)
	}
	return all
}

// word adds to all what the shell makes of one word: none, one or many fields. Values that a variable may have, and what
// braces hold, are fields side by side.
func (s *scope) word(all []field, w *syntax.Word) []field {
	if text, is := constant(w.Parts); is {
		return append(all, field{text: text, solid: true})
	}
	if slices.ContainsFunc(w.Parts, hasBrace) {
		w = &syntax.Word{Parts: slices.Clone(w.Parts)} // syntax.Walk panics at what SplitBraces makes
		syntax.SplitBraces(w)
	}
	e := expansion{scope: s, open: []field{{}}}
	e.tilde(w.Parts)
	e.parts(w.Parts, false)
	for _, f := range e.done() {
		if f.trust == unknown {
			f.source = s.textOf(w)
		}
		all = append(all, f)
	}
	return all
}

// constant is the text of a word in which the shell replaces nothing: a plain text, or one in quotes.
func constant(parts []syntax.WordPart) (text string, is bool) {
	if len(parts) != 1 {
		return "", false
	}
	switch p := parts[0].(type) {
	case *syntax.Lit:
		return p.Value, !strings.ContainsAny(p.Value, `\*?[{~`)
	case *syntax.SglQuoted:
		return p.Value, !p.Dollar
	case *syntax.DblQuoted:
		if len(p.Parts) == 0 {
			return "", true
		}
		lit, is := p.Parts[0].(*syntax.Lit)
		if is && len(p.Parts) == 1 && strings.IndexByte(lit.Value, '\\') < 0 {
			return lit.Value, true
		}
	}
	return "", false
}

func hasBrace(p syntax.WordPart) bool {
	lit, is := p.(*syntax.Lit)
	return is && strings.IndexByte(lit.Value, '{') >= 0
}

// plain is the text of a word in which nothing is split: the value of an assignment.
func (s *scope) plain(w *syntax.Word) field {
	e := expansion{scope: s, open: []field{{solid: true}}, whole: true}
	if w != nil {
		e.tilde(w.Parts)
		e.parts(w.Parts, false)
	}
	return e.open[0]
}

// document is the text of a here-document. It is literal if a part of its delimiter is quoted.
func (s *scope) document(r *syntax.Redirect) field {
	if r.Hdoc == nil {
		return field{solid: true}
	}
	e := expansion{scope: s, open: []field{{solid: true}}, whole: true}
	if lit, is := parts0(r.Hdoc.Parts).(*syntax.Lit); is && len(r.Hdoc.Parts) == 1 && (r.Word.Lit() == "" || strings.Contains(r.Word.Lit(), `\`)) {
		return field{text: lit.Value, solid: true}
	}
	e.parts(r.Hdoc.Parts, true)
	return e.open[0]
}

// expansion makes fields of a word. closed are the fields that are over, open those that the next part is added to.
type expansion struct {
	*scope
	closed, open []field
	whole        bool // nothing is split
	skip         int  // bytes of the first part that the tilde took
}

func (e *expansion) done() []field {
	if e.closed == nil {
		return slices.DeleteFunc(e.open, func(f field) bool { return !f.solid && f.text == "" && f.trust != unknown })
	}
	for _, f := range e.open {
		if f.solid || f.text != "" || f.trust == unknown {
			e.closed = append(e.closed, f)
		}
	}
	if len(e.closed) > maxFields {
		return append(e.closed[:maxFields], field{trust: unknown, glob: true})
	}
	return e.closed
}

// add puts text behind each open field.
func (e *expansion) add(text string, t trust, glob, solid bool) {
	for i := range e.open {
		f := &e.open[i]
		if len(f.text)+len(text) > maxText {
			f.trust = unknown
			continue
		}
		f.text, f.trust, f.glob, f.solid = f.text+text, max(f.trust, t), f.glob || glob, f.solid || solid
	}
}

// fork puts each of the choices behind each open field.
func (e *expansion) fork(choices []field) {
	if e.whole && len(choices) > 1 {
		choices = []field{{text: choices[len(choices)-1].text, trust: max(guessed, choices[len(choices)-1].trust), solid: true}}
	}
	size := 0
	for _, c := range choices {
		size += len(c.text)
	}
	for _, f := range e.open {
		size += len(f.text)
	}
	if n := len(choices) * len(e.open); n > maxFields || n > 0 && size > maxText/n {
		e.add("", unknown, true, true)
		return
	}
	var open []field
	for _, f := range e.open {
		for _, c := range choices {
			open = append(open, field{text: f.text + c.text, trust: max(f.trust, c.trust), glob: f.glob || c.glob, solid: f.solid || c.solid})
		}
	}
	e.open = open
}

func (e *expansion) parts(parts []syntax.WordPart, quoted bool) {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			e.literal(p.Value[min(e.skip, len(p.Value)):], quoted)
			e.skip = 0
		case *syntax.SglQuoted:
			text := p.Value
			if p.Dollar {
				text = ansiC(text)
			}
			e.add(text, exact, false, true)
		case *syntax.DblQuoted:
			e.add("", exact, false, true)
			e.parts(p.Parts, true)
		case *syntax.ParamExp:
			e.parameter(p, quoted || e.whole)
		case *syntax.CmdSubst:
			text, ok := e.output(p.Stmts)
			if !ok {
				e.add("", unknown, false, quoted)
				continue
			}
			e.value(field{text: strings.TrimRight(text, "\n"), trust: guessed}, quoted || e.whole)
		case *syntax.ArithmExp:
			e.add("0", e.number(p.X), false, true)
		case *syntax.ProcSubst:
			e.add("/dev/fd/63", exact, false, true)
		case *syntax.BraceExp:
			e.braces(p)
		default: // ExtGlob
			e.add("*", exact, true, true)
		}
	}
}

// braces adds what {a,b} or {1..9} stands for.
func (e *expansion) braces(b *syntax.BraceExp) {
	if b.Sequence {
		e.add("?", exact, true, true)
		return
	}
	var choices []field
	for _, w := range b.Elems {
		inner := expansion{scope: e.scope, open: []field{{solid: true}}}
		inner.parts(w.Parts, false)
		choices = append(choices, inner.done()...)
	}
	e.fork(choices)
}

// literal adds text as it stands in the source: quotes are gone, backslashes are not.
func (e *expansion) literal(text string, quoted bool) {
	if !strings.ContainsAny(text, `\*?[`) {
		e.add(text, exact, false, true)
		return
	}
	if strings.IndexByte(text, '\\') < 0 {
		e.add(text, exact, !quoted && !e.whole && globs(text), true)
		return
	}
	var b strings.Builder
	glob := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("$`\"\\", text[i+1]) >= 0):
			i++
			b.WriteByte(text[i])
		case c == '\\' && !quoted:
		default:
			glob = glob || !quoted && !e.whole && (c == '*' || c == '?' || c == '[' && strings.Contains(text[i:], "]"))
			b.WriteByte(c)
		}
	}
	e.add(b.String(), exact, glob, true)
}

// globs reports whether the shell looks for files that a text without backslashes matches.
func globs(text string) bool {
	i := strings.IndexByte(text, '[')
	return strings.IndexByte(text, '*') >= 0 || strings.IndexByte(text, '?') >= 0 || i >= 0 && strings.IndexByte(text[i:], ']') >= 0
}

// tilde replaces ~ and ~user at the beginning of a word, and of what follows the = of an assignment.
func (e *expansion) tilde(parts []syntax.WordPart) {
	lit, is := parts0(parts).(*syntax.Lit)
	if !is || !strings.HasPrefix(lit.Value, "~") {
		return
	}
	user, _, rest := strings.Cut(lit.Value[1:], "/")
	if !rest && len(parts) > 1 || strings.ContainsAny(user, `\:`) {
		return
	}
	e.skip = 1 + len(user)
	switch {
	case user == "" && e.fence.Home != "":
		e.add(e.fence.Home, e.known.homeTrust(), false, true)
	case user == "root":
		e.add("/root", exact, false, true)
	case user == "" || strings.ContainsAny(user, "+-0123456789"):
		e.add("", unknown, false, true)
	default:
		e.add("/home/"+user, guessed, false, true)
	}
}

func parts0(parts []syntax.WordPart) syntax.WordPart {
	if len(parts) == 0 {
		return nil
	}
	return parts[0]
}

// parameter adds the value of a variable.
func (e *expansion) parameter(p *syntax.ParamExp, quoted bool) {
	if p.Length {
		e.add("0", exact, false, true)
		return
	}
	values := e.values(p)
	switch {
	case values == nil:
		e.add("", unknown, false, quoted)
	case len(values) == 1:
		e.value(values[0], quoted)
	case !quoted && slices.ContainsFunc(values, func(v field) bool { return strings.ContainsAny(v.text, " \t\n") }):
		for _, v := range values {
			e.value(v, false)
			e.split()
		}
	default:
		e.fork(values)
	}
}

// values is what an expansion of a variable may give; nil: not known.
func (e *expansion) values(p *syntax.ParamExp) []field {
	part := p.Index != nil && !isAll(p.Index) || p.Slice != nil || p.Repl != nil || p.Names != 0
	if p.Param == nil || p.Excl || p.Width || part {
		return nil
	}
	values := e.lookup(p.Param.Value)
	switch {
	case p.Exp == nil:
		return values
	case p.Exp.Op >= syntax.RemSmallSuffix: // the value is changed
		return nil
	case p.Exp.Op == syntax.ErrorUnset || p.Exp.Op == syntax.ErrorUnsetOrNull:
		return values
	}
	values = append(slices.Clone(values), e.plain(p.Exp.Word))
	for i := range values {
		values[i].trust = max(values[i].trust, guessed)
	}
	return values
}

// value adds one value, which the shell splits at blanks unless it is quoted.
func (e *expansion) value(v field, quoted bool) {
	if quoted || !strings.ContainsAny(v.text, " \t\n*?[") {
		e.add(v.text, v.trust, v.glob, quoted)
		return
	}
	words := strings.FieldsFunc(v.text, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' })
	if strings.ContainsAny(v.text[:1], " \t\n") {
		e.split()
	}
	for i, w := range words {
		if i > 0 {
			e.split()
		}
		e.add(w, v.trust, v.glob || strings.ContainsAny(w, "*?"), true)
	}
	if len(words) > 0 && strings.ContainsAny(v.text[len(v.text)-1:], " \t\n") {
		e.split()
	}
}

// split ends the open fields.
func (e *expansion) split() {
	for _, f := range e.open {
		if f.solid || f.text != "" || f.trust == unknown {
			e.closed = append(e.closed, f)
		}
	}
	e.open = []field{{}}
}

// isAll reports whether an index is @ or *.
func isAll(x syntax.ArithmExpr) bool {
	w, is := x.(*syntax.Word)
	if !is {
		return false
	}
	lit := w.Lit()
	return lit == "@" || lit == "*"
}
