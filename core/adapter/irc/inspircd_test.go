package irc

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/fixtures/soak"
)

// faster is by what the flood limit of the test's server is above the usual one, and the pace of the bot as well. The server looks once in
// a second, so that a much greater one would leave less room than there is.
const faster = 4

// inspircd starts the server of Debian's package with the services of the package atheme-services, and returns its address. A client that
// is ahead of its pace by more than 10 lines is cut off.
func inspircd(t *testing.T) (address string) {
	t.Helper()
	server, services := daemon(t, "inspircd"), daemon(t, "atheme-services")
	port, link, dir := freePort(t), freePort(t), t.TempDir()
	args := []string{"--nofork", "--config", config(t, fmt.Sprintf(`<config format="xml">
<server name="irc.example" description="test" network="Test" id="1AA">
<admin name="test" nick="test" email="test@irc.example">
<bind address="127.0.0.1" port="%[1]s" type="clients">
<bind address="127.0.0.1" port="%[2]s" type="servers">
<path configdir="%[3]s" datadir="%[3]s" logdir="%[3]s" runtimedir="%[3]s">
<pid file="%[3]s/inspircd.pid">
<dns server="127.0.0.1" timeout="1">
<connect name="main" allow="*" timeout="20" pingfreq="2m" localmax="100" globalmax="100" threshold="10" commandrate="%[4]d" fakelag="no" resolvehostnames="no" useident="no">
<module name="cap"> <module name="ircv3"> <module name="ircv3_accounttag"> <module name="ircv3_ctctags"> <module name="ircv3_echomessage">
<module name="ircv3_msgid"> <module name="ircv3_servertime"> <module name="services_account"> <module name="sasl"> <module name="spanningtree">
<module name="hidechans">
<sasl target="services.example" requiressl="no">
<link name="services.example" ipaddr="127.0.0.1" port="%[2]s" allowmask="127.0.0.1" sendpass="link" recvpass="link">
<uline server="services.example" silent="yes">
`, port, link, dir, 1000*faster))}
	if os.Getuid() == 0 {
		args = append(args, "--runasroot")
	}
	run(t, server, args...)
	address = "127.0.0.1:" + port
	answers(t, address, "CAP LS 302", "CAP")
	run(t, services, "-n", "-D", dir, "-l", dir+"/services.log", "-p", dir+"/services.pid", "-c", config(t, fmt.Sprintf(`
loadmodule "modules/protocol/inspircd";
loadmodule "modules/backend/opensex";
loadmodule "modules/crypto/posix";
loadmodule "modules/nickserv/main";
loadmodule "modules/nickserv/register";
loadmodule "modules/saslserv/main";
loadmodule "modules/saslserv/plain";
serverinfo {
	name = "services.example"; desc = "services"; numeric = "00A"; recontime = 1; netname = "Test"; adminname = "test";
	adminemail = "test@irc.example"; registeremail = "test@irc.example"; mta = "/bin/true"; maxlogins = 5; maxusers = 5; mdlimit = 30;
	emaillimit = 10; emailtime = 300; auth = none; casemapping = rfc1459;
};
uplink "irc.example" { host = "127.0.0.1"; port = %s; send_password = "link"; receive_password = "link"; };
nickserv { nick = "NickServ"; user = "NickServ"; host = "services.example"; real = "services"; };
saslserv { nick = "SaslServ"; user = "SaslServ"; host = "services.example"; real = "services"; };
`, link)))
	answers(t, address, "CAP LS 302", "sasl=PLAIN")
	return address
}

// PL3: InspIRCd with Atheme is a server of other authors that confirms accounts, gives messages back and cuts off who says too much.
func TestPL3_AServerOfOthersWithAccountsIsUnderstood(t *testing.T) {
	soak.Only(t, "the pace of InspIRCd takes 12 s")
	t.Parallel()
	address := inspircd(t)
	register := func(nick string) (say func(string), hears <-chan string) {
		say, hears = person(t, address, nick)
		say("PRIVMSG NickServ :REGISTER " + password + " " + nick + "@irc.example")
		until(t, hears, " is now registered")
		return say, hears
	}
	leave, gone := register("bot")
	leave("QUIT")
	until(t, gone, "ERROR")
	say, hears := register("alice")

	in := &conformance.Receiver{}
	client := func(secret string) *Platform {
		p := New(Options{Server: address, Plain: true, Nick: "bot", Channels: []string{help}, Password: secret})
		p.penalty, p.lead = p.penalty/faster, p.lead/faster
		return p
	}
	if _, err := client("wrong").Connect(t.Context(), in); !is[*adapter.CredentialsError](err) {
		t.Errorf("a wrong password: %v", err)
	}
	p := client(password)
	found, err := p.Examine(t.Context())
	if err != nil || len(found) != 1 || !strings.Contains(found[0].Text, "takes the login of the account bot") {
		t.Errorf("doctor finds %+v: %v", found, err)
	}
	in.Only([]string{"alice"})
	c := joined(t, p, in)
	converse(t, c, in, say, hears)
	for _, m := range in.Messages() {
		if m.ID == "" || m.Dedupe != "irc:"+m.ID || m.User != "alice (alice)" {
			t.Errorf("a message with an account and a name is %+v", m)
		}
	}

	lines := strings.Repeat("a line\n", 12)
	if err := sendTo(t, c, in.Messages()[0].Target, lines+"the last line"); err != nil {
		t.Errorf("a text of many lines: %v", err)
	}
	until(t, hears, "the last line")
	if err := c.Err(); err != nil {
		t.Errorf("the connection ended: %v", err)
	}
	shout, cut := person(t, address, "bob")
	shout(strings.Repeat("PRIVMSG alice :a line\r\n", 100))
	until(t, cut, "Excess Flood")
}
