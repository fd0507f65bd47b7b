package external

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
	"gatewaytui/fixtures/syncbuf"
)

// secret is the value of tokenVariable.
const secret = "c4naryc4naryc4nary"

// late is what a busy machine may add to a bound.
const late = 20 * time.Second

// registry starts the programs of a test, which are gone at its end.
func registry(t *testing.T) *process.Registry {
	t.Helper()
	soak.Long(t) // it starts processes
	t.Setenv(tokenVariable, secret)
	life := fmt.Sprintf("external-tests-%d-%d", os.Getpid(), time.Now().UnixNano())
	procs := process.New(process.Options{
		Life: life, HomeID: life, KillGrace: 200 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
		Pass: func(name, _ string) bool { return name == "PATH" || name == "HOME" || name == "GORACE" },
	})
	if err := procs.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		eventually.True(t, "no process tree is left", func() bool { return procs.Count() == 0 })
		ctx, cancel := context.WithTimeout(context.Background(), late)
		defer cancel()
		if err := procs.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return procs
}

// playing is the platform of a program that behaves so.
func playing(t *testing.T, procs *process.Registry, behaviour string) *Platform {
	t.Helper()
	return New(Options{
		Name: behaviour, Command: []string{os.Args[0], programArgument, behaviour}, EnvPass: []string{tokenVariable}, Workdir: filepath.Join(t.TempDir(), "work"),
		Spawn: procs.Spawn, KillGrace: 200 * time.Millisecond,
	})
}

// descriptors is how many descriptors the process has.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// gone fails the test unless the child that a program has started ends.
func gone(t *testing.T, p *Platform) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.o.Workdir, pidFile))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the child of the program "+p.o.Name+" is gone", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
}

// calm is a platform next to the programs.
type calm struct{}

func (calm) Name() string { return "calm" }

func (calm) Connect(context.Context, adapter.Receiver) (adapter.Conn, error) { return calm{}, nil }

func (calm) Done() <-chan struct{}  { return nil }
func (calm) Err() error             { return nil }
func (calm) LastInbound() time.Time { return time.Now() }

func (calm) Send(context.Context, adapter.Outgoing) (adapter.Sent, error) {
	return adapter.Sent{IDs: []string{"1"}}, nil
}

func (calm) CancelTasks(context.Context) error { return nil }
func (calm) Disconnect(context.Context) error  { return nil }

func TestPL4_AProgramIsAPlatform(t *testing.T) {
	procs := registry(t)
	p, in := playing(t, procs, "good"), &conformance.Receiver{}
	c, err := p.Connect(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	rows := procs.Rows()
	if len(rows) != 1 || rows[0].Owner != "adapter:good" || rows[0].Policy != process.PolicyGateway {
		t.Errorf("its row is %+v", rows)
	}
	text := strings.Repeat("ä", 100<<10)
	if sent, err := c.Send(t.Context(), adapter.Outgoing{Target: "d-" + owner, Text: text}); err != nil || len(sent.IDs) == 0 {
		t.Errorf("sent %+v: %v", sent, err)
	}
	eventually.True(t, "the messages come back", func() bool { return strings.Join(in.Texts(), "") == text })
	if content, err := c.(adapter.Fetcher).Fetch(t.Context(), "f", 1<<20); err != nil || len(content) != 1<<20 {
		t.Errorf("fetched %d bytes: %v", len(content), err)
	}
	if err := conformance.TakeDown(c); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(p.o.Workdir, stopFile)); err != nil {
		t.Errorf("the program was not asked to stop: %v", err)
	}
	if c.Err() != nil {
		t.Errorf("a teardown is the failure %v", c.Err())
	}
}

func TestPL4_AProgramThatIsNotThereIsNamed(t *testing.T) {
	procs := registry(t)
	p := playing(t, procs, "good")
	for command, says := range map[string]string{"gatewaytui-no-such-program": "install it", "/no/such/program": "adapters.good.command"} {
		p.o.Command = []string{command}
		if _, err := p.Connect(t.Context(), &conformance.Receiver{}); err == nil || !strings.Contains(err.Error(), command) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s returned %v", command, err)
		}
	}
}

// hostile are programs that do what they should not, with what their rows say.
var hostile = map[string]struct {
	state ops.AdapterState
	says  string
}{
	"frozen":       {ops.AdapterRetrying, "does not read its standard input"},
	"flood":        {ops.AdapterConnected, ""},
	"garbage":      {ops.AdapterRetrying, "writes text that is not the protocol"},
	"endless":      {ops.AdapterRetrying, "writes a line of more than 32 MiB"},
	"exits":        {ops.AdapterRetrying, "ended with exit code 3; its last line: no config file"},
	"stubborn":     {ops.AdapterConnected, ""},
	"orphan":       {ops.AdapterRetrying, "ended with exit code 4"},
	"wrong-ids":    {ops.AdapterConnected, ""},
	"tells":        {ops.AdapterNeedsCredentials, "is bad"},
	"dies-telling": {ops.AdapterRetrying, "is bad"},
	"closes":       {ops.AdapterRetrying, "closed its standard output"},
}

