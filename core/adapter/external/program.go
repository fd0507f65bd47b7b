package external

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"gatewaytui/core/adapter/bot"
	"gatewaytui/core/process"
	"gatewaytui/core/process/pipe"
	"gatewaytui/core/term"
)

// outputKept is how much of the standard error of a program is kept, in bytes.
const outputKept = 16 << 10

// handle is a process that was started; *process.Process is one.
type handle interface {
	Wait(ctx context.Context) (process.Exit, error)
	Exited() (process.Exit, bool)
	Killed() bool
	Kill(ctx context.Context, grace time.Duration) process.Report
	LastLine() string
}

// program is a run of the program, with our ends of its standard input and its standard output.
type program struct {
	handle
	in  inlet
	out io.ReadCloser
}

type inlet interface {
	pipe.Inlet
	io.Closer
}

// spawn starts the program.
func (p *Platform) spawn(ctx context.Context) (*program, error) {
	if err := os.MkdirAll(p.o.Workdir, 0o700); err != nil {
		return nil, fmt.Errorf("make the work folder of the program: %w", err)
	}
	started, err := p.o.Spawn(ctx, process.Spec{
		Argv: p.o.Command, Dir: p.o.Workdir, Env: process.Variables(p.o.EnvPass), Pipes: true, Policy: process.PolicyGateway,
		OutputLimit: outputKept, Owner: "adapter:" + p.o.Name,
	})
	if errors.Is(err, process.ErrNoProgram) || errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no program %s: install it for the gateway's user, or name it with its whole path in adapters.%s.command", term.Quote(p.o.Command[0]), p.o.Name)
	}
	if err != nil {
		return nil, err
	}
	in, out := started.Pipes()
	return &program{handle: started, in: in, out: out}, nil
}

// words are the words of a connection: nothing of them has a value of a variable that the program gets.
func (p *Platform) words() bot.Words {
	var values []string
	for _, name := range p.o.EnvPass {
		values = append(values, os.Getenv(name))
	}
	return bot.NewWords(values...)
}

// last is the last line of the program's standard error, as the end of a sentence; empty if there is none.
func (c *conn) last() string {
	if line := c.words.Clean(c.run.LastLine()); line != "" {
		return "; its last line: " + line
	}
	return ""
}

// ended is why a program that was not asked to has ended its connection, by its exit or by what it did to its pipes.
func (c *conn) ended(what string) error {
	exit, over := c.run.Exited()
	switch {
	case over && c.run.Killed():
		return errors.New("the program was ended")
	case over && exit.Limit != "":
		return fmt.Errorf("the program ended with exit code %d: %s%s", exit.Code, c.words.Clean(exit.Limit), c.last())
	case over:
		return fmt.Errorf("the program ended with exit code %d%s", exit.Code, c.last())
	}
	return fmt.Errorf("the program %s%s", what, c.last())
}

// fault ends the connection because of what the program does.
func (c *conn) fault(why string) {
	c.Fail(fmt.Errorf("the program %s%s", c.words.Clean(why), c.last()))
}
