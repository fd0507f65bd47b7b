package control

import (
	"strings"
	"testing"

	"gatewaytui/core/ops"
)

func TestOP3_ATimelineIsAnswered(t *testing.T) {
	f := newFake()
	cost := 0.08
	f.Timelines = []ops.Timeline{{
		Turn:  ops.Turn{ID: "t1", Session: "cli:local", State: "done", StartedAt: testTime, EndedAt: testTime, ElapsedMS: 9, TokensIn: 5100, TokensCached: 4000, TokensOut: 210, Cost: &cost},
		Agent: "coder", Source: ops.FromCalls,
		Items: []ops.TimelineItem{{Kind: ops.TimelineModel, Name: "main", StartedAt: testTime, EndedAt: testTime, ElapsedMS: 9, TokensIn: 5100, TokensCached: 4000, TokensOut: 210, Cost: &cost}},
	}}
	r := serve(t, f)
	const row = `"id":"t1","session":"cli:local","state":"done","reason":"","started_at":"2026-11-21T12:04:05.006Z","ended_at":"2026-11-21T12:04:05.006Z","elapsed_ms":9,"tokens_in":5100,"tokens_cached":4000,"tokens_out":210,"cost":0.08`
	const item = `"kind":"model","name":"main","text":"","started_at":"2026-11-21T12:04:05.006Z","ended_at":"2026-11-21T12:04:05.006Z","elapsed_ms":9,"tokens_in":5100,"tokens_cached":4000,"tokens_out":210,"cost":0.08,"result":""`
	for path, want := range map[string]string{
		"/v1/turns/t1":                 `{` + row + `,"agent":"coder","source":"calls","note":"","known_until":null,"items":[{` + item + `}],"left_out":0,"sums":[],"earlier":"","later":""}`,
		"/v1/sessions/cli:local/turns": `{"items":[{` + row + `}],"next":""}`,
	} {
		if status, body := r.ask(t, "GET", path, ""); status != 200 || strings.TrimSpace(body) != want {
			t.Errorf("%s: %d %s\nwant %s", path, status, body, want)
		}
	}
	if status, _ := r.ask(t, "GET", "/v1/turns/none", ""); status != 404 {
		t.Errorf("an unknown turn: %d", status)
	}
	got, err := r.client.Timeline(t.Context(), "t1")
	if err != nil || len(got.Items) != 1 || got.Items[0].Name != "main" || got.Sum(ops.TimelineTool).Calls != 0 {
		t.Errorf("the client read %+v, %v", got, err)
	}
	if page, err := r.client.Turns(t.Context(), "cli:local", ops.Query{}); err != nil || len(page.Items) != 1 {
		t.Errorf("the client read %+v, %v", page, err)
	}
}
