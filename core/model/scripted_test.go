package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatewaytui/fixtures"
)

// conversation plays a script as an agent would: it answers tool calls through tools and goes on until there are none.
type conversation struct {
	client   Client
	session  string
	messages []Message
	// tools answers a call; it may be nil where none is made.
	tools func(call ToolCall) string
}

func (c *conversation) say(ctx context.Context, text string) (string, error) {
	c.messages = append(c.messages, Message{Role: RoleUser, Content: text})
	for range 10 {
		resp, err := c.client.Complete(ctx, Request{Session: c.session, Messages: c.messages}, nil)
		if err != nil {
			return "", err
		}
		c.messages = append(c.messages, resp.Message)
		if len(resp.Message.ToolCalls) == 0 {
			return resp.Message.Content, nil
		}
		for _, call := range resp.Message.ToolCalls {
			c.messages = append(c.messages, Message{Role: RoleTool, ToolCallID: call.ID, Content: c.tools(call)})
		}
	}
	return "", errors.New("ten rounds of tool calls")
}

func converse(t *testing.T, script string, tools func(ToolCall) string) *conversation {
	t.Helper()
	client := NewScripted(parse(t, script), "scripted", 0).New()
	t.Cleanup(func() { client.Close() })
	return &conversation{client: client, session: "cli:local", tools: tools}
}

