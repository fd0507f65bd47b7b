package irc

import (
	"fmt"
	"os"
	"testing"

	"gatewaytui/core/adapter/conformance"
)

// ngircd starts the server of Debian's package and returns its address.
func ngircd(t *testing.T) (address string) {
	t.Helper()
	program, port := daemon(t, "ngircd"), freePort(t)
	run(t, program, "-n", "-f", config(t, fmt.Sprintf("[Global]\nName = irc.example\nListen = 127.0.0.1\nPorts = %s\nPassword = %s\nServerUID = %d\nServerGID = %d\n[Limits]\nMaxConnectionsIP = 0\n[Options]\nDNS = no\nIdent = no\nPAM = no\n", port, password, os.Getuid(), os.Getgid())))
	address = "127.0.0.1:" + port
	answers(t, address, "CAP LS 302", "CAP")
	return address
}

// PL3: ngircd is a server of other authors that knows no accounts and gives no message back.
func TestPL3_AServerOfOthersIsUnderstood(t *testing.T) {
	t.Parallel()
	address := ngircd(t)
	in := &conformance.Receiver{}
	client := func(o Options) *Platform {
		o.Server, o.Plain, o.Nick, o.Channels = address, true, "bot", []string{help}
		p := New(o)
		p.penalty /= 10 // ngircd is patient, a test is not
		return p
	}
	if _, err := client(Options{Password: "wrong"}).Connect(t.Context(), in); err == nil {
		t.Error("a wrong password is taken")
	}
	p := client(Options{Password: password})
	if found, err := p.Examine(t.Context()); err != nil || len(found) != 3 {
		t.Errorf("doctor finds %+v: %v", found, err)
	}
	c := joined(t, p, in)
	say, hears := person(t, address, "alice")
	converse(t, c, in, say, hears)
}
