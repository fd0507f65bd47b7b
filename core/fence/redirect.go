package fence

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirections says what speaks against redirections, and judges the commands in them.
func (a *analysis) redirections(s *scope, redirs []*syntax.Redirect) (all []found) {
	for _, r := range redirs {
		if r.Word != nil {
			all = append(all, a.inside(s, r.Word)...)
		}
		if r.Hdoc != nil {
			all = append(all, a.inside(s, r.Hdoc)...)
		}
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			continue
		}
		targets := s.word(nil, r.Word)
		if len(targets) == 0 {
			all = append(all, found{opaque, "the file of the redirection " + s.textOf(r) + " is known only when it runs"})
			continue
		}
		for _, target := range targets { // a variable may have each of them
			all = append(all, s.redirected(r.Op, target)...)
		}
	}
	return all
}

// redirected says what speaks against a redirection from or to a file.
func (s *scope) redirected(op syntax.RedirOperator, target field) []found {
	switch op {
	case syntax.RdrIn:
		return s.reads(target)
	case syntax.DplIn, syntax.DplOut:
		if strings.Trim(target.text, "0123456789") == "" && target.exact() || target.text == "-" && target.exact() {
			return nil
		}
	}
	return s.writes(target)
}