func embedded(t *testing.T, name string) string {
	t.Helper()
	text, err := fixtures.Script(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheDefaultScriptDoesWhatItsHelpSays(t *testing.T) {
	const ok = `{"output":"out\n","exit_code":0}`
	for name, tt := range map[string]struct{ say, call, result, want string }{
		"help":                       {say: " Help ", want: "sh: COMMAND"},
		"a greeting":                 {say: "hello!", want: "Say help"},
		"echo":                       {say: "echo a $1 {{result}} b", want: "a $1 {{result}} b"},
		"a command":                  {say: "sh: echo out", call: `terminal {"command":"echo out"}`, result: ok, want: "out"},
		"a command of several lines": {say: "sh: echo \"a\"\nls", call: `terminal {"command":"echo \"a\"\nls"}`, result: ok, want: "out"},
		"a command that fails":       {say: "sh: false", call: `terminal {"command":"false"}`, result: `{"output":"no\n","exit_code":3}`, want: "no\n[exit code 3]"},
		"a command without output":   {say: "sh: true", call: `terminal {"command":"true"}`, result: `{"output":"","exit_code":0,"pid":7}`, want: "(no output)"},
		"a command that takes long":  {say: "sh: x", call: `terminal {"command":"x"}`, result: `{"output":"a","exit_code":-1,"timed_out":true,"truncated":true}`, want: "a\n[output truncated]\n[timed out]"},
		"a tool that is not there":   {say: "sh: x", call: `terminal {"command":"x"}`, result: `{"error":"unknown tool terminal"}`, want: "error: unknown tool terminal"},
		"a background job":           {say: "bg: sleep 9", call: `terminal {"background":true,"command":"sleep 9"}`, result: `{"pid":4711,"session_id":"p1"}`, want: "pid 4711"},
		"a background job refused":   {say: "bg: sleep 9", call: `terminal {"background":true,"command":"sleep 9"}`, result: `{"error":"stopping"}`, want: "error: stopping"},
		"processes":                  {say: "ps", call: `process {"action":"list"}`, result: `[{"state":"running","command":"sleep 9","pid":4711},{"pid":4712}]`, want: "pid: 4711  command: sleep 9  state: running\npid: 4712"},
		"processes in an object":     {say: "ps", call: `process {"action":"list"}`, result: `{"processes":[{"pid":4711}]}`, want: "pid: 4711"},
		"no processes":               {say: "ps", call: `process {"action":"list"}`, result: `[]`, want: "(none)"},
		"a log":                      {say: "log 4711", call: `process {"action":"log","pid":4711}`, result: `{"output":"tick\n"}`, want: "tick"},
		"a kill":                     {say: "kill 4711", call: `process {"action":"kill","pid":4711}`, result: `{"killed":true,"survivors":[]}`, want: "killed: true\nsurvivors: []"},
		"a result that is not JSON":  {say: "kill 4711", call: `process {"action":"kill","pid":4711}`, result: "gone", want: "gone"},
		"a kill of nothing":          {say: "kill it", want: "whole number"},
		"files":                      {say: "list", call: `files_list {"path":""}`, result: `{"path":".","entries":[{"name":"a","type":"file","bytes":3}],"truncated":false}`, want: "bytes: 3  name: a  type: file"},
		"files of a folder":          {say: "list: src", call: `files_list {"path":"src"}`, result: `{"path":"src","entries":[],"truncated":false}`, want: "(none)"},
		"a file":                     {say: "read: a b.txt", call: `files_read {"path":"a b.txt"}`, result: `{"path":"a b.txt","lines":1,"content":"1\thi"}`, want: "a b.txt has 1 lines:\n1\thi"},
		"a file that is missing":     {say: "read: a", call: `files_read {"path":"a"}`, result: `{"error":"there is no such file"}`, want: "error: there is no such file"},
		"a picture":                  {say: "read: a.png", call: `files_read {"path":"a.png"}`, result: `{"path":"a.png","binary":"image/png"}`, want: "binary: image/png"},
		"a new file":                 {say: "write: a.txt one two\nthree", call: `files_write {"content":"one two\nthree\n","path":"a.txt"}`, result: `{"path":"a.txt","bytes":14,"created":true}`, want: "I wrote 14 bytes into a.txt."},
		"a change of a file":         {say: "edit: a.txt one two => 1", call: `files_edit {"new":"1","old":"one two","path":"a.txt"}`, result: `{"path":"a.txt","replaced":1,"lines":[3]}`, want: "I changed a.txt in line 3."},
		"a search":                   {say: "find: fo+", call: `files_search {"pattern":"fo+"}`, result: `{"matches":[{"path":"a","line":1,"text":"foo"}],"files":1}`, want: "line: 1  path: a  text: foo"},
		"delegation":                 {say: "delegate: sh: ls", call: `delegate {"goal":"sh: ls"}`, result: `a.txt`, want: "My child agent says:\na.txt"},
		"two children at once":       {say: "both: sh: ls | echo b", call: `delegate {"tasks":[{"goal":"sh: ls"},{"goal":"echo b"}]}`, result: `{"results":[{"task":1,"state":"done","result":"a.txt"}]}`, want: "result: a.txt"},
		"a question":                 {say: "ask: tea?", call: `ask_user {"question":"tea?"}`, result: `{"answer":"coffee"}`, want: "You answered: coffee"},
		"the child's side of it":     {say: "sh: ls", call: `terminal {"command":"ls"}`, result: `{"output":"a.txt\n","exit_code":0}`, want: "a.txt"},
		"anything else":              {say: "write me a poem", want: "Say help"},
		"nothing":                    {say: "", want: "Say help"},
	} {
		t.Run(name, func(t *testing.T) {
			var called string
			c := converse(t, embedded(t, "default"), func(call ToolCall) string {
				called = call.Name + " " + call.Arguments
				return tt.result
			})
			got, err := c.say(t.Context(), tt.say)
			if err != nil {
				t.Fatal(err)
			}
			if called != tt.call {
				t.Errorf("called %q, want %q", called, tt.call)
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("replied %q, want %q in it", got, tt.want)
			}
		})
	}
}

func TestTheDefaultScriptMisbehavesOnRequestOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := converse(t, embedded(t, "default"), nil)

		start := time.Now()
		if got, err := c.say(t.Context(), "slow 30"); err != nil || time.Since(start) != 30*time.Second || got != "That took 30 s." {
			t.Errorf("slow 30: %q, %v after %s", got, err, time.Since(start))
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start = time.Now()
		if _, err := c.say(ctx, "hang"); err != context.DeadlineExceeded || time.Since(start) != time.Hour {
			t.Errorf("hang: %v after %s, want it to last until its context ends", err, time.Since(start))
		}

		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		if _, err := c.say(ctx, "wedge 20s"); err != context.DeadlineExceeded || time.Since(start) != 20*time.Second {
			t.Errorf("wedge: %v after %s, want it to ignore its context for 20s", err, time.Since(start))
		}

		_, err := c.say(t.Context(), "error")
		if e, ok := errors.AsType[*Error](err); !ok || e.Status != 400 || e.Kind != KindRefused || !strings.Contains(err.Error(), "you asked for") {
			t.Errorf("error: %v, want a 400 that says why", err)
		}

		if _, err = c.say(t.Context(), "flaky"); err == nil {
			t.Error("flaky went well the first time")
		}
		if got, err := c.say(t.Context(), "flaky"); err != nil || !strings.Contains(got, "went well") {
			t.Errorf("flaky, again: %q, %v", got, err)
		}
	})
}

