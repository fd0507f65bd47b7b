// Command gatewaytui runs a gateway for AI agents, shows it and steers it.
//
// Without a verb it is the gateway; with one it asks the gateway that runs on this home over its control socket. What it
// prints for people is safe for a terminal whatever a chat, a model or a process put into it; with --json it is what the
// socket answers, and every exit code is one of CONTRACT.md, 1.
package main

import (
	"context"
	"io"
	"os"
	"time"

	"gatewaytui/core/process"
	"gatewaytui/tui"
)

func main() {
	// A tool's own command stays readable: its gateway tells by its environment which session asks. It was started without
	// the gateway's secrets, and what it starts itself with run is protected there.
	if _, tool := os.LookupEnv(process.EnvLife); !tool {
		_ = process.Protect() // run does it once more, and says what failed
	}
	p := &program{
		began: process.Began(),
		in:    os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv,
		asks:    tui.IsTerminal(os.Stdin) && tui.IsTerminal(os.Stderr),
		columns: terminalColumns(os.Stdout, os.Getenv),
	}
	os.Exit(p.execute(context.Background(), os.Args[1:]))
}

// program is one invocation and its surroundings.
type program struct {
	// began is when the invocation did, as the system has it.
	began    time.Time
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
	// asks says that somebody sits at the terminal who can be asked: questions are written to err and answered on in.
	asks bool
	// columns is the width that tables fit; 0 is no limit.
	columns int

	home   string // --home
	json   bool   // --json
	output string // -o
}

// execute runs the command line and returns the exit code.
func (p *program) execute(ctx context.Context, args []string) int {
	root := newRoot(p)
	root.SetArgs(args)
	return p.report(root.ExecuteContext(ctx))
}
