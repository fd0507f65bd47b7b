package config

import (
	"slices"
	"strings"
	"testing"
)

func TestPL3_TheTableOfIRCIsRead(t *testing.T) {
	const table = "[adapters.irc]\nenabled = true\n"
	const whole = table + "server = \"irc.example:6697\"\nnick = \"bot\"\n"
	for _, tc := range []struct{ name, text, wrong string }{
		{"the table of the contract", whole + "tls = true\nchannels = [\"#help\"]\ngroups = [\"#Help\", \"#ops\"]\npassword_env = \"\"\nallow = [\"Alice\", \"bob!bob@2001:db8::1\"]\n", ""},
		{"a password over TLS", whole + "password_env = \"IRC_PASSWORD\"\n", ""},
		{"no server", table + "nick = \"bot\"\n", "adapters.irc.server must be host:port"},
		{"a server without a port", table + "server = \"irc.example\"\nnick = \"bot\"\n", "adapters.irc.server must be host:port"},
		{"no nick", table + "server = \"irc.example:6697\"\n", "adapters.irc.nick must be a nick"},
		{"a nick with a blank", table + "server = \"irc.example:6697\"\nnick = \"a bot\"\n", "adapters.irc.nick must be a nick"},
		{"a password in the clear", whole + "tls = false\npassword_env = \"IRC_PASSWORD\"\n", "adapters.irc.tls must be true"},
		{"a password to this machine", table + "server = \"127.0.0.1:6667\"\nnick = \"bot\"\ntls = false\npassword_env = \"IRC_PASSWORD\"\n", ""},
		{"a channel without its sign", whole + "channels = [\"help\"]\n", "adapters.irc.channels must have channels"},
		{"two channels in one", whole + "groups = [\"#a,#b\"]\n", "adapters.irc.groups must have channels"},
		{"a person with a wildcard for a host only", whole + "allow = [\"@evil\"]\n", "adapters.irc.allow must have services accounts"},
		{"a home that is a channel", whole + "home = \"#help\"\n", ""},
		{"a home that is a nick", whole + "home = \"alice\"\n", "adapters.irc.home must be the id of a chat"},
	} {
		l, err := Load(Options{Path: write(t, tc.text), Environ: []string{}})
		switch {
		case tc.wrong == "" && err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.wrong != "" && (err == nil || !strings.Contains(err.Error(), tc.wrong)):
			t.Errorf("%s: it says %v, want %q", tc.name, err, tc.wrong)
		case tc.name == "the table of the contract":
			b, _ := l.Config.Adapters.Bot("irc")
			if rooms := l.Config.Adapters.IRC.Rooms(); !slices.Equal(rooms, []string{"#help", "#ops"}) || !b.Enabled || !slices.Equal(b.Allow, []string{"alice", "bob!bob@2001:db8::1"}) {
				t.Errorf("it is %+v with the channels %q", b, rooms)
			}
		}
	}
}

func TestTheHomeChatOfIRCIsAChannelOrTheKeyOfASession(t *testing.T) {
	for home, want := range map[string]Home{
		"#Ops":                       {"irc:group:#ops", "%23ops"},
		"irc:group:#ops":             {"irc:group:#ops", "%23ops"},
		"irc:group:##a:user:alice":   {"irc:group:##a:user:alice", "%23%23a"},
		"&local":                     {"irc:group:&local", "&local"},
		"irc:dm:alice":               {"irc:dm:alice", ""}, // where they last spoke
		"irc:dm:bob!bob@2001:db8::1": {"irc:dm:bob!bob@2001:db8::1", ""},
		"alice":                      {}, "#a b": {}, "#a,#b": {}, "telegram:dm:4711": {}, "irc:group:alice": {}, "irc:dm:": {}, "": {},
	} {
		if got, is := ircHome(home); got != want || is != (want != Home{}) {
			t.Errorf("%q is %+v, %t; want %+v", home, got, is, want)
		}
	}
}
