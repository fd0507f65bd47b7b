package process

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/oklog/ulid/v2"
)

// Runner runs short programs for their output, such as systemctl. Only one may be open at a time, and none while a
// gateway of this process runs.
type Runner struct{ *Registry }

// OpenRunner opens a Runner. The caller closes it.
func OpenRunner(ctx context.Context) (Runner, error) {
	id := ulid.Make().String() // unique: two of them do not clean up after each other
	r := New(Options{
		Life: id, HomeID: id, KillGrace: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
		Pass: func(string, string) bool { return true }, // systemctl needs it to find its manager
	})
	return Runner{r}, r.Open(ctx)
}

// runnerBound is how long the close of a Runner may take, once its programs have ended.
const runnerBound = time.Second

// Close ends what still runs. Nothing is lost, because only the output of a query is missing.
func (r Runner) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), runnerBound)
	defer cancel()
	_ = r.Registry.Close(ctx) // a process that survives it is not waited for
}

// Run runs a program and returns what it printed; it is a service.Run. A program that hangs is left to Close.
func (r Runner) Run(ctx context.Context, argv []string) (string, error) {
	started, err := r.Spawn(ctx, Spec{Argv: argv, Policy: PolicyGateway})
	if err != nil {
		return "", err
	}
	exit, err := started.Wait(ctx)
	if err != nil {
		return "", err
	}
	if exit.Code != 0 {
		return "", fmt.Errorf("%s: exit code %d: %s", argv[0], exit.Code, cmp.Or(started.LastLine(), "no output"))
	}
	text, _ := started.Output()
	return text, nil
}
