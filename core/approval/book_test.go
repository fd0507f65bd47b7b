package approval

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/fence"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/tool"
)

// pass asks for a step on a goroutine and returns where its outcome comes.
func (b *bench) pass(ctx context.Context, c tool.Call, s tool.Step) <-chan error {
	out := make(chan error, 1)
	go func() { out <- b.book.Pass(ctx, c, s) }()
	return out
}

// asks passes a step that asks, and returns the id of its request. It runs in a bubble.
func (b *bench) asks(ctx context.Context, c tool.Call, s tool.Step) (string, <-chan error) {
	b.t.Helper()
	before := b.waits()
	out := b.pass(ctx, c, s)
	synctest.Wait()
	after := b.waits()
	if len(after) != len(before)+1 {
		b.t.Fatalf("%q: %d requests wait, there were %d", s.Text, len(after), len(before))
	}
	for _, id := range after {
		if !strings.Contains(strings.Join(before, " "), id) {
			return id, out
		}
	}
	return "", out
}

func TestTR3_TheVerdictIsCommandEnvironmentAndAgent(t *testing.T) {
	for _, tt := range []struct {
		name    string
		mode    Mode
		e       fence.Environment
		kind    tool.StepKind
		text    string
		verdict fence.Verdict
	}{
		{"a harmless command runs", ModeFence, fence.Local, tool.StepCommand, "ls -l", fence.Allowed},
		{"another is asked in local", ModeFence, fence.Local, tool.StepCommand, "rm -rf build", fence.Ask},
		{"and where files and TCP are fenced", ModeFence, fence.Partial, tool.StepCommand, "rm -rf build", fence.Ask},
		{"and not in a sandbox", ModeFence, fence.Sandbox, tool.StepCommand, "rm -rf build", fence.Allowed},
		{"and not in a container", ModeFence, fence.Container, tool.StepCommand, "rm -rf build", fence.Allowed},
		{"what ruins the machine never runs", ModeFence, fence.Local, tool.StepCommand, "rm -rf /", fence.Never},
		{"a strict agent asks for a harmless one", ModeStrict, fence.Local, tool.StepCommand, "ls -l", fence.Ask},
		{"and in a sandbox", ModeStrict, fence.Sandbox, tool.StepCommand, "ls -l", fence.Ask},
		{"and never is never", ModeStrict, fence.Local, tool.StepCommand, "rm -rf /", fence.Never},
		{"without approvals nothing is asked", ModeOff, fence.Local, tool.StepCommand, "rm -rf build", fence.Allowed},
		{"and no command is judged", ModeOff, fence.Local, tool.StepCommand, "rm -rf /", fence.Allowed},
		{"and a write outside is refused", ModeOff, fence.Local, tool.StepWrite, "/etc/motd", fence.Never},
		{"a write outside is asked", ModeFence, fence.Sandbox, tool.StepWrite, "/etc/motd", fence.Ask},
		{"a stop of the gateway is asked", ModeOff, fence.Sandbox, tool.StepStop, "stop", fence.Ask},
		{"an unknown environment is as local", ModeFence, "moon", tool.StepCommand, "rm -rf build", fence.Ask},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, newRows())
			b.mode = tt.mode
			if got := b.book.terms.Load().judge("default", tool.Step{Kind: tt.kind, Text: tt.text, Folder: work, Environment: tt.e}).Verdict; got != tt.verdict {
				t.Errorf("it is %s, want %s", got, tt.verdict)
			}
		})
	}
}

