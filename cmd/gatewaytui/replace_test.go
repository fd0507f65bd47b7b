package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatewaytui/core/control"
	"gatewaytui/core/instance"
	"gatewaytui/core/process/kernel"
)

// soon are bounds of a takeover for a test: in the same proportions, and with room for a machine that is busy.
var soon = bounds{
	ask: 300 * time.Millisecond, unknown: 300 * time.Millisecond, slack: 100 * time.Millisecond, rung: 500 * time.Millisecond,
	again: 10 * time.Millisecond, first: 50 * time.Millisecond, tell: 100 * time.Millisecond,
}

// most is what a takeover with these bounds may take in the worst case: the questions, the plan, and every rung.
func (b bounds) most() time.Duration {
	return 3*b.ask + b.unknown + b.slack + time.Duration(len(rungs))*b.rung
}

// holder is a process that holds a home as a gateway does, and writes down each TERM that it sees.
type holder struct {
	*exec.Cmd
	home   *instance.Home
	record instance.Record
	ended  chan struct{} // closed when it is gone
}

// hold starts a holder; onTerm is what it does at the n-th TERM, as a line of bash.
func hold(t *testing.T, home *instance.Home, onTerm string) *holder {
	t.Helper()
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("runs where there is flock(1), by which a process holds the home")
	}
	const script = `
exec 9<>"$1/gateway.lock" 8<"$1"
flock -n 9 && flock -n 8 || exit 99
n=0
trap 'n=$((n+1)); echo TERM >>"$1/seen"; %s' TERM
echo ready
while :; do sleep 0.02; done`
	h := &holder{Cmd: exec.Command("bash", "-c", fmt.Sprintf(script, onTerm), "bash", home.Dir()), home: home, ended: make(chan struct{})}
	out, err := h.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the holder says %q, %v", line, err)
	}
	go func() {
		defer close(h.ended)
		_ = h.Wait() // its status is asked of Cmd
	}()
	t.Cleanup(func() {
		_ = h.Process.Kill() // it has ended where the test came to its end
		<-h.ended
	})
	h.record = recordOf(t, h.Process.Pid, home.Socket())
	h.note(t, h.record)
	return h
}

// recordOf is the identity of a process as a pid file has it.
func recordOf(t *testing.T, pid int, socket string) instance.Record {
	t.Helper()
	p, err := kernel.StatOf(pid, make([]byte, 1<<10))
	if err != nil {
		t.Fatal(err)
	}
	r := instance.Self()
	r.PID, r.StartTicks, r.Life, r.Version, r.Control = pid, p.Start, "01HOLDER", "1.2.3", socket
	r.StartedAt = time.Now().Add(-time.Hour)
	return r
}

