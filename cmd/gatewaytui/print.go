package main

import (
	"fmt"
	"io"

	"gatewaytui/core/follow"
	"gatewaytui/views/lines"
)

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

// waits prints what a stop waits for; nil with --json, which has the events alone.
func (p *program) waits() func(follow.Waits) {
	if p.json {
		return nil
	}
	return p.lines().Waits
}