func TestFailuresAreCountedForEachSession(t *testing.T) {
	const script = "[[rule]]\nerror = { status = 503, times = 2 }\nreply = 'ok'\n"
	provider := NewScripted(parse(t, script), "scripted", 0)
	outcomes := func(session string) (got string) {
		for range 4 {
			// A client of its own each time: an evicted agent's session goes on counting.
			client := provider.New()
			_, err := client.Complete(t.Context(), Request{Session: session}, nil)
			client.Close()
			got += fmt.Sprint(err != nil, " ")
		}
		return got
	}
	for _, session := range []string{"a", "b"} {
		if got := outcomes(session); got != "true true false false " {
			t.Errorf("session %s failed %s, want the first two times", session, got)
		}
	}
}

func TestAStepFollowsFromTheTranscriptAlone(t *testing.T) {
	const script = `
[[rule]]
match = '^go (?P<what>\w+)$'
reply = "First."
call = [{ tool = "one", arguments = { n = 1, list = ["${what}", true] } }, { tool = "two", arguments = 'no JSON: $1' }]
then = [
  { call = [{ tool = "three" }] },
  { reply = "round {{round}} of {{session}}: {{result}}, {{result.a}}, ${what}, {{input}}, {{model}}, $$" },
]
[[rule]]
match = 'x'
call = [{ tool = "again" }]
`
	user := Message{Role: RoleUser, Content: "go there"}
	rounds := func(n int, result string) []Message {
		// An earlier turn, cut off in a tool call, does not count.
		messages := []Message{{Role: RoleUser, Content: "x"}, {Role: RoleAssistant, ToolCalls: []ToolCall{{ID: "0"}}}, {Role: RoleTool, Content: "old"}, user}
		for range n {
			messages = append(messages, Message{Role: RoleAssistant, ToolCalls: []ToolCall{{ID: "1"}, {ID: "2"}}},
				Message{Role: RoleTool, ToolCallID: "1", Content: "{}"}, Message{Role: RoleTool, ToolCallID: "2", Content: result})
		}
		return messages
	}
	for name, tt := range map[string]struct {
		messages []Message
		text     string
		calls    []string
	}{
		"the first step":            {rounds(0, ""), "First.", []string{`one {"list":["there",true],"n":1}`, "two no JSON: there"}},
		"the second step":           {rounds(1, "{}"), "", []string{"three {}"}},
		"the third step":            {rounds(2, `{"a":5}`), "round 2 of s: a: 5, 5, there, go there, scripted, $", nil},
		"a member that is missing":  {rounds(2, `{"b":5}`), "b: 5", nil},
		"more rounds than steps":    {rounds(3, `{"b":5}`), "b: 5", nil},
		"a rule without then":       {[]Message{{Role: RoleUser, Content: "x"}, {Role: RoleAssistant, ToolCalls: []ToolCall{{ID: "1"}}}, {Role: RoleTool, Content: "done"}}, "done", nil},
		"a message that none match": {[]Message{{Role: RoleUser, Content: "?"}}, "No rule of the script matches this message.", nil},
	} {
		t.Run(name, func(t *testing.T) {
			// A client that has seen nothing before, as after a restart.
			client := NewScripted(parse(t, script), "scripted", 0).New()
			defer client.Close()
			resp, err := client.Complete(t.Context(), Request{Session: "s", Messages: tt.messages}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var calls []string
			for _, call := range resp.Message.ToolCalls {
				calls = append(calls, call.Name+" "+call.Arguments)
			}
			if resp.Message.Content != tt.text || cmp.Diff(tt.calls, calls) != "" {
				t.Errorf("said %q and called %q, want %q and %q", resp.Message.Content, calls, tt.text, tt.calls)
			}
		})
	}
}

func TestTextIsStreamedInPiecesAtItsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := converse(t, "[[rule]]\nreply = 'äbcde'\nchunk = 2\npace = '1s'\n", nil).client
		start := time.Now()
		var got []string
		resp, err := c.Complete(t.Context(), hi, func(s string) { got = append(got, s) })
		if err != nil || resp.Message.Content != "äbcde" || time.Since(start) != 2*time.Second {
			t.Errorf("%+v, %v after %s", resp, err, time.Since(start))
		}
		if diff := cmp.Diff([]string{"äb", "cd", "e"}, got); diff != "" {
			t.Errorf("pieces (-want +got):\n%s", diff)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		if _, err := c.Complete(ctx, hi, func(string) {}); err != context.DeadlineExceeded {
			t.Errorf("cut in a pace: %v", err)
		}
	})
}

