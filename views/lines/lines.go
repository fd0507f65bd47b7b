// Package lines shows what a gateway tells as lines of text: tables, reports and sentences, for the command line and for the
// console of lines.
//
// What it promises: every line is safe for a terminal, with any text of a chat, a model or a process in it; a table fits the
// terminal and drops the columns that matter least; nothing here waits or asks.
package lines

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"gatewaytui/core/term"
)

// MaxLine bounds one line that is printed for people, in characters.
const MaxLine = 1000

// MaxShown is how many things of a kind are named to people; JSON names all.
const MaxShown = 20

// Printer prints for people.
type Printer struct {
	// Out takes the lines, and Notes what is said about them, such as that a table has more columns.
	Out, Notes io.Writer
	// Columns is the width that tables fit, in terminal columns; 0 means no limit.
	Columns int
}

// Say prints one line for people on Out.
func (p Printer) Say(format string, args ...any) { Line(p.Out, format, args...) }

// Line prints one line for people on w. Each argument that is text is made safe.
func Line(w io.Writer, format string, args ...any) {
	for i, a := range args {
		switch v := a.(type) {
		case string:
			args[i] = term.Clean(v, MaxLine)
		case error:
			args[i] = term.Clean(v.Error(), MaxLine)
		}
	}
	fmt.Fprintf(w, format+"\n", args...)
}

// Text prints a text of several lines, each made safe.
func (p Printer) Text(s string) {
	s = strings.TrimRight(s, "\r\n")
	if s == "" {
		return
	}
	for line := range strings.SplitSeq(s, "\n") {
		fmt.Fprintln(p.Out, term.Clean(term.StripSGR(strings.TrimSuffix(line, "\r")), 0))
	}
}

// JSON prints v as one line. What a terminal would act on is escaped, which changes nothing for a reader of JSON:
// the encoder alone leaves C1 controls and bidi marks as they are (I4).
func JSON(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r < 0x7f || unicode.IsPrint(r):
			out.Write(b[:n])
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		b = b[n:]
	}
	_, err = fmt.Fprintln(w, out.String())
	return err
}
