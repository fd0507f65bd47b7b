package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
)

// everything is what an operator can read of a gateway, as JSON.
func (l *lab) everything(key string) string {
	l.t.Helper()
	var all []any
	add := func(v any, err error) {
		if err != nil {
			v = err.Error()
		}
		all = append(all, v)
	}
	ctx := l.t.Context()
	snap, err := l.g.Snapshot(ctx)
	add(snap, err)
	sessions, err := l.g.Sessions(ctx, ops.Query{Key: key})
	add(sessions, err)
	sessions, err = l.g.Sessions(ctx, ops.Query{})
	add(sessions, err)
	processes, err := l.g.Processes(ctx, ops.Query{})
	for _, p := range processes.Items {
		out, err := l.g.Output(ctx, ops.OutputQuery{PID: p.PID})
		out.Command = "" // that of a process is shown
		add(out, err)
	}
	for i := range processes.Items {
		processes.Items[i].Command = ""
	}
	for i := range snap.Processes {
		snap.Processes[i].Command = ""
	}
	add(processes, err)
	transcript, err := l.g.Transcript(ctx, key, ops.MessageQuery{})
	add(transcript, err)
	transcript, err = l.g.Transcript(ctx, key, ops.MessageQuery{Back: true})
	add(transcript, err)
	found, err := l.g.Search(ctx, ops.SearchQuery{Text: "pelican"})
	add(found, err)
	text, err := json.Marshal(all)
	if err != nil {
		l.t.Fatal(err)
	}
	return string(text)
}

// OP2: what console.texts withholds is in no answer that an operator gets: not in the transcript, its title, the search, the
// output of a process, the activity of a turn or the reply to a message of the operator.
func TestOP2_ConsoleTextsWithholdsWhatWasSaid(t *testing.T) {
	for _, texts := range []ops.Texts{ops.TextsAll, ops.TextsLengths, ops.TextsNone} {
		t.Run(string(texts), func(t *testing.T) {
			l := start(t, func(s *setup) { s.cfg.Console.Texts = string(texts) })
			l.ask("chat:dm:1", "the pelican flies")
			l.ask("chat:dm:1", "bg: echo pelican; exec sleep 60")
			eventually.True(t, "the process has written", func() bool {
				page, err := l.g.Processes(t.Context(), ops.Query{})
				if err != nil || len(page.Items) == 0 {
					return false
				}
				out, _ := l.g.Output(t.Context(), ops.OutputQuery{PID: page.Items[0].PID})
				return out.Total > 0 || texts == ops.TextsNone
			})
			req := l.do(ops.Command{Verb: ops.VerbMessage, Target: "chat:dm:1", Text: "pelican again"})
			all := l.everything("chat:dm:1") + string(req.Result)
			if seen := strings.Contains(all, "pelican"); seen != texts.All() {
				t.Errorf("the text is seen: %v, in\n%s", seen, all)
			}
			page, err := l.g.Transcript(t.Context(), "chat:dm:1", ops.MessageQuery{Back: true, Limit: 2})
			switch texts {
			case ops.TextsNone:
				if !ops.HasCode(err, ops.CodeForbidden) || !strings.Contains(err.Error(), "console.texts") {
					t.Errorf("the transcript ended with %v", err)
				}
			default:
				if err != nil || len(page.Items) != 2 || page.Items[0].Length != len("pelican again") || page.Items[0].Tokens == 0 || page.Items[0].Withheld == texts.All() || page.Next != page.Items[0].ID {
					t.Errorf("the transcript is %+v, %v", page, err)
				}
			}
		})
	}
}

// OP2: the message of a tool that ran a command has its exit code, also where its text is withheld.
func TestOP2_ATranscriptHasExitCodes(t *testing.T) {
	l := start(t, func(s *setup) { s.cfg.Console.Texts = string(ops.TextsLengths) })
	l.ask("chat:dm:1", "sh: exit 3")
	page, err := l.g.Transcript(t.Context(), "chat:dm:1", ops.MessageQuery{})
	if err != nil || len(page.Items) != 4 {
		t.Fatalf("%+v, %v", page, err)
	}
	if m := page.Items[2]; m.Who != "terminal" || m.Exit == nil || *m.Exit != 3 || m.Text != "" {
		t.Errorf("the result is %+v", m)
	}
	if m := page.Items[1]; len(m.Calls) != 1 || m.Calls[0].Name != "terminal" || m.Calls[0].Arguments != "" || m.Exit != nil {
		t.Errorf("the call is %+v", m)
	}
}

// OP2: the audit says who opened which conversation, once for many looks.
func TestOP2_TheAuditHasWhoReadWhat(t *testing.T) {
	l := start(t)
	l.ask("chat:dm:1", "hello")
	by := ops.Actor{Via: "socket", UID: 1000, PID: 4711}
	for range 3 {
		if _, err := l.g.Transcript(t.Context(), "chat:dm:1", ops.MessageQuery{By: by}); err != nil {
			t.Fatal(err)
		}
	}
	by.UID++
	if _, err := l.g.Transcript(t.Context(), "chat:dm:1", ops.MessageQuery{By: by}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.g.Search(t.Context(), ops.SearchQuery{Text: "hello", By: by}); err != nil && !ops.HasCode(err, ops.CodeUnavailable) {
		t.Fatal(err)
	}
	const want = "search  1001 done|session.transcript chat:dm:1 1000 done|session.transcript chat:dm:1 1001 done"
	var got string
	l.wait("the audit has who read what", func() bool {
		var rows []string
		for _, a := range l.audit() {
			if a.Verb == "session.transcript" || a.Verb == "search" {
				rows = append(rows, fmt.Sprintf("%s %s %d %s", a.Verb, a.Target, a.UID, a.State))
			}
		}
		slices.Sort(rows) // each is written in the background, in no order
		got = strings.Join(rows, "|")
		return len(rows) >= 3
	})
	if got != want {
		t.Errorf("the audit has %q, want %q", got, want)
	}
}
