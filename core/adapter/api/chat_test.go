package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/adapter"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/fixtures/syncbuf"
)

func TestAnAnswerIsACompletion(t *testing.T) {
	f := start(t, Options{Model: "my-agent"}, echo)
	a := f.chat(saying("hello"))
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/json" {
		t.Fatalf("answered %d %s: %s", a.status, a.header.Get("Content-Type"), a.body)
	}
	var got struct {
		ID, Object, Model string
		Created           int64
		Choices           []struct {
			Index        *int
			Message      struct{ Role, Content string }
			FinishReason string `json:"finish_reason"`
		}
		Usage any
	}
	if err := json.Unmarshal(a.body, &got); err != nil {
		t.Fatal(err)
	}
	if got.ID != "chatcmpl-message1" || got.Object != "chat.completion" || got.Model != "my-agent" || got.Created == 0 || len(got.Choices) != 1 {
		t.Fatalf("completion %s", a.body)
	}
	if c := got.Choices[0]; c.Index == nil || *c.Index != 0 || c.Message.Role != "assistant" || c.Message.Content != "echo: hello" || c.FinishReason != "stop" {
		t.Errorf("choice %s", a.body)
	}
	if got.Usage != nil {
		t.Errorf("usage is unknown, and the answer says %v", got.Usage)
	}
	if m := f.gateway.messages()[0]; m.Adapter != "api" || m.Text != "hello" || m.Target != m.Session {
		t.Errorf("the gateway got %+v", m)
	}
}

// metered answers as says does, and tells what it cost.
func metered(pieces ...string) func(context.Context, adapter.Inbound) error {
	return func(ctx context.Context, m adapter.Inbound) error {
		m.Responder.Ended(model.Outcome{Usage: model.Usage{In: 40, Out: 2}})
		return says(pieces...)(ctx, m)
	}
}

func TestAStreamSaysWhoSpeaksThenTheWordsThenThatItEnded(t *testing.T) {
	const cost = `{"prompt_tokens":40,"completion_tokens":2,"total_tokens":42}`
	for _, c := range []struct {
		name  string
		take  func(context.Context, adapter.Inbound) error
		more  map[string]any
		usage string
	}{
		{"without usage", metered("Hel", "lo"), nil, ""},
		{"with usage", metered("Hel", "lo"), map[string]any{"stream_options": map[string]bool{"include_usage": true}}, cost},
		{"with usage that is unknown", says("Hel", "lo"), map[string]any{"stream_options": map[string]bool{"include_usage": true}}, ""},
		{"of an answer that came in one piece", func(_ context.Context, m adapter.Inbound) error {
			m.Responder.Done("Hello", nil)
			return nil
		}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, Options{Model: "my-agent"}, c.take)
			more := map[string]any{"stream": true}
			for k, v := range c.more {
				more[k] = v
			}
			a := f.chat(body("hello", more))
			if a.status != http.StatusOK || a.header.Get("Content-Type") != "text/event-stream" {
				t.Fatalf("answered %d %s: %s", a.status, a.header.Get("Content-Type"), a.body)
			}
			all := events(t, a.body)
			n := len(all)
			if all[n-1] != "[DONE]" {
				t.Fatalf("the last event is %s", all[n-1])
			}
			all = all[:n-1]
			if c.usage != "" {
				last := all[len(all)-1]
				if !strings.Contains(last, `"choices":[],"usage":`+c.usage) {
					t.Errorf("the event before the end is not a usage: %s", last)
				}
				all = all[:len(all)-1]
			}
			if slices.ContainsFunc(all, func(e string) bool { return strings.Contains(e, `"usage"`) }) {
				t.Errorf("usage where none belongs: %q", all)
			}
			for i, e := range all {
				var chunk completion
				if err := json.Unmarshal([]byte(e), &chunk); err != nil || len(chunk.Choices) != 1 || chunk.Object != "chat.completion.chunk" || chunk.ID != "chatcmpl-message1" || chunk.Model != "my-agent" {
					t.Fatalf("event %d is not a chunk: %s", i, e)
				}
				last := i == len(all)-1
				if finish := chunk.Choices[0].FinishReason; (finish != nil) != last || last && *finish != "stop" || !strings.Contains(e, `"finish_reason"`) {
					t.Errorf("event %d of %d has the wrong finish reason: %s", i, len(all), e)
				}
				if (chunk.Choices[0].Delta.Role == "assistant") != (i == 0) {
					t.Errorf("event %d has the wrong role: %s", i, e)
				}
			}
			if got := spoken(t, all); got != "Hello" {
				t.Errorf("the stream said %q", got)
			}
		})
	}
}

