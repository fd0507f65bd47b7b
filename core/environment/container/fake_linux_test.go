package container

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// fakeDaemon is a CommandLine with its daemon, in virtual time, and the worst that is known of both. What was asked for while the daemon
// hung is done later, also if the program that asked has ended. A container whose program was killed goes on.
type fakeDaemon struct {
	mu      sync.Mutex
	answers bool
	fails   bool
	changed chan struct{} // closed when answers changes
	boxes   map[string]*fakeAttached
	pending sync.WaitGroup
}

func newFake() *fakeDaemon {
	return &fakeDaemon{answers: true, changed: make(chan struct{}), boxes: map[string]*fakeAttached{}}
}

func (d *fakeDaemon) set(answers, fails bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answers, d.fails = answers, fails
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *fakeDaemon) names() (out []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name := range d.boxes {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// await waits until the daemon answers; false: cut ended before.
func (d *fakeDaemon) await(cut <-chan struct{}) bool {
	for {
		d.mu.Lock()
		answers, changed := d.answers, d.changed
		d.mu.Unlock()
		if answers {
			return true
		}
		select {
		case <-changed:
		case <-cut:
			return false
		}
	}
}

func (d *fakeDaemon) Name() string                 { return Docker }
func (d *fakeDaemon) Argv(args ...string) []string { return append([]string{Docker}, args...) }
func (d *fakeDaemon) Env() []string                { return nil }
func (d *fakeDaemon) explain(output string) string { return explain(Docker, output) }
func (d *fakeDaemon) Run(ctx context.Context, args ...string) (string, int, error) {
	began := time.Now()
	if !d.await(ctx.Done()) {
		return "", 0, &hangError{Docker, args[0], time.Since(began), ctx.Err()}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.fails:
		return "Error response from daemon: something is wrong", 1, nil
	case args[0] == "ps":
		var names []string
		for name := range d.boxes {
			names = append(names, name)
		}
		return strings.Join(names, "\n"), 0, nil
	case args[0] != "rm":
		return "{}", 0, nil
	}
	name := args[len(args)-1]
	box := d.boxes[name]
	if box == nil {
		return "Error response from daemon: No such container: " + name, 0, nil
	}
	delete(d.boxes, name)
	box.exit(137)
	return name, 0, nil
}

func (d *fakeDaemon) Attach(_ context.Context, _ string, args ...string) (Attached, error) {
	a := &fakeAttached{daemon: d, name: args[slices.Index(args, "--name")+1], ended: make(chan struct{}), made: make(chan struct{}), hungUp: make(chan struct{})}
	d.pending.Go(func() {
		d.await(nil)
		time.Sleep(200 * time.Millisecond) // virtual
		d.mu.Lock()
		failed := d.fails
		if !failed {
			d.boxes[a.name] = a
			close(a.made)
		}
		d.mu.Unlock()
		if failed {
			a.exit(125)
		}
	})
	return a, nil
}

// fakeAttached is the program that holds a container.
type fakeAttached struct {
	daemon              *fakeDaemon
	name                string
	made, hungUp, ended chan struct{}
	once, hang          sync.Once
	code                int
}

func (a *fakeAttached) exit(code int) {
	a.once.Do(func() {
		a.code = code
		close(a.ended)
	})
}

func (a *fakeAttached) Say(context.Context, string) error { return nil }

func (a *fakeAttached) Hear(ctx context.Context, line string) error {
	if line != "ready" && !a.daemon.await(ctx.Done()) {
		return context.Cause(ctx)
	}
	select {
	case <-a.made:
		return nil
	case <-a.ended:
		return errors.New("the program that holds it has ended")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// HangUp ends a container that was made, and removes it, when the daemon sees it.
func (a *fakeAttached) HangUp() {
	a.hang.Do(func() {
		a.daemon.pending.Go(func() {
			if !a.daemon.await(a.ended) {
				return
			}
			a.daemon.mu.Lock()
			select {
			case <-a.made:
				delete(a.daemon.boxes, a.name)
			default:
			}
			a.daemon.mu.Unlock()
			a.exit(0)
		})
	})
}

func (a *fakeAttached) Wait(ctx context.Context) error {
	select {
	case <-a.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *fakeAttached) End(context.Context) { a.exit(137) }

func (a *fakeAttached) Exited() (int, bool) {
	select {
	case <-a.ended:
		return a.code, true
	default:
		return 0, false
	}
}

func (a *fakeAttached) Output() string {
	return "docker: Error response from daemon: something is wrong"
}
