package irc

import (
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/irc/irctest"
)

func TestPL_DoctorTriesTheLoginAndTakesNoNick(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			found, err := w.Examine(w.Context())
			if err != nil || len(found) != 1 || !strings.Contains(found[0].Text, "takes the login of the account bot") {
				t.Errorf("found %+v: %v", found, err)
			}
			w.after(time.Second)
			if c.Err() != nil || w.server.Connections() != 1 {
				t.Errorf("the bot is %v, with %d connections", c.Err(), w.server.Connections())
			}
		})
		w.o.Password = "wrong"
		if _, err := w.Examine(w.Context()); !is[*adapter.CredentialsError](err) {
			t.Errorf("a wrong password returned %v", err)
		}
	})
	simulateWith(t, irctest.Options{Password: password}, func(w *world) {
		found, err := w.Examine(w.Context())
		if err != nil || len(found) != 3 || !strings.Contains(found[1].Text, "nick!user@host") {
			t.Errorf("an old server: %+v, %v", found, err)
		}
	})
}