func TestPL4_AHostileProgramCostsOnlyItsAdapter(t *testing.T) {
	procs := registry(t)
	before, log := descriptors(t), &syncbuf.Buffer{}
	in := &conformance.Receiver{}
	in.Decide(func(ctx context.Context, _ adapter.Inbound) error { <-ctx.Done(); return ctx.Err() })
	v := adapter.NewSupervisor(adapter.Options{
		CallTimeout: 5 * time.Second, SendTimeout: 2 * time.Second, MinBackoff: time.Minute, Receiver: in, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	v.Add(calm{})
	programs := map[string]*Platform{}
	for behaviour := range hostile {
		programs[behaviour] = playing(t, procs, behaviour)
		v.Add(programs[behaviour])
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- v.Run(ctx) }()
	rows := func() map[string]ops.Adapter {
		all := map[string]ops.Adapter{}
		for _, row := range v.Rows() {
			all[row.Name] = row
		}
		return all
	}
	eventually.True(t, "each program is connected or has failed", func() bool {
		for _, row := range rows() {
			if row.State == ops.AdapterConnecting {
				return false
			}
		}
		return true
	})
	frozen := make(chan error, 1)
	go func() {
		_, err := v.SendFile(t.Context(), "frozen", "c", adapter.OutgoingFile{Name: "a", Content: make([]byte, 1<<20)})
		frozen <- err
	}()
	if _, err := v.Send(t.Context(), "wrong-ids", adapter.Outgoing{Target: "c", Text: "hello"}); err == nil || !adapter.MayHaveArrived(err) {
		t.Errorf("a send that is answered with other ids returned %v", err)
	}
	if err := <-frozen; err == nil {
		t.Error("a file to a frozen program was sent")
	}
	for behaviour, want := range hostile {
		eventually.True(t, "the row of "+behaviour+" says what it did", func() bool {
			row := rows()[behaviour]
			return row.State == want.state && strings.Contains(row.LastError, want.says)
		})
	}
	if _, err := v.Send(t.Context(), "calm", adapter.Outgoing{Target: "c", Text: "hello"}); err != nil {
		t.Errorf("another platform: %v", err)
	}
	for name, row := range rows() {
		if strings.ContainsAny(row.LastError, "\x1b\x07\u202e") || strings.Contains(row.LastError, secret) {
			t.Errorf("the row of %s says %q", name, row.LastError)
		}
	}

	var stops sync.WaitGroup
	began := time.Now()
	for name := range hostile {
		stops.Go(func() {
			if err := v.Stop(t.Context(), name); err != nil {
				t.Errorf("the teardown of %s: %v", name, err)
			}
		})
	}
	stops.Wait()
	if took := time.Since(began); took > 5*time.Second+late {
		t.Errorf("the teardown took %s", took)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	gone(t, programs["stubborn"])
	gone(t, programs["orphan"])
	if strings.Contains(log.String(), secret) || strings.Contains(log.String(), "\x1b") {
		t.Errorf("the log has what the programs wrote:\n%s", log)
	}
	eventually.True(t, "no process and no descriptor is left", func() bool { return procs.Count() == 0 && descriptors(t) <= before+2 })
}

func TestPL4_AnAttemptWhoseTimeIsOverLeavesNoProcess(t *testing.T) {
	procs := registry(t)
	p := playing(t, procs, "never-ready")
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() { _, err := p.Connect(ctx, &conformance.Receiver{}); failed <- err }()
	eventually.True(t, "the program waits for ever", func() bool {
		rows := procs.Rows()
		return len(rows) == 1 && rows[0].LastOutput == "still thinking"
	})
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("it returned %v", err)
	}
	if rows := procs.Rows(); len(rows) > 0 && rows[0].State == ops.ProcessRunning {
		t.Errorf("its process is %+v", rows)
	}
}

func TestPL4_ATeardownOfAProgramThatHeedsNothingIsBounded(t *testing.T) {
	procs := registry(t)
	for _, behaviour := range []string{"stubborn", "frozen", "flood"} {
		p := playing(t, procs, behaviour)
		c, err := p.Connect(t.Context(), &conformance.Receiver{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		began := time.Now()
		if err := errors.Join(c.CancelTasks(ctx), c.Disconnect(ctx)); err != nil {
			t.Errorf("%s: %v", behaviour, err)
		}
		cancel()
		if took := time.Since(began); took > 2*time.Second+late {
			t.Errorf("the teardown of %s took %s", behaviour, took)
		}
		if behaviour == "stubborn" {
			gone(t, p)
		}
		if err := c.Disconnect(t.Context()); err != nil {
			t.Errorf("a second teardown of %s: %v", behaviour, err)
		}
	}
}

func TestPL4_NothingIsLeftAfterManyFailedConnects(t *testing.T) {
	procs := registry(t)
	before := descriptors(t)
	p := playing(t, procs, "exits")
	for range soak.Count(t, 20, 200) {
		if _, err := p.Connect(t.Context(), &conformance.Receiver{}); err == nil || !strings.Contains(err.Error(), "exit code 3") {
			t.Fatalf("it returned %v", err)
		}
	}
	eventually.True(t, "no process and no descriptor is left", func() bool { return procs.Count() == 0 && descriptors(t) <= before+2 })
}
