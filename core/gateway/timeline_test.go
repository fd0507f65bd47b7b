package gateway

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// partsOf are the parts of a timeline, one a line.
func partsOf(t ops.Timeline) string {
	var b strings.Builder
	for _, i := range t.Items {
		fmt.Fprintf(&b, "%s %s [%s] %s\n", i.Kind, i.Name, i.Text, i.Result)
	}
	return b.String()
}

// last is the timeline of the newest turn of a session.
func (l *lab) last(key string) ops.Timeline {
	l.t.Helper()
	page, err := l.g.Turns(l.t.Context(), key, ops.Query{Limit: 1})
	if err != nil || len(page.Items) != 1 {
		l.t.Fatalf("the turns of %s: %+v, %v", key, page, err)
	}
	t, err := l.g.Timeline(l.t.Context(), page.Items[0].ID)
	if err != nil {
		l.t.Fatal(err)
	}
	return t
}

// OP3: the timeline of a turn that runs is live, and the one after its end has the same calls.
func TestOP3_ATurnHasATimelineWhileItRunsAndAfterItsEnd(t *testing.T) {
	l := start(t, asking)
	first := l.send("chat:dm:1", "sh: mkfifo pipe; rm pipe; exit 3")
	item := l.asked("chat:dm:1")
	live := l.last("chat:dm:1")
	if want := "model scripted-by-test [] \napproval terminal [mkfifo pipe; rm pipe; exit 3] \n"; partsOf(live) != want || !live.Running() || live.Source != ops.FromCalls || live.ElapsedMS == 0 {
		t.Errorf("live:\n%s%+v\nwant\n%s", partsOf(live), live.Turn, want)
	}
	l.do(ops.Command{Verb: ops.VerbApprove, Target: item.ID})
	l.await(first)
	l.ask("chat:dm:1", "thanks")
	page, err := l.g.Turns(t.Context(), "chat:dm:1", ops.Query{})
	if err != nil || len(page.Items) != 2 {
		t.Fatalf("turns: %+v, %v", page, err)
	}
	done, err := l.g.Timeline(t.Context(), page.Items[1].ID)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(partsOf(done), "\n")
	if len(done.Items) != 4 || lines[0] != "model scripted-by-test [] " || !strings.HasPrefix(lines[1], "approval terminal [mkfifo pipe; rm pipe; exit 3] allowed by ") ||
		lines[2] != "tool terminal [mkfifo pipe; rm pipe; exit 3] exit 3" || lines[3] != "model scripted-by-test [] " {
		t.Errorf("after its end:\n%s", partsOf(done))
	}
	if done.State != "done" || done.Later != page.Items[0].ID || done.Earlier != "" || done.TokensIn != done.Items[0].TokensIn+done.Items[3].TokensIn || done.TokensIn == 0 || done.Note != "" || done.Session != "chat:dm:1" || done.Agent != "default" {
		t.Errorf("the turn is %+v", done)
	}
	if asked := done.Items[1]; asked.EndedAt.IsZero() || !done.Items[2].StartedAt.After(asked.StartedAt.Time) || asked.ElapsedMS < 1 {
		t.Errorf("the times are %+v", done.Items)
	}
	if of, err := l.g.Turns(t.Context(), page.Items[0].Session, ops.Query{Limit: 1}); err != nil || of.Next != page.Items[0].ID {
		t.Errorf("the first page ends with %q, %v", of.Next, err)
	}
	if _, err := l.g.Timeline(t.Context(), "unknown"); !ops.HasCode(err, ops.CodeNotFound) {
		t.Errorf("an unknown turn: %v", err)
	}
}