func TestTR3_InputOfAProcessIsJudgedByWhatReadsIt(t *testing.T) {
	b := newBench(t, newRows())
	for _, tt := range []struct {
		into, text string
		e          fence.Environment
		verdict    fence.Verdict
	}{
		{"bash", "ls /usr\n", fence.Local, fence.Allowed},
		{"bash", "ls /usr", fence.Local, fence.Ask}, // its end comes later
		{"bash", "rm -rf build\n", fence.Local, fence.Ask},
		{"bash", "cat notes\n", fence.Local, fence.Ask}, // the shell may be anywhere
		{"bash", "rm -rf /\n", fence.Local, fence.Never},
		{"/bin/sh -i", "true\n", fence.Local, fence.Allowed},
		{"bash script.sh", "true\n", fence.Local, fence.Ask},
		{"python3", "true\n", fence.Local, fence.Ask},
		{"python3", "true\n", fence.Sandbox, fence.Allowed},
	} {
		step := tool.Step{Kind: tool.StepCommand, Text: tt.text, Into: tt.into, Folder: work, Environment: tt.e}
		if got := b.book.terms.Load().judge("default", step).Verdict; got != tt.verdict {
			t.Errorf("%q into %s in %s is %s, want %s", tt.text, tt.into, tt.e, got, tt.verdict)
		}
	}
}

func TestTR4_ARequestWaitsAndItsAnswerIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newRows())
		one, two := b.turn("telegram:dm:4711"), b.turn("telegram:dm:4712")
		first, outFirst := b.asks(t.Context(), call(one), command("rm -rf build"))
		second, outSecond := b.asks(t.Context(), call(two), command("rm -rf build"))
		if row, _ := b.table.Row("telegram:dm:4711"); row.State != ops.SessionWaitingApproval || row.WaitingFor != "approval "+first {
			t.Errorf("the session is %s, waiting for %q", row.State, row.WaitingFor)
		}
		if _, err := b.deny(second, "not today"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		select {
		case err := <-outFirst:
			t.Fatalf("the answer to %s reached %s: %v", second, first, err)
		default:
		}
		if err := <-outSecond; err == nil || !strings.Contains(err.Error(), "not today") {
			t.Errorf("the model reads %v", err)
		}
		detail, err := b.allow(strings.ToLower(first), "")
		if err != nil || detail != "allowed once" {
			t.Errorf("%q, %v", detail, err)
		}
		if err := <-outFirst; err != nil {
			t.Errorf("an allowed step: %v", err)
		}
		for _, id := range []string{first, second} {
			if _, err := b.allow(id, ""); !ops.HasCode(err, ops.CodeConflict) || !strings.Contains(err.Error(), "waits no longer") {
				t.Errorf("a second answer to %s: %v", id, err)
			}
		}
		if _, err := b.allow("ZZZZZZ", ""); !ops.HasCode(err, ops.CodeNotFound) {
			t.Errorf("an unknown id: %v", err)
		}
	})
}

func TestTR4_ARequestExpiresAndALateAnswerIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newRows())
		id, out := b.asks(t.Context(), call(b.turn("telegram:dm:4711")), command("rm -rf build"))
		time.Sleep(30*time.Minute - time.Nanosecond)
		synctest.Wait()
		if len(b.waits()) != 1 {
			t.Fatal("it expired too soon")
		}
		time.Sleep(time.Nanosecond)
		if err := <-out; err == nil || !strings.Contains(err.Error(), "expired") {
			t.Errorf("the model reads %v", err)
		}
		if _, err := b.allow(id, ""); !ops.HasCode(err, ops.CodeConflict) || !strings.Contains(err.Error(), "expired") {
			t.Errorf("a late answer: %v", err)
		}
		if b.outcome("expired") != 1 {
			t.Errorf("the outcomes are %v", b.outcomes)
		}
	})
}

func TestTR4_TheEndOfATurnWithdrawsItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newRows())
		for _, cause := range []error{session.ErrInterrupted, session.ErrReset, session.ErrOvertaken, context.Canceled} {
			ctx, cancel := context.WithCancelCause(t.Context())
			turn := b.turn("telegram:dm:4711")
			id, out := b.asks(ctx, call(turn), command("rm -rf build"))
			cancel(cause)
			if err := <-out; err == nil || !strings.Contains(err.Error(), "It was not run") {
				t.Errorf("%v: the model reads %v", cause, err)
			}
			if _, err := b.allow(id, ""); !ops.HasCode(err, ops.CodeConflict) || !strings.Contains(err.Error(), "withdrawn") {
				t.Errorf("%v: an answer: %v", cause, err)
			}
			b.table.Release(context.Background(), turn, session.End{State: ops.SessionIdle})
		}
	})
}