func TestAPlainAnswerTellsItsUsageWhereItIsKnown(t *testing.T) {
	f := start(t, Options{}, metered("Hello"))
	if a := f.chat(saying("hi")); !strings.Contains(string(a.body), `"usage":{"prompt_tokens":40,"completion_tokens":2,"total_tokens":42}`) {
		t.Errorf("answered %s", a.body)
	}
}

// A client that adds up the pieces has the whole answer, however it was cut, and with any text before tool calls.
func TestTheDeltasAddUpToTheAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.StringMatching(`[a-c .\n]{0,12}`)
		before := rapid.SliceOfN(words, 0, 3).Draw(t, "before")
		final := words.Draw(t, "final")
		streamed := rapid.IntRange(0, len(final)).Draw(t, "streamed")
		x := newExchange(true)
		client := x.attach()
		var got strings.Builder
		take := func() {
			if rapid.Bool().Draw(t, "take") {
				text, _ := client.take()
				got.WriteString(text)
			}
		}
		for _, b := range before {
			x.Delta(b)
			take()
		}
		x.Delta(final[:streamed])
		take()
		x.Done(final, nil)
		text, o := client.take()
		got.WriteString(text)
		if !o.ended || o.trouble != nil {
			t.Fatalf("outcome %+v", o)
		}
		if !strings.HasPrefix(got.String(), strings.Join(before, "")+final[:streamed]) || !strings.HasSuffix(strings.TrimSpace(got.String()), strings.TrimSpace(final)) {
			t.Errorf("said %q before %q, of which %d bytes were streamed; the client has %q", before, final, streamed, got.String())
		}
	})
}

func TestAnAnswerIsNotSaidTwice(t *testing.T) {
	for _, c := range []struct {
		name   string
		deltas []string
		text   string
		want   string
	}{
		{"streamed whole", []string{"Hel", "lo"}, "Hello", "Hello"},
		{"streamed with blanks around it", []string{"\nHello\n"}, "Hello", "\nHello\n"},
		{"streamed after words before a tool call", []string{"Let me see.", "It is 4."}, "It is 4.", "Let me see.It is 4."},
		{"not streamed after words before a tool call", []string{"Let me see."}, "It is 4.", "Let me see.\n\nIt is 4."},
		{"streamed in part", []string{"Hel"}, "Hello", "Hello"},
		{"longer than what can be compared", slices.Repeat([]string{strings.Repeat("x", maxPending)}, 3), "z", strings.Repeat("x", 3*maxPending)},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := newExchange(true)
			client := x.attach()
			var got strings.Builder
			for _, d := range c.deltas {
				x.Delta(d)
				text, _ := client.take()
				got.WriteString(text)
			}
			x.Done(c.text, nil)
			text, _ := client.take()
			got.WriteString(text)
			if got.String() != c.want {
				t.Errorf("the client has %.80q, want %.80q", got.String(), c.want)
			}
		})
	}
}

func TestTheInputIsTheLastUserMessage(t *testing.T) {
	f := start(t, Options{}, echo)
	for _, c := range []struct{ name, messages, want string }{
		{"a string", `[{"role":"user","content":"one"}]`, "one"},
		{"text parts", `[{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}]`, "one\ntwo"},
		{"the last of several", `[{"role":"system","content":"be brief"},{"role":"user","content":"one"},{"role":"assistant","content":"1"},{"role":"user","content":"two"}]`, "two"},
		{"one that a system message follows", `[{"role":"user","content":"one"},{"role":"system","content":"be brief"}]`, "one"},
		{"one after a picture", `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]},{"role":"user","content":"two"}]`, "two"},
		{"a command", `[{"role":"user","content":"/new"}]`, "/new"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := f.chat(`{"messages":` + c.messages + `}`).whole(t); got != "echo: "+c.want {
				t.Errorf("answered %q, want an echo of %q", got, c.want)
			}
		})
	}
}

