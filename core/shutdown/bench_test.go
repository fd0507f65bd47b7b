package shutdown

import (
	"context"
	"fmt"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

// BenchmarkStop is what the executor itself costs, for a gateway's plan whose items do nothing.
func BenchmarkStop(b *testing.B) {
	for _, tt := range []struct {
		name  string
		items int
		o     Options
	}{
		{"items=0", 0, Options{}},
		{"items=1", 1, Options{}},
		{"items=16", 16, Options{}},
		{"items=16/saved", 16, Options{Save: func(ops.Shutdown) error { return nil }}},
		{"items=1000", 1000, Options{}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			its := make([]Item, tt.items)
			for i := range its {
				its[i] = Item{Kind: "task", ID: fmt.Sprint(i), Run: func(context.Context) error { return nil }}
			}
			plan := Standard(Budgets{KillGrace: time.Second, Notify: time.Second, Drain: time.Second, InterruptGrace: time.Second, Agent: time.Second, Adapter: time.Second, Background: time.Second, Store: time.Second})
			for i := range plan.Phases {
				plan.Phases[i].List = items(its...)
			}
			b.ReportAllocs()
			for b.Loop() {
				r := Start(plan, tt.o)
				<-r.Done()
				if got := r.Report().Outcome; got != ops.ShutdownClean {
					b.Fatalf("ended %s", got)
				}
			}
		})
	}
}

// BenchmarkWedged is the figure: items that never return, in one phase of a tenth of a second.
func BenchmarkWedged(b *testing.B) {
	release := make(chan struct{})
	defer close(release)
	its := make([]Item, 16)
	for i := range its {
		its[i] = Item{Kind: "adapter", ID: fmt.Sprint(i), Run: func(context.Context) error { <-release; return nil }}
	}
	plan := Plan{[]Phase{{Name: PhaseAdapters, Budget: 100 * time.Millisecond, List: items(its...)}}}
	for b.Loop() {
		<-Start(plan, Options{}).Done()
	}
}

// BenchmarkReport is what a screen costs that looks at a stop of a thousand items.
func BenchmarkReport(b *testing.B) {
	release := make(chan struct{})
	its := make([]Item, 1000)
	for i := range its {
		its[i] = Item{
			Kind: "turn", ID: fmt.Sprint(i), Run: func(context.Context) error { <-release; return nil },
			Progress: func() (string, time.Time) { return "model call", time.Time{} },
		}
	}
	r := Start(Plan{[]Phase{{Name: PhaseDrain, Budget: time.Hour, List: items(its...)}}}, Options{})
	for b.Loop() {
		r.Report()
	}
	close(release)
	<-r.Done()
}
