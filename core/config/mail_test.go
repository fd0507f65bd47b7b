package config

import (
	"strings"
	"testing"
)

func TestPL3_TheTableOfMailIsRead(t *testing.T) {
	const whole = `[adapters.mail]
enabled = true
imap = "imap.example:993"
smtp = "smtp.example:587"
user = "bot@example.org"
allow = ["Alice@example.org"]
`
	for _, tc := range []struct{ name, more, wrong string }{
		{"the table of the contract", "password_env = \"MAIL_PASSWORD\"\nfolder = \"INBOX\"\n", ""},
		{"a server without a port", "imap = \"imap.example\"\n", "adapters.mail.imap must be host:port"},
		{"a name that is not an address", "user = \"bot\"\n", "adapters.mail.address must be the address"},
		{"a name with an address", "user = \"bot\"\naddress = \"bot@example.org\"\n", ""},
		{"a person without an address", "allow = [4711]\n", "adapters.mail.allow must have addresses"},
		{"a group without an address", "groups = [\"team\"]\n", "adapters.mail.groups must have addresses"},
		{"a folder beyond ASCII", "folder = \"Entwürfe\"\n", "adapters.mail.folder must be"},
		{"a server of results with a blank", "authserv_id = \"mx a\"\n", "adapters.mail.authserv_id must be one word"},
		{"a home that is an address", "home = \"alice@example.org\"\n", ""},
		{"a home that is a chat of another platform", "home = \"telegram:dm:4711\"\n", "adapters.mail.home"},
		{"a mention that there is not", "mention = \"sometimes\"\n", "adapters.mail.mention"},
		{"no place for the password", "password_env = \"\"\n", "adapters.mail.password_env"},
	} {
		text := whole
		for line := range strings.Lines(tc.more) { // the second value of a key takes the place of the first
			key, _, _ := strings.Cut(line, " ")
			var kept []string
			for l := range strings.Lines(text) {
				if !strings.HasPrefix(l, key+" ") {
					kept = append(kept, l)
				}
			}
			text = strings.Join(kept, "") + line
		}
		l, err := load(t, text)
		switch {
		case (err != nil) != (tc.wrong != ""), err != nil && !strings.Contains(err.Error(), tc.wrong):
			t.Errorf("%s: it says %v, want %q", tc.name, err, tc.wrong)
		case err == nil:
			if b, is := l.Config.Adapters.Bot("mail"); !is || !b.Enabled || len(b.Secrets) != 1 || strings.Join(b.Allow, ",") != "alice@example.org" {
				t.Errorf("%s: it is %+v", tc.name, b)
			}
		}
	}
}

func TestHomesOfMail(t *testing.T) {
	for home, want := range map[string]Home{
		"Alice@example.org":                                   {"mail:dm:alice@example.org", "alice@example.org"},
		"mail:dm:alice@example.org":                           {"mail:dm:alice@example.org", "alice@example.org"},
		"mail:group:team@example.org:thread:0f1e2d3c4b5a6978": {"mail:group:team@example.org:thread:0f1e2d3c4b5a6978", "team@example.org/0f1e2d3c4b5a6978"},
	} {
		if got, is := mailHome(home); !is || got != want {
			t.Errorf("%q is %+v, %t", home, got, is)
		}
	}
	for _, bad := range []string{"4711", "telegram:dm:4711", "mail:dm:", "mail:dm:alice@example.org:thread:x", "a@b@c", "discord:dm:5"} {
		if h, is := mailHome(bad); is {
			t.Errorf("%q is the home %+v", bad, h)
		}
	}
}
