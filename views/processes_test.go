package views

import (
	"strconv"
	"strings"
	"testing"
)

func TestADetailOfAProcessSaysWhatItRunsIn(t *testing.T) {
	for _, tt := range []struct{ name, session, owner, environment, want string }{
		{"a program of the gateway", "", "adapter:xmpp", "", "the machine itself"},
		{"a tool of which that is not known", "api:user:ada", "tool", "", "no environment that is known"},
		{"a tool in a sandbox", "api:user:ada", "tool", "builder", "builder"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			snap := fiveRows()
			p := &snap.Processes[0]
			p.Session, p.Owner, p.Environment = tt.session, tt.owner, tt.environment
			s := screen(Processes, snap)
			s.W, s.H, s.Detail.Open, s.Table.Selected = 200, 40, true, strconv.Itoa(p.PID)
			if text := strings.Join(Draw(s), "\n"); !strings.Contains(text, "runs in    "+tt.want) {
				t.Errorf("it does not run in %s:\n%s", tt.want, text)
			}
		})
	}
}
