package demo

import (
	"strings"
	"testing"
	"testing/synctest"

	"gatewaytui/core/model"
	"gatewaytui/fixtures"
)

// The demo shows work, not a model that does not understand: each line is a command of the embedded script.
func TestTheScriptedModelUnderstandsEveryLine(t *testing.T) {
	text, err := fixtures.Script("default")
	if err != nil {
		t.Fatal(err)
	}
	script, err := model.ParseScript(text)
	if err != nil {
		t.Fatal(err)
	}
	provider := model.NewScripted(script, "demo", 0)
	synctest.Test(t, func(t *testing.T) {
		answer := func(text string) model.Message {
			t.Helper()
			c := provider.New()
			defer c.Close()
			resp, err := c.Complete(t.Context(), model.Request{Session: "p:dm:x", Messages: []model.Message{{Role: model.RoleUser, Content: text}}}, nil)
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			return resp.Message
		}
		lost := answer("something that no rule is about")
		if len(lost.ToolCalls) > 0 || !strings.Contains(lost.Content, "do not understand") {
			t.Fatalf("the script's last rule answers %+v", lost)
		}
		tools := map[string]bool{}
		for _, l := range lines {
			m := answer(l.Text)
			if len(m.ToolCalls) == 0 && (m.Content == "" || m.Content == lost.Content) {
				t.Errorf("%q is answered with %q", l.Text, m.Content)
			}
			for _, c := range m.ToolCalls {
				tools[c.Name] = true
			}
		}
		for _, tool := range []string{"terminal", "process", "delegate"} {
			if !tools[tool] {
				t.Errorf("no line makes an agent use %s", tool)
			}
		}
	})
}
