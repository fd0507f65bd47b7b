package gateway

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gatewaytui/core/adapter/webhook"
	"gatewaytui/core/config"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/signature"
)

// hooked starts a gateway with a webhook whose answers go to a chat.
func hooked(t *testing.T, answers script, change ...func(*setup)) (*lab, *webhook.Platform) {
	t.Helper()
	route := webhook.Route{Scheme: signature.Gateway, Secret: "secret of the sender", Prompt: "It ended: {{.body}}", Agent: "default", Deliver: "telegram:dm:4711", PerMinute: 100}
	raw := route
	raw.Prompt = ""
	p := webhook.New(webhook.Options{Listen: "127.0.0.1:0", Routes: map[string]webhook.Route{"deploy": route, "raw": raw}})
	l := start(t, append([]func(*setup){func(s *setup) {
		s.model, s.chat = answers, &platform{name: "telegram"}
		s.platforms = append(s.platforms, p)
	}}, change...)...)
	l.wait("the webhook listens", func() bool { return p.Addr() != "" })
	return l, p
}

// post sends a signed body to a route, at a time that makes it another message or the same.
func post(t *testing.T, p *webhook.Platform, route, body string, at time.Time) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+p.Addr()+"/"+route, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	signature.Sign(r.Header, "secret of the sender", []byte(body), at)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestHR9_AWebhookIsWorkedOnOnceInAConversationThatEndsWithIt(t *testing.T) {
	var calls, earlier atomic.Int32
	l, p := hooked(t, func(_ context.Context, req model.Request) (model.Response, error) {
		calls.Add(1)
		for _, m := range req.Messages {
			if m.Role == model.RoleAssistant {
				earlier.Add(1)
			}
		}
		text, _ := lastUser(req)
		_, body, _ := strings.Cut(text, "It ended: ")
		return says("heard of" + strings.Split(body, "\n")[2]), nil
	})
	now := time.Now()
	for _, at := range []time.Time{now, now, now.Add(-time.Second)} {
		if status := post(t, p, "deploy", " release 7", at); status != http.StatusAccepted {
			t.Fatalf("the request was answered with %d", status)
		}
	}
	l.wait("two answers are in the chat", func() bool { return len(l.chat.messages()) == 2 })
	l.wait("the conversations have ended", func() bool { return l.g.table.Counts().Sessions == 0 })
	if got := l.chat.messages(); got[0] != "4711: heard of release 7" || got[1] != got[0] {
		t.Errorf("the chat has %q", got)
	}
	if calls.Load() != 2 || earlier.Load() != 0 {
		t.Errorf("the model was called %d times, want 2, and saw %d earlier answers", calls.Load(), earlier.Load())
	}
}

func TestHR9_ABodyIsDeliveredAsItIs(t *testing.T) {
	l, p := hooked(t, func(context.Context, model.Request) (model.Response, error) {
		t.Error("a model was asked")
		return says(""), nil
	})
	now := time.Now()
	for range 2 {
		if status := post(t, p, "raw", "/new the build is red", now); status != http.StatusAccepted {
			t.Fatalf("the request was answered with %d", status)
		}
	}
	l.wait("it is in the chat", func() bool { return len(l.chat.messages()) > 0 })
	l.stop(ops.ModeGraceful)
	if got := l.chat.messages(); len(got) != 1 || got[0] != "4711: /new the build is red" {
		t.Errorf("the chat has %q", got)
	}
}

func TestHR9_WhatAWebhookWouldAskAPersonIsRefusedAtOnce(t *testing.T) {
	l, p := hooked(t, func(_ context.Context, req model.Request) (model.Response, error) {
		if _, answered := lastUser(req); answered {
			return says("the tool said: " + req.Messages[len(req.Messages)-1].Content), nil
		}
		return callsTool("terminal", arguments(map[string]any{"command": "rm -r data"})), nil
	}, func(s *setup) { s.cfg.Agent.Approvals = config.ApprovalsStrict })
	if status := post(t, p, "deploy", "x", time.Now()); status != http.StatusAccepted {
		t.Fatalf("the request was answered with %d", status)
	}
	l.wait("the answer is in the chat", func() bool { return len(l.chat.messages()) > 0 })
	if got := l.chat.messages()[0]; !strings.Contains(got, "does not wait for one, so it was refused") {
		t.Errorf("the chat has %q", got)
	}
	for _, item := range l.g.approvals.Inbox() {
		if item.State == ops.InboxWaiting {
			t.Errorf("%+v waits for a person", item)
		}
	}
}

func TestHR9_ARouteWithoutItsSecretIsNamedAndTheOthersServe(t *testing.T) {
	route := webhook.Route{Scheme: signature.Gateway, Secret: "secret of the sender", Prompt: "It ended: {{.body}}", Agent: "default", PerMinute: 100}
	lacking := route
	lacking.Secret, lacking.SecretSource = "", "CI_SECRET"
	p := webhook.New(webhook.Options{Listen: "127.0.0.1:0", Routes: map[string]webhook.Route{"deploy": route, "ci": lacking}})
	l := start(t, func(s *setup) { s.platforms = append(s.platforms, p) })
	const why = "the route ci has no secret, CI_SECRET is not set"
	l.wait("the row of the webhook says which route lacks what", func() bool {
		return slices.ContainsFunc(l.g.adapters.Rows(), func(r ops.Adapter) bool {
			return r.Name == webhook.Name && r.State == ops.AdapterConnected && r.LastError == why
		})
	})
	if ws := l.g.adapters.Warnings(); len(ws) != 1 || ws[0].Code != "adapter.lacks_secret" || !strings.Contains(ws[0].Message, why) {
		t.Errorf("the warnings are %+v", ws)
	}
	page, err := l.g.Inbox(t.Context(), ops.Query{})
	if err != nil || len(page.Items) != 1 || !strings.Contains(page.Items[0].Text, why) {
		t.Errorf("the inbox has %+v, %v", page.Items, err)
	}
	now := time.Now()
	if status := post(t, p, "deploy", "release 7", now); status != http.StatusAccepted {
		t.Errorf("the route with a secret answers %d", status)
	}
	if status := post(t, p, "ci", "release 7", now); status != http.StatusServiceUnavailable {
		t.Errorf("the route without a secret answers %d", status)
	}
}
