package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

// chatBody is a chat completion, with a stream or without.
func chatBody(stream bool) string {
	if stream {
		return `{"model":"any","stream":true,"messages":[{"role":"user","content":"hello"}]}`
	}
	return `{"model":"any","messages":[{"role":"user","content":"hello"}]}`
}

func TestTR3_AStreamWaitsForAnApprovalAndAPlainRequestIsRefused(t *testing.T) {
	for _, c := range []struct {
		name, option, header string
		stream               bool
		unattended           bool
		status               int
	}{
		{"a stream waits", "", "", true, false, 200},
		{"a plain request is refused", "", "", false, true, 200},
		{"the config lets plain requests wait", ApprovalWait, "", false, false, 200},
		{"the config refuses streams", ApprovalRefuse, "", true, true, 200},
		{"the header of a plain request", "", "wait", false, false, 200},
		{"the header of a stream", "", "refuse", true, true, 200},
		{"the header counts before the config", ApprovalRefuse, "wait", false, false, 200},
		{"another word", "", "yes", true, false, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, Options{Model: "my-agent", Approval: c.option}, echo)
			a := f.do(f.request(http.MethodPost, "/v1/chat/completions", chatBody(c.stream), "X-Approval", c.header, "X-Session-Key", "s"))
			if a.status != c.status {
				t.Fatalf("answered %d %s", a.status, a.body)
			}
			got := f.gateway.messages()
			if c.status != http.StatusOK {
				if len(got) != 0 || !strings.Contains(string(a.body), "use wait or refuse") {
					t.Errorf("%d messages, %s", len(got), a.body)
				}
				return
			}
			if len(got) != 1 || got[0].Unattended != c.unattended {
				t.Errorf("the messages are %+v", got)
			}
		})
	}
}

// A client that asks for events reads what its turn asks a person. The texts are clean, and say nothing of who may answer.
func TestTR4_AStreamShowsWhatItsTurnAsks(t *testing.T) {
	asks := func(_ context.Context, m adapter.Inbound) error {
		item := ops.InboxItem{
			ID: "7K3M9Q", Kind: ops.InboxCommand, Session: m.Session, Turn: "turn1", State: ops.InboxWaiting, Who: "an owner", Command: "rm -rf build\x1b[2J",
			Folder: "/work", Environment: "local", Reasons: []string{"rm removes files\n"}, Options: []string{"once"},
		}
		asked := m.Responder.(adapter.Asker).Asked
		asked(item)
		item.State = ops.InboxAllowed
		asked(item)
		m.Responder.Done("done", nil)
		return nil
	}
	for _, header := range []string{"1", ""} {
		f := start(t, Options{Model: "my-agent"}, asks)
		a := f.do(f.request(http.MethodPost, "/v1/chat/completions", chatBody(true), "X-Gateway-Events", header, "X-Session-Key", "s"))
		var states []string
		for block := range strings.SplitSeq(string(a.body), "\n\n") {
			data, is := strings.CutPrefix(block, "event: gateway.approval\ndata: ")
			if !is {
				continue
			}
			var h happening
			if err := json.Unmarshal([]byte(data), &h); err != nil || h.Approval == nil {
				t.Fatalf("%s: %v", data, err)
			}
			if i := *h.Approval; i.ID != "7K3M9Q" || i.Who != "" || len(i.Options) != 0 || strings.ContainsAny(i.Command+i.Reasons[0], "\x1b\n") || i.Folder != "/work" || h.Turn != "turn1" {
				t.Errorf("the event is %s", data)
			}
			states = append(states, string(h.Approval.State))
		}
		if got, want := strings.Join(states, " "), map[string]string{"1": "waiting allowed", "": ""}[header]; got != want {
			t.Errorf("with %q the events are %q, want %q", header, got, want)
		}
	}
}
