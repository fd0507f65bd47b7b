package slack

import (
	"strings"
	"testing"

	"gatewaytui/core/adapter"
)

func TestPL_DoctorLooksAtTheTokensAndTheScopes(t *testing.T) {
	simulate(t, func(w *world) {
		found, err := w.Examine(w.Context())
		if err != nil || len(found) != 2 || found[0].Fix != "" || !strings.Contains(found[0].Text, "helper in the workspace example") {
			t.Errorf("an app whose settings will do: %+v, %v", found, err)
		}
		w.api.Scopes("chat:write,users:read")
		found, err = w.Examine(w.Context())
		if err != nil || len(found) != 3 || !strings.Contains(found[1].Text, "im:history (direct messages)") || !strings.Contains(found[1].Fix, "install the app again") {
			t.Errorf("a bot that may not read: %+v, %v", found, err)
		}
		if w.api.Connections() != 0 {
			t.Error("a socket was opened, which takes messages from a gateway that runs")
		}
		w.o.AppToken += "x"
		if _, err := w.Examine(w.Context()); !is[*adapter.CredentialsError](err) {
			t.Errorf("a token that Slack refuses: %v", err)
		}
	})
}
