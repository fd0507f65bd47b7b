package main

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"gatewaytui/core/follow"
	"gatewaytui/tui"
	"gatewaytui/views/lines"
)

// terminalColumns returns the width that tables fit: $COLUMNS, else what the terminal reports. It is 0, which means no
// limit, if f is not a terminal or the terminal does not know its width.
func terminalColumns(f *os.File, getenv func(string) string) int {
	if !tui.IsTerminal(f) {
		return 0
	}
	if n, err := strconv.Atoi(getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

// The values of -o.
const (
	outputWide = "wide"
	outputJSON = "json"
)

// tableFlag adds -o to a verb that prints a table.
func (p *program) tableFlag(c *cobra.Command) {
	words := choice{&p.output, []string{outputWide, outputJSON}}
	c.Flags().VarP(output{words, p}, "output", "o", "wide shows every column at any terminal width; json is --json")
}

// output is the flag -o.
type output struct {
	choice
	p *program
}

// Set implements pflag.Value.
func (o output) Set(s string) error {
	if err := o.choice.Set(s); err != nil {
		return err
	}
	o.p.json = o.p.json || s == outputJSON
	return nil
}

// lines prints for people on stdout, and remarks on stderr.
func (p *program) lines() lines.Printer {
	columns := p.columns
	if p.output == outputWide {
		columns = 0
	}
	return lines.Printer{Out: p.out, Notes: p.err, Columns: columns}
}

// say prints one line for people on stdout.
func (p *program) say(format string, args ...any) { lines.Line(p.out, format, args...) }

// note prints one line for people on stderr.
func (p *program) note(format string, args ...any) { lines.Line(p.err, format, args...) }

// writeJSON prints v as one line.
func (p *program) writeJSON(w io.Writer, v any) {
	if err := lines.JSON(w, v); err != nil {
		fmt.Fprintf(p.err, "gatewaytui: %v\n", err)
	}
}

// show prints v with --json, and else what text prints.
func (p *program) show(v any, text func()) {
	if p.json {
		p.writeJSON(p.out, v)
		return
	}
	text()
}

// waits prints what a stop waits for; nil with --json, which has the events alone.
func (p *program) waits() func(follow.Waits) {
	if p.json {
		return nil
	}
	return p.lines().Waits
}
