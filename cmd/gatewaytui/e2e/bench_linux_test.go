package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gatewaytui/fixtures"
)

// atOnce is a config whose model answers everything at once.
func atOnce(b testing.TB) string {
	b.Helper()
	script, err := fixtures.Script("bench")
	if err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), "bench.toml")
	if err := os.WriteFile(file, script, 0o600); err != nil {
		b.Fatal(err)
	}
	return fmt.Sprintf("[model]\nprovider = \"scripted\"\nscript = %q\n[log]\nlevel = \"warn\"\n", file)
}

// BenchmarkReady is from exec to the line that says ready, on an empty home.
func BenchmarkReady(b *testing.B) { benchReady(b, newHome) }

// benchReady is from exec to ready on a home that home makes, which is not measured, and neither is the stop.
func benchReady(b *testing.B, home func(testing.TB) string) {
	b.Helper()
	var took []time.Duration
	for range b.N {
		b.StopTimer()
		at := home(b)
		b.StartTimer()
		began := time.Now()
		g := start(b, at, "")
		took = append(took, time.Since(began))
		b.StopTimer()
		if code, _ := g.stop(); code != 0 {
			b.Fatalf("exit code %d", code)
		}
		b.StartTimer()
	}
	median(b, took, "ready-ms")
}

// BenchmarkStatus is one call of /v1/status on a gateway with 5,000 sessions and a wedged agent.
func BenchmarkStatus(b *testing.B) {
	home := newHome(b)
	seed(b, home, 5000)
	g := start(b, home, "")
	g.say("wedged", "wedge 300")
	g.running("api:user:wedged", "model call")
	for b.Loop() {
		if status := g.socket(http.MethodGet, "/v1/status", nil, nil); status != http.StatusOK {
			b.Fatalf("status %d", status)
		}
	}
}

// BenchmarkIdleStop is from SIGTERM to the end of the process.
func BenchmarkIdleStop(b *testing.B) {
	var took []time.Duration
	for range b.N {
		b.StopTimer()
		g := start(b, newHome(b), "")
		b.StartTimer()
		code, stop := g.stop()
		if code != 0 {
			b.Fatalf("exit code %d", code)
		}
		took = append(took, stop)
	}
	median(b, took, "stop-ms")
}

func median(b *testing.B, took []time.Duration, unit string) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, unit)
}

// BenchmarkMemory is what an idle gateway keeps resident, a second after it became ready.
func BenchmarkMemory(b *testing.B) {
	for _, sessions := range []int{0, 10_000, 100_000} {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) {
			var mib float64
			for range b.N { // the timer runs all along: one look is enough
				home := newHome(b)
				if sessions > 0 {
					seed(b, home, sessions)
				}
				g := start(b, home, "")
				<-time.After(time.Second) // modelled: a gateway that was idle for a second
				mib += resident(b, g.cmd.Process.Pid)
				g.stop()
			}
			b.ReportMetric(mib/float64(b.N), "MiB")
		})
	}
}

func resident(b *testing.B, pid int) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, is := strings.CutPrefix(line, "VmRSS:"); is {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				b.Fatal(err)
			}
			return float64(kib) / 1024
		}
	}
	b.Fatalf("pid %d has no VmRSS", pid)
	return 0
}

// BenchmarkTurnsOverAPI is whole turns over HTTP, in conversations of five turns: with the model in the gateway, and with an
// endpoint that answers at once on the same machine, which is what a user of a real model gets.
func BenchmarkTurnsOverAPI(b *testing.B) {
	for _, model := range []struct {
		name   string
		config func(b *testing.B) string
	}{
		{"scripted", func(b *testing.B) string { return atOnce(b) }},
		{"endpoint", func(b *testing.B) string {
			return modelAt(serve(b, endpoint(b, func(w http.ResponseWriter, _ *http.Request, _ string) { completed(w, "fine", "stop") })).URL, "")
		}},
	} {
		for _, clients := range []int{1, 64} {
			b.Run(fmt.Sprintf("model=%s/clients=%d", model.name, clients), func(b *testing.B) {
				g := start(b, newHome(b), model.config(b))
				client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
				took := make([]time.Duration, b.N)
				var next atomic.Int64
				b.ResetTimer()
				began := time.Now()
				var all sync.WaitGroup
				for i := range clients {
					all.Go(func() {
						for n := 0; ; n++ {
							turn := next.Add(1) - 1
							if turn >= int64(b.N) {
								return
							}
							at := time.Now()
							ask(b, client, g.api, fmt.Sprintf("c%d-%d", i, n/5))
							took[turn] = time.Since(at)
						}
					})
				}
				all.Wait()
				b.StopTimer()
				b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "turns/s")
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
				g.stop()
			})
		}
	}
}

// BenchmarkLatencyOverAPI is what the gateway adds to a turn, HTTP included, when 100 sessions begin 500 turns a second.
func BenchmarkLatencyOverAPI(b *testing.B) {
	const sessions, perSecond = 100, 500
	g := start(b, newHome(b), atOnce(b))
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: sessions}}
	for i := range sessions {
		ask(b, client, g.api, fmt.Sprint(i))
	}
	took := make([]time.Duration, b.N)
	var all sync.WaitGroup
	b.ResetTimer()
	began := time.Now()
	for i := range b.N {
		time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / perSecond))) // modelled: the rate of the requests
		all.Go(func() {
			at := time.Now()
			ask(b, client, g.api, fmt.Sprint(i%sessions))
			took[i] = time.Since(at)
		})
	}
	all.Wait()
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	g.stop()
}

func ask(b testing.TB, client *http.Client, api, user string) {
	res, err := post(b.Context(), client, api, user, asking("hello"))
	if err != nil {
		b.Error(err)
		return
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		b.Errorf("answered %d %s, %v", res.StatusCode, text, err)
	}
}

// BenchmarkReadyAfterKill is from exec to ready on the home of a gateway that was killed: empty, and with 100,000 sessions
// and 1,000 rows of the process journal.
func BenchmarkReadyAfterKill(b *testing.B) {
	for _, sessions := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) {
			home := newHome(b)
			if sessions > 0 {
				seed(b, home, sessions)
				seedJournal(b, home, 1000)
			}
			var took []time.Duration
			for range b.N {
				began := time.Now()
				g := start(b, home, "")
				took = append(took, time.Since(began))
				if err := g.cmd.Process.Kill(); err != nil {
					b.Fatal(err)
				}
				g.exit()
			}
			median(b, took, "ready-ms")
		})
	}
}

// BenchmarkKilledGateway is from the SIGKILL of a gateway until nothing is left of the hostile trees that its tools had
// started.
func BenchmarkKilledGateway(b *testing.B) {
	for _, trees := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("trees=%d", trees), func(b *testing.B) {
			var took []time.Duration
			for range b.N { // what is measured is the metric
				g := start(b, newHome(b), manyTrees)
				g.hold()
				wood := newForest(b)
				wood.plant(g, trees, 25, "a", "b")
				wood.grown(b, nil)
				began := time.Now()
				g.signal(syscall.SIGKILL)
				took = append(took, wood.felled(b, began, nil))
				g.exit()
			}
			median(b, took, "gone-ms")
		})
	}
}