// note writes the pid file.
func (h *holder) note(t *testing.T, r instance.Record) {
	t.Helper()
	text := fmt.Sprintf(`{"pid":%d,"start_ticks":%d,"boot_id":%q,"pid_namespace":%q,"life":%q,"version":%q,"started_at":%q,"control":%q}`,
		r.PID, r.StartTicks, r.BootID, r.PIDNamespace, r.Life, r.Version, r.StartedAt.Format(time.RFC3339Nano), r.Control)
	if err := os.WriteFile(h.home.PIDFile(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// terms is how many TERMs the holder saw.
func (h *holder) terms(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(h.home.Dir(), "seen"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Count(string(text), "TERM")
}

func living(pid int) bool {
	p, err := kernel.StatOf(pid, make([]byte, 1<<10))
	return err == nil && p.Alive()
}

func nextRecord() instance.Record { return instance.Record{Life: "01NEXT", StartedAt: time.Now()} }

// held is the refusal that a second start gets.
func held(t *testing.T, home *instance.Home) *instance.HeldError {
	t.Helper()
	lock, err := home.Acquire(nextRecord())
	if err == nil {
		t.Fatal(errors.Join(errors.New("nobody holds the home"), lock.Release()))
	}
	refusal, ok := errors.AsType[*instance.HeldError](err)
	if !ok {
		t.Fatal(err)
	}
	return refusal
}

// B2: a holder is asked, then told with growing force, each within its bound; the last one is KILL, and it comes only when
// everything else had its time.
func TestB2_ATakeoverGrowsStrongerWithinItsBounds(t *testing.T) {
	for _, tc := range []struct {
		name   string
		onTerm string
		stop   bool // SIGSTOP beforehand
		silent bool // its socket listens, and nobody answers
		code   int  // the holder's; -1 is by KILL
		terms  int
		said   []string
	}{
		{
			name: "one that ignores everything is killed, last of all", onTerm: ":", code: -1, terms: 4,
			said: []string{"may take 400ms", "ended by force", "still holds the home: SIGTERM", "still holds the home: SIGKILL"},
		},
		{
			name: "one that does not answer either is let go on, told, and killed", onTerm: ":", silent: true, code: -1, terms: 4,
			said: []string{"does not answer: SIGCONT", "does not say what it does; it has ", "SIGKILL"},
		},
		{name: "one that ends when it is told ends by itself", onTerm: "exit 7", code: 7, terms: 1},
		{name: "one that ends when it is told again is not killed", onTerm: "[ $n = 3 ] && exit 8", code: 8, terms: 3, said: []string{"SIGTERM"}},
		{name: "one that is stopped is let go on and ends by itself", onTerm: "exit 9", stop: true, code: 9, terms: 1},
		{name: "one that is stopped and does not answer ends by itself", onTerm: "exit 9", stop: true, silent: true, code: 9, terms: 1, said: []string{"SIGCONT"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			home := newHome(t)
			h := hold(t, home, tc.onTerm)
			if tc.silent {
				l, err := net.Listen("unix", home.Socket())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { l.Close() })
			}
			if tc.stop {
				if err := h.Process.Signal(syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			}
			refusal := held(t, home)
			out := newPrinted()
			to := &takeover{
				p: &program{err: out, began: time.Now()}, home: home, holder: refusal.Holder, bounds: soon,
				client: control.NewClient(home.Socket(), control.ClientOptions{Timeout: soon.ask}),
			}
			defer to.client.Close()
			began := time.Now()
			lock, err := to.run(t.Context(), refusal, nextRecord)
			took := time.Since(began)
			if err != nil {
				t.Fatalf("the home was not taken: %v\n%s", err, out)
			}
			if err := lock.Release(); err != nil {
				t.Error(err)
			}
			<-h.ended
			if code := h.ProcessState.ExitCode(); code != tc.code {
				t.Errorf("the holder ended with %d, want %d", code, tc.code)
			}
			if n := h.terms(t); n != tc.terms {
				t.Errorf("the holder saw %d TERM, want %d", n, tc.terms)
			}
			if tc.code < 0 && took < soon.unknown+soon.slack+3*soon.rung {
				t.Errorf("it was killed after %v, before the others had their time", took)
			}
			if most := soon.most() + 30*time.Second; took > most { // what a busy machine needs comes on top
				t.Errorf("it took %v, want at most %v", took, most)
			}
			for _, part := range tc.said {
				if !strings.Contains(out.String(), part) {
					t.Errorf("it did not say %q:\n%s", part, out)
				}
			}
			if tc.code >= 0 && strings.Contains(out.String(), "SIGKILL") {
				t.Errorf("it spoke of KILL:\n%s", out)
			}
		})
	}
}

// B11, B13: whoever the pid file names, without being the one that holds this home, is neither asked nor signalled.
func TestB11_AStrangerInThePIDFileIsNeverSignalled(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*instance.Record)
		other  bool // the record's process is not the one that has its pid
	}{
		{"with its whole identity", func(*instance.Record) {}, false},
		{"with another start time, as after its pid was given anew", func(r *instance.Record) { r.StartTicks++ }, true},
		{"of another boot", func(r *instance.Record) { r.BootID = "another-boot" }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			stranger := exec.Command("sleep", "1000")
			if err := stranger.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = stranger.Process.Kill(); _ = stranger.Wait() })
			home := newHome(t)
			h := hold(t, home, "exit 7")
			record := recordOf(t, stranger.Process.Pid, home.Socket())
			tc.change(&record)
			h.note(t, record)
			p := &program{err: newPrinted(), began: time.Now()}
			lock, err := p.takeOver(t.Context(), home, &instance.HeldError{Home: home.Dir(), Holder: record}, nextRecord)
			if _, refused := errors.AsType[*instance.HeldError](err); !refused || lock != nil {
				t.Errorf("the takeover ended with %v, want the refusal of a second start", err)
			}
			if tc.other {
				to := &takeover{p: p, home: home, holder: record, bounds: soon}
				if err := to.signal(syscall.SIGKILL); err != nil {
					t.Error(err)
				}
			}
			if !living(stranger.Process.Pid) || !living(h.Process.Pid) || h.terms(t) > 0 {
				t.Errorf("the stranger lives: %v, the holder: %v; the holder saw %d TERM", living(stranger.Process.Pid), living(h.Process.Pid), h.terms(t))
			}
		})
	}
}

// A takeover that is given up ends at once, and sends nothing more.
func TestATakeoverThatIsGivenUpEnds(t *testing.T) {
	home := newHome(t)
	h := hold(t, home, ":")
	refusal := held(t, home)
	out := newPrinted()
	long := soon
	long.unknown = time.Hour
	to := &takeover{p: &program{err: out}, home: home, holder: refusal.Holder, bounds: long, client: control.NewClient(home.Socket(), control.ClientOptions{Timeout: soon.ask})}
	defer to.client.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { // ends with the line, or the test
		_ = out.await("it has ")
		cancel(errors.New("the operator went away"))
	}()
	lock, err := to.run(ctx, refusal, nextRecord)
	if lock != nil || err == nil || err.Error() != "the operator went away" {
		t.Fatalf("it ended with %v", err)
	}
	if !living(h.Process.Pid) || h.terms(t) != 1 {
		t.Errorf("the holder lives: %v, and saw %d TERM", living(h.Process.Pid), h.terms(t))
	}
}
