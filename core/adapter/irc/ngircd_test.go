package irc

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// ngircd starts the server of Debian's package and returns its address.
func ngircd(t *testing.T) (address string) {
	t.Helper()
	program, err := exec.LookPath("ngircd")
	if err != nil {
		program = "/usr/sbin/ngircd"
	}
	if _, err := os.Stat(program); err != nil {
		soak.Missing(t, "runs where ngircd is installed (apt-get install ngircd)")
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close() // the server takes the port
	config := filepath.Join(t.TempDir(), "ngircd.conf")
	text := fmt.Sprintf("[Global]\nName = irc.example\nListen = 127.0.0.1\nPorts = %s\nPassword = %s\nServerUID = %d\nServerGID = %d\n[Limits]\nMaxConnectionsIP = 0\n[Options]\nDNS = no\nIdent = no\nPAM = no\n", port, password, os.Getuid(), os.Getgid())
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	server := exec.CommandContext(t.Context(), program, "-n", "-f", config)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill() // it has nothing to save
		_ = server.Wait()
	})
	address = "127.0.0.1:" + port
	eventually.True(t, "ngircd listens", func() bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return address
}

// person is a client of a test that keeps what it hears.
func person(t *testing.T, address, nick string) (say func(string), hears <-chan string) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1000)
	done := make(chan struct{})
	say = func(line string) {
		if _, err := fmt.Fprintf(conn, "%s\r\n", line); err != nil {
			t.Errorf("%s cannot say %q: %v", nick, line, err)
		}
	}
	go func() {
		defer close(done)
		for in := bufio.NewScanner(conn); in.Scan(); {
			lines <- in.Text()
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	say("PASS " + password + "\r\nNICK " + nick + "\r\nUSER " + nick + " 0 * :" + nick)
	return say, lines
}

// until returns the first line with a text.
func until(t *testing.T, hears <-chan string, text string) string {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		select {
		case line := <-hears:
			if strings.Contains(line, text) {
				return line
			}
		case <-late:
			t.Fatalf("there came no %q", text)
		}
	}
}

// PL3: ngircd is a server of other authors that knows no accounts and gives no message back.
func TestPL3_AServerOfOthersIsUnderstood(t *testing.T) {
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
	c, err := p.Connect(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conformance.TakeDown(c); err != nil {
			t.Error(err)
		}
	}()
	if _, err := p.Connect(t.Context(), in); !is[*adapter.ConflictError](err) {
		t.Errorf("a second bot of the same nick: %v", err)
	}
	eventually.True(t, "the bot is in the channel", func() bool { return len(p.Lacks()) == 0 })

	say, hears := person(t, address, "alice")
	until(t, hears, " 001 ")
	say("JOIN " + help)
	until(t, hears, " 366 ")
	say("PRIVMSG bot :alone")
	say("PRIVMSG " + help + " :bot: in the channel")
	eventually.True(t, "both messages arrive", func() bool { return len(in.Messages()) == 2 })
	in.WantTexts(t, "alone", "in the channel")
	send := func(target, text string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := c.Send(ctx, adapter.Outgoing{Target: target, Text: text, Markdown: true})
		return err
	}
	long := strings.Repeat("wörter ", 100)
	if err := send(in.Messages()[0].Target, "short"); err != nil {
		t.Error(err)
	}
	until(t, hears, "PRIVMSG alice :short")
	if err := send(in.Messages()[1].Target, long); err != nil {
		t.Error(err)
	}
	var heard string
	for !strings.HasSuffix(strings.TrimSpace(heard), strings.TrimSpace(long)) {
		line := until(t, hears, "PRIVMSG "+help+" :")
		_, text, _ := strings.Cut(line, "PRIVMSG "+help+" :")
		heard += strings.TrimSpace(text) + " "
	}
	if want := "alice: " + long; heard != want {
		t.Errorf("the channel has %q, want %q", heard, want)
	}
	if err := send("carol", "hello"); !is[*adapter.RefusedError](err) {
		t.Errorf("a message to no one returned %v", err)
	}
	if err := c.Err(); err != nil {
		t.Errorf("the connection ended: %v", err)
	}
}
