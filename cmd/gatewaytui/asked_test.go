package main

import (
	"context"
	"encoding/json"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
)

// waiting is a request of the turn of the message that the fake takes, and foreign one of another turn of its session.
func waiting(id, command string) ops.InboxItem {
	return ops.InboxItem{
		ID: id, Kind: ops.InboxCommand, Session: "cli:local", Turn: "t2", AskedAt: anHourAgo, State: ops.InboxWaiting, Text: "the agent wants to run a command",
		Command: command, Folder: "/srv/work", Environment: "local", Reasons: []string{"rm removes files"}, Options: []string{"once", "session", "always"},
	}
}

func foreign(id string) ops.InboxItem {
	i := waiting(id, "reboot")
	i.Turn = "t9"
	return i
}

// talking is a send that waits for its reply.
type talking struct {
	t     *testing.T
	g     *live
	said  *printed
	typed *io.PipeWriter
	reply chan struct{}
	end   chan result
}

func sending(t *testing.T, inv invocation, args ...string) *talking {
	t.Helper()
	k := &talking{t: t, said: newPrinted(), reply: make(chan struct{}), end: make(chan result, 1)}
	f := newFake()
	f.inbox = []ops.InboxItem{}
	f.wait = func(ctx context.Context) (ops.Request, error) {
		select {
		case <-k.reply:
		case <-ctx.Done():
			return ops.Request{ID: "r1", State: ops.RequestRunning, Turn: "t2", At: anHourAgo}, nil
		}
		raw, err := json.Marshal(ops.MessageResult{Message: "r1", Session: "cli:local", Reply: "all done"})
		return ops.Request{ID: "r1", Verb: ops.VerbMessage, State: ops.RequestDone, At: anHourAgo, Result: raw}, err
	}
	k.g = start(t, f)
	in, typed := io.Pipe()
	k.typed = typed
	t.Cleanup(func() { typed.Close() })
	inv.home, inv.in, inv.err = k.g.home.Dir(), in, k.said
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	go func() { k.end <- inv.run(t, ctx, append([]string{"send", "hello"}, args...)...) }()
	return k
}

func (k *talking) hears(parts ...string) {
	k.t.Helper()
	for _, part := range parts {
		if err := k.said.await(part); err != nil {
			k.t.Fatal(err)
		}
	}
}

func (k *talking) types(line string) {
	k.t.Helper()
	if _, err := io.WriteString(k.typed, line+"\n"); err != nil {
		k.t.Fatal(err)
	}
}

// gave waits until n answers were given.
func (k *talking) gave(n int) {
	k.t.Helper()
	eventually.True(k.t, "the answers are given", func() bool { return len(k.g.commands()) == n+1 })
}

// ends has the turn answered, and checks the reply and all answers that were given.
func (k *talking) ends(want ...ops.Command) {
	k.t.Helper()
	close(k.reply)
	r := <-k.end
	r.must(k.t, exitDone)
	if r.out != "all done\n" {
		k.t.Errorf("stdout is %q", r.out)
	}
	if d := cmp.Diff(want, k.g.commands()[1:]); len(want)+len(k.g.commands()) > 1 && d != "" {
		k.t.Errorf("the answers (-want +got):\n%s", d)
	}
}

var terminal = invocation{asks: true}

