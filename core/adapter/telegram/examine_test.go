package telegram

import (
	"errors"
	"strings"
	"testing"

	"gatewaytui/core/adapter"
)

func TestPL_DoctorLooksAtTheTokenAndTheRightsInGroups(t *testing.T) {
	simulate(t, func(w *world) {
		found, err := w.Examine(w.Context())
		if err != nil || len(found) != 3 || !strings.Contains(found[0].Text, "@") || found[1].Fix != "" {
			t.Errorf("a bot whose settings will do: %+v, %v", found, err)
		}
		w.api.KeepFromGroups(true)
		found, err = w.Examine(w.Context())
		if err != nil || len(found) != 3 || !strings.Contains(found[1].Fix, "/setjoingroups") {
			t.Errorf("a bot that may not be in groups: %+v, %v", found, err)
		}
		w.o.Token = "1:another"
		_, err = w.Examine(w.Context())
		if _, refused := errors.AsType[*adapter.CredentialsError](err); !refused {
			t.Errorf("a token that Telegram refuses: %v", err)
		}
	})
}
