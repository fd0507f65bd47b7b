package takeover

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gatewaytui/core/control"
	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
	"gatewaytui/core/process/kernel"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/shortdir"
)

// soon are bounds of a takeover for a test: in the same proportions, and with room for a machine that is busy.
var soon = bounds{
	ask: 300 * time.Millisecond, unknown: 300 * time.Millisecond, slack: 100 * time.Millisecond, step: 500 * time.Millisecond,
	again: 10 * time.Millisecond, first: 50 * time.Millisecond, tell: 100 * time.Millisecond,
}

// most is what a takeover with these bounds may take in the worst case: the questions, the plan, and every signal.
func (b bounds) most() time.Duration {
	return 3*b.ask + b.unknown + b.slack + time.Duration(len(escalation))*b.step
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
	p, err := kernel.StatOf(pid)
	if err != nil {
		t.Fatal(err)
	}
	r := instance.Self()
	r.PID, r.StartTicks, r.Life, r.Version, r.Control = pid, p.Start, "01HOLDER", "1.2.3", socket
	r.StartedAt = ops.At(time.Now().Add(-time.Hour))
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
	p, err := kernel.StatOf(pid)
	return err == nil && p.Alive()
}

func nextRecord() instance.Record {
	return instance.Record{Life: "01NEXT", StartedAt: ops.At(time.Now())}
}

// held is the refusal that a second start gets.
func held(t *testing.T, home *instance.Home) *instance.HeldError {
	t.Helper()
	lock, err := home.Acquire(nextRecord())
	if err == nil {
		t.Fatal(errors.Join(errors.New("no process holds the home"), lock.Release()))
	}
	refusal, ok := errors.AsType[*instance.HeldError](err)
	if !ok {
		t.Fatal(err)
	}
	return refusal
}

// B2: a holder is asked, then signalled with growing force, each within its bound; the last one is KILL, and it comes only when
// everything else had its time.
func TestB2_ATakeoverGrowsStrongerWithinItsBounds(t *testing.T) {
	for _, tc := range []struct {
		name   string
		onTerm string
		stop   bool // SIGSTOP beforehand
		silent bool // its socket listens, and does not answer
		code   int  // the holder's; -1 is by KILL
		terms  int
		said   []Progress
	}{
		{
			name: "one that ignores everything is killed, last of all", onTerm: ":", code: -1, terms: 4,
			said: []Progress{Replacing{Bound: 400 * time.Millisecond, Force: 1900 * time.Millisecond}, Escalating{Signal: syscall.SIGTERM}, Escalating{Signal: syscall.SIGKILL}},
		},
		{
			name: "one that does not answer either is continued, signalled, and killed", onTerm: ":", silent: true, code: -1, terms: 4,
			said: []Progress{NoAnswer{}, Waiting{}, Escalating{Signal: syscall.SIGKILL}},
		},
		{name: "one that ends at the first signal ends by itself", onTerm: "exit 7", code: 7, terms: 1},
		{name: "one that ends at a repeated signal is not killed", onTerm: "[ $n = 3 ] && exit 8", code: 8, terms: 3, said: []Progress{Escalating{Signal: syscall.SIGTERM}}},
		{name: "one that is stopped is let go on and ends by itself", onTerm: "exit 9", stop: true, code: 9, terms: 1},
		{name: "one that is stopped and does not answer ends by itself", onTerm: "exit 9", stop: true, silent: true, code: 9, terms: 1, said: []Progress{NoAnswer{}}},
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
			out := newHeard()
			to := &takeover{
				Replacement: Replacement{Home: home, Held: refusal, Record: nextRecord, Began: time.Now(), Progress: out.hear}, holder: refusal.Holder, bounds: soon,
				client: control.NewClient(home.Socket(), control.ClientOptions{Timeout: soon.ask}),
			}
			defer to.client.Close()
			began := time.Now()
			lock, err := to.run(t.Context())
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
			if tc.code < 0 && took < soon.unknown+soon.slack+3*soon.step {
				t.Errorf("it was killed after %v, before the others had their time", took)
			}
			if most := soon.most() + 30*time.Second; took > most { // what a busy machine needs comes on top
				t.Errorf("it took %v, want at most %v", took, most)
			}
			for _, want := range tc.said {
				if !out.has(want, h.Process.Pid) {
					t.Errorf("it did not say %#v:\n%s", want, out)
				}
			}
			if tc.code >= 0 && out.has(Escalating{Signal: syscall.SIGKILL}, h.Process.Pid) {
				t.Errorf("it spoke of KILL:\n%s", out)
			}
		})
	}
}

