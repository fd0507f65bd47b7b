package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/session"
)

func atOnce(s *setup) {
	s.model = script(func(context.Context, model.Request) (model.Response, error) { return says("ok"), nil })
}

// BenchmarkTurns is whole turns, durable before and after, with a model that answers at once.
func BenchmarkTurns(b *testing.B) {
	for _, sessions := range []int{1, 64} {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) {
			l := start(b, atOnce, func(s *setup) { s.cfg.Agent.CacheSize = 2 * sessions })
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			began := time.Now()
			var all sync.WaitGroup
			for i := range sessions {
				key := fmt.Sprintf("api:user:%d", i)
				all.Go(func() {
					for n := 0; left.Add(-1) >= 0; n++ {
						if n%50 == 49 { // a conversation of fifty turns is long; what is measured is a turn, not its history
							l.ask(key, "/new")
						}
						l.ask(key, "hello")
					}
				})
			}
			all.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "turns/s")
		})
	}
}

// BenchmarkTurnLatency is what the gateway adds to a turn, with 100 sessions that together begin 1,000 turns a second.
func BenchmarkTurnLatency(b *testing.B) {
	const sessions, perSecond = 100, 1000
	l := start(b, atOnce)
	for i := range sessions {
		l.ask(fmt.Sprintf("api:user:%d", i), "hello")
	}
	b.ResetTimer()
	took := make([]time.Duration, b.N)
	var all sync.WaitGroup
	began := time.Now()
	for i := range b.N {
		due := began.Add(time.Duration(i) * time.Second / perSecond)
		time.Sleep(time.Until(due)) // modelled: the rate of the turns
		at := time.Now()
		r := &answered{at: at, took: &took[i], done: all.Done}
		all.Add(1)
		in := adapter.Inbound{Adapter: "chat", Session: fmt.Sprintf("api:user:%d", i%sessions), User: "maria", Text: "hello", Responder: r}
		if _, err := l.g.intake.Receive(context.Background(), in); err != nil {
			b.Fatal(err)
		}
	}
	all.Wait()
	b.StopTimer()
	percentiles(b, took)
}

// answered notes when its answer came.
type answered struct {
	at   time.Time
	took *time.Duration
	done func()
}

func (*answered) Delta(string) {}

func (*answered) Ended(model.Outcome) {}

func (a *answered) Done(string, error) {
	*a.took = time.Since(a.at)
	a.done()
}

func percentiles(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	ms := func(q float64) float64 {
		return float64(took[min(int(q*float64(len(took))), len(took)-1)].Microseconds()) / 1000
	}
	b.ReportMetric(ms(0.5), "p50-ms")
	b.ReportMetric(ms(0.99), "p99-ms")
}

