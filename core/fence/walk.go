package fence

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxFolders bounds the folders in which a command may be, as far as cd is followed.
const maxFolders = 8

// scope is where a statement stands.
type scope struct {
	fence     *Fence
	source    string
	folders   []string // in which it may run; nil: not known
	known     *variables
	functions map[string]bool // declared before, in any case
	nested    bool            // in a branch, a loop or a function: what it declares may not be declared
	within    []string
	stdin     *field // what is on its standard input, as far as the command says; nil: nothing
	depth     int
	links     *links // nil: they are not followed
	open      bool   // nothing in the work folder is a secret (Fence.hides)
	arguments bool   // $1 and its like have values
}

// in is s for what name runs in a process of its own.
func (s *scope) in(name string) *scope {
	inner := *s
	inner.depth++
	inner.nested = true
	if name != "" {
		inner.within = append(slices.Clone(s.within), name)
	}
	return &inner
}

// textOf is how a node stands in the source.
func (s *scope) textOf(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || to > len(s.source) || from > to {
		return ""
	}
	return s.source[from:to]
}

// move adds the folder that cd goes to. The old one stays: cd may fail.
func (s *scope) move(to []field) {
	switch {
	case s.folders == nil:
		return
	case len(to) == 0:
		to = []field{{text: s.fence.Home}}
	}
	target := to[len(to)-1]
	if !target.exact() || target.text == "" || strings.HasPrefix(target.text, "-") {
		s.folders = nil
		return
	}
	for _, from := range slices.Clone(s.folders) {
		s.mayBeIn([]string{s.links.rebased(absolute(target.text, from))})
	}
	if s.links != nil {
		s.mayBeIn(s.leads(target.text))
	}
	if len(s.folders) > maxFolders {
		s.folders = nil
	}
}

// absolute is the path p seen from folder.
func absolute(p, folder string) string {
	if strings.HasPrefix(p, "/") {
		return path.Clean(p)
	}
	return path.Join(folder, p)
}

func (a *analysis) statements(s *scope, all []*syntax.Stmt) {
	for _, st := range all {
		a.statement(s, st)
	}
}

// statement judges a statement with its redirections.
func (a *analysis) statement(s *scope, st *syntax.Stmt) {
	if a.over {
		return
	}
	here := s
	if in := s.input(st.Redirs); in != nil {
		inner := *s
		inner.stdin, here = in, &inner
	}
	redirected := a.redirections(here, st.Redirs)
	call, simple := st.Cmd.(*syntax.CallExpr)
	if simple {
		a.call(here, call, redirected)
	} else {
		if st.Cmd != nil {
			a.compound(here, st)
		}
		if len(redirected) > 0 || st.Cmd == nil {
			a.row(s, s.textOf(st), redirected...)
		}
	}
	if here != s {
		s.folders = here.folders
	}
}

// compound judges what is inside a statement that is not a simple command.
func (a *analysis) compound(s *scope, st *syntax.Stmt) {
	if c, is := st.Cmd.(*syntax.BinaryCmd); is {
		a.binary(s, c)
		return
	}
	inner := *s
	inner.nested = true
	switch c := st.Cmd.(type) {
	case *syntax.Block:
		a.statements(s, c.Stmts)
	case *syntax.Subshell:
		a.statements(&inner, c.Stmts)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			a.statements(&inner, c.Cond)
			a.statements(&inner, c.Then)
		}
	case *syntax.WhileClause:
		a.statements(&inner, c.Cond)
		a.statements(&inner, c.Do)
	case *syntax.ForClause:
		a.loop(&inner, c)
	case *syntax.CaseClause:
		a.words(&inner, "case", c.Word)
		for _, item := range c.Items {
			a.words(&inner, "case", item.Patterns...)
			a.statements(&inner, item.Stmts)
		}
	case *syntax.FuncDecl:
		a.function(s, c, st)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			a.statement(s, c.Stmt)
		}
	case *syntax.CoprocClause:
		a.statement(&inner, c.Stmt)
	default:
		a.row(s, s.textOf(st), a.clause(s, c)...)
	}
	s.mayBeIn(inner.folders)
}

