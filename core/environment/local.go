package environment

import "context"

// local is the driver of the kind that restricts nothing: a command sees what the gateway's user sees.
type local struct{}

func (local) Kind() Kind                            { return KindLocal }
func (local) Probe(context.Context) (string, error) { return "", nil }

func (local) Make(_ context.Context, use Use) (Environment, error) { return localOne{use}, nil }

// localOne is a local environment. It holds nothing.
type localOne struct{ use Use }

func (e localOne) Command(_ context.Context, cmd Command) (Launch, error) {
	return Launch{Argv: cmd.Argv, Dir: cmd.Dir}, nil
}

func (localOne) Detail() string              { return "all that the gateway's user may do" }
func (localOne) Close(context.Context) error { return nil }