func TestTR4_SendAsksOnATerminalForWhatItsTurnNeeds(t *testing.T) {
	k := sending(t, terminal)
	k.g.ask(waiting("7K3M9Q", "rm -rf build\x1b[2J"))
	k.hears("request     7K3M9Q of cli:local", "command     rm -rf build", "folder      /srv/work", "because     rm removes files", "y yes, this once, s for this session, a always, n no: ")
	k.types("what?")
	k.types("t")
	k.types("s")
	k.gave(1)
	k.g.ask(waiting("8B2C4D", "rm -rf dist"))
	k.hears("8B2C4D")
	k.types("n use the other host")
	k.gave(2)
	question := waiting("9Q", "")
	question.Kind, question.Text, question.Options = ops.InboxQuestion, "which one?", nil
	k.g.ask(question)
	k.hears("which one?", "answer: ")
	k.types("the second")
	k.gave(3)
	k.ends(
		ops.Command{Verb: ops.VerbApprove, Target: "7K3M9Q", Scope: ops.ScopeSession, Expect: "t2"},
		ops.Command{Verb: ops.VerbDeny, Target: "8B2C4D", Reason: "use the other host", Expect: "t2"},
		ops.Command{Verb: ops.VerbAnswer, Target: "9Q", Text: "the second", Expect: "t2"},
	)
}

func TestTR4_WhatIsAskedOfAnotherTurnIsNamedAndNeverAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		inv   invocation
		flags []string
	}{"on a terminal": {inv: terminal}, "with --yes": {flags: []string{"--yes"}}, "without a terminal": {}} {
		t.Run(name, func(t *testing.T) {
			k := sending(t, c.inv, c.flags...)
			k.g.ask(foreign("4F7N"))
			k.hears("request 4F7N waits for a person: reboot; gatewaytui approve 4F7N")
			k.ends()
		})
	}
}

func TestTR4_SendWithYesApprovesWhatItsOwnTurnAsksOnce(t *testing.T) {
	k := sending(t, invocation{}, "--yes")
	looping := waiting("L1", "") // no turn waits for what is done about it
	looping.Kind, looping.Options = ops.InboxLooping, []string{"interrupt", "reset"}
	k.g.ask(looping, waiting("7K3M9Q", "rm -rf build"), foreign("4F7N"))
	k.gave(1)
	k.hears("request 7K3M9Q approved with --yes: rm -rf build", "4F7N waits")
	k.ends(ops.Command{Verb: ops.VerbApprove, Target: "7K3M9Q", Expect: "t2"})
}

func TestTR4_SendWithoutATerminalPrintsTheRequestAndWaits(t *testing.T) {
	k := sending(t, invocation{})
	k.g.ask(waiting("7K3M9Q", "rm -rf build"))
	k.hears("request 7K3M9Q waits for a person: rm -rf build; gatewaytui approve 7K3M9Q")
	k.ends()
}

// A line that was typed for the request before is never the answer to the next one.
func TestTR4_ALineThatIsOlderThanTheQuestionAnswersNothing(t *testing.T) {
	k := sending(t, terminal)
	k.g.ask(waiting("7K3M9Q", "rm -rf build"))
	k.hears("7K3M9Q", "n no: ")
	ended := waiting("7K3M9Q", "rm -rf build")
	ended.State, ended.By = ops.InboxDenied, "maria"
	k.g.ask(ended, waiting("8B2C4D", "rm -rf /srv"))
	k.hears("request 7K3M9Q is denied by maria", "8B2C4D of cli:local")
	k.types("y")
	k.hears("before request 8B2C4D could be read")
	k.types("n")
	k.gave(1)
	k.ends(ops.Command{Verb: ops.VerbDeny, Target: "8B2C4D", Expect: "t2"})
}

func TestTR4_ALineThatComesTooSoonAnswersNothing(t *testing.T) {
	k := sending(t, invocation{asks: true, armAfter: time.Hour})
	k.g.ask(waiting("7K3M9Q", "rm -rf build"))
	k.hears("7K3M9Q", "n no: ")
	k.types("y")
	k.hears("that line was typed before request 7K3M9Q could be read")
	k.ends()
}

func TestTR4_ATerminalThatEndsLeavesTheRequestToOthers(t *testing.T) {
	k := sending(t, terminal)
	k.g.ask(waiting("7K3M9Q", "rm -rf build"))
	k.hears("n no: ")
	k.typed.Close()
	k.hears("request 7K3M9Q waits for a person")
	k.ends()
}
