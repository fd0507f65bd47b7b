package shutdown_test

import (
	"context"
	"fmt"
	"time"

	"gatewaytui/core/shutdown"
)

// The plan says what a stop costs at most before it runs.
func ExampleStandard() {
	plan := shutdown.Standard(shutdown.Budgets{
		Drain: time.Minute, Notify: 3 * time.Second, InterruptGrace: 4500 * time.Millisecond, KillGrace: 2 * time.Second,
		Agent: 3 * time.Second, Adapter: 5 * time.Second, Background: time.Second, Store: 3 * time.Second,
	})
	fmt.Println("worst case", plan.WorstCase())
	fmt.Println("ask the service manager for", plan.TimeoutStopSec())
	// Output:
	// worst case 1m28s
	// ask the service manager for 1m30s
}

// A stop ends within its plan, although an item hangs: the report names it.
func ExampleStart() {
	released := make(chan struct{})
	defer close(released)
	plan := shutdown.Plan{Phases: []shutdown.Phase{{
		Name: "adapters", Budget: 300 * time.Millisecond,
		List: func(context.Context, *shutdown.Run) []shutdown.Item {
			return []shutdown.Item{
				{Kind: "adapter", ID: "good", Run: func(context.Context) error { return nil }},
				{Kind: "adapter", ID: "hangs", Run: func(context.Context) error { <-released; return nil }},
			}
		},
	}}}
	run := shutdown.Start(plan, shutdown.Options{Mode: "graceful", Exit: func(code int) { panic(code) }})
	<-run.Done()
	report := run.Report()
	for _, item := range report.Phases[0].Items {
		fmt.Println(item.Key(), item.State)
	}
	fmt.Println("outcome", report.Outcome)
	// Output:
	// adapter:good done
	// adapter:hangs timed_out
	// outcome incomplete
}
