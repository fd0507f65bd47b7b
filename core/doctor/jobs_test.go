package doctor

import (
	"strings"
	"testing"

	"gatewaytui/core/config"
)

func TestHR8_AJobWhoseChatCannotBeReachedIsNamed(t *testing.T) {
	for deliver, want := range map[string]Verdict{"": OK, "telegram:dm:4711": OK, "discord:dm:1": Warn, "pager:dm:1": Warn, "api:user:a": Warn} {
		cfg := config.Default()
		cfg.Adapters.Telegram.Enabled = true
		cfg.Jobs = map[string]*config.Job{"a": {Deliver: deliver}}
		c := &checkup{valid: true, loaded: config.Loaded{Config: cfg}}
		c.checkJobs(t.Context())
		if len(c.findings) != 1 || c.findings[0].Verdict != want || want == Warn && !strings.Contains(c.findings[0].Fix, "jobs.a.deliver") {
			t.Errorf("a job that delivers to %q: %+v, want %s", deliver, c.findings, want)
		}
	}
}
