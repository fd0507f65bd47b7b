//go:build !no_external

package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"gatewaytui/core/adapter/external/trial"
	"gatewaytui/core/config"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/text"
)

func init() {
	adapterVerbs = append(adapterVerbs, adapterTestVerb)
}

// guardMost is how long the guardian of a test may take to start, on a busy machine.
const guardMost = 10 * time.Second

// adapterTest is one call of `adapter test`.
type adapterTest struct {
	path          string // --config
	peer          string
	settings, env []string
}

func adapterTestVerb(p *program) *cobra.Command {
	var a adapterTest
	c := p.verb(&cobra.Command{
		Use: "test [NAME]", Short: "check the program of an external adapter against its protocol",
		Example: "  gatewaytui adapter test mattermost\n" +
			"  gatewaytui adapter test --setting url=https://mattermost.example --env MATTERMOST_TOKEN -- ./gatewaytui-mattermost\n" +
			"  gatewaytui adapter test --peer ./mattermost-double --json -- ./gatewaytui-mattermost --verbose",
		Long: `Starts the program of [adapters.NAME], or the command behind --, as a gateway does, again and again, and checks what
core/adapter/external/PROTOCOL.md says of it, in at most three minutes. It needs no gateway, and runs in the current folder. Each row is ok,
fail with what was wrong, or not shown with the reason; a failure is exit code 1.

Without --peer the program connects to its platform with the settings and the variables that it is given. Nothing is sent to a chat that
there is, and no message that comes in is taken. With --peer a program of yours plays the platform, and all that a platform must do is
checked. "Test" in PROTOCOL.md says what such a program reads and writes.`,
		Args: nameOrCommand,
		RunE: func(cmd *cobra.Command, args []string) error {
			t := testRun{Options: trial.Options{Name: "test", Command: args, Settings: map[string]any{}, Env: map[string]string{}}, tools: config.Default().Tools}
			var err error
			if cmd.ArgsLenAtDash() < 0 {
				t, err = a.named(cmd.Context(), p, args[0])
			}
			if err == nil {
				err = a.add(&t.Options, p.getenv)
			}
			if err != nil {
				return err
			}
			return t.run(cmd.Context(), p)
		},
		// What is begun is a name, or a word of a command: the completion does not see whether -- stands before it.
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
			path, _ := p.configPath(cmd.Context(), a.path)
			loaded, err := config.Load(config.Options{Path: path})
			if err != nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			names := slices.DeleteFunc(config.Names(loaded.Config.Adapters.External), func(name string) bool { return !strings.HasPrefix(name, begun) })
			if len(names) == 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	})
	configFlag(c.Flags(), &a.path)
	c.Flags().StringVar(&a.peer, "peer", "", "the `PROGRAM` that plays the platform, with its arguments after blanks")
	c.Flags().StringArrayVar(&a.settings, "setting", nil, "a setting `KEY=VALUE`, and again for more; VALUE is JSON, or else a text")
	c.Flags().StringArrayVar(&a.env, "env", nil, "the name of a `VARIABLE` that the program gets in addition to those of tools, and again for more")
	return c
}

// nameOrCommand checks that a verb is given one name, or a command behind --.
func nameOrCommand(cmd *cobra.Command, args []string) error {
	see := "use " + cmd.CommandPath() + " NAME, or " + cmd.CommandPath() + " -- COMMAND; see " + cmd.CommandPath() + " --help"
	dash := cmd.ArgsLenAtDash()
	switch {
	case len(args) == 0:
		return wrongUsage(see, "NAME is missing")
	case args[0] == "":
		return wrongUsage(see, "NAME is empty")
	case dash > 0:
		return wrongUsage(see, "unexpected argument %.64q", args[0])
	case dash < 0 && len(args) > 1:
		return wrongUsage(see, "unexpected argument %.64q", args[1])
	}
	return nil
}

// testRun is what runs, and the rules for its variables.
type testRun struct {
	trial.Options
	tools   config.Tools
	secrets []string
}

