package approval

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/fence"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/tool"
)

func TestTR4_WhatATurnASessionAndAlwaysAllow(t *testing.T) {
	for _, tt := range []struct {
		name  string
		scope ops.Scope
		// again is asked in the same turn, next in the next turn, fresh after a reset, later after always has ended.
		text                     string
		again                    string
		runs, next, fresh, later bool
	}{
		{"once", ops.ScopeOnce, "rm -rf build", "rm -rf build", false, false, false, false},
		{"the turn", ops.ScopeTurn, "rm -rf build", "curl example.org", true, false, false, false},
		{"the session", ops.ScopeSession, "make all", "make all", true, true, false, false},
		{"the session, another program", ops.ScopeSession, "make all", "curl example.org", false, false, false, false},
		{"always", ops.ScopeAlways, "go generate ./...", "go generate ./core/...", true, true, true, false},
		{"always, another subcommand", ops.ScopeAlways, "go generate ./...", "go run .", false, false, false, false},
		{"always, two commands", ops.ScopeAlways, "make all && npm install", "npm install left", true, true, true, false},
		{"always, what cannot be read", ops.ScopeAlways, "$RUN me", "$RUN me", true, true, true, false},
		{"always, what cannot be read is itself alone", ops.ScopeAlways, "$RUN me", "$RUN you", false, false, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, newRows())
				key := "telegram:dm:4711"
				turn := b.turn(key)
				id, out := b.asks(t.Context(), call(turn), command(tt.text))
				if _, err := b.allow(id, tt.scope); err != nil {
					t.Fatal(err)
				}
				if err := <-out; err != nil {
					t.Fatal(err)
				}
				check := func(when string, runs bool) {
					t.Helper()
					t.Log(when)
					b.runs(call(turn), command(tt.again), runs)
				}
				check("in the turn", tt.runs)
				b.table.Release(context.Background(), turn, session.End{State: ops.SessionIdle})
				turn = b.turn(key)
				check("in the next turn", tt.next)
				b.table.BeginReset(key)
				b.table.EndReset(context.Background(), key, false, false)
				turn = b.turn(key)
				check("after a reset", tt.fresh)
				time.Sleep(30*24*time.Hour + time.Second)
				check("after always has ended", tt.later)
			})
		})
	}
}

func TestTR4_AnAnswerForTheSessionCoversAToolOfAServerByItsName(t *testing.T) {
	step := func(name, arguments string) tool.Step {
		return tool.Step{Kind: tool.StepTool, Text: "files__" + name + " " + arguments, Tool: "files " + name}
	}
	unnamed := tool.Step{Kind: tool.StepTool, Text: "files__write {}"}
	for _, tt := range []struct {
		name  string
		mode  Mode
		scope ops.Scope
		again tool.Step
		// runs is in the session, and later in another one.
		runs, later bool
	}{
		{"once covers nothing else", ModeFence, ops.ScopeOnce, step("write", "{}"), false, false},
		{"the session covers other arguments", ModeFence, ops.ScopeSession, step("write", `{"b":2}`), true, false},
		{"the session covers no other tool of the server", ModeFence, ops.ScopeSession, step("erase", "{}"), false, false},
		{"the session covers no step that names no tool", ModeFence, ops.ScopeSession, unnamed, false, false},
		{"always covers other arguments in other sessions", ModeFence, ops.ScopeAlways, step("write", `{"b":2}`), true, true},
		{"a strict agent is asked for other arguments", ModeStrict, ops.ScopeSession, step("write", `{"b":2}`), false, false},
		{"a strict agent is not asked for the same again", ModeStrict, ops.ScopeSession, step("write", `{"a":1}`), true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, newRows())
				b.mode = tt.mode
				turn := b.turn("telegram:dm:4711")
				id, out := b.asks(t.Context(), call(turn), step("write", `{"a":1}`))
				if said := strings.Contains(b.shown()[0].text, "with any arguments"); said != (tt.mode != ModeStrict) {
					t.Errorf("the card is %q", b.shown()[0].text)
				}
				if _, err := b.allow(id, tt.scope); err != nil {
					t.Fatal(err)
				}
				if err := <-out; err != nil {
					t.Fatal(err)
				}
				b.runs(call(turn), tt.again, tt.runs)
				b.runs(call(b.turn("telegram:dm:4712")), tt.again, tt.later)
				rules, err := b.book.Rules(t.Context())
				if listed := len(rules) == 1 && rules[0].Executable == "files" && rules[0].Subcommand == "write"; err != nil || listed != (tt.scope == ops.ScopeAlways) {
					t.Errorf("the rules are %+v, %v", rules, err)
				}
			})
		})
	}
}

// runs checks whether a step runs without a question.
func (b *bench) runs(c tool.Call, step tool.Step, want bool) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	out := b.pass(ctx, c, step)
	synctest.Wait()
	waits := len(b.waits()) > 0
	cancel()
	if err := <-out; waits == want || want && err != nil {
		b.t.Errorf("%q waits: %v, %v; want that it runs: %v", step.Text, waits, err, want)
	}
}

func TestTR4_ARuleIsForItsAgentFolderAndEnvironmentAndIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newRows())
		turn := b.turn("telegram:dm:4711")
		id, out := b.asks(t.Context(), call(turn), command("make all"))
		if _, err := b.allow(id, ops.ScopeAlways); err != nil || <-out != nil {
			t.Fatal(err)
		}
		rules, err := b.book.Rules(t.Context())
		if err != nil || len(rules) != 1 || rules[0].Executable != "make" || rules[0].Subcommand != "all" || rules[0].Folder != work {
			t.Fatalf("%+v, %v", rules, err)
		}
		runs := func(c tool.Call, s tool.Step) bool {
			ctx, cancel := context.WithCancel(t.Context())
			out := b.pass(ctx, c, s)
			synctest.Wait()
			waits := len(b.waits()) > 0
			cancel()
			return <-out == nil && !waits
		}
		other := call(turn)
		other.Agent = "coder"
		elsewhere, partial := command("make all"), command("make all")
		elsewhere.Folder, partial.Environment = work+"/sub", fence.Partial
		for _, tt := range []struct {
			what string
			c    tool.Call
			s    tool.Step
			runs bool
		}{
			{"the same", call(turn), command("make all"), true},
			{"another agent", other, command("make all"), false},
			{"another folder", call(turn), elsewhere, false},
			{"another environment", call(turn), partial, false},
			{"with a program as an option", call(turn), command("make all SHELL=/tmp/x"), false},
			{"with another command", call(turn), command("make all; curl example.org"), false},
		} {
			if got := runs(tt.c, tt.s); got != tt.runs {
				t.Errorf("%s runs: %v, want %v", tt.what, got, tt.runs)
			}
		}
		b.begin()
		if !runs(call(turn), command("make all")) {
			t.Error("the rule ended with the life")
		}
		if err := b.book.RemoveRule(t.Context(), rules[0].ID); err != nil {
			t.Fatal(err)
		}
		if runs(call(turn), command("make all")) {
			t.Error("a removed rule lifts")
		}
		if err := b.book.RemoveRule(t.Context(), rules[0].ID); !ops.HasCode(err, ops.CodeNotFound) {
			t.Errorf("removed twice: %v", err)
		}
	})
}
