package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/charmbracelet/x/term"

	"gatewaytui/core/setup"
)

// terminalTalk puts the questions of a setup to the terminal, as lines.
type terminalTalk struct {
	p     *program
	file  *os.File    // the terminal; nil: the input is none, and secrets are read as they come
	modes *term.State // of the terminal as it was found
	lines chan typedLine
	reads bool // a read is under way, which a call that was given up left
}

var _ setup.Talk = (*terminalTalk)(nil)

func newTerminalTalk(p *program) *terminalTalk {
	t := &terminalTalk{p: p, lines: make(chan typedLine, 1)}
	if f, is := p.in.(*os.File); is {
		if modes, err := term.GetState(f.Fd()); err == nil {
			t.file, t.modes = f, modes
		}
	}
	return t
}

// restore gives the terminal its modes back. An interrupted question for a secret has left it without an echo.
func (t *terminalTalk) restore() {
	if t.modes != nil {
		_ = term.Restore(t.file.Fd(), t.modes) // a terminal that is gone needs none
	}
}

// Say implements setup.Talk.
func (t *terminalTalk) Say(line string) { t.p.note("%s", line) }

// Prompt implements setup.Talk.
func (t *terminalTalk) Prompt(prompt string) { fmt.Fprint(t.p.err, prompt) }

// Ask implements setup.Talk.
func (t *terminalTalk) Ask(ctx context.Context, prompt string) (string, error) {
	return t.read(ctx, prompt, func() (string, error) { return readLine(t.p.in) })
}

// AskSecret implements setup.Talk.
func (t *terminalTalk) AskSecret(ctx context.Context, prompt string) (string, error) {
	if t.file == nil {
		return t.Ask(ctx, prompt)
	}
	line, err := t.read(ctx, prompt, func() (string, error) {
		b, err := term.ReadPassword(t.file.Fd())
		return string(b), err
	})
	if err == nil {
		fmt.Fprintln(t.p.err) // the line break that was typed is not shown
	}
	return line, err
}

// read reads a line with get, unless a read is under way already: its line is the next one.
func (t *terminalTalk) read(ctx context.Context, prompt string, get func() (string, error)) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	t.Prompt(prompt)
	if !t.reads {
		t.reads = true
		go func() { // a read of a terminal cannot be given up: it ends with a line, with the input, or with the process
			line, err := get()
			t.lines <- typedLine{text: line, err: err}
		}()
	}
	select {
	case line := <-t.lines:
		t.reads = false
		return line.text, line.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// readLine reads a line byte by byte: what comes after it is for the next question.
func readLine(in io.Reader) (string, error) {
	var line []byte
	one := make([]byte, 1)
	for len(line) < maxTyped {
		n, err := in.Read(one)
		switch {
		case n == 1 && one[0] == '\n':
			return string(line), nil
		case n == 1:
			line = append(line, one[0])
		case err == io.EOF && len(line) > 0:
			return string(line), nil
		case err != nil:
			return "", err
		}
	}
	return "", errors.New("the line is too long")
}

// maxTyped bounds a line that is typed, in bytes. A terminal passes 4095 of one (termios(3)).
const maxTyped = 64 << 10