func TestScriptedTokensAreWords(t *testing.T) {
	c := converse(t, "[[rule]]\nreply = 'one two'\n", nil).client
	for range 2 {
		resp, err := c.Complete(t.Context(), Request{Messages: []Message{{Role: RoleSystem, Content: " be\tkind "}, {Role: RoleUser, Content: "hi"}}}, nil)
		if err != nil || resp.Usage != (Usage{In: 3, Out: 2}) {
			t.Errorf("usage %+v, %v; want 3 in and 2 out", resp.Usage, err)
		}
	}
}

func TestCloseEndsAScriptedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, script := range []string{"hang = true", "delay = '1h'\nreply = 'x'", "reply = 'xyz'\nchunk = 1\npace = '1h'"} {
			c := converse(t, "[[rule]]\n"+script, nil).client
			start := time.Now()
			time.AfterFunc(time.Second, func() { c.Close() })
			if _, err := c.Complete(t.Context(), hi, func(string) {}); err != ErrClosed || time.Since(start) != time.Second {
				t.Errorf("%s: ended after %s with %v, want ErrClosed after 1s", script, time.Since(start), err)
			}
			if _, err := c.Complete(t.Context(), hi, nil); err != ErrClosed {
				t.Errorf("%s: a call after Close: %v", script, err)
			}
			if err := c.Close(); err != nil {
				t.Errorf("a second Close: %v", err)
			}
		}
	})
}

func TestADurationThatAMessageMakesIsBounded(t *testing.T) {
	for message, says := range map[string]string{"9999999999999999999": "not a duration", "25h": "not a duration", "x": "not a duration"} {
		c := converse(t, "[[rule]]\nmatch = '(.*)'\ndelay = '$1'\nreply = 'x'\n", nil)
		if _, err := c.say(t.Context(), message); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want an error that says %q", message, err, says)
		}
	}
}

func TestATemplateDoesNotGrowWithoutBound(t *testing.T) {
	c := converse(t, "[[rule]]\nmatch = '(?s)(.*)'\nreply = '"+strings.Repeat("$1", 1000)+"'\n", nil)
	got, err := c.say(t.Context(), strings.Repeat("x", 100_000))
	if err != nil || len(got) != maxExpansion {
		t.Errorf("%d bytes, %v; want %d", len(got), err, maxExpansion)
	}
}

func BenchmarkScriptedAnswer(b *testing.B) {
	text, err := fixtures.Script("bench")
	if err != nil {
		b.Fatal(err)
	}
	script, err := ParseScript(text)
	if err != nil {
		b.Fatal(err)
	}
	client := NewScripted(script, "bench", 0).New()
	defer client.Close()
	for b.Loop() {
		if _, err := client.Complete(b.Context(), hi, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func TestAScriptPlaysWhatAPersonSaidInAGroup(t *testing.T) {
	for content, want := range map[string]string{
		"ann says: echo hi\n\n[It answers this message:]\n> x says: y\n\n[Said in this group before, for your information only:]\n> bob: z": "echo hi",
		" echo what he says: no\n\n[x]": "no\n\n[x]",
		"echo [x]":                      "echo [x]",
	} {
		if got := spoken(content); got != want {
			t.Errorf("of %q it plays %q, want %q", content, got, want)
		}
	}
}