// B11, B13: a process that the pid file names, and that does not hold this home, is neither asked nor signalled.
func TestB11_AnotherProcessInThePIDFileIsNeverSignalled(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*instance.Record)
		other  bool // the record's process is not the one that has its pid
	}{
		{"with its whole identity", func(*instance.Record) {}, false},
		{"with another start time, as after its pid was given again", func(r *instance.Record) { r.StartTicks++ }, true},
		{"of another boot", func(r *instance.Record) { r.BootID = "another-boot" }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			other := exec.Command("sleep", "1000")
			if err := other.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
			home := newHome(t)
			h := hold(t, home, "exit 7")
			record := recordOf(t, other.Process.Pid, home.Socket())
			tc.change(&record)
			h.note(t, record)
			r := Replacement{Home: home, Held: &instance.HeldError{Home: home.Dir(), Holder: record}, Record: nextRecord, Began: time.Now(), Progress: func(Progress) {}}
			lock, err := Replace(t.Context(), r)
			if _, refused := errors.AsType[*instance.HeldError](err); !refused || lock != nil {
				t.Errorf("the takeover ended with %v, want the refusal of a second start", err)
			}
			if tc.other {
				to := &takeover{Replacement: r, holder: record, bounds: soon}
				if err := to.signal(syscall.SIGKILL); err != nil {
					t.Error(err)
				}
			}
			if !living(other.Process.Pid) || !living(h.Process.Pid) || h.terms(t) > 0 {
				t.Errorf("the other process lives: %v, the holder: %v; the holder saw %d TERM", living(other.Process.Pid), living(h.Process.Pid), h.terms(t))
			}
		})
	}
}

// B19: a start that is refused just before the holder gives up its home takes it, as of a restart of an idle gateway.
func TestB19_AHomeThatIsGivenUpAfterTheRefusalIsTaken(t *testing.T) {
	home := newHome(t)
	h := hold(t, home, `rm "$1/gateway.pid"; exec 9>&- 8<&-`) // and lives on, as a gateway does for some milliseconds
	r := Replacement{Home: home, Held: held(t, home), Record: nextRecord, Began: time.Now(), Progress: func(Progress) {}}
	if err := h.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the holder gave up its home", func() bool {
		free, err := home.Hold()
		return err == nil && free.Release() == nil
	})
	lock, err := Replace(t.Context(), r)
	if err != nil {
		t.Fatalf("the free home was not taken: %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
	if !living(h.Process.Pid) || h.terms(t) != 1 {
		t.Errorf("the holder lives: %v, and saw %d TERM, want its own one", living(h.Process.Pid), h.terms(t))
	}
}

// A takeover that is given up ends at once, and sends nothing more.
func TestATakeoverThatIsGivenUpEnds(t *testing.T) {
	home := newHome(t)
	h := hold(t, home, ":")
	refusal := held(t, home)
	out := newHeard()
	long := soon
	long.unknown = time.Hour
	to := &takeover{Replacement: Replacement{Home: home, Held: refusal, Record: nextRecord, Progress: out.hear}, holder: refusal.Holder, bounds: long, client: control.NewClient(home.Socket(), control.ClientOptions{Timeout: soon.ask})}
	defer to.client.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { // ends with the line, or the test
		_ = out.await(func(p Progress) bool { _, is := p.(Waiting); return is })
		cancel(errors.New("the operator went away"))
	}()
	lock, err := to.run(ctx)
	if lock != nil || err == nil || err.Error() != "the operator went away" {
		t.Fatalf("it ended with %v", err)
	}
	if !living(h.Process.Pid) || h.terms(t) != 1 {
		t.Errorf("the holder lives: %v, and saw %d TERM", living(h.Process.Pid), h.terms(t))
	}
}

// heard is what a takeover said of its progress.
type heard struct {
	mu   sync.Mutex
	said []Progress
	more chan struct{}
}

func newHeard() *heard { return &heard{more: make(chan struct{})} }

func (h *heard) hear(p Progress) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, p)
	close(h.more)
	h.more = make(chan struct{})
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return fmt.Sprintf("%#v", h.said)
}

// has reports whether the takeover of pid said want. Of a Waiting the stop alone counts.
func (h *heard) has(want Progress, pid int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.said, func(p Progress) bool {
		switch p := p.(type) {
		case Replacing:
			p.PID -= pid
			return want == p
		case NoAnswer:
			p.PID -= pid
			return want == p
		case Escalating:
			p.PID -= pid
			return want == p
		case Waiting:
			return p.PID == pid && p.Left > 0 && want == Waiting{Shutdown: p.Shutdown}
		}
		return false
	})
}

// await waits until the takeover has said what is wanted.
func (h *heard) await(wanted func(Progress) bool) error {
	deadline := time.After(20 * time.Second)
	for {
		h.mu.Lock()
		found, more := slices.ContainsFunc(h.said, wanted), h.more
		h.mu.Unlock()
		if found {
			return nil
		}
		select {
		case <-more:
		case <-deadline:
			return errors.New("it was not said within 20 s: " + h.String())
		}
	}
}

// newHome is a home with a path that is short enough for a socket, for a test of any name.
func newHome(t *testing.T) *instance.Home {
	t.Helper()
	home, err := instance.Open(shortdir.New(t))
	if err != nil {
		t.Fatal(err)
	}
	return home
}