func TestAnInvalidBodyIsRefusedWithTheNameOfTheField(t *testing.T) {
	f := start(t, Options{}, echo)
	user := func(content string) string { return `{"messages":[{"role":"user","content":` + content + `}]}` }
	for _, c := range []struct{ name, body, param string }{
		{"empty", ``, ""},
		{"not JSON", `{"messages":`, ""},
		{"JSON and more", saying("hi") + `{}`, ""},
		{"no object", `[]`, ""},
		{"no messages", `{}`, "messages"},
		{"empty messages", `{"messages":[]}`, "messages"},
		{"messages that are not a list", `{"messages":"hi"}`, "messages"},
		{"no user message", `{"messages":[{"role":"system","content":"hi"}]}`, "messages"},
		{"a role that is not a string", `{"messages":[{"role":1,"content":"hi"}]}`, "messages[0]"},
		{"a role that no message has", `{"messages":[{"role":"robot","content":"hi"}]}`, "messages[0].role"},
		{"an answer as the last message", `{"messages":[{"role":"user","content":"one"},{"role":"assistant","content":"1"}]}`, "messages"},
		{"a result of no call", `{"messages":[{"role":"user","content":"one"},{"role":"tool","tool_call_id":"c","content":"1"}]}`, "messages[1].tool_call_id"},
		{"no content", `{"messages":[{"role":"user"}]}`, "messages[0].content"},
		{"null content", user(`null`), "messages[0].content"},
		{"blank content", user(`" \n"`), "messages[0].content"},
		{"content that is a number", user(`7`), "messages[0].content"},
		{"no parts", user(`[]`), "messages[0].content"},
		{"an image", user(`[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:"}}]`), "messages[0].content[1].image_url.url"},
		{"a picture from a file", user(`[{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}]`), "messages[0].content[0].image_url.url"},
		{"a picture that is not base64", user(`[{"type":"image_url","image_url":{"url":"data:image/png;base64,?"}}]`), "messages[0].content[0].image_url.url"},
		{"a picture in a system message", `{"messages":[{"role":"system","content":[{"type":"image_url","image_url":{"url":"https://a.example/b.png"}}]},{"role":"user","content":"hi"}]}`, "messages[0].content[0]"},
		{"audio", user(`[{"type":"input_audio"}]`), "messages[0].content[0]"},
		{"parts that are not objects", user(`["hi"]`), "messages[0].content"},
		{"two answers", body("hi", map[string]any{"n": 2}), "n"},
		{"stream that is not a boolean", body("hi", map[string]any{"stream": "yes"}), "stream"},
		{"a user that is not a string", body("hi", map[string]any{"user": 7}), "user"},
		{"a blank user", body("hi", map[string]any{"user": " "}), "user"},
		{"a user with a line feed", body("hi", map[string]any{"user": "alice\nbob"}), "user"},
		{"a user with an escape", body("hi", map[string]any{"user": "\x1b[31malice"}), "user"},
		{"a user with a bidi override", body("hi", map[string]any{"user": "alice\u202e"}), "user"},
		{"a user that is too long", body("hi", map[string]any{"user": strings.Repeat("a", maxName+1)}), "user"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := f.chat(c.body).refused(t, http.StatusBadRequest, "invalid_request")
			if *e.Type != "invalid_request_error" {
				t.Errorf("type %q", *e.Type)
			}
			switch {
			case c.param == "" && e.Param != nil:
				t.Errorf("it blames %s: %s", *e.Param, *e.Message)
			case c.param != "" && (e.Param == nil || *e.Param != c.param):
				t.Errorf("it does not blame %s: %s", c.param, *e.Message)
			case c.param != "" && !strings.Contains(*e.Message, c.param):
				t.Errorf("the message does not name %s: %s", c.param, *e.Message)
			}
			if strings.ContainsFunc(*e.Message, func(r rune) bool { return r < ' ' || r == 0x202e }) {
				t.Errorf("the message is not inert: %q", *e.Message)
			}
		})
	}
	if got := f.gateway.messages(); len(got) != 0 {
		t.Errorf("the gateway got %d of them", len(got))
	}
}

func TestTheSessionIsNamedByTheRequest(t *testing.T) {
	f := start(t, Options{UserIsSession: true}, echo)
	long := strings.Repeat("a", maxName)
	for _, c := range []struct{ name, user, header, session, who string }{
		{"user", "alice", "", "api:user:alice", "alice"},
		{"a user with blanks and colons", "team 1:alice", "", "api:user:team 1:alice", "team 1:alice"},
		{"a long user", long, "", "api:user:" + long, long},
		{"a header", "", "alice", "api:user:alice", "alice"},
		{"a header that is a whole key", "", "api:user:alice", "api:user:alice", "alice"},
		{"a header with the key of another platform", "", "telegram:dm:4711", "api:user:telegram:dm:4711", "telegram:dm:4711"},
		{"both: the header names the session and the user who speaks", "alice", "project", "api:user:project", "alice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			more := map[string]any{}
			if c.user != "" {
				more["user"] = c.user
			}
			r := f.request(http.MethodPost, "/v1/chat/completions", body("hi", more))
			if c.header != "" {
				r.Header.Set("X-Session-Key", c.header)
			}
			f.do(r).whole(t)
			got := f.gateway.messages()
			if m := got[len(got)-1]; m.Session != c.session || m.User != c.who || m.Target != c.session {
				t.Errorf("session %q, user %q, target %q; want %q, %q", m.Session, m.User, m.Target, c.session, c.who)
			}
		})
	}
}