// mayBeIn adds the folders in which a part of a statement may have ended.
func (s *scope) mayBeIn(folders []string) {
	if folders == nil {
		s.folders = nil
	}
	for _, dir := range folders {
		if s.folders != nil && !slices.Contains(s.folders, dir) {
			s.folders = append(slices.Clone(s.folders), dir)
		}
	}
}

// clause says what speaks against a statement that has no statements inside.
func (a *analysis) clause(s *scope, c syntax.Command) []found {
	switch c := c.(type) {
	case *syntax.DeclClause:
		return a.declaration(s, c)
	case *syntax.TestClause:
		return a.test(s, c)
	case *syntax.ArithmCmd:
		return a.arithmetic(s, c.X)
	case *syntax.LetClause:
		return a.arithmetic(s, c.Exprs...)
	default:
		return []found{{opaque, "it has a form of command that is not analysed"}}
	}
}

// binary judges lists and pipelines: the right side of a pipe reads what the left one writes.
func (a *analysis) binary(s *scope, c *syntax.BinaryCmd) {
	if c.Op != syntax.Pipe && c.Op != syntax.PipeAll {
		a.statement(s, c.X)
		right := s
		if !s.nested { // what stands behind && may not run
			copied := *s
			copied.nested, right = true, &copied
		}
		a.statement(right, c.Y)
		s.folders = right.folders
		return
	}
	sides := [2]scope{*s, *s}
	left, right := &sides[0], &sides[1]
	left.nested, right.nested = true, true
	a.statement(left, c.X)
	if a.over {
		return
	}
	right.stdin = &field{trust: unknown}
	if text, known := s.outputOf(c.X); known {
		right.stdin = &field{text: text, trust: guessed}
	}
	a.statement(right, c.Y)
}

func (a *analysis) loop(s *scope, c *syntax.ForClause) {
	switch loop := c.Loop.(type) {
	case *syntax.WordIter:
		a.words(s, "for "+loop.Name.Value, loop.Items...)
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{loop.Init, loop.Cond, loop.Post} {
			if x != nil {
				if all := a.arithmetic(s, x); len(all) > 0 {
					a.row(s, s.textOf(x), all...)
				}
			}
		}
	}
	a.statements(s, c.Do)
}

// words judges what stands inside words that are not those of a simple command.
func (a *analysis) words(s *scope, what string, all ...*syntax.Word) {
	for _, w := range all {
		if f := a.inside(s, w); len(f) > 0 {
			a.row(s, what+" "+s.textOf(w), f...)
		}
	}
}

// function judges the body of a function where it is declared. Later calls add nothing.
func (a *analysis) function(s *scope, c *syntax.FuncDecl, st *syntax.Stmt) {
	body := *s
	body.nested, body.arguments = true, true
	if s.known != nil && s.known.goes {
		body.folders = nil
	}
	name := ""
	if c.Name != nil {
		name = c.Name.Value
	}
	if bomb(c, name) {
		a.row(s, s.textOf(st), found{host, "it is a fork bomb: the function " + name + " starts itself again and again"})
	}
	if !s.nested {
		s.functions[name] = true
	}
	a.statement(&body, c.Body)
}

// bomb reports whether a function starts itself twice, or in the background or a pipe.
func bomb(c *syntax.FuncDecl, name string) bool {
	calls, beside := 0, false
	syntax.Walk(c.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if len(n.Args) > 0 && n.Args[0].Lit() == name {
				calls++
			}
		case *syntax.Stmt:
			beside = beside || n.Background
		case *syntax.BinaryCmd:
			beside = beside || n.Op == syntax.Pipe || n.Op == syntax.PipeAll
		}
		return true
	})
	return calls > 1 || calls == 1 && beside
}

// inside judges the commands inside a node, and returns what else speaks against it.
func (a *analysis) inside(s *scope, node syntax.Node) (all []found) {
	if w, is := node.(*syntax.Word); is {
		return a.insideParts(s, w.Parts)
	}
	return a.insideNode(s, node)
}

