package control

import (
	"strings"
	"testing"

	"gatewaytui/core/ops"
)

func TestOP2_TheLogIsReadOverTheSocket(t *testing.T) {
	r := serve(t, newFake())
	const want = `{"items":[{"id":"7-40","at":"2026-11-21T12:04:05.006Z","level":"warn","text":"turn stalled","fields":[{"key":"session","value":"cli:local"}]}],"next":"warn 5 7-1 7-90"}`
	if status, body := r.ask(t, "GET", "/v1/logs?about=cli:local&level=warn&limit=5&after=7-1&cursor=7-90", ""); status != 200 || strings.TrimSpace(body) != want {
		t.Errorf("%d %s, promised %s", status, body, want)
	}
	got, err := r.client.Logs(t.Context(), ops.LogQuery{About: "cli:local", Level: "warn", Limit: 5, After: "7-1", Cursor: "7-90"})
	if err != nil || len(got.Items) != 1 || got.Items[0].Fields[0].Value != "cli:local" || got.Next != "warn 5 7-1 7-90" {
		t.Errorf("the client reads %+v, %v", got, err)
	}
	if status, _ := r.ask(t, "GET", "/v1/logs?session=x", ""); status != 400 {
		t.Errorf("an unknown parameter is answered %d", status)
	}
}
