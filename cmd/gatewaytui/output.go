package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"gatewaytui/core/follow"
	"gatewaytui/core/text"
	"gatewaytui/tui"
	"gatewaytui/views/lines"
)

// program is one invocation and its surroundings.
type program struct {
	// began is when the invocation did, as the system has it.
	began    time.Time
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
	// asks says that a person at the terminal can be asked: questions are written to err and answered on in.
	asks bool
	// armAfter is how long a request must be on the screen before a typed line answers it.
	armAfter time.Duration
	// columns is the width that tables fit; 0: there is no limit.
	columns int

	home   string // --home
	json   bool   // --json
	output string // -o
}

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
	c.Flags().VarP(choice{&p.output, []string{outputWide, outputJSON}}, "output", "o", "wide shows every column at any terminal width; json is --json")
}

// asJSON says that JSON was asked for.
func (p *program) asJSON() bool { return p.json || p.output == outputJSON }

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
	if p.asJSON() {
		p.writeJSON(p.out, v)
		return
	}
	text()
}

// waits prints what a stop waits for; nil with --json, which has the events alone.
func (p *program) waits() func(follow.Waits) {
	if p.asJSON() {
		return nil
	}
	return p.lines().Waits
}

// configFlag adds --config.
func configFlag(f *pflag.FlagSet, path *string) {
	f.StringVar(path, "config", "", "config `FILE` (default: $GATEWAYTUI_CONFIG, else ~/.config/gatewaytui/config.toml)")
}

// lockDirFlag adds --lock-dir, for what takes the home's lock: a gateway, and a backup without one.
func lockDirFlag(f *pflag.FlagSet, dir *string) {
	f.StringVar(dir, "lock-dir", "", "keep the home's lock in the private folder `DIR`, where the home's file system has no locks")
}

// choice is a flag that takes one of some words.
type choice struct {
	value *string
	words []string
}

var _ pflag.Value = choice{}

func (c choice) String() string {
	if c.value == nil { // pflag asks a zero value as well
		return ""
	}
	return *c.value
}

// Set implements pflag.Value.
func (c choice) Set(s string) error {
	if slices.Contains(c.words, s) {
		*c.value = s
		return nil
	}
	hint := ""
	if near := text.Suggest(s, c.words); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return fmt.Errorf("it takes %s%s", strings.Join(c.words, ", "), hint)
}

// Type implements pflag.Value: what the help shows for the value.
func (c choice) Type() string { return strings.Join(c.words, "|") }

// span is a flag that takes a Go duration over zero, in milliseconds.
type span struct{ ms *int64 }

var _ pflag.Value = span{}

func (s span) String() string {
	if s.ms == nil || *s.ms == 0 {
		return ""
	}
	return (time.Duration(*s.ms) * time.Millisecond).String()
}

// Set implements pflag.Value.
func (s span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Millisecond {
		return fmt.Errorf("it takes a duration from 1ms, such as 30s")
	}
	*s.ms = d.Milliseconds()
	return nil
}

// Type implements pflag.Value.
func (s span) Type() string { return "DURATION" }
