package gateway

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/config"
	"gatewaytui/core/ops"
	"gatewaytui/fixtures/acpagent"
)

// external is a gateway whose sessions of the chat have an external agent. keep is the folder of its sessions.
func external(keep string) func(*setup) {
	return func(s *setup) {
		d := config.Default().Agent.Definition
		d.Kind, d.Command, d.Env = config.KindACP, []string{os.Args[0]}, []string{acpagent.Folder}
		d.Environment, d.Approvals = config.EnvironmentLocal, config.ApprovalsFence
		s.cfg.Agents = map[string]*config.Definition{"coder": &d}
		s.cfg.Routes = []*config.Route{{Match: "api:*", Agent: "coder"}}
		if keep != "" {
			s.dir = keep
		}
	}
}

// programs are the rows of external agents, each of which has one tracked process.
func (l *lab) programs() (held []ops.Held) {
	l.t.Helper()
	for _, row := range l.g.held.Rows() {
		if row.Kind == ops.HeldAgent {
			held = append(held, row)
		}
	}
	var pids int
	for _, p := range l.g.procs.Rows() {
		if p.Owner == "acp" {
			pids++
		}
	}
	if pids < len(held) {
		l.t.Errorf("%d programs are held, and %d processes have the owner acp", len(held), pids)
	}
	return held
}

// says is the answer of a session's agent.
func (l *lab) says(key string, lines ...string) string {
	l.t.Helper()
	got := l.await(l.send(key, strings.Join(lines, "\n")))
	if got.err != nil {
		l.t.Errorf("%q: %v", lines, got.err)
	}
	return got.text
}

func TestHR7_AnExternalAgentLivesAndEndsWithItsSession(t *testing.T) {
	t.Setenv(acpagent.Folder, t.TempDir())
	keep := t.TempDir()
	l := start(t, external(keep))
	const key, other = "api:user:a", "api:user:b"
	if got := l.says(key, "say hello"); got != "hello" {
		t.Errorf("it answers %q", got)
	}
	if got := l.says(other, "say hello"); got != "hello" {
		t.Errorf("another session is answered %q", got)
	}
	if row := l.session(key); row.Agent != "coder" || row.TokensIn != 7 {
		t.Errorf("the row of the session is %+v", row)
	}
	if held := l.programs(); len(held) != 2 || held[0].Session != key || held[0].State != ops.HeldReady {
		t.Errorf("the rows are %+v", held)
	}

	// An eviction ends the program; the next one has the session again.
	l.do(ops.Command{Verb: ops.VerbEvict, Target: key})
	if held := l.programs(); len(held) != 1 || held[0].Session != other {
		t.Errorf("after an eviction the rows are %+v", held)
	}
	if got := l.says(key, "recall"); !strings.HasPrefix(got, "1 before: ") || strings.Contains(got, "What was said") {
		t.Errorf("after an eviction it remembers %q", got)
	}

	// A reset begins another session.
	l.do(ops.Command{Verb: ops.VerbReset, Target: key})
	if slices.ContainsFunc(l.programs(), func(h ops.Held) bool { return h.Session == key }) {
		t.Error("the reset left the program")
	}
	if got := l.says(key, "recall"); !strings.HasPrefix(got, "0 before: recall") {
		t.Errorf("after a reset it remembers %q", got)
	}

	// A stop ends all, and the next life resumes.
	if r := l.stop(ops.ModeGraceful); r.Outcome != string(ops.OutcomeClean) {
		t.Errorf("the stop was %q", r.Outcome)
	}
	l = start(t, external(keep))
	if got := l.says(key, "recall"); !strings.HasPrefix(got, "1 before: ") {
		t.Errorf("the next life remembers %q", got)
	}
}

