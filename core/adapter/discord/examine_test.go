package discord

import (
	"strings"
	"testing"

	"gatewaytui/core/adapter"
)

func TestPL_DoctorLooksAtTheTokenAndTheIntent(t *testing.T) {
	simulate(t, func(w *world) {
		found, err := w.Examine(w.Context())
		if err != nil || len(found) != 2 || found[0].Fix != "" {
			t.Errorf("a bot whose settings will do: %+v, %v", found, err)
		}
		w.api.Refuse(4014)
		found, err = w.Examine(w.Context())
		if err != nil || len(found) != 3 || !strings.Contains(found[1].Fix, "Message Content Intent") {
			t.Errorf("a bot that may not read: %+v, %v", found, err)
		}
		w.o.Token = "another.token.of.a.bot"
		if _, err := w.Examine(w.Context()); !is[*adapter.CredentialsError](err) {
			t.Errorf("a token that Discord refuses: %v", err)
		}
	})
}