func TestTR3_ThreeRefusalsEndTheTurnAndTheFifthRequestOffersIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newRows())
		turn := b.turn("telegram:dm:4711")
		c := call(turn)
		for i := range 3 {
			if i == 2 {
				c.Turn += "/1" // a child agent counts for its turn
			}
			id, out := b.asks(t.Context(), c, command("rm -rf build"))
			if _, err := b.deny(id, ""); err != nil {
				t.Fatal(err)
			}
			err := <-out
			if _, over := errors.AsType[*tool.OverError](err); over != (i == 2) {
				t.Errorf("refusal %d: %v", i+1, err)
			}
		}
		turn = b.turn("telegram:dm:4712")
		b.people = owners{"telegram:4712"}
		for i := range 5 {
			id, out := b.asks(t.Context(), call(turn), command("rm -rf build"))
			all := b.shown()
			card := all[len(all)-1]
			offers := false
			for _, c := range card.choices {
				offers = offers || c.Text == "/approve "+id+" turn"
			}
			if offers != (i == 4) {
				t.Errorf("request %d offers the turn: %v", i+1, offers)
			}
			if _, err := b.allow(id, ""); err != nil || <-out != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestTR3_WithoutAPersonItIsRefusedAtOnceWithARow(t *testing.T) {
	b := newBench(t, newRows())
	c := call(b.turn("telegram:dm:4711"))
	c.Unattended = true
	err := b.book.Pass(t.Context(), c, command("rm -rf build"))
	if _, withheld := errors.AsType[*tool.WithheldError](err); !withheld {
		t.Errorf("the model reads %v", err)
	}
	items := b.book.Inbox()
	if len(items) != 1 || items[0].State != ops.InboxRefused || items[0].Command != "rm -rf build" {
		t.Errorf("the inbox has %+v", items)
	}
	if err := b.book.Pass(t.Context(), c, command("ls")); err != nil {
		t.Errorf("a harmless one: %v", err)
	}
	c.Unattended = false
	if err := b.book.Pass(t.Context(), c, command("rm -rf /")); err == nil || !strings.Contains(err.Error(), "never") {
		t.Errorf("what never runs: %v", err)
	}
}

func TestTR3_AJobRunsWhatItsGrantsNameAndNothingElse(t *testing.T) {
	b := newBench(t, newRows())
	b.grants = map[string][]string{"job:build": {"make"}}
	job, other := call(b.turn("job:build")), call(b.turn("job:other"))
	job.Unattended, other.Unattended = true, true
	if err := b.book.Pass(t.Context(), job, command("make all")); err != nil {
		t.Errorf("what was granted: %v", err)
	}
	for text, c := range map[string]tool.Call{"rm -rf build": job, "make all && rm -rf build": job, "make all": other, "rm -rf /": job} {
		if err := b.book.Pass(t.Context(), c, command(text)); err == nil {
			t.Errorf("%s of %s ran, which was not granted", text, c.Session)
		}
	}
	b.mode = ModeStrict
	if err := b.book.Pass(t.Context(), job, command("make all")); err == nil {
		t.Error("an agent for which every step is asked ran a command by a grant")
	}
}

func TestTR4_OnlyWhoMayAnswerCanAndTheReasonIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		b := newBench(t, r)
		group := "telegram:group:-100"
		b.table.Load(session.Session{Key: "telegram:dm:4711", ID: "owner", Target: "chat of the owner", State: ops.SessionIdle})
		turn := b.turn(group)
		id, out := b.asks(t.Context(), call(turn), command("rm -rf build"))
		all := b.shown()
		if len(all) != 2 || all[0].key != group || strings.Contains(all[0].text, "rm -rf") || all[1].key != "telegram:dm:4711" || !strings.Contains(all[1].text, "```\nrm -rf build\n```") {
			t.Errorf("the chats have %+v", all)
		}
		for _, tt := range []struct {
			key  string
			m    session.Message
			code ops.Code
		}{
			{group, session.Message{User: "eve (666)"}, ops.CodeForbidden},
			{"api:user:x", session.Message{User: "4711", Caller: ops.Caller{By: ops.ByKey}}, ops.CodeForbidden},
			{"discord:dm:4711", session.Message{User: "maria (4711)"}, ops.CodeForbidden},
		} {
			if _, err := b.book.AnswerChat(t.Context(), tt.key, tt.m, id, true, ""); !ops.HasCode(err, tt.code) {
				t.Errorf("%s in %s: %v", tt.m.User, tt.key, err)
			}
		}
		if _, err := b.book.AnswerChat(t.Context(), group, session.Message{User: "otto (4711)"}, id, true, "ever"); !ops.HasCode(err, ops.CodeInvalid) {
			t.Errorf("an unknown scope: %v", err)
		}
		synctest.Wait()
		select {
		case err := <-out:
			t.Fatalf("it went on: %v", err)
		default:
		}
		if _, err := b.book.AnswerChat(t.Context(), "telegram:dm:4711", session.Message{User: "otto (4711)"}, id, true, "SESSION"); err != nil || <-out != nil {
			t.Errorf("the owner: %v", err)
		}
		synctest.Wait()
		if all = b.shown(); !strings.Contains(all[1].text, "Allowed") {
			t.Errorf("the card says %q", all[1].text)
		}
		if n := len(r.audits); n != 4 || r.audits[3].State != string(ops.RequestDone) || r.audits[0].State != string(ops.RequestFailed) {
			t.Errorf("the audit has %+v", r.audits)
		}
	})
}

