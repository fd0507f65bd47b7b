package mail

import (
	"strings"
	"testing"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/mail/mailtest"
)

func TestTheSettingsAreTriedWithoutAMailBeingTaken(t *testing.T) {
	simulate(t, func(w *world) {
		unread := w.mails.Say(mailtest.Says{From: owner, Text: "hello"})
		findings, err := w.Examine(w.Context())
		if err != nil || len(findings) != 3 || findings[0].Fix+findings[1].Fix != "" || !strings.Contains(findings[2].Fix, "authserv_id") {
			w.Errorf("it found %+v: %v", findings, err)
		}
		w.o.AuthServer = "mx.a"
		if findings, err := w.Examine(w.Context()); err != nil || len(findings) != 2 {
			w.Errorf("with a check of senders it found %+v: %v", findings, err)
		}
		if w.mails.Seen(unread) || len(w.mails.Sent()) != 0 {
			w.Error("it took a mail, or sent one")
		}
		w.o.Folder = "None"
		if findings, err := w.Examine(w.Context()); err == nil || len(findings) != 1 || !strings.Contains(err.Error(), `open the folder "None"`) {
			w.Errorf("without the folder it found %+v: %v", findings, err)
		}
		w.o.Password = "wrong"
		if _, err := w.Examine(w.Context()); !is[*adapter.CredentialsError](err) {
			w.Errorf("with a wrong password it returned %v", err)
		}
	})
	simulateWith(t, mailtest.Options{NoIdle: true}, func(w *world) {
		if findings, err := w.Examine(w.Context()); err != nil || !strings.Contains(findings[2].Text, "every 30 seconds") {
			w.Errorf("without IDLE it found %+v: %v", findings, err)
		}
	})
}
