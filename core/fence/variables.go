package fence

import (
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// variables is what is known of the variables of one shell text. Order is not looked at: a variable may have each of
// the values that the text gives it anywhere.
type variables struct {
	values  map[string][]field
	spoiled map[string]bool // set to what is not known
	size    int             // bytes of all values
	wild    bool            // any of them may change: eval, source and the like
	goes    bool            // it changes the folder
	moves   bool            // it changes the folder where that is not followed: in a loop or a function
}

// homeTrust is how well the value of HOME is known.
func (v *variables) homeTrust() trust {
	if v != nil && (v.wild || v.spoiled["HOME"] || v.values["HOME"] != nil) {
		return guessed
	}
	return exact
}

// variables looks through a text for what its variables may be. large: the text has more statements or words than are
// analysed, and nothing is known.
func (a *analysis) variables(s scope, file *syntax.File) (v *variables, large bool) {
	v = &variables{values: map[string][]field{}, spoiled: map[string]bool{}}
	s.known = v
	depth, nodes, statements := 0, 0, 0
	inside := make([]bool, 0, 64)
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			if inside[len(inside)-1] {
				depth--
			}
			inside = inside[:len(inside)-1]
			return true
		}
		if nodes++; nodes > maxNodes || statements > maxStatements {
			large = true
			return false
		}
		deeper := false
		switch n := n.(type) {
		case *syntax.Stmt:
			statements++
		case *syntax.WhileClause, *syntax.ForClause, *syntax.FuncDecl:
			deeper = true
			if f, is := n.(*syntax.ForClause); is {
				v.loop(&s, f)
			}
		case *syntax.Assign:
			v.assign(&s, n)
		case *syntax.CallExpr:
			v.call(&s, n, depth > 0)
		case *syntax.ParamExp:
			if n.Exp != nil && n.Param != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
				v.spoiled[n.Param.Value] = true
			}
		case *syntax.Redirect:
			if n.N != nil && strings.HasPrefix(n.N.Value, "{") {
				v.spoiled[strings.Trim(n.N.Value, "{}")] = true
			}
		}
		if deeper {
			depth++
		}
		inside = append(inside, deeper)
		return true
	})
	return v, large || statements > maxStatements
}

func (v *variables) add(name string, values ...field) {
	if len(v.values[name])+len(values) > maxFields {
		v.spoiled[name] = true
		return
	}
	for _, f := range values {
		f.source = ""
		if v.size += len(f.text); v.size > maxText {
			v.spoiled[name] = true
			return
		}
		if !slices.Contains(v.values[name], f) {
			v.values[name] = append(v.values[name], f)
		}
	}
}

func (v *variables) loop(s *scope, f *syntax.ForClause) {
	each, is := f.Loop.(*syntax.WordIter)
	if !is {
		return
	}
	if !each.InPos.IsValid() || len(each.Items) == 0 {
		v.spoiled[each.Name.Value] = true
		return
	}
	v.add(each.Name.Value, s.fields(each.Items...)...)
}

func (v *variables) assign(s *scope, n *syntax.Assign) {
	switch {
	case n.Naked || n.Name == nil:
		return
	case n.Array != nil:
		for _, e := range n.Array.Elems {
			if e.Value != nil {
				v.add(n.Name.Value, s.fields(e.Value)...)
			}
		}
		return
	}
	value := s.plain(n.Value)
	if n.Append || n.Index != nil {
		for _, before := range v.values[n.Name.Value] {
			v.add(n.Name.Value, field{text: before.text + value.text, trust: max(guessed, value.trust), solid: true})
		}
		if len(v.values[n.Name.Value]) == 0 {
			v.add(n.Name.Value, value)
		}
		v.spoiled[n.Name.Value] = true
		return
	}
	v.add(n.Name.Value, value)
}

// setters are the builtins that give variables a value that the text does not show.
var setters = set("eval source . mapfile readarray getopts unset enable set shopt alias trap export declare typeset local readonly")

