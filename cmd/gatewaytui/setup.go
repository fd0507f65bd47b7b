package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"gatewaytui/core/config"
	"gatewaytui/core/control"
	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/process/kernel"
	"gatewaytui/core/remote"
	"gatewaytui/core/setup"
	"gatewaytui/core/takeover"
	"gatewaytui/core/text"
)

// startBound is how long a gateway that setup starts may take to answer, and startAgain how often it is asked.
const (
	startBound = 30 * time.Second
	startAgain = 50 * time.Millisecond
)

// firstMessage is what setup sends to the agent.
const firstMessage = "Hello! Say in one sentence who you are."

func setupVerb(p *program) *cobra.Command {
	var path string
	c := p.verb(&cobra.Command{
		Use: "setup", Short: "answer a few questions, and have a gateway that answers; run it again to change answers",
		Example: "  gatewaytui setup\n  gatewaytui setup --home ~/gateway --config ~/gateway/config.toml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case p.asJSON():
				return wrongUsage("gatewaytui config example prints a config to edit", "setup asks questions, and has no JSON")
			case !p.asks:
				return wrongUsage("gatewaytui config example > ~/.config/gatewaytui/config.toml writes a config to edit", "setup asks questions, and this is not a terminal")
			}
			return p.setUp(cmd.Context(), path)
		},
	})
	configFlag(c.Flags(), &path)
	return c
}

// setUp asks, writes the config, has a gateway run with it, and sends the first message.
func (p *program) setUp(ctx context.Context, flag string) error {
	ctx, release := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer release()
	home, err := instance.Resolve(p.home, p.getenv)
	if err != nil {
		return err
	}
	if err := instance.CheckHome(home); err != nil {
		return err
	}
	path, note := p.configPath(ctx, flag)
	if path, err = config.Place(path, p.getenv); err != nil {
		return err
	}
	if note != "" {
		p.note("note: %s", note)
	}
	_, down := remote.StatusOf(ctx, home)
	talk := newTerminalTalk(p)
	defer talk.restore()
	result, err := setup.Run(ctx, setup.Options{Home: home, Config: path, Running: down == nil, Getenv: p.getenv, Talk: talk, Checks: setup.Real{}})
	switch {
	case ctx.Err() != nil:
		return &outcome{exitInterrupted, &ops.Error{Code: ops.CodeUnavailable, Message: "interrupted: the config and the gateway are as they were", Hint: "gatewaytui setup goes on"}}
	case errors.Is(err, setup.ErrDeclined), errors.Is(err, io.EOF):
		return &outcome{exitConfirm, &ops.Error{Code: ops.CodeNeedsConfirmation, Message: "not confirmed: the config and the gateway are as they were", Hint: "gatewaytui setup goes on"}}
	case err != nil:
		return err
	}
	if err := p.bringUp(ctx, home, path, result); err != nil {
		if ctx.Err() != nil {
			return interrupted("the config is written; the gateway may be starting, which gatewaytui status shows")
		}
		return err
	}
	return p.firstAnswer(ctx, home, path, result)
}

// bringUp has a gateway on home that runs with the config at path.
func (p *program) bringUp(ctx context.Context, home, path string, result setup.Result) error {
	now, err := remote.StatusOf(ctx, home)
	switch {
	case err != nil:
		return p.startGateway(ctx, home, path)
	case now.Config.Path != "" && !remote.SameFile(path, now.Config.Path):
		return &ops.Error{
			Code: ops.CodeConflict, Message: fmt.Sprintf("the gateway that runs on this home (pid %d) has another config, %s", now.PID, now.Config.Path),
			Hint: "gatewaytui stop, then gatewaytui setup again",
		}
	case !result.Changed:
		return nil
	}
	p.say("  restarting the gateway (pid %d) …", now.PID)
	g, err := p.reach()
	if err != nil {
		return err
	}
	defer g.Close()
	o := takeover.RestartOptions{Command: ops.Command{Verb: ops.VerbRestart, Reason: "setup changed the config"}, Began: p.began, Progress: p.showTakeover}
	next, err := takeover.Restart(ctx, g, o)
	if err != nil {
		return err
	}
	p.say("  it runs: life %s, pid %d", next.Life, next.PID)
	return nil
}

// startGateway starts a gateway without a terminal, and waits until it runs.
func (p *program) startGateway(ctx context.Context, home, path string) error {
	exec, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program's path: %w", err)
	}
	pid, err := process.Detach([]string{exec, "--no-tui", "--home", home, "--config", path}, os.Environ(), filepath.Dir(path), 0)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startBound)
	defer cancel()
	for again := time.Tick(startAgain); ; {
		if st, err := remote.StatusOf(ctx, home); err == nil && st.State == ops.StateRunning {
			p.say("  the gateway runs: pid %d", st.PID)
			return nil
		}
		if s, err := kernel.StatOf(pid); err == nil && s.State == 'Z' {
			return notUp("the gateway ended as it started", home)
		}
		select {
		case <-again:
		case <-ctx.Done():
			return notUp(fmt.Sprintf("the gateway (pid %d) does not answer after %s", pid, startBound), home)
		}
	}
}

func notUp(message, home string) error {
	return &ops.Error{Code: ops.CodeUnavailable, Message: message, Hint: "gatewaytui --no-tui --home " + text.ShellWord(home) + " shows why; gatewaytui doctor checks the rest"}
}

// firstAnswer sends a message, shows the answer, and says what comes next.
func (p *program) firstAnswer(ctx context.Context, home, path string, result setup.Result) error {
	g, err := remote.Find(home, control.ClientOptions{})
	if err != nil {
		return err
	}
	defer g.Close()
	message := firstMessage
	if result.Scripted {
		message = "hello"
	}
	p.say("")
	p.say("  you    %s", message)
	fmt.Fprint(p.out, "  agent  ")
	spec, _ := ops.VerbMessage.Spec()
	r := &request{Command: ops.Command{Verb: ops.VerbMessage, Target: "cli:local", Text: message}, spec: spec}
	if err := p.send(ctx, g, r); err != nil {
		return g.Explain(err)
	}
	flags := p.whereFlags(home, path)
	p.say("")
	p.say("It works. What next:")
	next := func(command, what string) { p.say("  %-46s %s", command, what) }
	if result.Bot != "" {
		p.say("  write to @%s in Telegram", result.Bot)
	}
	next("gatewaytui attach"+flags.home, "the console; q leaves it, and the gateway goes on")
	next("gatewaytui send \"…\""+flags.home, "talk to the agent here")
	next("gatewaytui stop"+flags.home, "stop it")
	next("gatewaytui unit systemd --user --write"+flags.home+flags.config, "start it with the machine; stop this one first")
	next("gatewaytui setup"+flags.home+flags.config, "change an answer")
	if len(result.Variables) > 0 {
		p.say("")
		p.say("The gateway reads secrets from the variables %s. A service needs them in a file of mode 0600,", english.WordSeries(result.Variables, "and"))
		p.say("which EnvironmentFile= of the unit names.")
	}
	return nil
}

// placeFlags name a home and a config to a verb, where it does not find them by itself.
type placeFlags struct{ home, config string }

func (p *program) whereFlags(home, path string) (f placeFlags) {
	if usual, err := instance.Resolve("", p.getenv); err != nil || usual != home {
		f.home = " --home " + text.ShellWord(home)
	}
	if usual, err := config.Place("", p.getenv); err != nil || usual != path {
		f.config = " --config " + text.ShellWord(path)
	}
	return f
}
