package feishu

import (
	"strings"
	"testing"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/feishu/feishutest"
)

func TestPL_DoctorLooksAtTheSecretTheBotAndThePermissions(t *testing.T) {
	simulate(t, func(w *world) {
		found, err := w.Examine(w.Context())
		if err != nil || len(found) != 2 || found[0].Fix != "" || found[1].Fix != "" {
			t.Errorf("an app whose settings will do: %+v, %v", found, err)
		}
		w.api.Revoke("im:resource", "contact:user.base:readonly")
		found, err = w.Examine(w.Context())
		if err != nil || len(found) != 3 || !strings.HasSuffix(found[1].Text, "lacks the permissions im:resource (files), contact:user.base:readonly (the names of people)") || found[1].Fix == "" {
			t.Errorf("an app without two permissions: %+v, %v", found, err)
		}
		w.api.Fail("GET /open-apis/application/", feishutest.Fault{Status: 400, Code: 99991672})
		if found, err = w.Examine(w.Context()); err != nil || len(found) != 3 || found[1].Fix != "" {
			t.Errorf("permissions that cannot be looked up: %+v, %v", found, err)
		}
		if n := w.api.Connections(); n != 0 {
			t.Errorf("%d connections were opened", n)
		}
		w.api.Refuse(&feishutest.Refusal{Endpoint: authFailed})
		if _, err := w.Examine(w.Context()); !is[*adapter.CredentialsError](err) {
			t.Errorf("an app that may not connect: %v", err)
		}
		w.o.Secret = "another"
		if _, err := w.Examine(w.Context()); !is[*adapter.CredentialsError](err) {
			t.Errorf("a secret that Feishu refuses: %v", err)
		}
	})
}
