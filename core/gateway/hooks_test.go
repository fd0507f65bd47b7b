package gateway

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/hook"
	"gatewaytui/core/ops"
)

// HR9: a hook runs for an event of the gateway, is a row meanwhile, and the stop ends it by name though it ignores TERM.
func TestHR9_AHookOfTheGatewayEndsByNameInAStop(t *testing.T) {
	out := filepath.Join(t.TempDir(), "event")
	script := `cat > "$0.new"; mv "$0.new" "$0"; trap "" TERM; while :; do sleep 1; done`
	l := start(t, func(s *setup) {
		s.opts = func(o *Options) {
			o.Hooks = []hook.Spec{{Name: "notify", On: []string{"session.turn.ended"}, Command: []string{"sh", "-c", script, out}, Timeout: time.Minute}}
		}
	})
	if got := l.ask("cli:local", "hello"); got != "you said hello" {
		t.Fatalf("the answer is %q", got)
	}
	l.wait("the hook has the event", func() bool {
		text, _ := os.ReadFile(out)
		return strings.Contains(string(text), `"type":"session.turn.ended"`)
	})
	rows, err := l.g.Held(t.Context(), ops.Query{})
	if err != nil || len(rows.Items) != 1 || rows.Items[0].Kind != ops.HeldHook || rows.Items[0].ID != "notify" || !strings.Contains(rows.Items[0].Detail, "handles session.turn.ended") {
		t.Errorf("the rows are %+v: %v", rows.Items, err)
	}
	report := l.stop(ops.ModeGraceful)
	named := false
	for _, p := range report.Phases {
		named = named || slices.ContainsFunc(p.Items, func(i ops.Item) bool {
			return p.Name == "agents" && i.Kind == "hook" && i.ID == "notify" && i.State == ops.StepDone
		})
	}
	if !named || report.Outcome != "clean" {
		t.Errorf("the stop is %s, and its items do not name the hook: %+v", report.Outcome, report.Phases)
	}
	if n := l.g.procs.Count(); n != 0 {
		t.Errorf("%d process trees are left", n)
	}
}
