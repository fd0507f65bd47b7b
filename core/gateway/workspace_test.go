package gateway

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatewaytui/core/model"
)

// CV15: what the work folder says is in the system prompt of the next turn.
func TestCV15_TheWorkFolderIsInThePrompt(t *testing.T) {
	var systems []string
	l := start(t, func(s *setup) {
		s.model = script(func(_ context.Context, req model.Request) (model.Response, error) {
			systems = append(systems, req.Messages[0].Content)
			return says("ok"), nil
		})
	})
	l.ask("chat:dm:1", "before")
	if err := os.WriteFile(filepath.Join(l.g.workdir(), "SOUL.md"), []byte("You are Ada."), 0o600); err != nil {
		t.Fatal(err)
	}
	l.ask("chat:dm:1", "after")
	if len(systems) != 2 || strings.Contains(systems[0], "Ada") || !strings.HasSuffix(systems[1], "# SOUL.md\n\nYou are Ada.") {
		t.Errorf("the prompts are %q", systems)
	}
}