// OP3: the calls of children are in the timeline of their turn, with their number.
func TestOP3_ChildrenAreInTheTimelineOfTheirTurn(t *testing.T) {
	l := start(t, func(s *setup) {
		s.cfg.Tools.Enabled = []string{"terminal", "delegate"}
		s.model = script(func(_ context.Context, req model.Request) (model.Response, error) {
			text, answered := lastUser(req)
			switch {
			case answered:
				return says("done"), nil
			case text == "go":
				return callsTool("delegate", `{"goal":"a secret goal"}`), nil
			}
			return callsTool("terminal", `{"command":"true"}`), nil
		})
	})
	l.ask("chat:dm:1", "go")
	done := l.last("chat:dm:1")
	var got []string
	for _, i := range done.Items {
		got = append(got, fmt.Sprintf("%s %s/%s", i.Kind, i.Name, i.Child))
	}
	if want := "model scripted-by-test/, delegate delegate/, model scripted-by-test/1, tool terminal/1, model scripted-by-test/1, model scripted-by-test/"; strings.Join(got, ", ") != want {
		t.Errorf("it has %q, want %q", strings.Join(got, ", "), want)
	}
	if strings.Contains(fmt.Sprint(done.Items), "secret goal") {
		t.Errorf("it has text of the conversation: %+v", done.Items)
	}
}

// OP3: an interrupted turn has the call that was cut off.
func TestOP3_AnInterruptedTurnSaysWhatWasCutOff(t *testing.T) {
	l := start(t)
	for _, verb := range []ops.Verb{ops.VerbInterrupt, ops.VerbReset} {
		first := l.send("chat:dm:1", "hang")
		l.running("chat:dm:1")
		l.wait("the model is called", func() bool { return len(l.last("chat:dm:1").Items) > 0 })
		id := l.last("chat:dm:1").ID
		l.do(ops.Command{Verb: verb, Target: "chat:dm:1"})
		l.await(first)
		done, err := l.g.Timeline(t.Context(), id)
		if err != nil || done.State != "interrupted" || partsOf(done) != "model scripted-by-test [] interrupted\n" {
			t.Errorf("%s: %+v, %v", verb, done, err)
		}
	}
}

// OP3: of a turn during which the gateway was killed its messages tell how far it came, and nothing is guessed.
func TestOP3_ACrashLeavesWhatTheMessagesTell(t *testing.T) {
	dir := t.TempDir()
	interruptedTurn(t, dir, "chat:dm:1", "s1")
	st := open(t, dir)
	at := time.Now().Add(time.Minute).Truncate(time.Millisecond)
	err := st.AppendMessages(t.Context(), "s1", "cut-off", []store.Message{
		{Role: "assistant", Content: "secret", ToolCalls: `[{"id":"c1","name":"terminal","arguments":"{}"}]`, At: at}, {Role: "tool", ToolCallID: "c1", Content: "secret", At: at},
	}, nil)
	if err != nil || st.Close(t.Context()) != nil {
		t.Fatal(err)
	}
	l := start(t, func(s *setup) { s.dir = dir })
	got, err := l.g.Timeline(t.Context(), "cut-off")
	if err != nil {
		t.Fatal(err)
	}
	if partsOf(got) != "model model [] \ntool terminal [] \n" || got.Source != ops.FromMessages || !got.KnownUntil.Equal(at) || !strings.Contains(got.Note, "the gateway ended") || got.Items[0].ElapsedMS != 0 || !got.Items[0].StartedAt.IsZero() {
		t.Errorf("it has %+v", got)
	}
}

// OP3: where operators see no texts, the timeline has the names of tools alone, live and after the end.
func TestOP3_ATimelineHasNoCommandsWhereTextsAreHidden(t *testing.T) {
	for _, texts := range []ops.Texts{ops.TextsLengths, ops.TextsNone} {
		t.Run(string(texts), func(t *testing.T) {
			l := start(t, asking, func(s *setup) { s.cfg.Console.Texts = string(texts) })
			first := l.send("chat:dm:1", "sh: mkfifo secret; rm secret")
			item := l.asked("chat:dm:1")
			if live := l.last("chat:dm:1"); partsOf(live) != "model scripted-by-test [] \napproval terminal [] \n" {
				t.Errorf("%s, live:\n%s", texts, partsOf(live))
			}
			l.do(ops.Command{Verb: ops.VerbApprove, Target: item.ID})
			l.await(first)
			if done := l.last("chat:dm:1"); strings.Contains(partsOf(done), "secret") || len(done.Items) != 4 {
				t.Errorf("%s:\n%s", texts, partsOf(done))
			}
		})
	}
}
