package process

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/oklog/ulid/v2"
)

// Runner runs programs that are asked something, such as systemctl. One at a time may be in use, and none while a gateway of this process
// runs.
type Runner struct{ procs *Registry }

// OpenRunner makes one. The caller closes it.
func OpenRunner(ctx context.Context) (Runner, error) {
	id := ulid.Make().String() // of its own: two of them do not clear up after each other
	r := New(Options{
		Life: id, HomeID: id, KillGrace: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
		Pass: func(string, string) bool { return true }, // systemctl finds its manager by it
	})
	return Runner{r}, r.Open(ctx)
}

// runnerBound is what the end of a Runner may take, once its programs are over.
const runnerBound = time.Second

// Close ends what still runs: it was asked something, and nothing is lost with it.
func (r Runner) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), runnerBound)
	defer cancel()
	_ = r.procs.Close(ctx) // who survives it was not ours to wait for
}

// Run runs a program and returns what it printed; it is a service.Run. One that hangs is left to Close.
func (r Runner) Run(ctx context.Context, argv []string) (string, error) {
	started, err := r.procs.Spawn(ctx, Spec{Argv: argv, Policy: PolicyGateway})
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

// Containment says how what it runs is held, and Weaknesses what is missing for that.
func (r Runner) Containment() (Containment, string) { return r.procs.Containment() }

// Weaknesses are those of Registry.
func (r Runner) Weaknesses() []Weakness { return r.procs.Weaknesses() }
