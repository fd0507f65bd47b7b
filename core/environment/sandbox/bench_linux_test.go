package sandbox

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"gatewaytui/core/environment"
	"gatewaytui/core/process"
)

// BenchmarkSandbox is a command that does nothing, through the registry in a sandbox and as plain bwrap with the same flags, in turn: the
// difference of the medians is at most 2 ms.
func BenchmarkSandbox(b *testing.B) {
	s := newBench(b, nil)
	cmd := environment.Command{Argv: []string{"bash", "-c", ":"}}
	var ours, plain []time.Duration
	for b.Loop() {
		began := time.Now()
		launch, err := s.env.Command(b.Context(), cmd)
		if err != nil {
			b.Fatal(err)
		}
		p, err := s.procs.Spawn(b.Context(), process.Spec{
			Session: "s", Policy: process.PolicyTurn, Argv: launch.Argv, Env: launch.Env, Dir: launch.Dir, Files: launch.Files, Carrier: launch.Carrier,
		})
		launch.Started(err)
		if err != nil {
			b.Fatal(err)
		}
		exit, err := p.Wait(b.Context())
		if err != nil || exit.Code != 0 {
			b.Fatal(exit, err)
		}
		if err := launch.Failure(exit); err != nil {
			b.Fatal(err)
		}
		ours = append(ours, time.Since(began))

		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			b.Fatal(err)
		}
		began = time.Now()
		alone := exec.Command(launch.Argv[0], launch.Argv[1:]...)
		alone.ExtraFiles = []*os.File{null}
		if out, err := alone.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		plain = append(plain, time.Since(began))
		_ = null.Close() // nothing is read of it
	}
	slices.Sort(ours)
	slices.Sort(plain)
	p50 := func(d []time.Duration) float64 { return float64(d[len(d)/2]) / float64(time.Millisecond) }
	b.ReportMetric(p50(ours), "sandbox-p50-ms")
	b.ReportMetric(p50(plain), "bwrap-p50-ms")
	b.ReportMetric(p50(ours)-p50(plain), "added-p50-ms")
}
