package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/fixtures/soak"
)

// counting is a model that says how many messages of users it reads, and runs a command on "sh".
func counting(last *model.Request) script {
	return func(_ context.Context, req model.Request) (model.Response, error) {
		*last = req
		text, answered := lastUser(req)
		if strings.HasPrefix(text, "sh") && !answered {
			return callsTool("terminal", `{"command":"true"}`), nil
		}
		return says(fmt.Sprintf("answer to %s of %d", text, len(saidTo(req)))), nil
	}
}

// saidTo is what users wrote in a request.
func saidTo(req model.Request) (said []string) {
	for _, m := range req.Messages {
		if m.Role == model.RoleUser {
			said = append(said, m.Content)
		}
	}
	return said
}

// transcript is the conversation of a key as operators read it.
func (l *lab) transcript(key string) (all []ops.Message) {
	l.t.Helper()
	page, err := l.g.Transcript(l.t.Context(), key, ops.MessageQuery{Limit: 1000})
	if err != nil {
		l.t.Fatal(err)
	}
	return page.Items
}

func TestCV12_UndoTakesTheLastExchangeOutOfTheContextAndKeepsItInTheTranscript(t *testing.T) {
	var last model.Request
	with := func(s *setup) { s.model = counting(&last) }
	l := start(t, with)
	const key = "chat:dm:1"
	if got := l.ask(key, "/undo"); !strings.Contains(got, "no conversation yet") {
		t.Errorf("/undo without a conversation answered %q", got)
	}
	l.ask(key, "one")
	l.ask(key, "/pin always kind")
	l.ask(key, "two")
	l.ask(key, "sh three zebra")
	got := l.ask(key, "/undo")
	for _, want := range []string{`"sh three zebra"`, "its answer", "1 step with tools", "goes further back"} {
		if !strings.Contains(got, want) {
			t.Errorf("/undo answered %q, want %q in it", got, want)
		}
	}
	if got := l.ask(key, "four"); got != "answer to four of 3" || !slices.Equal(saidTo(last), []string{"one", "two", "four"}) || !strings.Contains(last.Messages[0].Content, "always kind") {
		t.Errorf("after /undo the model read %q and answered %q", saidTo(last), got)
	}
	l.ask(key, "/undo")
	if got := l.ask(key, "/undo"); !strings.Contains(got, `"two"`) {
		t.Errorf("the second /undo took %q", got)
	}
	l.stop(ops.ModeFast)

	l = start(t, with, func(s *setup) { s.dir = l.dir })
	if l.ask(key, "five"); !slices.Equal(saidTo(last), []string{"one", "five"}) {
		t.Errorf("after a restart the model reads %q", saidTo(last))
	}
	marked := map[string]bool{}
	for _, m := range l.transcript(key) {
		if m.Role == "user" {
			marked[m.Text] = m.Undone
		}
	}
	if fmt.Sprint(marked) != "map[five:false four:true one:false sh three zebra:true two:true]" {
		t.Errorf("the transcript marks %v", marked)
	}
	l.wait("the search finds it", func() bool {
		found, err := l.g.Search(t.Context(), ops.SearchQuery{Text: "zebra"})
		return err == nil && len(found.Items) > 0 && found.Items[0].Undone
	})
	if got := l.ask(key, "/search zebra"); !strings.Contains(got, "(undone)") {
		t.Errorf("/search says %q", got)
	}
}

func TestCV12_RetryAsksTheLastMessageAgainInThePlaceOfItsAnswer(t *testing.T) {
	var last model.Request
	with := func(s *setup) { s.model = counting(&last) }
	l := start(t, with)
	const key = "chat:dm:1"
	if got := l.ask(key, "/retry"); !strings.Contains(got, "no conversation yet") {
		t.Errorf("/retry without a conversation answered %q", got)
	}
	l.ask(key, "one")
	l.ask(key, "sh two")
	for range 2 {
		if got := l.ask(key, "/retry"); got != "answer to sh two of 2" || !slices.Equal(saidTo(last), []string{"one", "sh two"}) {
			t.Errorf("/retry answered %q, and the model read %q", got, saidTo(last))
		}
	}
	l.stop(ops.ModeFast)

	l = start(t, with, func(s *setup) { s.dir = l.dir })
	if got := l.ask(key, "/retry"); got != "answer to sh two of 2" {
		t.Errorf("after a restart /retry answered %q", got)
	}
	var turns []string
	for _, m := range l.transcript(key) {
		if m.Role == "user" && m.Text == "sh two" {
			turns = append(turns, fmt.Sprint(m.Undone))
		}
	}
	if !slices.Equal(turns, []string{"true", "true", "true", "false"}) {
		t.Errorf("the transcript marks %v", turns)
	}
	l.say(key, "1", "/retry")
	l.wait("the answer in the chat", func() bool { return slices.Contains(l.chat.messages(), "1: answer to sh two of 2") })
}