func TestTR4_ACardShowsTheWholeCommandAndIsNeverMarkup(t *testing.T) {
	b := newBench(t, newRows())
	row := store.Approval{ID: "K7Q2MX", Kind: "command", Agent: "a*b*", Environment: "local", Folder: work, Expires: time.Now().Add(time.Hour)}
	row.Command = "echo '```' **x** `id` \u202eevil\u200b\x1b[2J\nsecond\n/deny all"
	text := b.book.cardText(row, "!")
	if !strings.Contains(text, "````\necho '```' **x** `id` \\u{202e}evil\\u{200b}\\u{1b}[2J\nsecond\n/deny all\n````\n") || !strings.Contains(text, "`!approve K7Q2MX`") || !strings.Contains(text, "`!deny K7Q2MX`") {
		t.Errorf("the card is %q", text)
	}
	if strings.Contains(text, "a*b*") {
		t.Errorf("the agent's name is markup: %q", text)
	}
	row.Command = strings.Repeat("é", maxShown+7)
	if text := b.book.cardText(row, "!"); !strings.Contains(text, "(7 more characters)") || !strings.Contains(text, "too long") {
		t.Errorf("a long card ends with %q", text[len(text)-300:])
	}
	if all := choices(row, true); len(all) != 1 || all[0].Text != "/deny K7Q2MX" {
		t.Errorf("a request that is not shown whole has the buttons %+v", all)
	}
}

func TestTR4_AnAnswerThatCannotBeSavedRunsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		b := newBench(t, r)
		id, out := b.asks(t.Context(), call(b.turn("telegram:dm:4711")), command("rm -rf build"))
		r.fault = errors.New("disk full")
		if _, err := b.allow(id, ""); !ops.HasCode(err, ops.CodeUnavailable) {
			t.Errorf("the answer: %v", err)
		}
		synctest.Wait()
		select {
		case err := <-out:
			t.Fatalf("it went on: %v", err)
		default:
		}
		r.fault = nil
		if _, err := b.allow(id, ""); err != nil || <-out != nil {
			t.Errorf("once the disk takes it: %v", err)
		}
	})
}

