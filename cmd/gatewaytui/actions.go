package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
	"gatewaytui/core/term"
	"gatewaytui/views/lines"
)

// action is what the command line adds to one of ops.Verbs: a verb that is not in actions is carried out as the table says.
type action struct {
	// flags are those in addition to what every verb has; nil is none.
	flags func(*pflag.FlagSet, *request)
	// read makes the command of the arguments; nil takes the target and nothing else.
	read func(p *program, r *request, args []string) error
	// run gives the command and shows what became of it; nil is carryOut.
	run func(p *program, ctx context.Context, g *remote.Gateway, r *request) error
	// args checks the arguments; nil wants those of the table.
	args cobra.PositionalArgs
	// down does it without a gateway, on the home that is given; nil cannot.
	down func(p *program, ctx context.Context, home string, r *request) error
}

var actions = map[ops.Verb]action{
	ops.VerbMessage: {flags: sendFlags, read: readMessage, run: (*program).send},
	ops.VerbEvict: {flags: func(f *pflag.FlagSet, r *request) {
		f.BoolVar(&r.Interrupt, "interrupt", false, "interrupt the session's running turn first (default: a busy agent is refused)")
	}},
	ops.VerbInterrupt: {flags: func(f *pflag.FlagSet, r *request) {
		f.StringVar(&r.Child, "child", "", "interrupt the child agent with this `NUMBER` alone; the turn goes on")
	}},
	ops.VerbTitle: {read: func(_ *program, r *request, args []string) error {
		r.Target, r.Text = args[0], args[1]
		return nil
	}},
	ops.VerbLetIn: {flags: roleFlag, read: func(_ *program, r *request, args []string) error {
		r.Text = args[0]
		return nil
	}},
	ops.VerbAddPerson: {flags: roleFlag},
	ops.VerbSetRole: {read: func(_ *program, r *request, args []string) (err error) {
		r.Target = args[0]
		r.Role, err = role(args[1])
		return err
	}},
	ops.VerbApprove: {flags: scopeFlags},
	ops.VerbRaise:   {flags: raiseFlags, read: readRaise},
	ops.VerbAnswer: {read: func(_ *program, r *request, args []string) error {
		r.Target, r.Text = args[0], args[1]
		return nil
	}},
	ops.VerbStop:    {flags: stopFlags, run: (*program).stop},
	ops.VerbRestart: {flags: restartFlags, run: (*program).restart},
	ops.VerbSkip:    {flags: leverFlags},
	ops.VerbExtend: {flags: func(f *pflag.FlagSet, r *request) {
		leverFlags(f, r)
		f.Var(span{&r.ByMS}, "by", "how much more time (default: 30s)")
	}},
	ops.VerbForce:  {flags: leverFlags},
	ops.VerbBackup: {flags: backupFlags, args: backupArguments, read: readBackup, run: (*program).backup, down: (*program).backupDown},
}

// actionGroups are the commands that hold actions.
var actionGroups = map[string]string{
	"adapter":  "pause, resume or reconnect one chat platform, or test the program of an external one",
	"shutdown": "act on what the running shutdown waits for",
}

// actionVerbs makes the commands of ops.Verbs, in their order.
func actionVerbs(p *program) []*cobra.Command {
	var top []*cobra.Command
	holders := map[string]*cobra.Command{}
	for _, spec := range ops.Verbs {
		if slices.Contains(belowLists, spec.Group) {
			continue
		}
		c := actions[spec.Verb].command(p, spec)
		if spec.Group == "" {
			top = append(top, c)
			continue
		}
		holder := holders[spec.Group]
		if holder == nil {
			if holder = peopleVerb(p); spec.Group != holder.Name() {
				holder = p.verb(&cobra.Command{Use: spec.Group, Short: actionGroups[spec.Group], Example: c.Example, Args: group, RunE: group})
			}
			holders[spec.Group] = holder
			top = append(top, holder)
		}
		holder.AddCommand(c)
	}
	return top
}