// call notes what a simple command does to variables and to the folder.
func (v *variables) call(s *scope, n *syntax.CallExpr, inside bool) {
	words := n.Args
	for len(words) > 0 && (words[0].Lit() == "command" || words[0].Lit() == "builtin" || strings.HasPrefix(words[0].Lit(), "-")) {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	switch name := words[0].Lit(); {
	case name == "read" || name == "printf":
		v.spoil(words[1:], name == "printf")
	case name == "cd" || name == "pushd" || name == "popd":
		v.goes, v.moves = true, v.moves || inside
	case name == "set" && harmlessSet(s.fields(words[1:]...)):
	case name == "":
		v.wild = v.wild || len(s.fields(words[0])) != 1 || setters[s.fields(words[0])[0].text] || !s.fields(words[0])[0].exact()
	default:
		v.wild = v.wild || setters[name]
	}
}

// spoil takes the names that read or printf -v set.
func (v *variables) spoil(words []*syntax.Word, onlyAfterV bool) {
	if onlyAfterV && (len(words) < 1 || words[0].Lit() != "-v") {
		if len(words) > 0 && (words[0].Lit() == "" || strings.HasPrefix(words[0].Lit(), "-")) && len(words[0].Parts) > 0 {
			_, single := words[0].Parts[0].(*syntax.Lit)
			v.wild = v.wild || single
		}
		return
	}
	v.spoiled["REPLY"] = true
	for _, w := range words {
		if w.Lit() == "" {
			v.wild = true
		}
		v.spoiled[w.Lit()] = true
	}
}

// lookup is what a variable may be; nil: not known.
func (s *scope) lookup(name string) []field {
	switch {
	case s.known == nil:
		return nil
	case name == "@" || name == "*":
		if s.arguments {
			return nil
		}
		return []field{{trust: guessed}}
	}
	values := s.known.values[name]
	switch {
	case values == nil && name == "HOME" && s.fence.Home != "":
		return []field{{text: s.fence.Home, trust: s.known.homeTrust(), solid: true}}
	case values == nil && name == "PWD" && len(s.folders) == 1:
		return []field{{text: s.folders[0], trust: exact, solid: true}}
	case values == nil && name == "IFS":
		return []field{{text: " ", trust: guessed}}
	case values == nil:
		return nil
	}
	t := exact
	// A name in capitals may have come with the environment and be used before the text sets it.
	if s.known.wild || s.known.spoiled[name] || s.known.spoiled["IFS"] || s.known.values["IFS"] != nil || !strings.ContainsFunc(name, unicode.IsLower) {
		t = guessed
	}
	found := make([]field, len(values))
	for i, v := range values {
		found[i] = v
		found[i].trust = max(v.trust, t)
	}
	return found
}

// number reports how far an arithmetic expression is known to be a number and nothing else. Bash evaluates the texts of
// variables in it, and a text may hold a command: x='a[$(reboot)]'; echo $((x)).
func (s *scope) number(x syntax.ArithmExpr) trust {
	t := exact
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			name := strings.TrimSpace(n.Value)
			if strings.ContainsFunc(name, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) || syntax.ValidName(name) && !s.numeric(name) {
				t = unknown
			}
		case *syntax.ParamExp:
			if n.Param == nil || n.Index != nil || n.Excl || n.Repl != nil || n.Exp != nil || !n.Length && !s.numeric(n.Param.Value) {
				t = unknown
			}
			return false
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.SglQuoted, *syntax.ExtGlob:
			t = unknown
		}
		return true
	})
	return t
}

// numeric reports whether a variable is a number, or not set by the text.
func (s *scope) numeric(name string) bool {
	if s.known == nil || s.known.wild || s.known.spoiled[name] {
		return false
	}
	for _, v := range s.known.values[name] {
		if v.trust != exact || strings.Trim(v.text, "0123456789") != "" {
			return false
		}
	}
	return true
}
