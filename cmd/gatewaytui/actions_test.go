package main

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatewaytui/core/ops"
)

func TestAnActionIsTheCommandThatItSays(t *testing.T) {
	tests := []struct {
		line string
		want ops.Command
	}{
		{"reset cli:local --yes --reason weekly", ops.Command{Verb: ops.VerbReset, Target: "cli:local", Reason: "weekly"}},
		{"evict cli:local --yes", ops.Command{Verb: ops.VerbEvict, Target: "cli:local"}},
		{"interrupt cli:local --yes", ops.Command{Verb: ops.VerbInterrupt, Target: "cli:local"}},
		{"kill 4711 --yes", ops.Command{Verb: ops.VerbKill, Target: "4711", PID: 4711}},
		{"adapter pause telegram --yes", ops.Command{Verb: ops.VerbPause, Target: "telegram"}},
		{"adapter resume telegram", ops.Command{Verb: ops.VerbResume, Target: "telegram"}},
		{"adapter reconnect telegram --yes", ops.Command{Verb: ops.VerbReconnect, Target: "telegram"}},
		{"drain --reason deploy", ops.Command{Verb: ops.VerbDrain, Reason: "deploy"}},
		{"undrain", ops.Command{Verb: ops.VerbUndrain}},
		{"stop --yes --mode immediate --reason fire", ops.Command{Verb: ops.VerbStop, Mode: ops.ModeImmediate, Reason: "fire"}},
		{"shutdown skip --yes --phase adapters --item telegram", ops.Command{Verb: ops.VerbSkip, Phase: "adapters", Item: "telegram"}},
		{"shutdown extend --by 1m30s --phase drain", ops.Command{Verb: ops.VerbExtend, Phase: "drain", ByMS: 90_000}},
		{"shutdown extend", ops.Command{Verb: ops.VerbExtend}},
		{"shutdown force --yes", ops.Command{Verb: ops.VerbForce}},
		{"diagnose", ops.Command{Verb: ops.VerbDiagnose}},
		{"backup /tmp/copy.db", ops.Command{Verb: ops.VerbBackup, File: "/tmp/copy.db"}},
		{"backup --abort", ops.Command{Verb: ops.VerbBackup, Abort: true}},
		{"send --session api:user:alice hello", ops.Command{Verb: ops.VerbMessage, Target: "api:user:alice", Text: "hello"}},
		{"send hello", ops.Command{Verb: ops.VerbMessage, Target: "cli:local", Text: "hello"}},
		{"send --no-wait hello", ops.Command{Verb: ops.VerbMessage, Target: "cli:local", Text: "hello"}},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			f := newFake()
			if tt.want.Verb == ops.VerbMessage {
				f.do = with(ops.MessageResult{Reply: "hi"})
			}
			g := start(t, f)
			args := strings.Fields(tt.line)
			g.run(t, args...).must(t, exitDone)
			if d := cmp.Diff([]ops.Command{tt.want}, g.commands()); d != "" {
				t.Errorf("the gateway received (-want +got):\n%s", d)
			}
			var got ops.Request
			decodeLine(t, g.run(t, append(args, "--json")...).must(t, exitDone).out, &got)
			if got.ID != "r1" || got.Verb != tt.want.Verb {
				t.Errorf("the JSON is the request %+v", got)
			}
		})
	}
}

func TestAnActionSaysWhatWasDone(t *testing.T) {
	g := start(t, newFake())
	if r := g.run(t, "undrain").must(t, exitDone); !strings.HasPrefix(r.out, "it is done") || r.err != "" {
		t.Errorf("it printed %q and %q", r.out, r.err)
	}
	g.run(t, "stop", "--yes").must(t, exitDone).says(t, "request r1", "gatewaytui watch follows it")
}

func TestDiagnosePrintsThePathAlone(t *testing.T) {
	f := newFake()
	f.do = with(ops.DiagnoseResult{Path: "/srv/gw/dumps/diagnosis-1.txt"})
	if r := start(t, f).run(t, "diagnose").must(t, exitDone); r.out != "/srv/gw/dumps/diagnosis-1.txt\n" || r.err != "" {
		t.Errorf("it printed %q and %q", r.out, r.err)
	}
}

func TestKillNamesTheSurvivors(t *testing.T) {
	f := newFake()
	g := start(t, f)
	f.do = with(ops.KillResult{PID: 9, Killed: []int{9, 10}, Survivors: []int{}})
	if r := g.run(t, "kill", "9", "--yes").must(t, exitDone); r.out != "ended 1 process\n" {
		t.Errorf("it printed %q", r.out)
	}
	f.do = failing(&ops.Error{Code: ops.CodeConflict, Message: "2 processes survived" + hostile, Hint: "see ps"}, ops.KillResult{PID: 9, Survivors: []int{11, 12}})
	g.run(t, "kill", "9", "--yes").must(t, exitFailed).says(t, "survivors: 11 12\n", "gatewaytui: 2 processes survived", "see ps")

	r := g.run(t, "kill", "9", "--yes", "--json").must(t, exitFailed)
	var req ops.Request
	decodeLine(t, r.out, &req)
	var killed ops.KillResult
	if err := json.Unmarshal(req.Result, &killed); err != nil || len(killed.Survivors) != 2 || req.Error == nil {
		t.Errorf("the JSON is %s: %v", r.out, err)
	}
	var failure struct{ Error ops.Error }
	decodeLine(t, r.err, &failure)
	if failure.Error.Code != ops.CodeConflict {
		t.Errorf("the error is %s", r.err)
	}
}

