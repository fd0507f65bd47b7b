package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gatewaytui/core/config"
	"gatewaytui/core/host"
	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
	"gatewaytui/views/lines"
)

// Exit codes (CONTRACT.md, 1), with those of package ops. A stop plans its own.
const (
	exitDone      = 0
	exitFailed    = 1
	exitUsage     = 2
	exitNoGateway = 3
	exitConfirm   = 5
	// exitInterrupted is what a shell shows for a program that SIGINT ended (128+n): the verb did not see the end of
	// what it asked for.
	exitInterrupted = 130
)

// outcome is an end with an exit code of its own. Without an error everything has been said already.
type outcome struct {
	code int
	err  error
}

func (o *outcome) Error() string {
	if o.err == nil {
		return fmt.Sprintf("exit code %d", o.code)
	}
	return o.err.Error()
}

func (o *outcome) Unwrap() error { return o.err }

// interrupted is the end of a verb that was given up, with what goes on without it.
func interrupted(goesOn string) error {
	return &outcome{exitInterrupted, &ops.Error{Code: ops.CodeUnavailable, Message: "interrupted: " + goesOn}}
}

// wrongUsage is a command line that cannot be meant; hint says what can.
func wrongUsage(hint, format string, args ...any) error {
	return &outcome{exitUsage, &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf(format, args...), Hint: hint}}
}

// exitCode is the one place that maps an error to a code. What the gateway itself finds wrong with a request is as much
// a matter of usage as what is found here.
func exitCode(err error) int {
	if o, ok := errors.AsType[*outcome](err); ok {
		return o.code
	}
	switch {
	case is[*host.SetupError](err):
		return ops.ExitConfig
	case is[*host.UsageError](err):
		return exitUsage
	case is[*instance.HeldError](err):
		return ops.ExitHeld
	case is[*remote.Unavailable](err), remote.Unreachable(err):
		return exitNoGateway
	case is[*config.Error](err):
		return ops.ExitConfig
	case ops.HasCode(err, ops.CodeInvalid):
		return exitUsage
	}
	return exitFailed
}

// is reports whether err is a T, or wraps one.
func is[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// report says what err is, if anything is left to say, and returns the exit code.
func (p *program) report(err error) int {
	if err == nil {
		return exitDone
	}
	code := exitCode(err)
	if o, ok := errors.AsType[*outcome](err); ok && o.err == nil {
		return code
	}
	e := ops.AsError(err)
	if is[*config.Error](err) {
		e.Hint = "gatewaytui config example prints every key with its default"
	}
	if p.asJSON() {
		p.writeJSON(p.err, struct {
			Error *ops.Error `json:"error"`
		}{e})
		return code
	}
	for line := range strings.SplitSeq(e.Message, "\n") {
		fmt.Fprintf(p.err, "gatewaytui: %s\n", term.Clean(line, lines.MaxLine))
	}
	if e.Hint != "" {
		fmt.Fprintf(p.err, "  %s\n", term.Clean(e.Hint, lines.MaxLine))
	}
	return code
}

// flagError explains a flag that is wrong, with the nearest one that is known.
func flagError(cmd *cobra.Command, err error) error {
	// The flags of a verb that does not exist are unknown as well, and the verb is what is wrong.
	if args := cmd.Flags().Args(); cmd.HasAvailableSubCommands() && len(args) > 0 {
		return unknownVerb(cmd, args[0])
	}
	see := "see " + cmd.CommandPath() + " --help"
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		if near := text.Suggest(unknown.GetSpecifiedName(), names); near != "" {
			see = "did you mean --" + near + "? " + see
		}
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		flag := invalid.GetFlag()
		if wants := map[string]string{"bool": "true or false", "int": "a whole number", "uint64": "a whole number from 0"}[flag.Value.Type()]; wants != "" {
			return wrongUsage(see, "invalid argument %.64q for \"--%s\" flag: it takes %s", invalid.GetValue(), flag.Name, wants)
		}
	}
	return wrongUsage(see, "%.200s", err.Error())
}

// group is the Args and the RunE of a command that only holds others.
func group(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownVerb(cmd, args[0])
	}
	return wrongUsage(cmd.CommandPath()+" takes one of "+strings.Join(verbNames(cmd), ", "), "%s needs a command", cmd.CommandPath())
}

func verbNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

func unknownVerb(cmd *cobra.Command, name string) error {
	hint := cmd.CommandPath() + " --help lists them"
	if near := text.Suggest(name, verbNames(cmd)); near != "" {
		hint = "did you mean " + cmd.CommandPath() + " " + near + "? " + hint
	}
	return wrongUsage(hint, "unknown command %.64q", name)
}

// arguments checks that a verb is given the arguments that are named, and no more.
func arguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		see := "use " + cmd.UseLine() + "; see " + cmd.CommandPath() + " --help"
		switch {
		case len(args) < len(names):
			return wrongUsage(see, "%s is missing", names[len(args)])
		case len(args) > len(names) && len(names) > 0 && names[len(names)-1] == "TEXT":
			return wrongUsage("quote the text; "+see, "unexpected argument %.64q", args[len(names)])
		case len(args) > len(names):
			if near := twin(cmd, args[0]); near != "" {
				see = "did you mean " + near + "? " + see
			}
			return wrongUsage(see, "unexpected argument %.64q", args[len(names)])
		}
		for i, a := range args {
			if strings.TrimSpace(a) == "" {
				return wrongUsage(see, "%s is empty", names[i])
			}
		}
		return nil
	}
}

// twin is the command name of the group whose list cmd is, such as adapter pause for adapters; empty: there is none.
func twin(cmd *cobra.Command, name string) string {
	holder := child(cmd.Root(), strings.TrimSuffix(cmd.Name(), "s"))
	if holder == nil || child(holder, name) == nil {
		return ""
	}
	return holder.CommandPath() + " " + name
}

// verb gives c what every verb has.
func (p *program) verb(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&p.json, "json", false, "print JSON")
	if c.Args == nil {
		c.Args = arguments()
	}
	return c
}
