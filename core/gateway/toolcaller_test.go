package gateway

import (
	"context"
	"testing"

	"gatewaytui/core/config"
	"gatewaytui/core/ops"
)

// HF7: of the verbs a tool may give stop and restart, if the config lets it; whatever way the command came.
func TestHF7_AToolGivesNoVerbButStopAndRestart(t *testing.T) {
	tool := ops.Actor{Via: "socket", Tool: true, Session: "api:user:bob"}
	refused := func(t *testing.T, l *lab, v ops.Verb) {
		t.Helper()
		if _, err := l.g.Do(context.Background(), ops.Command{Verb: v, Target: "api:user:alice", Text: "x", By: tool}); !ops.HasCode(err, ops.CodeToolCaller) {
			t.Errorf("%s by a tool: %v", v, err)
		}
	}
	t.Run("tools may stop", func(t *testing.T) {
		l := start(t)
		for _, v := range ops.Verbs {
			if v.Verb != ops.VerbStop && v.Verb != ops.VerbRestart {
				refused(t, l, v.Verb)
			}
		}
	})
	t.Run("tools may not stop", func(t *testing.T) {
		l := start(t, func(s *setup) { s.cfg.Tools.MayStop = config.No })
		for _, v := range ops.Verbs {
			refused(t, l, v.Verb)
		}
	})
}
