package control

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"gatewaytui/core/ops"
)

func messages(texts ...string) []ops.Message {
	var out []ops.Message
	for i, text := range texts {
		out = append(out, ops.Message{ID: string(rune('1' + i)), Turn: "t1", Role: "user", Who: "maria", At: testTime, Text: text, Calls: []ops.MessageCall{}})
	}
	return out
}

// CV13: one page of a conversation is a list, with the id behind which the next page begins.
func TestCV13_ATranscriptIsAnsweredPageByPage(t *testing.T) {
	f := newFake()
	f.Messages = messages("one", "two", "\x1b[2Jthree")
	r := serve(t, f)
	const first = `{"id":"1","turn":"t1","role":"user","who":"maria","at":"2026-11-21T12:04:05.006Z","text":"one","calls":[],"length":0,"tokens":0}`
	for path, want := range map[string]string{
		"":         first,
		"?after=2": `"text":"\u001b[2Jthree","calls":[],"length":0,"tokens":0}],"next":""}`,
		"?after=3": `{"items":[],"next":""}`,
	} {
		status, body := r.ask(t, "GET", "/v1/sessions/cli:local/transcript"+path, "")
		if status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s, want %s", path, status, body, want)
		}
	}
	if status, body := r.ask(t, "GET", "/v1/sessions/cli:local/transcript?afer=2", ""); status != 400 || !strings.Contains(body, "after") {
		t.Errorf("a wrong name: %d %s", status, body)
	}
	f.Messages = nil
	if status, _ := r.ask(t, "GET", "/v1/sessions/cli:local/transcript?follow=1", ""); status != 404 {
		t.Errorf("an unknown session: %d", status)
	}
}

// CV13: a followed conversation is a stream of what there is and of what comes, and is resumed by the id of the last message seen.
func TestCV13_AFollowedTranscriptGoesOn(t *testing.T) {
	f := newFake()
	f.Messages = messages("one", "two", "three")
	r := serve(t, f)
	lines := r.open(t, "/v1/sessions/cli:local/transcript?follow", "Last-Event-ID", "1")
	want := "retry: 1000\n\nid: 2\nevent: message\ndata: {\"id\":\"2\",\"turn\":\"t1\",\"role\":\"user\",\"who\":\"maria\",\"at\":\"2026-11-21T12:04:05.006Z\",\"text\":\"two\",\"calls\":[],\"length\":0,\"tokens\":0}\n\nid: 3\n"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(lines, got); err != nil || string(got) != want {
		t.Fatalf("got\n%s\n%v; promised\n%s", got, err, want)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var texts []string
	for m, err := range r.client.FollowTranscript(ctx, "cli:local", "") {
		if err != nil {
			t.Fatal(err)
		}
		switch texts = append(texts, m.Text); len(texts) {
		case 3: // it has read what there was: a longer message comes, and the client's buffer grows
			f.Say(messages("", "", "", strings.Repeat("x", 2<<20))[3])
		case 4:
			cancel()
		}
	}
	if len(texts) != 4 || len(texts[3]) != 2<<20 {
		t.Errorf("%d messages came", len(texts))
	}
}

// A stream to a gateway that is gone ends with an error that says so.
func TestAFollowedTranscriptEndsWithItsGateway(t *testing.T) {
	f := newFake()
	f.Messages = messages("one")
	r := serve(t, f)
	for _, err := range r.client.FollowTranscript(t.Context(), "cli:local", "") {
		if err == nil {
			r.stop()
			continue
		}
		if u, is := errors.AsType[*Unreachable](err); !is || !u.Gone {
			t.Errorf("it ended with %v", err)
		}
	}
}

// CV13: a search is answered as a list, with what it was asked for.
func TestCV13_ASearchIsAnswered(t *testing.T) {
	f := newFake()
	f.Found = ops.Found{Page: ops.Page[ops.Hit]{Items: []ops.Hit{{Session: "cli:local", Conversation: "s1", Title: "t", ID: "7", Turn: "t1", Role: "user", Who: "maria", At: testTime, Snippet: "hello"}}, Next: "7"}, Unindexed: 5}
	r := serve(t, f)
	const want = `{"items":[{"session":"cli:local","conversation":"s1","title":"t","id":"7","turn":"t1","role":"user","who":"maria","at":"2026-11-21T12:04:05.006Z","snippet":"hello"}],"next":"7","unindexed":5}`
	if status, body := r.ask(t, "GET", "/v1/search?q=hel%20lo&session=cli:local&limit=1&cursor=9", ""); status != 200 || strings.TrimSpace(body) != want {
		t.Errorf("%d %s", status, body)
	}
	q := ops.SearchQuery{Text: "hel lo", Session: "cli:local", Limit: 1, Cursor: "9"}
	if got, err := r.client.Search(t.Context(), q); err != nil || got.Unindexed != 5 || len(got.Items) != 1 || got.Items[0].Snippet != "hello" {
		t.Errorf("the client read %+v, %v", got, err)
	}
	asked := f.Searched()
	for i := range asked { // the gateway knows who asks
		if asked[i].By.Via != "socket" || asked[i].By.UID != os.Getuid() {
			t.Errorf("the search is said to be by %+v", asked[i].By)
		}
		asked[i].By = ops.Actor{}
	}
	if len(asked) != 2 || asked[0] != q || asked[1] != q {
		t.Errorf("the console was asked for %+v", f.Searched())
	}
	if status, _ := r.ask(t, "GET", "/v1/search?query=x", ""); status != 400 {
		t.Errorf("a wrong name: %d", status)
	}
}

// OP2: a conversation is read from its end, page by page, as over the socket so by the client.
func TestOP2_ATranscriptIsReadFromItsEnd(t *testing.T) {
	f := newFake()
	f.Messages = messages("one", "two", "three")
	r := serve(t, f)
	if status, body := r.ask(t, "GET", "/v1/sessions/cli:local/transcript?before=", ""); status != 200 || !strings.Contains(body, `"text":"three"`) || strings.Contains(body, `"one"`) || !strings.Contains(body, `"next":"2"`) {
		t.Errorf("%d %s", status, body)
	}
	page, err := r.client.Transcript(t.Context(), "cli:local", ops.MessageQuery{Back: true, Before: "2"})
	if err != nil || len(page.Items) != 1 || page.Items[0].Text != "one" || page.Next != "" {
		t.Errorf("the client read %+v, %v", page, err)
	}
}

// OP2: the output of a process is read from any place on.
func TestOP2_TheOutputOfAProcessIsAnswered(t *testing.T) {
	f := newFake()
	f.Printed = "hello"
	r := serve(t, f)
	const want = `{"pid":4711,"session":"cli:local","command":"make","text":"lo","next":5,"total":5,"missed":0,"last_at":null}`
	if status, body := r.ask(t, "GET", "/v1/processes/4711/output?after=3", ""); status != 200 || strings.TrimSpace(body) != want {
		t.Errorf("%d %s", status, body)
	}
	if got, err := r.client.Output(t.Context(), ops.OutputQuery{PID: 4711, After: 3}); err != nil || got.Text != "lo" || got.Next != 5 {
		t.Errorf("the client read %+v, %v", got, err)
	}
	for _, path := range []string{"/v1/processes/x/output", "/v1/processes/4711/output?after=x", "/v1/processes/4711/output?from=1"} {
		if status, body := r.ask(t, "GET", path, ""); status != 400 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}
