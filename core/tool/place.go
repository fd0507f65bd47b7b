package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gatewaytui/core/environment"
	"gatewaytui/core/fence"
	"gatewaytui/core/process"
)

// Environments say where the commands of an agent run, and own what they run in. *environment.Set is one.
type Environments interface {
	// Resolve says where an agent's commands run, or why they are refused.
	Resolve(ctx context.Context, agent string) (environment.Place, error)
	// Command returns how a command starts there.
	Command(ctx context.Context, r environment.Request) (environment.Launch, environment.Place, error)
}

// place is where the commands of a call run.
func (o Options) place(ctx context.Context, call Call) (environment.Place, error) {
	if o.Environments == nil {
		return environment.Place{Name: environment.NameLocal, Kind: environment.KindLocal}, nil
	}
	return o.Environments.Resolve(ctx, call.Agent)
}

// fenceOf is the place as the fence judges commands in it.
func fenceOf(p environment.Place) fence.Environment { return fence.Environment(p.Kind) }

// launch returns how a command starts, and where.
func (o Options) launch(ctx context.Context, call Call, cmd environment.Command) (environment.Launch, environment.Place, error) {
	if o.Environments == nil {
		return environment.Launch{Argv: cmd.Argv, Dir: cmd.Dir}, environment.Place{}, nil
	}
	owner := o.RunsAsRoot == nil || o.RunsAsRoot(call)
	return o.Environments.Command(ctx, environment.Request{Session: call.Session, Agent: call.Agent, Owner: owner, Command: cmd})
}

// start starts a command of a call at the place that it was judged for. failure says after its end whether the environment failed and the command did not run; nil: it cannot.
func (t *Terminal) start(ctx context.Context, call Call, args terminalArguments, dir string, judged environment.Place) (p *process.Process, failure func(process.Exit) error, err error) {
	policy := t.policy(call, args)
	launch, place, err := t.opts.launch(ctx, call, environment.Command{
		Argv: []string{"bash", "-c", args.Command}, Dir: dir, PTY: args.PTY, Background: args.Background, Kept: policy == process.PolicyKept,
	})
	if err != nil {
		return nil, nil, err
	}
	if t.opts.Environments != nil && place.Kind != judged.Kind {
		err = &WithheldError{Text: "the command was judged for the environment " + string(judged.Kind) + ", and would run in " + string(place.Kind) + " now; it was not run"}
		if launch.Started != nil {
			launch.Started(err)
		}
		return nil, nil, err
	}
	p, err = t.processes.Spawn(ctx, process.Spec{
		Session: call.Session, Turn: call.Turn, Command: args.Command, Argv: launch.Argv, Env: launch.Env, Files: launch.Files, Carrier: launch.Carrier,
		Dir: launch.Dir, PTY: args.PTY, Stdin: args.Background, Policy: policy, OutputLimit: t.opts.OutputLimit, Share: launch.Share, Environment: place.Label(),
	})
	if launch.Started != nil {
		launch.Started(err)
	}
	return p, launch.Failure, err
}

// dir is where a command runs: the default directory, one below it, or any absolute one. In an environment with files of its own only the environment
// knows whether a directory outside of the default one exists.
func (t *Terminal) dir(workdir string, place environment.Place) (string, error) {
	if err := os.MkdirAll(t.opts.Workdir, 0o700); err != nil {
		return "", fmt.Errorf("make the working directory: %w", err)
	}
	dir := filepath.Clean(workdir)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(t.opts.Workdir, dir)
	}
	outside := dir != t.opts.Workdir && !strings.HasPrefix(dir, t.opts.Workdir+"/")
	if outside && (place.Kind == environment.KindSandbox || place.Kind == environment.KindContainer) {
		return dir, nil
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("argument %q: the directory %s does not exist", "workdir", dir)
	case err != nil:
		return "", fmt.Errorf("argument %q: %w", "workdir", err)
	case !info.IsDir():
		return "", fmt.Errorf("argument %q: %s is not a directory", "workdir", dir)
	}
	return dir, nil
}
