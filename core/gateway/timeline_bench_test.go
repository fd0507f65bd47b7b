package gateway

import (
	"context"
	"testing"

	"gatewaytui/core/model"
)

// BenchmarkATurnWith20Calls is a turn of ten model calls and ten calls of a tool that starts no process.
func BenchmarkATurnWith20Calls(b *testing.B) {
	l := start(b, atOnce, func(s *setup) {
		s.cfg.Tools.Enabled = []string{"process"}
		s.model = script(func(_ context.Context, req model.Request) (model.Response, error) {
			calls := 0
			for i := len(req.Messages) - 1; i >= 0 && req.Messages[i].Role != model.RoleUser; i-- {
				if req.Messages[i].Role == model.RoleTool {
					calls++
				}
			}
			if calls < 10 {
				return callsTool("process", `{"action":"list"}`), nil
			}
			return says("done"), nil
		})
	})
	for b.Loop() {
		b.StopTimer()
		l.ask("api:user:a", "/new")
		b.StartTimer()
		if got := l.ask("api:user:a", "go"); got != "done" {
			b.Fatal(got)
		}
	}
}