// insideParts is inside for the parts of a word. Most of them hold nothing, and cost nothing.
func (a *analysis) insideParts(s *scope, parts []syntax.WordPart) (all []found) {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.DblQuoted:
			all = append(all, a.insideParts(s, p.Parts)...)
		default:
			all = append(all, a.insideNode(s, p)...)
		}
	}
	return all
}

func (a *analysis) insideNode(s *scope, node syntax.Node) (all []found) {
	if p, is := node.(*syntax.ParamExp); is && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Exp == nil {
		return s.expansionHazard(p)
	}
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			inner := *s
			inner.nested = true
			a.statements(&inner, n.Stmts)
			return false
		case *syntax.ProcSubst:
			inner := *s
			inner.nested, inner.stdin = true, &field{trust: unknown}
			a.statements(&inner, n.Stmts)
			return false
		case *syntax.ParamExp:
			all = append(all, s.expansionHazard(n)...)
		case *syntax.ArithmExp:
			all = append(all, a.arithmetic(s, n.X)...)
			return false
		}
		return true
	})
	return all
}

// expansionHazard says what speaks against an expansion: some run what the value holds.
func (s *scope) expansionHazard(n *syntax.ParamExp) (all []found) {
	hazard := n.Excl && n.Names == 0 || n.Exp != nil && n.Exp.Op == syntax.OtherParamOps && n.Exp.Word != nil && n.Exp.Word.Lit() == "P"
	if n.Index != nil && !isAll(n.Index) {
		hazard = hazard || s.number(n.Index) == unknown
	}
	if n.Slice != nil {
		for _, x := range []syntax.ArithmExpr{n.Slice.Offset, n.Slice.Length} {
			hazard = hazard || x != nil && s.number(x) == unknown
		}
	}
	if hazard {
		all = append(all, found{opaque, s.textOf(n) + " may run commands that the value of a variable holds"})
	}
	if n.Param != nil && s.known != nil && s.known.values[n.Param.Value] == nil && secretName(n.Param.Value) {
		all = append(all, found{plain, "it uses $" + n.Param.Value + ", which may be a secret"})
	}
	return all
}

// arithmetic says what speaks against arithmetic expressions, and judges the commands inside.
func (a *analysis) arithmetic(s *scope, all ...syntax.ArithmExpr) (wrong []found) {
	for _, x := range all {
		syntax.Walk(x, func(n syntax.Node) bool {
			if sub, is := n.(*syntax.CmdSubst); is {
				a.inside(s, sub)
				return false
			}
			return true
		})
		if s.number(x) == unknown {
			wrong = append(wrong, found{opaque, "the arithmetic " + s.textOf(x) + " uses a value that is not known as a number; bash runs commands in it"})
		}
	}
	return wrong
}

// test says what speaks against [[ … ]].
func (a *analysis) test(s *scope, c *syntax.TestClause) []found {
	all := a.inside(s, c.X)
	syntax.Walk(c.X, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryTest:
			if n.Op >= syntax.TsEql && n.Op <= syntax.TsGtr {
				for _, x := range []syntax.TestExpr{n.X, n.Y} {
					if w, is := x.(*syntax.Word); is && s.number(unquoted(w)) == unknown {
						all = append(all, found{opaque, "the comparison " + s.textOf(n) + " uses a value that is not known as a number; bash runs commands in it"})
					}
				}
			}
		case *syntax.UnaryTest:
			if w, is := n.X.(*syntax.Word); is && n.Op == syntax.TsVarSet && !syntax.ValidName(w.Lit()) {
				all = append(all, found{opaque, "the test -v of " + s.textOf(w) + " may run commands"})
			}
		}
		return true
	})
	return all
}

// unquoted is a word without its double quotes.
func unquoted(w *syntax.Word) *syntax.Word {
	if q, is := parts0(w.Parts).(*syntax.DblQuoted); is && len(w.Parts) == 1 {
		return &syntax.Word{Parts: q.Parts}
	}
	return w
}