func TestHR7_WhatAnExternalAgentAsksIsAnApproval(t *testing.T) {
	t.Setenv(acpagent.Folder, t.TempDir())
	l := start(t, external(""))
	const key = "api:user:a"
	if got := l.says(key, "run echo harmless"); got != "harmless" {
		t.Errorf("a harmless command is answered %q", got)
	}
	first := l.send(key, "run mkfifo pipe; rm pipe; echo ran")
	item := l.asked(key)
	if item.Command != "mkfifo pipe; rm pipe; echo ran" || item.Kind != ops.InboxCommand {
		t.Errorf("the request is %+v", item)
	}
	if row := l.session(key); row.State != ops.SessionWaitingApproval {
		t.Errorf("the session is %q while a person is asked", row.State)
	}
	l.do(ops.Command{Verb: ops.VerbApprove, Target: item.ID})
	if got := l.await(first); got.text != "ran" {
		t.Errorf("once it is allowed the answer is %+v", got)
	}
	first = l.send(key, "run mkfifo other; echo ran")
	item = l.asked(key)
	l.do(ops.Command{Verb: ops.VerbDeny, Target: item.ID})
	if got := l.await(first); got.text != "not allowed" {
		t.Errorf("once it is refused the answer is %+v", got)
	}
	first = l.send(key, "run mkfifo third; echo ran\nsay after")
	l.asked(key)
	l.do(ops.Command{Verb: ops.VerbInterrupt, Target: key})
	if got := l.await(first); got.err == nil {
		t.Errorf("an interrupt while a person is asked is answered %+v", got)
	}
	if line := l.last(key); len(line.Items) == 0 {
		t.Error("the timeline is empty")
	}
}

func TestHR7_AStopEndsAnExternalAgentThatIgnoresIt(t *testing.T) {
	t.Setenv(acpagent.Folder, t.TempDir())
	l := start(t, external(""))
	l.says("api:user:a", "say hello")
	l.send("api:user:a", "deaf")
	l.running("api:user:a")
	pid := 0
	for _, p := range l.g.procs.Rows() {
		if p.Owner == "acp" {
			pid = p.PID
		}
	}
	began := time.Now()
	r := l.stop(ops.ModeGraceful)
	if took := time.Since(began); took > patience {
		t.Errorf("the stop took %v", took)
	}
	if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); pid == 0 || err == nil {
		t.Errorf("the program %d is still there after the stop (%s)", pid, r.Outcome)
	}
}

// TR8: an external agent that does not say what it used is bounded by its turns of a day; the refusal names the bound.
func TestTR8_AnExternalAgentThatReportsNothingIsBoundedByTurns(t *testing.T) {
	t.Setenv(acpagent.Folder, t.TempDir())
	l := start(t, external(""), func(s *setup) { s.cfg.Agents["coder"].TurnsPerDay = 2 })
	const key, other = "api:user:a", "api:user:b"
	for range 3 {
		if got := l.says(key, "say hello"); got != "hello" {
			t.Errorf("a turn whose use is said is answered %q", got)
		}
	}
	for range 2 {
		if got := l.says(key, "mute", "say hello"); got != "hello" {
			t.Errorf("a turn within the bound is answered %q", got)
		}
	}
	for _, key := range []string{key, other} {
		got := l.await(l.send(key, "say hello"))
		if !ops.HasCode(got.err, ops.CodeBudget) || !strings.Contains(got.err.Error(), "2 of 2 turns today") || !strings.Contains(got.err.Error(), "agents.coder.turns_per_day") {
			t.Errorf("a turn beyond the bound is answered %q, %v", got.text, got.err)
		}
	}
}

// CV11: an external agent reads no message during its turn, and no chat hears that it does.
func TestCV11_AMessageWaitsBehindTheTurnOfAnExternalAgent(t *testing.T) {
	t.Setenv(acpagent.Folder, t.TempDir())
	l := start(t, external(""), func(s *setup) { s.cfg.Routes[0].Match = "*" })
	l.say("chat:dm:1", "1", "wait")
	l.running("chat:dm:1")
	l.wait("the program works", func() bool { held := l.g.held.Rows(); return len(held) == 1 && held[0].State == ops.HeldReady })
	l.say("chat:dm:1", "1", "say second")
	l.wait("the chat hears that the message waits", func() bool { return l.heard("this one is next") })
	if l.heard("after the running step") {
		t.Error("the chat heard that the turn reads the message")
	}
	if got := l.ask("chat:dm:1", "/busy"); !strings.Contains(got, "reads nothing during a turn") {
		t.Errorf("/busy says %q", got)
	}
	l.do(ops.Command{Verb: ops.VerbInterrupt, Target: "chat:dm:1"})
	l.wait("the message is the next turn", func() bool { return l.heard("second") })
}