func TestTR5_AStopWithdrawsWhatWaitsAndAsksNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newRows())
		ctx, cancel := context.WithCancelCause(t.Context())
		turn := b.turn("telegram:dm:4711")
		id, out := b.asks(ctx, call(turn), command("rm -rf build"))
		if err := b.book.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := b.allow(id, ""); !ops.HasCode(err, ops.CodeConflict) || !strings.Contains(err.Error(), "restarted") {
			t.Errorf("an answer during the stop: %v", err)
		}
		if v, _ := b.table.Running("telegram:dm:4711"); v.Approval != id {
			t.Errorf("the drain would wait for the turn: %+v", v)
		}
		if n := b.book.Withdrew(); n != 1 {
			t.Errorf("%d chats are to be informed", n)
		}
		if err := b.book.Tell(t.Context()); err != nil {
			t.Fatal(err)
		}
		if card := b.shown()[0]; !strings.Contains(card.text, "Withdrawn") || len(card.choices) > 0 {
			t.Errorf("the card is %+v", card)
		}
		if err := b.book.Pass(t.Context(), call(b.turn("telegram:dm:4712")), command("rm -rf build")); err == nil || !strings.Contains(err.Error(), "stopping") {
			t.Errorf("another request during the stop: %v", err)
		}
		cancel(session.ErrStopping)
		if err := <-out; err == nil || !strings.Contains(err.Error(), "stopping") {
			t.Errorf("the model reads %v", err)
		}
	})
}

func TestTR5_TheNextLifeWithdrawsWhatASIGKILLLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newRows())
		id, out := b.asks(t.Context(), call(b.turn("telegram:dm:4711")), command("rm -rf build"))
		killed := b.book
		b.begin()
		if _, err := b.allow(id, ""); !ops.HasCode(err, ops.CodeConflict) {
			t.Errorf("an answer in the next life: %v", err)
		}
		if card := b.shown()[0]; !strings.Contains(card.text, "Withdrawn") {
			t.Errorf("the card is %+v", card)
		}
		note, giveBack := b.book.Take("telegram:dm:4711")
		if !strings.Contains(note, "rm -rf build") || !strings.Contains(note, "not run") {
			t.Errorf("the model reads %q", note)
		}
		giveBack()
		if again, _ := b.book.Take("telegram:dm:4711"); again != note {
			t.Errorf("what was given back is %q", again)
		}
		if again, _ := b.book.Take("telegram:dm:4711"); again != "" {
			t.Errorf("it comes twice: %q", again)
		}
		b.book = killed
		time.Sleep(time.Hour) // the old life's turn ends as well: nothing runs
		if err := <-out; err == nil {
			t.Error("what an earlier life asked runs")
		}
	})
}

func TestTR4_ARequestOutsideOfATurnWaitsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newRows())
		id, out := b.asks(t.Context(), tool.Call{Session: "telegram:dm:4711", Agent: "default"}, tool.Step{Kind: tool.StepStop, Text: "restart"})
		if _, err := b.allow(id, ops.ScopeAlways); !ops.HasCode(err, ops.CodeInvalid) {
			t.Errorf("a stop was allowed for always: %v", err)
		}
		if _, err := b.allow(id, ""); err != nil || <-out != nil {
			t.Errorf("%v", err)
		}
	})
}

// What the gate adds to a command that it lets pass without a question. A turn with such a command takes some milliseconds.
func BenchmarkTR3_AStepThatAsksNothing(b *testing.B) {
	for _, tt := range []struct {
		name, text string
		e          fence.Environment
	}{
		{"local", "ls -l src | head -20", fence.Local},
		{"sandbox", "make all && ./build/test --verbose", fence.Sandbox},
	} {
		b.Run(tt.name, func(b *testing.B) {
			k := newBench(b, newRows())
			c := call(k.turn("telegram:dm:4711"))
			step := tool.Step{Kind: tool.StepCommand, Text: tt.text, Folder: work, Environment: tt.e}
			for b.Loop() {
				if err := k.book.Pass(context.Background(), c, step); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
