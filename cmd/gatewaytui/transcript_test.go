package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatewaytui/core/ops"
)

// saidSoFar is a conversation of five messages, three pages of the fake, whose texts try to act on a terminal.
func saidSoFar() []ops.Message {
	long := strings.Repeat("line\n", 30)
	return []ops.Message{
		{ID: "1", Turn: "t1", Role: "user", Who: "maria" + hostile, At: anHourAgo, Text: "one\n\ttwo " + hostile, Calls: []ops.MessageCall{}},
		{ID: "2", Turn: "t1", Role: "assistant", At: anHourAgo, Calls: []ops.MessageCall{{ID: "c1", Name: "terminal", Arguments: `{"command":"ls` + hostile + `"}`}}},
		{ID: "3", Turn: "t1", Role: "tool", Who: "terminal", At: anHourAgo, Text: long + "```\n" + hostile, Calls: []ops.MessageCall{}, Call: "c1"},
		{ID: "4", Turn: "t1", Role: "assistant", At: anHourAgo, Text: "# a heading", Calls: []ops.MessageCall{}},
		{ID: "5", Turn: "t2", Role: "user", At: anHourAgo, Text: "more", Calls: []ops.MessageCall{}},
	}
}

// CV13: a transcript is printed page by page; for people it is safe, and JSON has it exactly.
func TestCV13_ATranscriptIsPrinted(t *testing.T) {
	f := newFake()
	f.Messages = saidSoFar()
	g := start(t, f)
	r := g.run(t, "transcript", "cli:local").must(t, exitDone)
	r.says(t, "maria", "one\n two", "→ terminal {\"command\":\"ls", "result of terminal\nline\n", "… 12 more lines; --full shows them", "agent\n# a heading", "more\n")
	if g.run(t, "transcript", "cli:local", "--full").says(t, "```"); strings.Contains(r.out, "```") {
		t.Error("a long result is shown without --full")
	}
	g.run(t, "transcript", "cli:local", "--after", "4").must(t, exitDone)
	same(t, g.run(t, "transcript", "cli:local", "--json").must(t, exitDone).out, ops.Page[ops.Message]{Items: saidSoFar()})
	same(t, g.run(t, "transcript", "cli:local", "--json", "--after", "5").must(t, exitDone).out, ops.Page[ops.Message]{Items: []ops.Message{}})
	g.run(t, "transcript").must(t, exitUsage)
	f.mu.Lock()
	f.Messages = nil
	f.mu.Unlock()
	g.run(t, "transcript", "cli:none", "--json").must(t, exitFailed).says(t, "no session cli:none")
	g.run(t, "export", "cli:none").must(t, exitFailed).says(t, "no session cli:none")
}

// CV13: an export as JSON lines is exact; one as Markdown is safe to print, and no text of a tool leaves its fence.
func TestCV13_AConversationIsExported(t *testing.T) {
	f := newFake()
	f.Messages = saidSoFar()
	g := start(t, f)
	for _, args := range [][]string{{"--format", "jsonl"}, {"--json"}} {
		out := g.run(t, append([]string{"export", "cli:local"}, args...)...).must(t, exitDone).out
		var got []ops.Message
		for dec := json.NewDecoder(strings.NewReader(out)); dec.More(); {
			var m ops.Message
			if err := dec.Decode(&m); err != nil {
				t.Fatal(err)
			}
			got = append(got, m)
		}
		if d := cmp.Diff(saidSoFar(), got); d != "" || strings.Count(out, "\n") != len(got) {
			t.Errorf("%q differs (-want +got):\n%s", args, d)
		}
	}
	md := g.run(t, "export", "cli:local").must(t, exitDone)
	md.says(t, "# ", "## maria", "one\n\ttwo", "Calls `terminal`:\n\n```json\n", "\n````\nline\n", "## agent, ", "# a heading")
	if strings.Count(md.out, "\n````\n") != 2 {
		t.Errorf("the fence of the result is not closed:\n%s", md.out)
	}
	g.run(t, "export", "cli:local", "--format", "html").must(t, exitUsage).says(t, "md, jsonl")
}

// CV13: a followed conversation is printed as it is said, until the gateway is gone.
func TestCV13_AFollowedTranscriptEndsWithItsGateway(t *testing.T) {
	f := newFake()
	f.Messages = saidSoFar()
	g := start(t, f)
	out, _, done := g.background(t, "transcript", "cli:local", "-f")
	if err := out.await("more"); err != nil {
		t.Fatal(err)
	}
	g.leave()
	done().must(t, exitDone).says(t, "the gateway is gone")
}

// CV13: a title is given with the text of the command line.
func TestCV13_ATitleIsGiven(t *testing.T) {
	f := newFake()
	f.do = with(ops.TitleResult{Title: "holidays"})
	g := start(t, f)
	g.run(t, "title", "cli:local", "our holidays").must(t, exitDone)
	if got := f.commands(); len(got) != 1 || got[0].Verb != ops.VerbTitle || got[0].Target != "cli:local" || got[0].Text != "our holidays" {
		t.Errorf("the gateway got %+v", got)
	}
	g.run(t, "title", "cli:local").must(t, exitUsage).says(t, "TEXT is missing")
	g.run(t, "title", "cli:local", "our", "holidays").must(t, exitUsage).says(t, "quote the text")
}

// CV13: what a search found is a table, and says what it could not find.
func TestCV13_ASearchIsPrinted(t *testing.T) {
	f := newFake()
	f.Found = ops.Found{Page: ops.Page[ops.Hit]{Items: []ops.Hit{{Session: "cli:local" + hostile, Title: "talk" + hostile, ID: "7", Role: "user", Who: "maria" + hostile, At: anHourAgo, Snippet: "hello" + hostile}}, Next: "7"}, Unindexed: 5}
	g := start(t, f)
	g.run(t, "search", "hello there", "--session", "cli:local", "--limit", "1").must(t, exitDone).
		says(t, "WHEN", "cli:local", "maria", "hello", "there are more: --cursor 7", "up to 5 older messages")
	asked := f.Searched()
	if want := (ops.SearchQuery{Text: "hello there", Session: "cli:local", Limit: 1}); len(asked) != 1 || asked[0].Text != want.Text || asked[0].Session != want.Session || asked[0].Limit != want.Limit {
		t.Errorf("the gateway was asked for %+v", asked)
	}
	same(t, g.run(t, "search", "hello", "--json").must(t, exitDone).out, f.Found)
	g.run(t, "search").must(t, exitUsage)
	g.run(t, "search", "x", "--limit", "-1").must(t, exitUsage)
}

// OP2: where console.texts withholds a text, transcript and export say how long it is.
func TestOP2_AWithheldTextIsPrintedAsItsLength(t *testing.T) {
	f := newFake()
	f.Messages = []ops.Message{
		{ID: "1", Role: "user", Who: "maria", Length: 12, Tokens: 4, Withheld: true, Calls: []ops.MessageCall{}},
		{ID: "2", Role: "tool", Who: "terminal", Length: 1, Tokens: 2, Exit: new(3), Withheld: true, Calls: []ops.MessageCall{}},
	}
	g := start(t, f)
	g.run(t, "transcript", "cli:local").must(t, exitDone).says(t, "maria\n(12 characters, about 4 tokens)", "(1 character, about 2 tokens)\nexit code 3")
	g.run(t, "export", "cli:local").must(t, exitDone).says(t, "(12 characters, about 4 tokens)")
}
