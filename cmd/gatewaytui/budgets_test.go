package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatewaytui/core/ops"
)

func TestTR8_TheVerbsShowWhatIsUsedAndRaiseABudget(t *testing.T) {
	g := start(t, newFake())
	g.run(t, "usage").must(t, exitDone).says(t, "GROUP", "telegram:4711", "12,000", "8.50 EUR", "yes")
	same(t, g.run(t, "usage", "--json", "--by", "person", "--since", "2026-11-01").must(t, exitDone).out, ops.Page[ops.Usage]{Items: []ops.Usage{usageRow}})
	if d := cmp.Diff([]ops.UsageQuery{{}, {By: "person", Since: "2026-11-01"}}, g.usage); d != "" {
		t.Errorf("asked for (-want +got):\n%s", d)
	}
	g.run(t, "budgets").must(t, exitDone).says(t, "default", "turn", "day", "8.50 EUR", "10.00 EUR", "85 %", "was raised by 5.00 EUR until", "uid 0")
	same(t, g.run(t, "budgets", "--json").must(t, exitDone).out, ops.Page[ops.Budget]{Items: []ops.Budget{budgetRow}})

	g.run(t, "budgets", "raise", "default", "--by", "2.50", "--until", "18:00", "--reason", "a long day").must(t, exitDone).says(t, "it is done")
	want := []ops.Command{{Verb: ops.VerbRaise, Target: "default", Amount: "2.50", Until: "18:00", Reason: "a long day"}}
	if d := cmp.Diff(want, g.commands()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	g.run(t, "budgets", "raise", "default").must(t, exitUsage).says(t, "--by is missing")
	for _, args := range [][]string{{"usage"}, {"budgets"}, {"budgets", "raise", "default", "--by", "1"}} {
		invocation{home: newHome(t).Dir()}.run(t, t.Context(), args...).must(t, exitNoGateway)
	}
}
