package gateway

import (
	"context"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

func TestOP1_ALoopingSessionIsAnEventAndTheFirstRow(t *testing.T) {
	l := start(t)
	for range 21 {
		l.ask("cli:local", "hello")
	}
	rows, err := l.g.Sessions(t.Context(), ops.Query{Filter: "state:looping"})
	if err != nil || len(rows.Items) != 1 || rows.Items[0].AttentionReason != "21 turns in a minute" {
		t.Fatalf("the sessions that loop are %+v, %v", rows.Items, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for e := range l.g.Events(ctx, 0, ops.EventSessionLooping) {
		if e.Type == ops.EventSessionLooping {
			if e.Subject != "cli:local" || e.Text != "21 turns in a minute" {
				t.Errorf("the event is %+v", e)
			}
			return
		}
	}
	t.Error("no event said that the session loops")
}
