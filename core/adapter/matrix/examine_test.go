package matrix

import (
	"strings"
	"testing"

	"gatewaytui/core/adapter"
)

func TestPL_DoctorLooksAtTheTokenAndTheRooms(t *testing.T) {
	simulate(t, func(w *world) {
		found, err := w.Examine(w.Context())
		if err != nil || len(found) != 2 || found[0].Fix != "" || found[1].Fix != "" {
			t.Errorf("a bot whose settings will do: %+v, %v", found, err)
		}
		w.o.Groups = append(w.o.Groups, "!other:example.org")
		w.api.Encrypt(listed)
		found, err = w.Examine(w.Context())
		if err != nil || len(found) != 4 || !strings.Contains(found[1].Text, "is encrypted") || !strings.Contains(found[2].Fix, "invite @helper:example.org") {
			t.Errorf("a bot that cannot read a room, and is not in another one: %+v, %v", found, err)
		}
		w.o.Token = "another"
		if _, err := w.Examine(w.Context()); !is[*adapter.CredentialsError](err) {
			t.Errorf("a token that the homeserver refuses: %v", err)
		}
	})
}
