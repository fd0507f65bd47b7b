package mail

import (
	"testing"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/core/adapter/mail/mailtest"
	"gatewaytui/fixtures/dovecot"
	"gatewaytui/fixtures/eventually"
)

// PL2: a real IMAP server tells of mails, gives their files, and keeps which of them were read.
func TestPL2_AMailboxOfDovecotIsUnderstood(t *testing.T) {
	box := dovecot.Start(t, password)
	out := mailtest.New(password, mailtest.Options{})
	t.Cleanup(out.Close)
	o := Options{IMAP: box.Addr, SMTP: out.SMTP, User: mailtest.Bot, Password: password}
	p, in := New(o), &conformance.Receiver{}
	root := "<root@people.example>"
	box.Deliver(t, mailtest.Text(mailtest.Says{From: owner, ID: root, Text: "before"}))

	c, err := p.Connect(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the first mail is taken", func() bool { return len(in.Messages()) == 1 && box.Read(t) == 1 })
	box.Deliver(t, mailtest.Text(mailtest.Says{From: owner, ID: "<2@people.example>", Answers: root, Text: "while it waits", Files: map[string]string{"a.txt": "content"}}))
	eventually.True(t, "the second mail is taken", func() bool { return len(in.Messages()) == 2 && box.Read(t) == 2 })
	in.WantTexts(t, "before", "while it waits")
	got := in.Messages()[1]
	if len(got.Files) != 1 || got.Session != in.Messages()[0].Session {
		t.Fatalf("the gateway got %+v", got)
	}
	if content, err := c.(adapter.Fetcher).Fetch(t.Context(), got.Files[0].Ref, 100); err != nil || string(content) != "content" {
		t.Errorf("fetched %q: %v", content, err)
	}
	if err := conformance.TakeDown(c); err != nil {
		t.Error(err)
	}

	next, err := p.Connect(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	box.Deliver(t, mailtest.Text(mailtest.Says{From: owner, ID: "<3@people.example>", Text: "after"}))
	eventually.True(t, "the third mail is taken", func() bool { return len(in.Messages()) == 3 && box.Read(t) == 3 })
	if err := conformance.TakeDown(next); err != nil {
		t.Error(err)
	}
	findings, err := p.Examine(t.Context())
	if err != nil || len(findings) != 3 {
		t.Errorf("it found %+v: %v", findings, err)
	}

	strict := mailtest.New("wrong", mailtest.Options{})
	defer strict.Close()
	o.Password, o.SMTP = "wrong", strict.SMTP
	if _, err := New(o).Connect(t.Context(), in); !is[*adapter.CredentialsError](err) {
		t.Errorf("with a wrong password connect returned %v", err)
	}
}