func TestARefusalKeepsItsCodeAndItsHint(t *testing.T) {
	tests := []struct {
		name string
		err  *ops.Error
		code int
	}{
		{"no such session", &ops.Error{Code: ops.CodeNotFound, Message: "no session \"x" + hostile + "\"", Hint: "look again"}, exitFailed},
		{"an invalid key", &ops.Error{Code: ops.CodeInvalid, Message: "session key \"x\" has no platform", Hint: "look again"}, exitUsage},
		{"draining", &ops.Error{Code: ops.CodeDraining, Message: "no new turns are taken", Hint: "look again"}, exitFailed},
		{"still starting", &ops.Error{Code: ops.CodeUnavailable, Message: "the gateway is starting", Hint: "look again"}, exitFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake()
			f.do = func(ops.Command) (ops.Request, error) { return ops.Request{}, tt.err }
			start(t, f).run(t, "reset", "x", "--yes").must(t, tt.code).says(t, "gatewaytui: "+strings.TrimSuffix(tt.err.Message, hostile+"\""), "look again")
		})
	}
}

func TestSendPrintsTheReply(t *testing.T) {
	f := newFake()
	g := start(t, f)
	f.do = with(ops.MessageResult{Message: "r1", Session: "cli:local", Reply: "one\n\n  two " + hostile + "\r\n\x1b[31mthree\x1b[0m\n"})
	r := g.run(t, "send", "hello").must(t, exitDone)
	if want := "one\n\n  two " + shownHostile + "\nthree\n"; r.out != want {
		t.Errorf("it printed %q, want %q", r.out, want)
	}
	var req ops.Request
	decodeLine(t, g.run(t, "send", "--json", "hello").must(t, exitDone).out, &req)
	var m ops.MessageResult
	if err := json.Unmarshal(req.Result, &m); err != nil || !strings.Contains(m.Reply, hostile) {
		t.Errorf("the JSON does not carry the reply as it was: %q, %v", m.Reply, err)
	}
	if r := g.run(t, "send", "--no-wait", "hello").must(t, exitDone); r.out != "r1\n" {
		t.Errorf("--no-wait printed %q, want the message's id", r.out)
	}
}

func TestSendTakesATextFromStdin(t *testing.T) {
	f := newFake()
	f.do = with(ops.MessageResult{Reply: "ok"})
	g := start(t, f)
	send := func(stdin string) result {
		return invocation{home: g.home.Dir(), stdin: stdin}.run(t, t.Context(), "send", "-")
	}
	long := strings.Repeat("a long line\n", 20_000)
	send(long).must(t, exitDone)
	if got := g.commands()[0].Text; got != long {
		t.Errorf("of %d bytes %d arrived", len(long), len(got))
	}
	send(" \n").must(t, exitUsage).says(t, "the message has no text")
	send(strings.Repeat("x", ops.MaxText+1)).must(t, exitUsage).says(t, "more than 1048576 bytes")
	if n := len(g.commands()); n != 1 {
		t.Errorf("%d messages were sent", n)
	}
}

func TestASendThatFailsSaysWhy(t *testing.T) {
	f := newFake()
	f.do = failing(&ops.Error{Code: ops.CodeStopping, Message: "the gateway is stopping", Hint: "send it again"}, ops.MessageResult{Reply: "half an ans"})
	start(t, f).run(t, "send", "hello").must(t, exitFailed).says(t, "half an ans", "the gateway is stopping", "send it again")
}

func TestAnInterruptedSendLeavesTheTurnRunning(t *testing.T) {
	f := newFake()
	ctx, interrupt := context.WithCancel(t.Context())
	waits := make(chan struct{})
	begun := sync.OnceFunc(func() { close(waits) })
	f.wait = func(ctx context.Context) (ops.Request, error) {
		begun()
		<-ctx.Done()
		return ops.Request{ID: "r1", State: ops.RequestRunning}, nil
	}
	g := start(t, f)
	go func() { <-waits; interrupt() }()
	r := invocation{home: g.home.Dir()}.run(t, ctx, "send", "hello").must(t, exitInterrupted)
	r.says(t, "the turn goes on for message r1", "gatewaytui interrupt cli:local stops it")
	if n := len(g.commands()); n != 1 {
		t.Errorf("%d commands were given, want the message alone", n)
	}
}

func TestAGatewayThatGoesAwayMeanwhileIsSaidToHave(t *testing.T) {
	gone := func(t *testing.T, args ...string) result {
		t.Helper()
		f := newFake()
		waits := make(chan struct{})
		begun := sync.OnceFunc(func() { close(waits) })
		f.wait = func(ctx context.Context) (ops.Request, error) {
			begun()
			<-ctx.Done()
			return ops.Request{ID: "r1", State: ops.RequestRunning}, nil
		}
		g := start(t, f)
		left := make(chan struct{})
		go func() { defer close(left); <-waits; g.leave() }()
		defer func() { <-left }()
		return g.run(t, args...)
	}
	gone(t, "send", "hello").must(t, exitNoGateway).says(t, "went away before it said what became of request r1", "gatewaytui history")
	// A lever acts on a stop: that it is over is not a failure.
	gone(t, "shutdown", "force", "--yes").must(t, exitDone).says(t, "the gateway is gone")
}