// named is the test of an external adapter of the config.
func (a adapterTest) named(ctx context.Context, p *program, name string) (t testRun, err error) {
	path, note := p.configPath(ctx, a.path)
	loaded, err := config.Load(config.Options{Path: path})
	if err != nil {
		return t, err
	}
	if note != "" {
		p.note("note: %s", note)
	}
	all := loaded.Config.Adapters.External
	e := all[name]
	if e == nil {
		hint := "the config has none; for a program: gatewaytui adapter test -- COMMAND"
		if len(all) > 0 {
			hint = "the config has " + strings.Join(config.Names(all), ", ") + "; for a program: gatewaytui adapter test -- COMMAND"
		}
		if near := text.Suggest(name, config.Names(all)); near != "" {
			hint = "did you mean " + near + "?"
		}
		return t, wrongUsage(hint, "unknown external adapter %.64q", name)
	}
	if err := p.unused(ctx, name); err != nil {
		return t, err
	}
	t = testRun{tools: loaded.Config.Tools, secrets: loaded.Config.SecretVariables()}
	t.Options = trial.Options{Name: name, Command: e.Command, Settings: maps.Clone(map[string]any(e.Settings)), Groups: e.Groups, Env: map[string]string{}}
	for _, variable := range e.EnvPass {
		if value := p.getenv(variable); value != "" {
			t.Env[variable] = value
		}
	}
	return t, nil
}

// unused refuses a test while the gateway of this home uses the adapter: two programs would have one credential.
func (p *program) unused(ctx context.Context, name string) error {
	g, err := p.reach()
	if err != nil {
		return nil // no gateway runs
	}
	defer g.Close()
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	for _, row := range rows(ctx, g.Adapters) {
		if row.Name == name && row.State != ops.AdapterPaused && row.State != ops.AdapterStopped {
			return &ops.Error{
				Code: ops.CodeConflict, Message: "the gateway of this home uses the adapter " + name,
				Hint: "gatewaytui adapter pause " + name + ", and resume it after the test",
			}
		}
	}
	return nil
}

// add adds what the flags say.
func (a adapterTest) add(o *trial.Options, getenv func(string) string) error {
	o.Peer = strings.Fields(a.peer)
	for _, s := range a.settings {
		key, value, is := strings.Cut(s, "=")
		if !is || key == "" {
			return wrongUsage("such as --setting url=https://mattermost.example", "%.64q is not KEY=VALUE", s)
		}
		var v any
		if json.Unmarshal([]byte(value), &v) != nil {
			v = value
		}
		o.Settings[key] = v
	}
	for _, name := range a.env {
		if strings.Contains(name, "=") {
			return wrongUsage("export the variable, and give its name alone", "--env takes the name of a variable, no value")
		}
		if o.Env[name] = getenv(name); o.Env[name] == "" {
			return wrongUsage("export it, or leave --env out", "the variable %.64q is not set", name)
		}
	}
	return nil
}

// run runs the suite over a process registry of its own. A failure among the rows is exit code 1.
func (t testRun) run(ctx context.Context, p *program) (err error) {
	ctx, release := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer release()
	life := "adapter-test-" + rand.Text()
	procs := process.New(process.Options{
		Life: life, HomeID: life, KillGrace: time.Second, Pass: t.tools.Passes, Secrets: t.secrets, Guardian: true, Log: slog.New(slog.DiscardHandler),
	})
	if err := procs.Open(ctx); err != nil {
		return err
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if left := procs.Close(ending); left != nil {
			err = fmt.Errorf("end what the test has started: %w", left)
		}
	}()
	guarded, cancel := context.WithTimeout(ctx, guardMost)
	err = procs.AwaitGuardian(guarded) // no later run would end what a SIGKILL of this one leaves
	cancel()
	if err != nil {
		return err
	}
	if t.Workdir, err = os.Getwd(); err != nil {
		return err
	}
	var rows []trial.Result
	count := map[trial.Verdict]int{}
	t.Spawn = procs.Spawn
	t.Each = func(r trial.Result) {
		rows = append(rows, r)
		count[r.Verdict]++
		if !p.asJSON() {
			p.showRow(r)
		}
	}
	if err := trial.Run(ctx, t.Options); err != nil {
		return &outcome{exitInterrupted, &ops.Error{Code: ops.CodeUnavailable, Message: "interrupted: what the test had started was ended"}}
	}
	p.show(struct {
		OK       bool           `json:"ok"`
		Failures int            `json:"failures"`
		NotShown int            `json:"not_shown"`
		Rows     []trial.Result `json:"rows"`
	}{count[trial.Fail] == 0, count[trial.Fail], count[trial.NotShown], rows}, func() {
		p.say("%d ok, %s, %d not shown", count[trial.OK], text.Count(count[trial.Fail], "failure"), count[trial.NotShown])
	})
	if count[trial.Fail] > 0 {
		return &outcome{code: exitFailed}
	}
	return nil
}

// showRow prints a row for people: one line, and one more for each further fault.
func (p *program) showRow(r trial.Result) {
	first, rest := r.Row, r.Details
	if len(rest) > 0 {
		first, rest = first+": "+rest[0], rest[1:]
	}
	p.say("%-9s  %s", string(r.Verdict), first)
	for _, d := range rest {
		p.say("           %s", d)
	}
}