func TestAHeaderThatCannotNameASessionIsRefused(t *testing.T) {
	f := start(t, Options{}, echo)
	for name, header := range map[string]string{
		"too long":          strings.Repeat("a", maxName+1),
		"a bidi override":   "alice\u202e",
		"a C1 control":      "alice\u009b31m",
		"not UTF-8":         "alice\xff",
		"nothing after all": "api:user:",
	} {
		t.Run(name, func(t *testing.T) {
			e := f.chat(saying("hi"), "X-Session-Key", header).refused(t, http.StatusBadRequest, "invalid_request")
			if e.Param == nil || *e.Param != "X-Session-Key" {
				t.Errorf("it does not blame the header: %s", *e.Message)
			}
		})
	}
}

func TestARequestWithoutANameIsASessionOfItsOwn(t *testing.T) {
	f := start(t, Options{}, echo)
	f.chat(saying("one")).whole(t)
	f.chat(saying("two")).whole(t)
	f.chat(body("three", map[string]any{"user": ""})).whole(t)
	seen := map[string]bool{}
	for _, m := range f.gateway.messages() {
		if !strings.HasPrefix(m.Session, "api:request:") || m.User != "api" {
			t.Errorf("session %q of user %q", m.Session, m.User)
		}
		seen[m.Session] = true
	}
	if len(seen) != 3 {
		t.Errorf("three requests were %d sessions", len(seen))
	}
}

func TestARefusalByTheGatewayKeepsItsReason(t *testing.T) {
	for _, c := range []struct {
		name   string
		err    error
		status int
		code   string
		kind   string
		retry  string
	}{
		{"draining", &ops.Error{Code: ops.CodeDraining, Message: "takes no new work"}, 503, "draining", "server_error", "5"},
		{"stopping", &ops.Error{Code: ops.CodeStopping, Message: "stops"}, 503, "stopping", "server_error", "10"},
		{"starting", &ops.Error{Code: ops.CodeUnavailable, Message: "starts"}, 503, "unavailable", "server_error", "5"},
		{"over the queue limit", &ops.Error{Code: ops.CodeQueueFull, Message: "32 messages wait"}, 429, "queue_full", "rate_limit_error", "1"},
		{"invalid", &ops.Error{Code: ops.CodeInvalid, Message: "empty"}, 400, "invalid", "invalid_request_error", ""},
		{"suspended", &ops.Error{Code: ops.CodeConflict, Message: "suspended"}, 409, "conflict", "invalid_request_error", ""},
		{"forbidden", &ops.Error{Code: ops.CodeForbidden, Message: "no"}, 403, "forbidden", "permission_error", ""},
		{"wrapped", errors.Join(errors.New("outer"), &ops.Error{Code: ops.CodeQueueFull, Message: "full"}), 429, "queue_full", "rate_limit_error", "1"},
		{"neither accepted nor refused", errors.New("secret: this connection was taken down"), 503, "unavailable", "server_error", "5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, Options{}, func(context.Context, adapter.Inbound) error { return c.err })
			for _, b := range []string{saying("hi"), streaming("hi")} {
				a := f.chat(b)
				e := a.refused(t, c.status, c.code)
				if *e.Type != c.kind || a.header.Get("Retry-After") != c.retry || a.header.Get("X-Should-Retry") != "" {
					t.Errorf("type %q, Retry-After %q, X-Should-Retry %q", *e.Type, a.header.Get("Retry-After"), a.header.Get("X-Should-Retry"))
				}
				if strings.Contains(*e.Message, "secret") {
					t.Errorf("an internal error reached the client: %s", *e.Message)
				}
			}
		})
	}
}

// A client library sends a request again after 409, 429 and 5xx: the message would be worked on twice.
func TestATurnWithoutAnAnswerSaysSoAndThatItMustNotBeSentAgain(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{&ops.Error{Code: ops.CodeUnavailable, Message: "the turn failed", Hint: "try again"}, 503, "unavailable"},
		{&ops.Error{Code: ops.CodeConflict, Message: "the turn was interrupted"}, 409, "conflict"},
		{&ops.Error{Code: ops.CodeStopping, Message: "the gateway is stopping"}, 503, "stopping"},
		{errors.New("a bug"), 500, "internal"},
	} {
		t.Run(c.code, func(t *testing.T) {
			f := start(t, Options{}, fails(c.err))
			for _, b := range []string{saying("hi"), streaming("hi")} {
				a := f.chat(b)
				a.refused(t, c.status, c.code)
				if a.header.Get("X-Should-Retry") != "false" || a.header.Get("Retry-After") != "" {
					t.Errorf("X-Should-Retry %q, Retry-After %q", a.header.Get("X-Should-Retry"), a.header.Get("Retry-After"))
				}
			}
		})
	}
}

