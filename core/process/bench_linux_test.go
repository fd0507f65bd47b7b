package process

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/fixtures/eventually"
)

// fleet starts n processes as n trees, each of one process; what they do with TERM is set when it returns.
func fleet(b *testing.B, r *Registry, n int, script string) {
	b.Helper()
	dir := b.TempDir()
	for i := range n {
		start(b, r, Spec{
			Session: "s", Policy: PolicySession,
			Argv: []string{"sh", "-c", script + "; : > " + filepath.Join(dir, strconv.Itoa(i)) + "; exec sleep 1000"},
		})
	}
	eventually.True(b, "all of them have begun", func() bool {
		files, err := os.ReadDir(dir)
		if err != nil {
			b.Fatal(err)
		}
		return len(files) == n
	})
	// Not measured: a sweep that the starts have asked for.
	r.observe(context.Background(), time.Now().Add(patience), false)
}

// BenchmarkKillAll is the end of n processes that obey TERM: at most 50 ms, 150 ms and 1 s.
func BenchmarkKillAll(b *testing.B) {
	for _, level := range []Containment{ContainmentSubreaper, ContainmentCgroup} {
		for _, n := range []int{10, 100, 1000} {
			b.Run(fmt.Sprintf("level=%s/processes=%d", level, n), func(b *testing.B) {
				needs(b, level)
				r := registry(b, at(level))
				for b.Loop() {
					b.StopTimer()
					fleet(b, r, n, ":")
					b.StartTimer()
					if rep := r.KillAll(b.Context(), 2*time.Second); !rep.Verified || len(rep.Killed) != n {
						b.Fatal(rep.Summary())
					}
				}
			})
		}
	}
}

// BenchmarkGuardian is what a killed gateway costs with n hostile trees: the time until nothing of its life is left, at
// most 2 s; and the resident memory of the guardian that sees to it, at most 8 MB.
func BenchmarkGuardian(b *testing.B) {
	for _, level := range []Containment{ContainmentSubreaper, ContainmentCgroup} {
		for _, n := range []int{10, 100, 1000} {
			b.Run(fmt.Sprintf("level=%s/trees=%d", level, n), func(b *testing.B) {
				needs(b, level)
				var rss int64
				for b.Loop() {
					b.StopTimer()
					g := playedGuarded(b, level, n)
					p, err := statOf(g.guardian.PID)
					if err != nil {
						b.Fatal(err)
					}
					rss = max(rss, p.RSS*int64(os.Getpagesize()))
					b.StartTimer()
					g.kill(b)
				}
				b.ReportMetric(float64(rss)/1e6, "rss-MB")
			})
		}
	}
}

// BenchmarkKillAllIgnoringTERM is the end of n processes that ignore TERM, at a grace of 2 s: at most 2.8 s for 1,000.
func BenchmarkKillAllIgnoringTERM(b *testing.B) {
	for _, n := range []int{1000} {
		b.Run(fmt.Sprintf("processes=%d/grace=2s", n), func(b *testing.B) {
			r := registry(b)
			var slowest time.Duration
			for b.Loop() {
				b.StopTimer()
				fleet(b, r, n, "trap '' TERM")
				b.StartTimer()
				rep := r.KillAll(b.Context(), 2*time.Second)
				if !rep.Verified || len(rep.Killed) != n || rep.Escalated != n {
					b.Fatal(rep.Summary())
				}
				slowest = max(slowest, rep.Took)
			}
			b.ReportMetric(float64(slowest.Microseconds())/1000, "slowest-ms")
		})
	}
}

// BenchmarkKillTreeOfSessions is the end of one tree whose every process has a session of its own and ignores
// TERM: no group reaches more than one of them.
func BenchmarkKillTreeOfSessions(b *testing.B) {
	const n = 100
	r := registry(b)
	for b.Loop() {
		b.StopTimer()
		p := start(b, r, spec(fmt.Sprintf(`trap '' TERM; for i in $(seq %d); do setsid sleep 1000 & done; echo ready; wait`, n)))
		ready(b, p)
		b.StartTimer()
		if rep := p.Kill(b.Context(), 0); !rep.Verified {
			b.Fatal(rep.Summary())
		}
	}
}

// BenchmarkScan is one look at the process table with n tracked processes: by ancestry alone, and with the search for our
// marker in every environment on the machine.
func BenchmarkScan(b *testing.B) {
	for _, n := range []int{10, 150, 1000} {
		for _, elsewhere := range []bool{false, true} {
			b.Run(fmt.Sprintf("processes=%d/markers=%v", n, elsewhere), func(b *testing.B) {
				r := registry(b)
				fleet(b, r, n, ":")
				b.ReportAllocs()
				for b.Loop() {
					if v := r.observe(context.Background(), time.Now().Add(patience), elsewhere); v.err != nil || len(v.owned) != n {
						b.Fatalf("%d trees, %v", len(v.owned), v.err)
					}
				}
			})
		}
	}
}

// BenchmarkSpawn is the start of a process, its end and the wait for it.
func BenchmarkSpawn(b *testing.B) {
	r := registry(b)
	for b.Loop() {
		p := start(b, r, Spec{Session: "s", Argv: []string{"true"}, Policy: PolicyTurn})
		wait(b, p)
	}
}

// BenchmarkStartMany is the start of n background processes of one session, with the sweeps that the starts ask for. Its
// ratios are the cost of one of 1,000 starts over the cost of one of 100, in time and in processor time of this program:
// about 1 where n starts cost n, at most 2; about 10 where they cost n squared. A round starts 1,100 processes, which end
// with the round, and after five minutes in any case.
func BenchmarkStartMany(b *testing.B) {
	const few, many = 100, 1000
	r := registry(b)
	var elapsed, used [2]time.Duration
	for b.Loop() {
		for i, n := range []int{few, many} {
			began, before := time.Now(), processorTime(b)
			for range n {
				start(b, r, Spec{Session: "s", Policy: PolicySession, Argv: []string{"sleep", "300"}})
			}
			if v := r.observe(b.Context(), time.Now().Add(patience), false); v.err != nil || len(v.owned) != n {
				b.Fatalf("%d of %d processes run: %v", len(v.owned), n, v.err)
			}
			elapsed[i] += time.Since(began)
			used[i] += processorTime(b) - before
			b.StopTimer()
			if rep := r.KillAll(b.Context(), 2*time.Second); !rep.Verified {
				b.Fatal(rep.Summary())
			}
			eventually.True(b, "no tree is left", func() bool { return r.Count() == 0 })
			b.StartTimer()
		}
	}
	ratio := func(cost [2]time.Duration) float64 { return float64(cost[1]) / many / (float64(cost[0]) / few) }
	b.ReportMetric(ratio(elapsed), "time-ratio")
	b.ReportMetric(ratio(used), "cpu-ratio")
	b.ReportMetric(float64(elapsed[0].Microseconds())/float64(few*b.N), "us/start-of-100")
	b.ReportMetric(float64(elapsed[1].Microseconds())/float64(many*b.N), "us/start-of-1000")
}

// processorTime is what this program has used, its children not counted.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRows is what a snapshot costs with 1,000 processes.
func BenchmarkRows(b *testing.B) {
	r := registry(b)
	fleet(b, r, 1000, ":")
	b.ReportAllocs()
	for b.Loop() {
		if rows := r.Rows(); len(rows) != 1000 {
			b.Fatalf("%d rows", len(rows))
		}
	}
}
