package main

import (
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

// turnSoFar is a turn of two calls whose texts try to act on a terminal.
func turnSoFar() ops.Timeline {
	cost := 0.08
	at := func(s int) ops.Time { return ops.At(anHourAgo.Add(time.Duration(s) * time.Second)) }
	return ops.Timeline{
		Turn:   ops.Turn{ID: "01K9Z3TURN", Session: "cli:local", State: "done", StartedAt: anHourAgo, EndedAt: at(50), ElapsedMS: 50_000, TokensIn: 5100, TokensOut: 210, Cost: &cost},
		Source: ops.FromCalls,
		Items: []ops.TimelineItem{
			{Kind: ops.TimelineModel, Name: "main" + hostile, StartedAt: anHourAgo, EndedAt: at(30), ElapsedMS: 30_000, TokensIn: 5100, TokensOut: 210, Cost: &cost},
			{Kind: ops.TimelineTool, Name: "terminal", Text: "ls" + hostile, StartedAt: at(30), EndedAt: at(50), ElapsedMS: 20_000, Result: "exit 3"},
		},
		Sums: []ops.TimelineSum{{Kind: ops.TimelineModel, Calls: 1, ElapsedMS: 30_000}, {Kind: ops.TimelineTool, Calls: 1, ElapsedMS: 20_000}},
	}
}

// OP3: a timeline is printed as bars that are safe for a terminal, by the session or by a turn's id; JSON has it exactly.
func TestOP3_ATimelineIsPrinted(t *testing.T) {
	f := newFake()
	f.Timelines = []ops.Timeline{turnSoFar()}
	g := start(t, f)
	r := g.run(t, "timeline", "cli:local").must(t, exitDone)
	r.says(t, "01K9Z3TURN  0:50 done", "model 30.0s   tools 20.0s", "█████", "slowest", "exit 3")
	for line := range strings.Lines(r.out) {
		if n := len([]rune(line)); n > plainColumns+1 {
			t.Errorf("a line has %d columns: %q", n, line)
		}
	}
	g.run(t, "timeline", "cli:local", "--turn", "3TURN").must(t, exitDone).says(t, "exit 3")
	g.run(t, "timeline", "cli:local", "--turn", "01K9Z3TURN").must(t, exitDone).says(t, "exit 3")
	same(t, g.run(t, "timeline", "cli:local", "--json").must(t, exitDone).out, turnSoFar())
	g.run(t, "timeline", "cli:local", "--turn", "none").must(t, exitFailed).says(t, "no turn none")
	g.run(t, "timeline").must(t, exitUsage)
	g.run(t, "__complete", "timeline", "cli:local", "--turn", "").says(t, "01K9Z3TURN\tdone")
	f.Timelines = nil
	g.run(t, "timeline", "cli:local").must(t, exitFailed).says(t, "cli:local has had no turn yet")
}