// BenchmarkSnapshot is the operator's whole view, with 10,000 sessions and 1,000 processes.
func BenchmarkSnapshot(b *testing.B) {
	const sessions, processes = 10_000, 1000
	l := start(b, atOnce)
	for i := range sessions {
		l.g.table.Load(session.Session{Key: fmt.Sprintf("api:user:%d", i), ID: fmt.Sprint(i), State: ops.SessionIdle, LastActivity: time.Now()})
	}
	for i := range processes {
		_, err := l.g.procs.Spawn(context.Background(), process.Spec{
			Argv: []string{"sleep", "600"}, Session: fmt.Sprintf("api:user:%d", i%500), Policy: process.PolicySession, Dir: l.dir,
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	took := make([]time.Duration, 0, b.N)
	for b.Loop() {
		began := time.Now()
		s, err := l.g.Snapshot(context.Background())
		if err != nil || len(s.Sessions)+s.Omitted.Sessions != sessions || len(s.Processes) != processes {
			b.Fatalf("a snapshot with %d sessions and %d processes, %v", len(s.Sessions), len(s.Processes), err)
		}
		took = append(took, time.Since(began))
	}
	percentiles(b, took)
}

// BenchmarkStop is a whole stop of what one gateway in this process holds.
func BenchmarkStop(b *testing.B) {
	for _, tc := range []struct {
		name      string
		adapters  int
		processes int
		sessions  int
	}{
		{"idle", 0, 0, 0},
		{"wedged-adapters=16", 16, 0, 0},
		{"term-ignoring-processes=1000/sessions=1", 0, 1000, 1},
		{"term-ignoring-processes=1000/sessions=1000", 0, 1000, 1000},
	} {
		b.Run(tc.name, func(b *testing.B) {
			var total time.Duration
			for range b.N {
				total += stopOnce(b, tc.adapters, tc.processes, tc.sessions)
			}
			b.ReportMetric(float64(total.Milliseconds())/float64(b.N), "stop-ms")
		})
	}
}

// stopOnce measures a stop with trees spread over sessions, each of which has an agent in the cache.
func stopOnce(b *testing.B, adapters, processes, sessions int) time.Duration {
	b.Helper()
	moreFiles(b)
	b.StopTimer()
	release := make(chan struct{})
	defer close(release)
	l := start(b, atOnce, func(s *setup) {
		s.cfg.Shutdown.AdapterTimeout.Duration = time.Second
		s.cfg.Process.KillGrace.Duration = 2 * time.Second
		s.cfg.Agent.CacheSize = 2 * max(sessions, 64)
		s.cfg.Limits.Processes = max(s.cfg.Limits.Processes, processes)
		for i := range adapters {
			s.platforms = append(s.platforms, &platform{name: fmt.Sprintf("p%d", i), disconnect: func(context.Context) error {
				<-release
				return nil
			}})
		}
	})
	for i := range sessions {
		l.ask(fmt.Sprintf("api:user:%d", i), "hello")
	}
	for i := range processes {
		_, err := l.g.procs.Spawn(context.Background(), process.Spec{
			Argv:    []string{"sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 600; done"},
			Session: fmt.Sprintf("api:user:%d", i%sessions), Policy: process.PolicySession, Dir: l.dir,
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if processes > 0 {
		l.wait("all ignore TERM", func() bool {
			deaf := 0
			for _, r := range l.g.procs.Rows() {
				if r.LastOutput == "deaf" {
					deaf++
				}
			}
			return deaf == processes
		})
	}
	b.StartTimer()
	report := l.stop(ops.ModeGraceful)
	b.StopTimer()
	if report.Outcome != ops.ShutdownClean && adapters == 0 {
		b.Fatalf("the stop was %s: %+v", report.Outcome, report.Overran())
	}
	for _, r := range l.g.procs.Rows() {
		b.Fatalf("process %d outlives the stop", r.PID)
	}
	return time.Duration(report.ElapsedMS) * time.Millisecond
}

// moreFiles raises the limit of open files as far as it may be: a tree costs three descriptors.
func moreFiles(b *testing.B) {
	b.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		b.Fatal(err)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkOfManySessions is the operator's questions to a gateway with many idle sessions, in one run: their ratios say
// whether a question costs more with more sessions.
func BenchmarkOfManySessions(b *testing.B) {
	l := start(b, atOnce)
	now, i := time.Now(), 0
	for _, n := range []int{10_000, 1_000_000} {
		for ; i < n; i++ {
			l.g.table.Load(session.Session{Key: fmt.Sprintf("telegram:dm:%d", i), ID: "01JD0000000000000000000000", State: ops.SessionIdle, LastActivity: now.Add(-time.Duration(i) * time.Millisecond)}) // none expires
		}
		for _, q := range []struct {
			name string
			ask  func() error
		}{
			{"page", func() error { _, err := l.g.Sessions(b.Context(), ops.Query{Limit: 50}); return err }},
			{"running", func() error {
				_, err := l.g.Sessions(b.Context(), ops.Query{Limit: 50, Filter: "state:running"})
				return err
			}},
			{"nothing-matches", func() error { _, err := l.g.Sessions(b.Context(), ops.Query{Limit: 50, Filter: "zebra"}); return err }},
			{"snapshot", func() error { _, err := l.g.Snapshot(b.Context()); return err }},
		} {
			b.Run(fmt.Sprintf("sessions=%d/%s", n, q.name), func(b *testing.B) {
				for b.Loop() {
					if err := q.ask(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkStopHungCalls is a stop whose turns all wait for a model that never answers, with a drain of 1 s: at most 50 ms
// more for 16 of them, 100 ms for 256, 300 ms for 1,000.
func BenchmarkStopHungCalls(b *testing.B) {
	for _, n := range []int{1, 16, 256, 1000} {
		b.Run(fmt.Sprintf("calls=%d", n), func(b *testing.B) {
			took := make([]time.Duration, 0, b.N)
			for range b.N {
				b.StopTimer()
				l := start(b, func(s *setup) {
					s.cfg.Shutdown.DrainTimeout.Duration = time.Second
					s.cfg.Shutdown.InterruptGrace.Duration = 4500 * time.Millisecond
					s.cfg.Agent.CacheSize = 2 * max(n, 64)
					s.cfg.Limits.ModelCalls, s.cfg.Limits.Turns = max(s.cfg.Limits.ModelCalls, n), max(s.cfg.Limits.Turns, n)
					s.opts = func(o *Options) { hostOf(o).saveReport = saveTo(filepath.Join(s.dir, "report.json")) }
				})
				for i := range n {
					l.send(fmt.Sprintf("api:user:%d", i), "hang")
				}
				l.wait("all calls hang", func() bool {
					running := 0
					for _, v := range l.g.table.Turns() {
						if strings.HasPrefix(v.Doing, "model call") {
							running++
						}
					}
					return running == n
				})
				b.StartTimer()
				report := l.stop(ops.ModeGraceful)
				b.StopTimer()
				took = append(took, time.Duration(report.ElapsedMS)*time.Millisecond)
			}
			percentiles(b, took)
		})
	}
}

// saveTo writes a report as the program does.
func saveTo(path string) func(ops.Shutdown) error {
	return func(r ops.Shutdown) error {
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(path+".new", text, 0o600); err != nil {
			return err
		}
		return os.Rename(path+".new", path)
	}
}
