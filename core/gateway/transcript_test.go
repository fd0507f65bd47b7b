package gateway

import (
	"fmt"
	"strings"
	"testing"

	"gatewaytui/core/ops"
)

// CV13: the transcript has each message with its turn, who wrote it, the calls and what they returned, across pages, by the
// session's key and by the conversation's id.
func TestCV13_ATranscriptHasWhoSaidWhat(t *testing.T) {
	l := start(t)
	l.ask("chat:dm:1", "sh: echo out")
	l.ask("chat:dm:1", "thanks")
	row := l.session("chat:dm:1")
	for _, name := range []string{"chat:dm:1", row.ID} {
		var got []string
		var turns []string
		q := ops.MessageQuery{Limit: 2}
		for {
			page, err := l.g.Transcript(t.Context(), name, q)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range page.Items {
				calls := ""
				for _, c := range m.Calls {
					calls += c.Name + c.Arguments
				}
				got = append(got, fmt.Sprintf("%s %s %s %s", m.Role, m.Who, strings.SplitN(m.Text, "\n", 2)[0], calls))
				turns = append(turns, m.Turn)
				if m.At.IsZero() || m.ID == "" {
					t.Errorf("a message without a time or an id: %+v", m)
				}
			}
			if q.After = page.Next; q.After == "" {
				break
			}
		}
		want := []string{
			"user maria sh: echo out ", `assistant   terminal{"command":"echo out"}`, "tool terminal {\"output\":\"out\\n\",\"exit_code\":0,", "assistant  ran:", "user maria thanks ", "assistant  you said thanks ",
		}
		for i, w := range want {
			if i >= len(got) || !strings.HasPrefix(got[i], w) {
				t.Errorf("%s: message %d of\n%s\nwant %q", name, i, strings.Join(got, "\n"), w)
			}
		}
		if len(turns) != 6 || turns[0] != turns[3] || turns[3] == turns[4] {
			t.Errorf("the turns are %v", turns)
		}
	}
	if _, err := l.g.Transcript(t.Context(), "chat:dm:2", ops.MessageQuery{}); !ops.HasCode(err, ops.CodeNotFound) {
		t.Errorf("an unknown session: %v", err)
	}
	if _, err := l.g.Transcript(t.Context(), "chat:dm:1", ops.MessageQuery{After: "x"}); !ops.HasCode(err, ops.CodeInvalid) {
		t.Errorf("an invalid id: %v", err)
	}
}

// CV13: a conversation gets its title from its first message, keeps it over a restart, and takes the one that a person chooses.
func TestCV13_AConversationHasATitle(t *testing.T) {
	dir := t.TempDir()
	l := start(t, func(s *setup) { s.dir = dir })
	l.ask("chat:dm:1", "plan our holidays")
	l.ask("chat:dm:1", "something else")
	l.ask("chat:dm:2", "hello")
	if got := l.session("chat:dm:1").Title; got != "plan our holidays" {
		t.Errorf("the title is %q", got)
	}
	if got := l.ask("chat:dm:2", "/title  the \x1b[31mgreeting "); !strings.Contains(got, "the ␛[31mgreeting") {
		t.Errorf("/title answered %q", got)
	}
	if got := l.ask("chat:dm:2", "/title"); !strings.Contains(got, "the ␛[31mgreeting") {
		t.Errorf("/title answered %q", got)
	}
	l.ask("chat:dm:2", "and more")
	l.do(ops.Command{Verb: ops.VerbTitle, Target: "chat:dm:1", Text: "trip to Graz"})
	if req := l.do(ops.Command{Verb: ops.VerbTitle, Target: "chat:dm:1", Text: strings.Repeat("long ", 50)}); req.State != ops.RequestFailed {
		t.Errorf("a long title: %+v", req)
	}
	l.stop(ops.ModeFast)
	l = start(t, func(s *setup) { s.dir = dir })
	for key, want := range map[string]string{"chat:dm:1": "trip to Graz", "chat:dm:2": "the ␛[31mgreeting"} {
		if got := l.session(key).Title; got != want {
			t.Errorf("the next life calls %s %q, want %q", key, got, want)
		}
	}
	l.ask("chat:dm:1", "/new")
	if got := l.ask("chat:dm:1", "/sessions"); !strings.Contains(got, "trip to Graz") {
		t.Errorf("/sessions says %q", got)
	}
	l.ask("chat:dm:1", "a new subject")
	if got := l.session("chat:dm:1").Title; got != "a new subject" {
		t.Errorf("the new conversation is called %q", got)
	}
}
