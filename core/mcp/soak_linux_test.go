package mcp

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gatewaytui/core/ops"
	"gatewaytui/core/tool"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/mcptest"
	"gatewaytui/fixtures/soak"
)

// descriptors is how many files this process has open.
func descriptors(t testing.TB) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// heap is the memory in use after a collection, in bytes.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// HR1: starts, uses, crashes and ends of a server leave nothing behind, not in this process either.
func TestHR1_CyclesOfAServerLeaveNothing(t *testing.T) {
	s := newStage(t, nil, playing("files", mcptest.Fork, mcptest.Stubborn))
	cycle := func(n int) {
		session := fmt.Sprintf("chat:dm:%d", n)
		if got := s.must("files", session, "echo", `{"text":"hello"}`); got != "hello" {
			t.Fatalf("cycle %d: echo says %q", n, got)
		}
		if n%2 == 0 {
			if _, err := s.call("files", session, "crash", `{}`); err == nil {
				t.Fatalf("cycle %d: the crash is a result", n)
			}
		}
		if err := s.set.CloseSession(t.Context(), session); err != nil {
			t.Fatalf("cycle %d: %v", n, err)
		}
	}
	for n := range 3 { // what is made once is made
		cycle(n)
	}
	quiet := func() bool { return s.procs.Count() == 0 }
	eventually.True(t, "no process is left before the count", quiet)
	files, goroutines, memory := descriptors(t), runtime.NumGoroutine(), heap()
	count := soak.Count(t, 8, 500)
	for n := range count {
		cycle(n)
	}
	eventually.True(t, "no process is left", quiet)
	eventually.True(t, "the descriptors and goroutines are as before", func() bool {
		return descriptors(t) <= files+2 && runtime.NumGoroutine() <= goroutines+2
	})
	if grown := int64(heap()) - int64(memory); grown > 4<<20 {
		t.Errorf("after %d cycles %d bytes more are in use", count, grown)
	}
	if rows := s.set.Holder().Rows(); len(rows) != 0 {
		t.Errorf("still held: %+v", rows)
	}
	if n := len(s.set.find("files").existing()); n > 0 {
		t.Errorf("%d instances are left", n)
	}
	t.Logf("%d cycles: %d descriptors (before %d), %d goroutines (before %d)", count, descriptors(t), files, runtime.NumGoroutine(), goroutines)
}

func TestHR1_TwentyServersThatAreNotUsedCostNoProcess(t *testing.T) {
	var all []Definition
	for n := range 20 {
		all = append(all, playing(fmt.Sprintf("server%d", n)))
	}
	s := newStage(t, nil, all...)
	s.set.Open()
	eventually.True(t, "each has its list, and none runs", func() bool {
		return s.procs.Count() == 0 && !slices.ContainsFunc(s.set.Rows(), func(r ops.Server) bool { return r.Tools == 0 || r.State != ops.ServerIdle })
	})
	if n := len(s.set.Holder().Rows()); n != 0 {
		t.Errorf("%d are held", n)
	}
}

// BenchmarkCall is a call of a tool over a connection that stands: by this package, and by the SDK alone.
func BenchmarkCall(b *testing.B) {
	d := playing("files")
	s := newStage(b, nil, d)
	echo := s.tools("files", "a")["echo"]
	arguments := json.RawMessage(`{"text":"hello"}`)
	call := tool.Call{Session: "a", Turn: "turn", Arguments: arguments, Progress: func(string) {}}
	if _, err := echo.Run(b.Context(), call); err != nil {
		b.Fatal(err)
	}
	_, l, err := s.set.find("files").acquire(b.Context(), "a")
	if err != nil {
		b.Fatal(err)
	}
	for name, one := range map[string]func() error{
		"tool": func() error { _, err := echo.Run(b.Context(), call); return err },
		"sdk": func() error {
			_, err := l.session.CallTool(b.Context(), &sdk.CallToolParams{Name: "echo", Arguments: arguments})
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			took := make([]time.Duration, 0, b.N)
			for b.Loop() {
				began := time.Now()
				if err := one(); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
		})
	}
}

// BenchmarkStart is the first call of a session, with the start of the server's program and its close.
func BenchmarkStart(b *testing.B) {
	s := newStage(b, nil, playing("files"))
	s.tools("files", "a")
	for n := 0; b.Loop(); n++ {
		session := fmt.Sprintf("s%d", n)
		s.must("files", session, "echo", `{"text":"hello"}`)
		b.StopTimer()
		if err := s.set.CloseSession(b.Context(), session); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
