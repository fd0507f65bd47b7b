package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gatewaytui/core/adapter/mail/mailtest"
	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
)

// PL3: a person and the bot write mails in one thread: code, an approval that is answered by a mail with a quote, and, in the next
// life, a file each way. Every answer is in its place, and all of it is one session.
func TestPL3_AThreadOfMailsGoesThroughARestart(t *testing.T) {
	t.Parallel()
	const password, alice = "c4nary.c4naryc4nary", "alice@people.example"
	s := mailtest.New(password, mailtest.Options{})
	t.Cleanup(s.Close)
	model := newEye(t)
	home := newHome(t)
	secret, victim := filepath.Join(t.TempDir(), "password"), filepath.Join(t.TempDir(), "victim")
	for path, text := range map[string]string{secret: password, victim: "precious"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config := quick + fmt.Sprintf(`
[access]
owners = ["mail:%[1]s"]
[adapters.mail]
enabled = true
imap = %[2]q
smtp = %[3]q
user = %[4]q
password_env = ""
password_file = %[5]q
authserv_id = "mx.gateway.example"
allow = ["Alice@people.example"]
`, alice, s.IMAP, s.SMTP, mailtest.Bot, secret)
	say := func(m mailtest.Says) string {
		m.From, m.Name = alice, "Alice"
		m.Header = []string{"Authentication-Results: mx.gateway.example; dmarc=pass header.from=people.example"}
		return s.Say(m)
	}
	last := func(n int) mailtest.Message {
		t.Helper()
		eventually.True(t, fmt.Sprintf("there are %d mails of the bot", n), func() bool { return len(s.Sent()) >= n })
		return s.Sent()[n-1]
	}

	g := start(t, home, config+"[agent]\nenvironment = \"local\"\napprovals = \"fence\"\n")
	s.Say(mailtest.Says{From: alice, Text: "echo forged"})
	root := say(mailtest.Says{Text: "echo see `this`:\n\n```\nif a < b {}\n```"})
	if m := last(1); m.InReplyTo != root || !strings.Contains(m.HTML, "<pre><code>if a &lt; b {}</code></pre>") || m.To[0] != alice {
		t.Errorf("the first answer is\n%s", m.Raw)
	}
	asked := say(mailtest.Says{Subject: "Re: work", Text: "sh: rm -rf " + victim, Answers: s.Sent()[0].ID, References: []string{root}})
	card := last(2)
	id := regexp.MustCompile(`/approve (\w+)`).FindStringSubmatch(card.Text)
	if id == nil || card.InReplyTo != asked || card.Subject != "Re: work" {
		t.Fatalf("the request is\n%s", card.Raw)
	}
	say(mailtest.Says{Subject: "Re: work", Text: "/approve " + id[1] + "\n\nOn 3 May the bot <" + mailtest.Bot + "> wrote:\n> may I?", Answers: card.ID, References: []string{root, asked}})
	eventually.True(t, "the command ran", func() bool { _, err := os.Stat(victim); return os.IsNotExist(err) })
	eventually.True(t, "the turn ends", func() bool {
		var page ops.Page[ops.Session]
		g.socket("GET", "/v1/sessions", nil, &page)
		return len(page.Items) == 1 && page.Items[0].State == ops.SessionIdle
	})
	if code, _ := g.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	before := len(s.Sent())

	if err := os.WriteFile(filepath.Join(home, "work", "out.csv"), []byte("a,b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	say(mailtest.Says{Subject: "Re: work", Text: "look at this", Answers: card.ID, Files: map[string]string{"../in.pdf": "%PDF-1.7\x00"}})
	next := start(t, home, config+modelAt(model.URL, ""))
	last(before + 1)
	if _, text, _ := model.last(); !strings.Contains(text, "look at this") || !strings.Contains(text, "in.pdf") {
		t.Errorf("the model reads %s", text)
	}
	say(mailtest.Says{Subject: "Re: work", Text: "send out.csv", Answers: card.ID})
	last(before + 3)
	var files []mailtest.File
	for _, m := range s.Sent()[before:] {
		files = append(files, m.Files...)
		if m.Subject != "Re: work" || m.InReplyTo == "" || m.References[0] != card.ID {
			t.Errorf("it is not in its place:\n%s", m.Raw)
		}
	}
	if len(files) != 1 || files[0].Name != "out.csv" || files[0].Content != "a,b\n" {
		t.Errorf("the files are %+v", files)
	}
	if found, err := filepath.Glob(filepath.Join(home, "work", "received", "*", "in.pdf")); err != nil || len(found) != 1 {
		t.Errorf("the work folder has %q, %v", found, err)
	}
	var page ops.Page[ops.Session]
	next.socket("GET", "/v1/sessions", nil, &page)
	if len(page.Items) != 1 || !strings.HasPrefix(page.Items[0].Key, "mail:dm:"+alice+":thread:") {
		t.Errorf("the sessions are %+v", page.Items)
	}
	if code, _ := next.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}
