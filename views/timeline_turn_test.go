package views

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/soak"
)

// part is an item of a made-up turn that began 192 s before noon: from and to are seconds, to is 0 while it goes on.
func part(kind ops.TimelineKind, name, text string, from, to float64, result string) ops.TimelineItem {
	at := func(s float64) ops.Time { return before(192*time.Second - time.Duration(s*float64(time.Second))) }
	i := ops.TimelineItem{Kind: kind, Name: name, Text: text, StartedAt: at(from), Result: result}
	if to > 0 {
		i.EndedAt, i.ElapsedMS = at(to), int64((to-from)*1000)
	} else {
		i.ElapsedMS = int64((192 - from) * 1000)
	}
	if kind == ops.TimelineModel {
		cost := 0.08
		i.TokensIn, i.TokensCached, i.TokensOut, i.Cost = 5100, 4000, 210, &cost
	}
	return i
}

// turnOf is a turn with these items, with their sums.
func turnOf(state string, items ...ops.TimelineItem) *ops.Timeline {
	cost := 0.19
	t := &ops.Timeline{
		Turn: ops.Turn{
			ID: "01M8K2Z4T6W8Y0A2C4E6G8FV", Session: "telegram:dm:4411", State: state, StartedAt: before(192 * time.Second), ElapsedMS: 192_000,
			TokensIn: 10_500, TokensCached: 4000, TokensOut: 590, Cost: &cost,
		},
		Agent: "coder", Source: ops.FromCalls, Items: items, Earlier: "01M8A",
	}
	for _, kind := range []ops.TimelineKind{ops.TimelineModel, ops.TimelineTool, ops.TimelineApproval, ops.TimelineWait, ops.TimelineDelegate, ops.TimelineCompaction} {
		sum := ops.TimelineSum{Kind: kind}
		for _, i := range items {
			if i.Kind == kind {
				sum.Calls++
				sum.ElapsedMS += i.ElapsedMS
			}
		}
		if sum.Calls > 0 {
			t.Sums = append(t.Sums, sum)
		}
	}
	return t
}

// turns are made-up turns by name.
func turns() map[string]*ops.Timeline {
	slow := part(ops.TimelineModel, "main", "", 19, 50, "")
	child := part(ops.TimelineTool, "terminal", "go vet ./...", 60, 90, "exit 1")
	child.Child = "1"
	hostile := part(ops.TimelineTool, "\x1b[2Jterminal", "rm \x1b]0;x\a-r 漢字", 50, 51, "exit \x1b[31m0")
	var many []ops.TimelineItem
	for i := range 60 {
		at := float64(i) * 3
		many = append(many, part(ops.TimelineModel, "main", "", at, at+2, ""), part(ops.TimelineTool, "terminal", fmt.Sprintf("step %d", i), at+2, at+3, map[bool]string{true: "exit 1", false: "exit 0"}[i == 7]))
	}
	long := turnOf("done", append(many, part(ops.TimelineModel, "main", "", 181, 192, ""))...)
	long.LeftOut = 57
	cut := &ops.Timeline{
		Turn:   ops.Turn{ID: "01M8", Session: "a", State: "interrupted", Reason: "the gateway ended without a stop", StartedAt: before(192 * time.Second), ElapsedMS: 60_000},
		Source: ops.FromMessages, Note: "the gateway ended during this turn: this is what its messages tell", KnownUntil: before(150 * time.Second),
		Items: []ops.TimelineItem{{Kind: ops.TimelineModel, Name: "model", EndedAt: before(160 * time.Second)}, {Kind: ops.TimelineTool, Name: "terminal", EndedAt: before(150 * time.Second)}},
	}
	return map[string]*ops.Timeline{
		"running": turnOf(
			"running", part(ops.TimelineWait, ops.TimelineQueue, "", -2, 0.001, ""), part(ops.TimelineModel, "main", "", 0.2, 18.4, ""), part(ops.TimelineTool, "terminal", "ls -la build", 18.5, 18.6, "exit 0"), slow,
			part(ops.TimelineWait, "limits.model_calls", "", 50, 152, ""), part(ops.TimelineApproval, "terminal", "rm -r build/", 152, 0, ""),
		),
		"done": turnOf(
			"done", part(ops.TimelineModel, "main", "", 0.2, 18.4, ""), hostile, part(ops.TimelineDelegate, "delegate", "", 55, 95, ""), child, part(ops.TimelineCompaction, "context", "", 96, 110, "31000 to 12000 tokens"),
			part(ops.TimelineApproval, "terminal", "rm -r build/", 110, 150, "allowed by alice"), part(ops.TimelineModel, "a-model-with-a-long-name-of-its-own", "", 150, 192, "after main failed"),
		),
		"long":  long,
		"cut":   cut,
		"empty": turnOf("running"),
	}
}

func TestOP3_ATimelineLooksAsReviewed(t *testing.T) {
	for name, turn := range turns() {
		t.Run(name, func(t *testing.T) {
			s := screen(Sessions, fiveRows())
			s.Detail.Open, s.Detail.Page = true, "timeline"
			s.Turn = TurnTimeline{Timeline: turn, At: noon}
			everySize(t, s).check(t, "timeline-"+name)
		})
	}
}

// OP3: every line fits, at every width, folded and not, and no text of a turn acts on a terminal.
func TestOP3_ATimelineFitsEveryWidth(t *testing.T) {
	for name, turn := range turns() {
		for w := 1; w <= 220; w++ {
			if w > 60 && w%5 != 0 && !soak.On() {
				continue
			}
			for _, all := range []bool{false, true} {
				lines := TurnLines(Opts{Now: noon, ASCII: w%2 == 0}, *turn, "USD", w, 20, all)
				for _, line := range lines {
					if w >= 20 && cellsOf(line) > w {
						t.Fatalf("%s at %d: %q has %d cells", name, w, line, cellsOf(line))
					}
				}
				inert(t, lines)
			}
		}
	}
}

// OP3: the call that took longest is marked, and it is a call: a person who is asked is not slow.
func TestOP3_TheSlowestCallIsMarked(t *testing.T) {
	found := 0
	for _, line := range TurnLines(Opts{Now: noon}, *turns()["running"], "USD", 138, 30, true) {
		if strings.Contains(line, "slowest") {
			found++
			if !strings.Contains(line, "31.0s") {
				t.Errorf("marked is %q", line)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d calls are marked", found)
	}
}

// OP3: equal neighbours share a line where there is no room for all, and each has its own when they are unfolded.
func TestOP3_ALongTurnIsFolded(t *testing.T) {
	folded, all := TurnLines(Opts{Now: noon}, *turns()["long"], "USD", 80, 20, false), TurnLines(Opts{Now: noon}, *turns()["long"], "USD", 80, 20, true)
	if len(folded) > 20 || len(all) < 121 || strings.Count(strings.Join(folded, "\n"), "main + term… ×") < 10 {
		t.Errorf("%d lines folded, %d in all:\n%s", len(folded), len(all), strings.Join(folded, "\n"))
	}
}

// OP3: what of a turn is not known is said.
func TestOP3_WhatIsNotKnownIsSaid(t *testing.T) {
	text := strings.Join(TurnLines(Opts{Now: noon}, *turns()["cut"], "USD", 138, 30, true), "\n")
	if !strings.Contains(text, "the gateway ended during this turn") || !strings.Contains(text, "up to 12:02:11") || strings.Contains(text, "model 0") {
		t.Errorf("it says\n%s", text)
	}
}
