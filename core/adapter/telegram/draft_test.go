package telegram

import (
	"strings"
	"testing"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/telegram/botapitest"
)

func TestCV7_ADraftIsShownInAPrivateChatAndItsTopics(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			for _, m := range []adapter.Outgoing{
				{Target: "4711#3", Text: "**bold** …", Markdown: true, Passing: true},
				{Target: "4711/7", Text: strings.Repeat("first ", maxUnits/6) + strings.Repeat("last ", 100), Passing: true},
			} {
				if err := c.Draft(w.Context(), 9, m); err != nil {
					w.Fatal(err)
				}
			}
			got := w.api.Drafts()
			if len(got) != 2 || got[0].Text != "bold …" || !strings.Contains(got[0].Entities, "bold") || got[0].ChatID != 4711 || got[0].ID != 9 || got[0].ThreadID != 0 {
				w.Fatalf("shown %+v", got)
			}
			if got[1].ThreadID != 7 || len(got[1].Text) > maxUnits || !strings.HasSuffix(strings.TrimSpace(got[1].Text), "last") {
				w.Errorf("of a long text the chat shows %+v", got[1])
			}
			w.wantSent()
		})
	})
}

func TestCV7_ADraftThatTelegramDoesNotShowIsRefused(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			draft := func(target string, id int64) error {
				return c.Draft(w.Context(), id, adapter.Outgoing{Target: target, Text: "text", Passing: true})
			}
			for what, err := range map[string]error{"a group": draft("-100/7", 9), "an id of 0": draft("4711", 0), "no chat": draft("x", 9)} {
				if !is[*adapter.RefusedError](err) {
					w.Errorf("%s returned %v", what, err)
				}
			}
			if n := w.api.Calls("sendMessageDraft"); n != 1 {
				w.Errorf("%d calls were made, want the one with the id 0", n)
			}
			for what, fault := range map[string]botapitest.Fault{
				"an older server": {Code: 404, Description: "Not Found: method not found"}, "a bot without drafts": {Code: 400, Description: "Bad Request: TOPICS_REQUIRED"},
			} {
				w.api.Fail("sendMessageDraft", fault)
				if err := draft("4711", 9); !is[*adapter.RefusedError](err) {
					w.Errorf("%s returned %v", what, err)
				}
			}
			w.api.Fail("sendMessageDraft", botapitest.Fault{Code: 429, RetryAfter: 3})
			if err := draft("4711", 9); !is[*adapter.RateLimitError](err) {
				w.Errorf("a flood returned %v", err)
			}
			if err := w.send(c, "4711", "answer"); err != nil {
				w.Error(err)
			}
			w.wantSent("answer")
		})
	})
}

func TestAGroupHasNoDrafts(t *testing.T) {
	p := New(Options{})
	if dm, group := p.Bounds("4711#3"), p.Bounds("-100/7"); dm.Drafts != draftLasts || group.Drafts != 0 {
		t.Errorf("drafts last %s in a private chat and %s in a group", dm.Drafts, group.Drafts)
	}
}
