package irc

import (
	"net"
	"slices"
	"testing"

	"gatewaytui/core/adapter/irc/irctest"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/npmtest"
)

// The client of others: what it understands of the double, the adapter may rely on.
const (
	library = "irc-framework"
	version = "4.14.0"
)

// echo is a bot with that client: it answers each message in its place, until its standard input ends.
const echo = `
const IRC = require('irc-framework');
const [port, pass] = process.argv.slice(1);
const c = new IRC.Client();
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
c.connect({ host: '127.0.0.1', port: +port, nick: 'bot', username: 'bot', gecos: 'bot', enable_echomessage: true, auto_reconnect: false, account: { account: 'bot', password: pass } });
c.on('sasl failed', () => console.log('login failed'));
c.on('registered', () => c.join('#help'));
c.on('join', (e) => { if (e.nick === 'bot') console.log('ready ' + e.channel + ' ' + c.network.cap.isEnabled('account-tag')); });
c.on('message', (e) => {
	if (e.nick === 'bot' || e.type !== 'privmsg' || e.from_server) return;
	c.say(e.target === 'bot' ? e.nick : e.target, [e.message, e.account, e.tags.msgid ? 'id' : 'none', e.time ? 'time' : 'none'].join(' '));
});
`

func TestTheClientOfOthersUnderstandsTheDouble(t *testing.T) {
	dir := npmtest.Install(t, library, version)
	s := irctest.New(irctest.Options{Caps: irctest.Modern, Password: password})
	defer s.Close()
	_, port, _ := net.SplitHostPort(s.Addr)
	if line := npmtest.Serve(t, dir, echo, port, "wrong"); line != "login failed" {
		t.Errorf("with a wrong password the client said %q", line)
	}
	eventually.True(t, "the first client has left", func() bool { return s.Connections() == 0 })
	if line := npmtest.Serve(t, dir, echo, port, password); line != "ready #help true" {
		t.Fatalf("the client said %q", line)
	}
	s.Say(alice, "bot", "grüße")
	s.Say(bob, "#help", "hello")
	eventually.True(t, "both are answered", func() bool { return len(s.Sent()) == 2 })
	want := []irctest.Sent{{To: "Alice", Text: "grüße Alice id time"}, {To: "#help", Text: "hello  id time"}}
	if got := s.Sent(); !slices.Equal(got, want) {
		t.Errorf("the client said %+v", got)
	}
}