func TestAStreamThatBreaksOffEndsWithAnErrorAndNotAsIfItWereWhole(t *testing.T) {
	take, held := holds()
	f := start(t, Options{}, take)
	resp, err := f.client.Do(func() *http.Request {
		go func() {
			r := <-held
			r.Delta("It is ")
			// The header is out once the first word is read; see below.
			held <- r
		}()
		return f.request(http.MethodPost, "/v1/chat/completions", streaming("hi"))
	}())
	if err != nil {
		t.Fatal(err)
	}
	receive(t, "the responder", held).Done("", &ops.Error{Code: ops.CodeUnavailable, Message: "the model went away\x1b[2J"})
	all := events(t, f.read(resp).body)
	if got := spoken(t, all); got != "It is " {
		t.Errorf("said %q before it broke off", got)
	}
	e := failure(t, []byte(all[len(all)-1]))
	if *e.Code != "unavailable" || *e.Message != "the model went away [2J" {
		t.Errorf("the last event is %s", all[len(all)-1])
	}
}

func TestModelsListsTheOne(t *testing.T) {
	f := start(t, Options{Model: "my-agent"}, echo)
	a := f.do(f.request(http.MethodGet, "/v1/models", ""))
	if want := `{"object":"list","data":[{"id":"my-agent","object":"model","created":0,"owned_by":"gatewaytui"}]}`; a.status != 200 || strings.TrimSpace(string(a.body)) != want {
		t.Errorf("answered %d %s", a.status, a.body)
	}
}

// TF43: what a listener has heard is what clients asked. A connection without a request, a probe of /health and a request
// that was refused are not.
func TestTF43_AListenerHasHeardNothingBeforeTheFirstRequestThatIsLetIn(t *testing.T) {
	const key = "a-key-of-the-tests"
	f := start(t, Options{Key: key}, echo)
	f.dial()
	if got := f.do(f.request(http.MethodGet, "/health", "")); got.status != http.StatusOK {
		t.Fatalf("/health answered %d", got.status)
	}
	f.chat(saying("hello")).refused(t, http.StatusUnauthorized, "missing_api_key")
	if at := f.conn.LastInbound(); !at.IsZero() {
		t.Fatalf("before the first request that is let in, something was heard at %v", at)
	}
	before := time.Now()
	f.chat(saying("hello"), "Authorization", "Bearer "+key).whole(t)
	first := f.conn.LastInbound()
	if first.Before(before) || first.After(time.Now()) {
		t.Fatalf("after a request the time is %v, want one since %v", first, before)
	}
	f.do(f.request(http.MethodGet, "/health", ""))
	if at := f.conn.LastInbound(); !at.Equal(first) {
		t.Errorf("a probe of /health moved it from %v to %v", first, at)
	}
}

// rememberer is a gateway that has a history of some sessions.
type rememberer struct {
	*gateway
	sessions []string
}

func (r rememberer) Remembers(session string) bool { return slices.Contains(r.sessions, session) }

func TestARequestThatNamesItsSessionAsTheFirstEditionDidIsWarnedOfOnceALife(t *testing.T) {
	log := &syncbuf.Buffer{}
	g := &gateway{take: echo}
	o := Options{Log: slog.New(slog.NewTextHandler(log, nil))}
	f := startWith(t, o, g, rememberer{g, []string{"api:user:alice", "api:user:bob"}}, func(*Platform) {})
	warned := func() int { return strings.Count(log.String(), "event=upgrade.user_label") }
	for _, user := range []string{"carol", ""} {
		f.chat(body("hello", map[string]any{"user": user}))
	}
	f.chat(body("hello", map[string]any{"user": "alice"}), "X-Session-Key", "alice")
	f.chat(body("hello", map[string]any{"user": "alice", "conversation": "c"}))
	if n := warned(); n != 0 {
		t.Fatalf("%d warnings, want none: %s", n, log)
	}
	for _, user := range []string{"alice", "bob", "alice"} {
		f.chat(body("hello", map[string]any{"user": user}))
	}
	if n := warned(); n != 1 || !strings.Contains(log.String(), "session=api:user:alice") {
		t.Errorf("%d warnings, want one: %s", n, log)
	}
}
