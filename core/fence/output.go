package fence

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// input is what redirections put on the standard input; nil: nothing.
func (s *scope) input(all []*syntax.Redirect) *field {
	var in *field
	for _, r := range all {
		if r.N != nil && r.N.Value != "0" {
			continue
		}
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			doc := s.document(r)
			in = &doc
		case syntax.WordHdoc:
			text := s.plain(r.Word)
			in = &text
		case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn:
			in = &field{trust: unknown}
		}
	}
	return in
}

// output is what statements write, if that can be said without running them: echo and printf of known words, through
// programs that decode.
func (s *scope) output(all []*syntax.Stmt) (string, bool) {
	if len(all) != 1 {
		return "", false
	}
	return s.outputOf(all[0])
}

func (s *scope) outputOf(st *syntax.Stmt) (string, bool) {
	switch c := st.Cmd.(type) {
	case *syntax.BinaryCmd:
		if c.Op != syntax.Pipe {
			return "", false
		}
		text, known := s.outputOf(c.X)
		if len(text) > maxText {
			return "", false
		}
		call, simple := c.Y.Cmd.(*syntax.CallExpr)
		if !known || !simple {
			return "", false
		}
		return decoded(text, s.fields(call.Args...))
	case *syntax.CallExpr:
		in := s.input(st.Redirs)
		if len(c.Args) > 0 && in == nil {
			if name, plain := constant(c.Args[0].Parts); plain && name != "echo" && name != "printf" {
				return "", false
			}
		}
		words := s.fields(c.Args...)
		if len(words) == 0 || slices.ContainsFunc(words, func(f field) bool { return f.trust == unknown }) {
			return "", false
		}
		switch {
		case words[0].text == "echo":
			return echoed(words[1:]), true
		case words[0].text == "printf" && len(words) > 1:
			return printed(words[1:]), true
		case in != nil && in.trust != unknown:
			return decoded(in.text, words)
		}
	}
	return "", false
}

func texts(words []field) []string {
	all := make([]string, len(words))
	for i, f := range words {
		all[i] = f.text
	}
	return all
}

func echoed(words []field) string {
	escapes := false
	for len(words) > 0 && len(words[0].text) > 1 && words[0].text[0] == '-' && strings.Trim(words[0].text[1:], "neE") == "" {
		escapes = escapes || strings.Contains(words[0].text, "e")
		words = words[1:]
	}
	text := strings.Join(texts(words), " ")
	if escapes {
		text = ansiC(text)
	}
	return text + "\n"
}

// printed is what printf makes of its words, for the conversions that only copy.
func printed(words []field) string {
	format, rest := words[0].text, texts(words[1:])
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		switch {
		case format[i] != '%' || i+1 == len(format):
			b.WriteByte(format[i])
		case format[i+1] == '%':
			i++
			b.WriteByte('%')
		default:
			i++
			if len(rest) > 0 {
				b.WriteString(rest[0])
				rest = rest[1:]
			}
		}
	}
	return ansiC(b.String())
}

// decoded is what a program makes of its input, for those that only copy or decode.
func decoded(text string, words []field) (string, bool) {
	if len(words) == 0 {
		return "", false
	}
	all := texts(words)
	flag := func(names ...string) bool {
		return slices.ContainsFunc(all[1:], func(w string) bool { return slices.Contains(names, w) })
	}
	squeezed := strings.Join(strings.Fields(text), "")
	switch {
	case (all[0] == "cat" || all[0] == "tee") && len(all) == 1:
		return text, true
	case all[0] == "rev":
		r := []rune(strings.TrimRight(text, "\n"))
		slices.Reverse(r)
		return string(r) + "\n", true
	case all[0] == "base64" && flag("-d", "-D", "--decode", "-di"):
		b, err := base64.StdEncoding.DecodeString(squeezed)
		if err != nil {
			b, err = base64.RawStdEncoding.DecodeString(squeezed)
		}
		return string(b), err == nil
	case all[0] == "xxd" && flag("-r", "-rp", "-pr"):
		b, err := hex.DecodeString(squeezed)
		return string(b), err == nil
	}
	return "", false
}
