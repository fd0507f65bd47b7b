package trial

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"gatewaytui/core/process"
)

// Bounds of what a row starts.
const (
	// endMost is how long a program may take to end by itself, and what it has started to be gone after it.
	endMost = time.Second
	// killGrace is the time from TERM to KILL, killMost the bound of the whole kill.
	killGrace, killMost = time.Second, 5 * time.Second
	// outputKept is how much of a program's standard error is kept, in bytes.
	outputKept = 16 << 10
)

// stage is one row with what it has started. It is a conformance.Test. It belongs to the row's goroutine, and to that of run after its end.
type stage struct {
	*trial
	ctx    context.Context
	faults faults
	// peer plays the platform; nil: there is none.
	peer *peer
	// programs are the runs of the program under test that the row speaks to itself.
	programs []*program

	mu      sync.Mutex         // guards started
	started []*process.Process // all runs
}

// Context implements conformance.Test.
func (s *stage) Context() context.Context { return s.ctx }

// Helper implements conformance.Test.
func (s *stage) Helper() {}

// Log implements conformance.Test: only faults are of interest.
func (s *stage) Log(...any) {}

// Error implements conformance.Test.
func (s *stage) Error(args ...any) { s.faults.add(strings.TrimSuffix(fmt.Sprintln(args...), "\n")) }

// Errorf implements conformance.Test.
func (s *stage) Errorf(format string, args ...any) { s.Error(fmt.Sprintf(format, args...)) }

// Fatal implements conformance.Test.
func (s *stage) Fatal(args ...any) {
	s.Error(args...)
	runtime.Goexit()
}

// Fatalf implements conformance.Test.
func (s *stage) Fatalf(format string, args ...any) { s.Fatal(fmt.Sprintf(format, args...)) }

// open starts the peer.
func (s *stage) open() {
	if len(s.o.Peer) == 0 {
		s.keep(s.o.Env)
		return
	}
	s.peer = &peer{stage: s}
	s.peer.open()
	s.keep(s.env())
}

// keep records the secrets of an environment. A short value is none that could be looked for.
func (s *stage) keep(env map[string]string) {
	const least = 6
	for _, value := range env {
		if len(value) >= least && !slices.Contains(s.secrets, value) {
			s.secrets = append(s.secrets, value)
		}
	}
}

// settings are those that the program gets.
func (s *stage) settings() map[string]any {
	all := map[string]any{}
	maps.Copy(all, s.o.Settings)
	if s.peer != nil {
		maps.Copy(all, s.peer.hello.Settings)
	}
	return all
}

// env are the variables that the program gets in addition to those of tools.
func (s *stage) env() map[string]string {
	all := map[string]string{}
	maps.Copy(all, s.o.Env)
	if s.peer != nil {
		maps.Copy(all, s.peer.hello.Env)
	}
	return all
}

// spawn starts a program under test with the variables of env, in addition to those of spec. It may be called from any goroutine.
func (s *stage) spawn(ctx context.Context, spec process.Spec, env map[string]string) (*process.Process, error) {
	spec.Env = slices.Clone(spec.Env)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		spec.Env = append(spec.Env, name+"="+env[name])
	}
	p, err := s.o.Spawn(ctx, spec)
	if err == nil {
		s.mu.Lock()
		s.started = append(s.started, p)
		s.mu.Unlock()
	}
	return p, err
}

// close ends what the row has started, and looks for secrets in what the programs under test wrote to their standard error.
func (s *stage) close() {
	for _, p := range s.programs {
		p.hangUp()
	}
	for _, p := range s.started {
		s.kill(p)
		text, _ := p.Output()
		s.look("its standard error", text)
	}
	if s.peer != nil {
		s.peer.close()
	}
}

// kill ends what is left of a process and of all that it started. The end of the row's time does not shorten that.
func (s *stage) kill(p *process.Process) {
	if left, err := p.Left(); left == 0 && err == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), killMost)
	defer cancel()
	if report := p.Kill(ctx, killGrace); !report.Verified {
		s.Errorf("the program could not be ended: %s", report.Summary())
	}
}

// look records the secrets that a text for people has.
func (s *stage) look(where, text string) {
	for _, secret := range s.secrets {
		if strings.Contains(text, secret) {
			s.leaked.add(fmt.Sprintf("%s has the value of a variable, a text of %d bytes", where, len(secret)))
		}
	}
}
