package gateway

import (
	"context"
	"testing"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

// HF33: a session with a key like that of a background task would be forgotten by the next start; no platform makes one.
func TestHF33_AKeyLikeThatOfABackgroundTaskIsRefused(t *testing.T) {
	l := start(t)
	for key, refused := range map[string]bool{"api:user:a:bg:01ARZ3NDEKTSV4RRFFQ69G5FAV": true, "api:user:a:bg:b": false} {
		done := make(responder, 1)
		_, err := l.g.intake.Receive(context.Background(), adapter.Inbound{Adapter: "chat", Session: key, Text: "echo hello", Responder: done})
		if ops.HasCode(err, ops.CodeInvalid) != refused {
			t.Errorf("%s: %v, want it refused: %v", key, err, refused)
		}
		if err == nil {
			<-done
		}
	}
}
