package gateway

import (
	"context"
	"os"

	"gatewaytui/core/config"
	"gatewaytui/core/environment"
	"gatewaytui/core/environment/container"
	"gatewaytui/core/store"
)

// newContainers is the driver of environments that are containers of Docker or Podman.
func (g *Gateway) newContainers() *container.Engine {
	definitions := g.now().places.Definitions
	var defined []container.Settings
	for _, name := range config.Names(definitions) {
		if definitions[name].Kind == environment.KindContainer {
			defined = append(defined, container.SettingsOf(definitions[name]))
		}
	}
	return container.New(container.Options{
		HomeID: g.opts.Home.ID, Life: g.opts.Life, Programs: container.Programs(g.procs), Journal: environmentRows{g}, Defined: defined,
		Go: func(name string, run func(context.Context)) bool {
			return g.background.Start(context.Background(), name, "", run) // they end with the gateway and not with a caller
		},
		Grace: g.config().Process.KillGrace.Duration, UID: os.Geteuid(), GID: os.Getegid(), Log: g.opts.Log,
		Env: func(agent string) []string {
			cfg := g.config()
			names, _ := cfg.Tools.Environment(os.Environ())
			return append(values(names), variables(cfg.AgentsByName()[agent])...)
		},
		Warn:    func(text string) { g.health.Warn(containerWarning, text) },
		Settled: func(ctx context.Context) { g.trust.environments.Settle(ctx) },
	})
}

// containerWarning is the code of the warning that containers cannot be made as the config wants them.
const containerWarning = "environment.container"

// values are variables of our environment, as NAME=value.
func values(names []string) (all []string) {
	for _, name := range names {
		if value, is := os.LookupEnv(name); is {
			all = append(all, name+"="+value)
		}
	}
	return all
}

// environmentRows are the rows of environments in the store, which is opened after the driver is made.
type environmentRows struct{ g *Gateway }

func (r environmentRows) PutEnvironment(ctx context.Context, v store.Environment) error {
	return r.with(func(s *store.Store) error { return s.PutEnvironment(ctx, v) })
}

func (r environmentRows) DropEnvironment(ctx context.Context, id string) error {
	return r.with(func(s *store.Store) error { return s.DropEnvironment(ctx, id) })
}

func (r environmentRows) Environments(ctx context.Context) (all []store.Environment, err error) {
	err = r.with(func(s *store.Store) error {
		all, err = s.Environments(ctx)
		return err
	})
	return all, err
}

func (r environmentRows) with(do func(*store.Store) error) error {
	if s := r.g.recovery.Store(); s != nil {
		return do(s)
	}
	return store.ErrClosed
}
