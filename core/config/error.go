package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gatewaytui/core/term"
)

// Error is one thing that is wrong with the config, and what to do about it. It never carries a secret, and its text is
// safe to show: one line, no control characters.
type Error struct {
	// File is where it was found; empty for an environment variable and for a default.
	File string
	// Line and Column count from 1, columns in characters; 0 if the error has no line.
	Line, Column int
	// Variable is the environment variable that holds the value, if one does.
	Variable string
	// Key is the key, as in shutdown.drain_timeout; empty where the file as a whole is wrong.
	Key string
	// Nearest is the known key, table or variable that was probably meant.
	Nearest string
	// Message says what is wrong.
	Message string
}

func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.Variable != "":
		b.WriteString(e.Variable + ": ")
	case e.File != "" && e.Line > 0:
		fmt.Fprintf(&b, "%s:%d:%d: ", e.File, e.Line, e.Column)
	case e.File != "":
		b.WriteString(e.File + ": ")
	default:
		b.WriteString("config: ")
	}
	b.WriteString(e.Message)
	if e.Nearest != "" {
		b.WriteString("; did you mean " + e.Nearest + "?")
	}
	return term.Clean(b.String(), maxMessage)
}

// Errors is all that is wrong with a config: first the file, from top to bottom, then the environment. Its text has one
// line for each.
type Errors []*Error

// maxErrors bounds how many errors of one config are reported.
const maxErrors = 100

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap makes each of them an *Error to errors.As.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// sorted puts the errors of a file in the order of their places, before those that have none.
func (e Errors) sorted() Errors {
	slices.SortStableFunc(e, func(a, b *Error) int {
		line := func(e *Error) uint { return uint(e.Line - 1) } // 0 is the last
		return cmp.Or(cmp.Compare(line(a), line(b)), cmp.Compare(a.Column, b.Column))
	})
	return e
}

// maxMessage bounds an error's text, in runes; a path takes most of it.
const maxMessage = 1000
