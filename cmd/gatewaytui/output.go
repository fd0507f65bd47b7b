package main

import (
	"os"
	"strconv"

	"gatewaytui/tui"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
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