func TestCV12_UndoAndRetryAreRefusedWhileATurnRuns(t *testing.T) {
	l := start(t)
	const key = "chat:dm:1"
	r := l.send(key, "hang")
	l.running(key)
	for _, command := range []string{"/undo", "/retry"} {
		if got := l.await(l.send(key, command)); !ops.HasCode(got.err, ops.CodeBusy) || !strings.Contains(got.err.Error(), "a turn runs") {
			t.Errorf("%s while a turn runs: %q, %v", command, got.text, got.err)
		}
	}
	l.ask(key, "/stop")
	l.await(r)
	if got := l.ask(key, "/undo"); !strings.Contains(got, `"hang"`) {
		t.Errorf("/undo of an interrupted turn answered %q", got)
	}
}

func TestCV12_UndoSaysThatACompactionHasWhatCameBefore(t *testing.T) {
	e := &endpoint{window: 100_000, told: true}
	l := start(t, func(s *setup) { s.model = e })
	const key = "chat:dm:1"
	for i := range 10 {
		l.ask(key, fmt.Sprintf("message %d", i))
	}
	l.ask(key, "/compact")
	var said string
	for range 12 {
		if said = l.ask(key, "/undo"); strings.Contains(said, "cannot be taken out") {
			break
		}
	}
	if !strings.Contains(said, "summary of a compaction") {
		t.Fatalf("/undo went behind the compaction: %q", said)
	}
	if got := l.ask(key, "/retry"); !strings.Contains(got, "summary of a compaction") {
		t.Errorf("/retry behind the compaction answered %q", got)
	}
	if l.ask(key, "and now"); e.broken != "" || !e.has("They spoke of numbers.") {
		t.Errorf("after /undo the model reads %+v, %s", e.last.Messages, e.broken)
	}
}

// After any number of commands in a conversation its model reads what was said and not taken back, in memory and after a reload.
func TestCV12_WhatTheModelReadsIsWhatWasNotTakenBack(t *testing.T) {
	soak.Checks(t, 30, 200)
	var last model.Request
	l := start(t, func(s *setup) { s.model = counting(&last) })
	chat := 0
	rapid.Check(t, func(t *rapid.T) {
		chat++
		key, n := fmt.Sprintf("chat:dm:%d", chat), 0
		var want []string
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1:
				n++
				text := rapid.SampledFrom([]string{"say %d", "sh %d"}).Draw(t, "kind")
				want = append(want, fmt.Sprintf(text, n))
				l.ask(key, want[len(want)-1])
				if got := saidTo(last); !slices.Equal(got, want) {
					t.Fatalf("the model read %q, want %q", got, want)
				}
			case 2:
				if l.ask(key, "/undo"); len(want) > 0 {
					want = want[:len(want)-1]
				}
			case 3:
				if l.ask(key, "/retry"); len(want) > 0 && !slices.Equal(saidTo(last), want) {
					t.Fatalf("after /retry the model read %q, want %q", saidTo(last), want)
				}
			case 4:
				if _, err := l.g.conversations.Evict(t.Context(), key); err != nil && !ops.HasCode(err, ops.CodeNotFound) {
					t.Fatal(err)
				}
			}
		}
	})
}

func TestCV12_UsageSaysWhatTurnsCostAndWhichPriceIsNotKnown(t *testing.T) {
	l := start(t, two)
	const key = "chat:dm:1"
	if got := l.ask(key, "/usage"); got != "Nothing was used yet." {
		t.Errorf("/usage at the start: %q", got)
	}
	l.ask(key, "/model second")
	l.ask(key, "hi")
	l.ask(key, "hi")
	l.ask("chat:dm:2", "hi") // of a model without a price
	want := []string{
		"Last turn: 1,000 tokens in (500 cached), 100 out; cost 0.0032.",
		"This conversation: 2,000 tokens in (1,000 cached), 200 out; cost 0.0063.",
		"You, today: 3,000 tokens in (1,500 cached), 300 out; cost 0.0063, without 1,100 tokens whose price is not known.",
	}
	if got := l.ask(key, "/usage"); got != strings.Join(want, "\n") {
		t.Errorf("/usage says\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	l.stop(ops.ModeFast)
	l = start(t, two, func(s *setup) { s.dir = l.dir })
	if got := l.ask(key, "/usage"); got != strings.Join(want, "\n") {
		t.Errorf("after a restart /usage says\n%s", got)
	}
	if got := l.ask("chat:dm:2", "/usage"); !strings.Contains(got, "Last turn: 1,000 tokens in (500 cached), 100 out; the price is not known.") {
		t.Errorf("/usage of a model without a price says\n%s", got)
	}
}

func TestCV12_WhoamiSaysTheIdThatTheConfigNeedsAndWhatTheRouteSays(t *testing.T) {
	l := start(t)
	got := l.ask("chat:dm:1", "/whoami")
	for _, want := range []string{"You are maria on chat. Your id is maria; in the config: adapters.chat.allow = [maria]", "Session: chat:dm:1", "Agent: default, model: scripted-by-test", "Route: no route matches", "progress = short"} {
		if !strings.Contains(got, want) {
			t.Errorf("/whoami says\n%s\nwant %q in it", got, want)
		}
	}
	if req := l.do(ops.Command{Verb: ops.VerbMessage, Target: "chat:dm:1", Text: "/whoami"}); !strings.Contains(string(req.Result), "You are an operator of this gateway") {
		t.Errorf("/whoami of an operator says %s", req.Result)
	}
}