func (a action) command(p *program, spec ops.VerbSpec) *cobra.Command {
	r := &request{Command: ops.Command{Verb: spec.Verb}, spec: spec}
	c := p.verb(&cobra.Command{
		Use: spec.Usage(), Short: spec.Summary, Example: "  " + strings.ReplaceAll(spec.Examples, "\n", "\n  "),
		Args: arguments(strings.Fields(spec.Usage())[1:]...),
	})
	if a.args != nil {
		c.Args = a.args
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		r.name = strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
		switch {
		case a.read != nil:
			if err := a.read(p, r, args); err != nil {
				return err
			}
		case len(args) > 0:
			r.Target = args[0]
			if err := r.Parse(); err != nil {
				return wrongUsage("gatewaytui processes lists them", "%s", ops.AsError(err).Message)
			}
		}
		err := p.asking(func(ctx context.Context, g *remote.Gateway, _ []string) error {
			if spec.Ends || r.dryRun {
				if goOn, err := p.confirm(ctx, g, r); err != nil || !goOn {
					return err
				}
			}
			if a.run != nil {
				return a.run(p, ctx, g, r)
			}
			return p.carryOut(ctx, g, r)
		})(cmd, args)
		if home, down := p.isDown(err); down && a.down != nil {
			return a.down(p, cmd.Context(), home, r)
		}
		return err
	}
	f := c.Flags()
	switch {
	case spec.Ends:
		f.BoolVar(&r.dryRun, "dry-run", false, "show what would be ended, and exit")
		f.BoolVar(&r.yes, "yes", false, "skip the confirmation")
	case spec.DryRun:
		f.BoolVar(&r.dryRun, "dry-run", false, "show what it would wait for, and exit")
	}
	if spec.Rest != ops.RestText {
		f.StringVar(&r.Reason, "reason", "", "reason to record in the log and the audit trail, as a `TEXT`")
	}
	if a.flags != nil {
		a.flags(f, r)
	}
	return c
}

func leverFlags(f *pflag.FlagSet, r *request) {
	f.StringVar(&r.Phase, "phase", "", "`PHASE` to act on (default: the running one)")
	f.StringVar(&r.Item, "item", "", "`ITEM` of the phase to act on (default: all)")
}

func sendFlags(f *pflag.FlagSet, r *request) {
	f.StringVar(&r.Target, "session", "cli:local", "the session's `KEY`")
	f.StringVar(&r.Child, "child", "", "the child agent with this `NUMBER` reads the text after its next step; it gives no reply")
	f.BoolVar(&r.noWait, "no-wait", false, "print the message's id and do not wait for the reply")
	f.BoolVar(&r.yes, "yes", false, "approve what the turn of this message asks for, once each; what other turns ask is left alone")
}

// readMessage takes the text from the command line, or from stdin if it is "-": an argument has at most 128 KiB on Linux
// (execve(2), MAX_ARG_STRLEN).
func readMessage(p *program, r *request, args []string) error {
	r.Text = args[0]
	if args[0] == "-" {
		text, err := io.ReadAll(io.LimitReader(p.in, ops.MaxText+1))
		if err != nil {
			return fmt.Errorf("read the message from stdin: %w", err)
		}
		r.Text = string(text)
	}
	switch {
	case strings.TrimSpace(r.Text) == "":
		return wrongUsage("write something", "the message has no text")
	case len(r.Text) > ops.MaxText:
		return wrongUsage("send it in parts, or as a file that a tool can read", "the message has more than %d bytes", ops.MaxText)
	case r.Target == "":
		return wrongUsage("a key reads platform:kind:chat, for instance cli:local", "--session is empty")
	}
	return nil
}

// send says a text to an agent and prints what it answers. The turn is the gateway's: it goes on whether or not this program does.
func (p *program) send(ctx context.Context, g *remote.Gateway, r *request) error {
	if r.Child != "" {
		return p.carryOut(ctx, g, r)
	}
	req, err := g.Do(ctx, r.Command)
	if err != nil {
		return err
	}
	if !r.noWait {
		goesOn := fmt.Sprintf("the turn goes on for message %s; gatewaytui interrupt %s stops it", req.ID, term.Clean(r.Target, lines.MaxCell))
		if req, err = p.answered(ctx, g, r, req, goesOn); err != nil {
			return err
		}
	}
	switch {
	case p.asJSON():
		p.writeJSON(p.out, req)
	case r.noWait:
		p.say("%s", req.ID)
	default:
		var m ops.MessageResult
		if err := json.Unmarshal(req.Result, &m); err != nil && req.Error == nil {
			return fmt.Errorf("read the reply to message %s: %w", req.ID, err)
		}
		p.lines().Text(m.Text())
	}
	return failed(req)
}
